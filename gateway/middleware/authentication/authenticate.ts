/** Lets a request pass only when every scheme of its API does (api-definition design 9). */
import type { CredentialSources } from '../../../domain/api/definition.ts';
import type { Step } from '../../http/context.ts';
import { checkToken, type LookUpKey } from './token.ts';

export const authenticate = (sources: readonly CredentialSources[], lookUpKey: LookUpKey): Step =>
  function authenticate(context) {
    for (const scheme of sources) {
      const refused = checkToken(scheme, lookUpKey, context);
      if (refused) return refused;
    }
    // An API that asks for authentication without a scheme is closed, not open.
    return sources.length === 0 ? context.refuse('auth_unknown') : undefined;
  };
