/** The token scheme: a credential is an access key, and a request with one that nobody issued is refused (api-definition design 9.7). */
import { createHash } from 'node:crypto';
import type { CredentialSources } from '../../../domain/api/definition.ts';
import type { Context, Session, StepResult } from '../../http/context.ts';
import { findCredential, isTooLong } from './credential.ts';

/** The key's session; undefined when there is no such key. */
export type LookUpKey = (credential: string) => Session | undefined;

const bearer = ['WWW-Authenticate', 'Bearer'];

/** Nothing when the request may pass. */
export function checkToken(sources: CredentialSources, lookUpKey: LookUpKey, context: Context): StepResult {
  const { credential, isDuplicate } = findCredential(sources, context);
  if (isDuplicate) return context.refuse('auth_duplicate');
  if (credential === undefined) return context.refuse('auth_missing', bearer);
  const session = isTooLong(credential) ? undefined : lookUpKey(credential);
  if (session === undefined) {
    context.session = { keyId: keyIdOf(credential), alias: '', tags: [] };
    return context.refuse('auth_unknown');
  }
  context.session = session;
  return undefined;
}

/** What stands for a credential in records: never the credential. */
const keyIdOf = (credential: string): string => createHash('sha256').update(credential).digest('hex');
