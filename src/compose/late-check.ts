/** The check of API definitions without its rules, until somebody needs them: a start from disk asks about nothing new. */
import { type CheckApi, type HeadOf, readChecked } from '../../gateway/checked-api.ts';

type LateCheck = {
  readonly checkApi: CheckApi;
  readonly headOf: HeadOf;
  readonly loadRules: () => Promise<void>;
};

export function createLateCheckApi(): LateCheck {
  let rules: { readonly check: CheckApi; readonly headOf: HeadOf } | undefined;
  const loaded = () => {
    if (!rules) throw new Error('the rules on API definitions are not loaded');
    return rules;
  };
  return {
    checkApi: (api, isChecked = false) => (isChecked ? readChecked(api) : undefined) ?? loaded().check(api, isChecked),
    headOf: (document) => (document['openapi'] === undefined ? loaded().headOf(document) : document),
    async loadRules() {
      const [{ createCheckApi }, { canonicalHead }] = await Promise.all([
        import('../../gateway/check-api.ts'),
        import('../../domain/api/classic/codec.ts'),
      ]);
      rules ??= { check: createCheckApi(), headOf: canonicalHead };
    },
  };
}
