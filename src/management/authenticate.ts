/** Who asks: a bearer token becomes an actor of one organisation. Tokens are known by their SHA-256 only. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Actor } from '../../domain/event.ts';
import type { OrgId } from '../../domain/ids.ts';
import { Rejection } from './errors.ts';
import { createRateLimit } from './rate-limit.ts';
import type { Scopes } from './scopes.ts';

export type Caller = { readonly actor: Actor; readonly orgId: OrgId; readonly scopes: Scopes };

export type Credential = Caller & { readonly sha256: Uint8Array };

/** Throws 401, or 429 when the address or the token asks too often. */
export type Authenticate = (authorization: string | undefined, address: string) => Caller;

export type AuthenticateOptions = {
  readonly credentials: readonly Credential[];
  /** Requests a second and at once, per token. */
  readonly rateLimit: { readonly rate: number; readonly burst: number };
  /** Ms, never goes back. */
  readonly monotonic: () => number;
};

/** Failed attempts a minute from one address. */
const maxFailures = 100;

export const tokenSha256 = (token: string): Uint8Array => createHash('sha256').update(token).digest();

export function createAuthenticate({ credentials, rateLimit, monotonic }: AuthenticateOptions): Authenticate {
  const failures = createRateLimit({ rate: maxFailures, perMs: 60_000, burst: maxFailures, monotonic });
  const requests = createRateLimit({ ...rateLimit, perMs: 1_000, monotonic });
  return function authenticate(authorization, address) {
    // Before the comparison: a guess that happens to be right must not be told apart.
    const blockedMs = failures.waitMs(address);
    if (blockedMs > 0) throw tooMany(blockedMs);
    const token = tokenOf(authorization);
    const caller = token === undefined ? undefined : find(credentials, tokenSha256(token));
    if (!caller) {
      failures.take(address);
      throw unauthorised(token !== undefined);
    }
    const waitMs = requests.take(caller.actor.id);
    if (waitMs > 0) throw tooMany(waitMs);
    return caller;
  };
}

/** `Bearer <token>` or the token alone. */
function tokenOf(authorization: string | undefined): string | undefined {
  const token = (authorization ?? '').replace(/^bearer(?: +|$)/i, '').trim();
  return token === '' ? undefined : token;
}

/** Looks at every credential, so that time does not tell which one was near. */
function find(credentials: readonly Credential[], sha256: Uint8Array): Caller | undefined {
  let found: Caller | undefined;
  for (const credential of credentials) if (timingSafeEqual(credential.sha256, sha256)) found = credential;
  return found;
}

const unauthorised = (wasSent: boolean): Rejection =>
  new Rejection('unauthorised', 'Not authorised', {
    headers: { 'WWW-Authenticate': `Bearer realm="svc"${wasSent ? ', error="invalid_token"' : ''}` },
  });

const tooMany = (waitMs: number): Rejection =>
  new Rejection('rate_limited', 'Too many requests', {
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1_000))) },
  });
