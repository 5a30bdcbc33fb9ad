/** Lets a request pass only when every scheme of its API does (api-definition design 9). */
import type { CredentialSources } from '../../../domain/api/definition.ts';
import type { Context, Step, StepResult } from '../../http/context.ts';
import { checkToken, type LookUpKey } from './token.ts';

export type AuthenticateDependencies = {
  readonly lookUpKey: LookUpKey;
  /** Whether the key of `access` is in force. */
  readonly checkLife: (context: Context) => StepResult;
};

/** The session is that of the last scheme. Its life is looked at by a step of its own; a key that only authenticates has to be in force as well. */
export const authenticate = (
  sources: readonly CredentialSources[],
  { lookUpKey, checkLife }: AuthenticateDependencies,
): Step =>
  function authenticate(context) {
    for (const [index, scheme] of sources.entries()) {
      const refused = checkToken(scheme, lookUpKey, context);
      if (refused) return refused;
      if (index === sources.length - 1) return undefined;
      const ended = checkLife(context);
      if (ended) return ended;
      if (context.access) context.alongside = [...context.alongside, context.access];
    }
    // An API that asks for authentication without a scheme is closed, not open.
    return context.refuse('auth_unknown');
  };
