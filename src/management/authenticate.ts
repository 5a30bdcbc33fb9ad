/** Who asks: a bearer token becomes an actor of one organisation, unless it or its address comes too often. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Actor } from '../../domain/event.ts';
import type { OrgId } from '../../domain/ids.ts';
import { Rejection } from './errors.ts';
import { createRateLimit, type LimitFields, tooMany } from './rate-limit.ts';
import type { Scopes } from './scopes.ts';

export type Caller = {
  readonly actor: Actor;
  readonly orgId: OrgId;
  readonly scopes: Scopes;
  /** Only these APIs, where a scope is about APIs; absent: every one. */
  readonly apis?: ReadonlySet<string>;
  /** The gateway that the token belongs to, as in `TokenRights`. */
  readonly node?: string;
  /** RFC 3339; absent: the token has no end. */
  readonly expiresAt?: string;
};

export type Credential = Caller & { readonly sha256: Uint8Array };

/** `limit`: how much of its requests the token has left. */
type Admitted = { readonly caller: Caller; readonly limit: LimitFields };

/** Throws 401, 429 when the address or the token asks too often, or 503 while tokens cannot be known. */
export type Authenticate = (authorization: string | undefined, address: string) => Promise<Admitted>;

export type AuthenticateOptions = {
  /** Tokens that stand in no log. */
  readonly credentials: readonly Credential[];
  /** Whose text it is, of those in the log. */
  readonly find: (text: string) => Promise<Caller | undefined>;
  /** Told of every token that was let in. */
  readonly used: (caller: Caller, address: string) => void;
  /** Requests a second and at once, per token. */
  readonly rateLimit: { readonly rate: number; readonly burst: number };
  /** Ms, never goes back. */
  readonly monotonic: () => number;
};

/** Failed attempts a minute from one address. */
const maxFailures = 100;

export const tokenSha256 = (token: string): Uint8Array => createHash('sha256').update(token).digest();

export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { credentials, find, used, rateLimit, monotonic } = options;
  const failures = createRateLimit({
    name: 'failures',
    rate: maxFailures,
    perMs: 60_000,
    burst: maxFailures,
    monotonic,
  });
  const requests = createRateLimit({ name: 'token', ...rateLimit, perMs: 1_000, monotonic });
  return async function authenticate(authorization, address) {
    // Before the comparison: a guess that happens to be right must not be told apart.
    const blockedMs = failures.waitMs(address);
    if (blockedMs > 0) throw tooMany(blockedMs, failures.fields(address));
    const token = tokenOf(authorization);
    const caller = token === undefined ? undefined : (fixed(credentials, tokenSha256(token)) ?? (await find(token)));
    if (!caller) {
      failures.take(address);
      throw unauthorised(token !== undefined);
    }
    const waitMs = requests.take(caller.actor.id);
    const limit = requests.fields(caller.actor.id);
    if (waitMs > 0) throw tooMany(waitMs, limit);
    used(caller, address);
    return { caller, limit };
  };
}

/** `Bearer <token>` or the token alone. */
function tokenOf(authorization: string | undefined): string | undefined {
  const token = (authorization ?? '').replace(/^bearer(?: +|$)/i, '').trim();
  return token === '' ? undefined : token;
}

/** Looks at every credential, so that time does not tell which one was near. */
function fixed(credentials: readonly Credential[], sha256: Uint8Array): Caller | undefined {
  let found: Caller | undefined;
  for (const credential of credentials) if (timingSafeEqual(credential.sha256, sha256)) found = credential;
  return found;
}

const unauthorised = (wasSent: boolean): Rejection =>
  new Rejection('unauthorised', 'Not authorised', {
    headers: { 'WWW-Authenticate': `Bearer realm="svc"${wasSent ? ', error="invalid_token"' : ''}` },
  });
