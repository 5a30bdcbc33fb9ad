/** The check of API definitions without its rules, until somebody needs them: a start from disk asks about nothing new. */
import { type CheckApi, readChecked } from '../../gateway/checked-api.ts';

export function createLateCheckApi(): { readonly checkApi: CheckApi; readonly loadRules: () => Promise<void> } {
  let check: CheckApi | undefined;
  return {
    checkApi(api, isChecked = false) {
      const read = isChecked ? readChecked(api) : undefined;
      if (read) return read;
      if (!check) throw new Error('the rules on API definitions are not loaded');
      return check(api, isChecked);
    },
    async loadRules() {
      check ??= (await import('../../gateway/check-api.ts')).createCheckApi();
    },
  };
}
