/** Refuses keys that were not granted the API, or not the version of it that serves the request (api-definition design 9.6). */
import { notVersioned } from '../../domain/analytics-record.ts';
import type { Context, Step } from '../http/context.ts';

export const accessRights: Step = function accessRights(context) {
  const { access, route } = context;
  const rights = access?.rights.get(route.definition.apiId);
  if (rights === undefined && access?.allowsAllApis !== true) return context.refuse('auth_no_right');
  const versions = rights?.versions;
  return versions === undefined || isGranted(versions, context) ? undefined : context.refuse('auth_no_right');
};

/** What an API without versions is called in rights. */
const onlyVersion = 'Default';

/** Versions of OAS APIs are APIs of their own, which the id of the entry has granted already; Classic ones go by name. */
function isGranted(versions: ReadonlySet<string>, { route }: Context): boolean {
  const { version, definition } = route;
  if (version !== notVersioned && versions.has(version)) return true;
  return (version === notVersioned || definition.kind !== 'classic') && versions.has(onlyVersion);
}
