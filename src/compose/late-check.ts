/** The rules on API definitions, loaded when the first API has to be asked for them: a start from disk has none to ask. */
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import type * as Rules from '../../gateway/check-api.ts';
import { type CheckApi, readChecked } from '../../gateway/checked-api.ts';

const require = createRequire(import.meta.url);

/** Without a request that has to wait for it: behind the first of a gateway that serves what its disk had. */
const loadsAfterMs = 200;

export function createLateCheckApi(): CheckApi {
  let check: CheckApi | undefined;
  const rules = (): CheckApi => {
    clearTimeout(loading);
    check ??= (require(`../../gateway/check-api${extname(import.meta.filename)}`) as typeof Rules).createCheckApi();
    return check;
  };
  const loading = setTimeout(rules, loadsAfterMs).unref();
  return (api, isChecked = false) => (isChecked ? readChecked(api) : undefined) ?? rules()(api, isChecked);
}
