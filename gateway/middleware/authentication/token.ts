/** The token scheme: a credential is an access key, and a request with one that nobody issued is refused (api-definition design 9.7). */
import { hash } from 'node:crypto';
import type { CredentialSources } from '../../../domain/api/definition.ts';
import type { OrgId } from '../../../domain/ids.ts';
import type { KeySession } from '../../access/session.ts';
import type { Context, StepResult } from '../../http/context.ts';
import { findCredential, isTooLong } from './credential.ts';

/** The key's session; undefined when the organisation has no such key. */
export type LookUpKey = (credential: string, orgId: OrgId) => KeySession | undefined;

const bearer = ['WWW-Authenticate', 'Bearer'];

/** Nothing when the request may pass. */
export function checkToken(sources: CredentialSources, lookUpKey: LookUpKey, context: Context): StepResult {
  const { credential, isDuplicate } = findCredential(sources, context);
  if (isDuplicate) return context.refuse('auth_duplicate');
  if (credential === undefined) return context.refuse('auth_missing', bearer);
  const { orgId } = context.route.definition;
  const session = isTooLong(credential) ? undefined : lookUpKey(credential, orgId);
  if (session === undefined) {
    // What stands for a credential in records: never the credential.
    context.session = { keyId: hash('sha256', credential, 'hex'), alias: '', tags: [] };
    return context.refuse('auth_unknown');
  }
  context.session = session.recorded;
  context.access = session;
  context.token = credential;
  return undefined;
}
