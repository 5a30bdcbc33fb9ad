/** Management tokens: what a bearer may do and until when; of the token itself only a salted hash. Events, commands, state, decide, evolve. */
import type { Decider } from './decider.ts';
import { tokenConfigured, tokenEnded, tokenExceeds, tokenNeeded, tokenUnknown } from './errors.ts';
import { never } from './event.ts';
import { bootstrapTokenId, type OrgId, type TokenId } from './ids.ts';

/** What is kept of a token's text. `hash`: SHA-256 over salt and text; all base64url. `prefix`: what people know it by. */
export type TokenHash = { readonly hash: string; readonly salt: string; readonly prefix: string };

/** What a bearer may do. Roles are names of scope sets; what they hold is looked up when the token comes. */
export type TokenRights = {
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  /** Only these APIs, where a scope is about APIs; absent: every one. */
  readonly apis?: readonly string[];
  /** The gateway that it belongs to, by its id or the beginning of ids and `*`: it gets secrets sealed for that one. Never changes. */
  readonly node?: string;
};

/** Name, rights and end (RFC 3339, null: never). */
export type TokenTerms = TokenRights & { readonly name: string; readonly expiresAt: string | null };

/** Rights in full: every scope that is included, roles resolved. */
export type Grant = Pick<TokenRights, 'scopes' | 'apis' | 'node'>;

/** What whoever asks is allowed, and until when (RFC 3339, null: for ever). */
export type Issuer = Grant & { readonly expiresAt: string | null };

type Of = { readonly orgId: OrgId; readonly tokenId: TokenId };

export type TokenEvent =
  | ({ readonly type: 'TokenIssued' } & Of & TokenTerms & TokenHash)
  | ({ readonly type: 'TokenUpdated' } & Of & TokenTerms)
  | ({
      readonly type: 'TokenRotated';
      /** Until then the text before is taken too (RFC 3339, null: no longer). */
      readonly overlapUntil: string | null;
    } & Of &
      TokenHash)
  | ({ readonly type: 'TokenRevoked'; readonly reason: string } & Of);

/** `grant`: what the token would be allowed; `issuer`: who asks; `now`: RFC 3339. */
export type TokenCommand =
  | ({ readonly type: 'IssueToken'; readonly grant: Grant; readonly issuer: Issuer; readonly now: string } & Of &
      TokenTerms &
      TokenHash)
  /** The token of the configuration is held by this process; every process brings its own. */
  | ({ readonly type: 'InstallBootstrapToken' } & Of & TokenTerms & TokenHash)
  /** `held`: what the token is allowed now. */
  | ({ readonly type: 'UpdateToken'; readonly grant: Grant; readonly held: Grant } & Of & TokenTerms)
  /** `held` as above: whoever rotates a token learns its text. */
  | ({
      readonly type: 'RotateToken';
      readonly overlapUntil: string | null;
      readonly held: Grant;
      readonly issuer: Issuer;
      readonly now: string;
    } & Of &
      TokenHash)
  /** `hasOtherAdministrator`: somebody is left who may issue the next token. */
  | ({ readonly type: 'RevokeToken'; readonly reason: string; readonly hasOtherAdministrator: boolean } & Of);

/** `endsAt`: of a text that was rotated away. */
export type HeldHash = TokenHash & { readonly endsAt?: string };

export type TokenState =
  | { readonly exists: false }
  | {
      readonly exists: true;
      readonly orgId: OrgId;
      readonly terms: TokenTerms;
      /** The newest first; none once the token is revoked. */
      readonly hashes: readonly HeldHash[];
      readonly isRevoked: boolean;
    };

type Existing = Extract<TokenState, { exists: true }>;

function decide(command: TokenCommand, state: TokenState): readonly TokenEvent[] {
  const { orgId, tokenId } = command;
  switch (command.type) {
    case 'IssueToken': {
      refuseExcess(command.grant, command.issuer);
      refuseLater(command.expiresAt, longestEnd(command.issuer, command.now));
      return [{ type: 'TokenIssued', orgId, tokenId, ...termsOf(command), ...hashOf(command) }];
    }
    case 'InstallBootstrapToken':
      return [{ type: 'TokenIssued', orgId, tokenId, ...termsOf(command), ...hashOf(command) }];
    case 'UpdateToken': {
      const { terms } = living(command, state);
      refuseExcess(command.grant, command.held);
      refuseLonger(command.expiresAt, terms.expiresAt);
      const wanted = termsOf(command);
      return isSame(terms, wanted) ? [] : [{ type: 'TokenUpdated', orgId, tokenId, ...wanted }];
    }
    case 'RotateToken': {
      const { terms } = living(command, state);
      if (terms.expiresAt !== null && terms.expiresAt <= command.now) throw tokenEnded('has expired');
      refuseExcess(command.held, command.issuer);
      refuseLater(terms.expiresAt, lastsUntil(command.issuer));
      return [{ type: 'TokenRotated', orgId, tokenId, ...hashOf(command), overlapUntil: command.overlapUntil }];
    }
    case 'RevokeToken': {
      const { isRevoked } = known(command, state);
      if (isRevoked) return [];
      if (tokenId === bootstrapTokenId && !command.hasOtherAdministrator) throw tokenNeeded();
      return [{ type: 'TokenRevoked', orgId, tokenId, reason: command.reason }];
    }
    default:
      return never(command);
  }
}

function known({ orgId }: Of, state: TokenState): Existing {
  if (!state.exists || state.orgId !== orgId) throw tokenUnknown();
  return state;
}

function living(command: Of, state: TokenState): Existing {
  const found = known(command, state);
  if (command.tokenId === bootstrapTokenId) throw tokenConfigured();
  if (found.isRevoked) throw tokenEnded('is revoked');
  return found;
}

/** Nobody gives away more than he has. */
function refuseExcess(wanted: Grant, limit: Grant): void {
  const scopes = wanted.scopes.filter((scope) => !limit.scopes.includes(scope));
  if (scopes.length > 0) throw tokenExceeds('/scopes', `not yours to give: ${scopes.join(', ')}`);
  if (wanted.node !== undefined && wanted.node !== limit.node && !limit.scopes.includes(unlimited)) {
    throw tokenExceeds('/node', `a token of a gateway, which gets secrets, needs the scope ${unlimited}`);
  }
  if (!limit.apis) return;
  const { apis: within } = limit;
  if (!wanted.apis) throw tokenExceeds('/apis', `only these APIs are yours to give: ${within.join(', ')}`);
  const apis = wanted.apis.filter((id) => !within.includes(id));
  if (apis.length > 0) throw tokenExceeds('/apis', `not yours to give: ${apis.join(', ')}`);
}

/** The latest end that the issuer may give; null: any, and none at all. A token does not outlive the one that made it. */
export function longestEnd(issuer: Issuer, now: string): string | null {
  if (issuer.scopes.includes(unlimited)) return null;
  const year = new Date(now);
  year.setUTCFullYear(year.getUTCFullYear() + 1);
  const own = lastsUntil(issuer);
  return own !== null && Date.parse(own) < year.getTime() ? own : year.toISOString();
}

const lastsUntil = ({ scopes, expiresAt }: Issuer): string | null => (scopes.includes(unlimited) ? null : expiresAt);

const unlimited = 'tokens:admin';

/** Whether a token that belongs to `bound` may speak for this gateway. */
export const coversNode = (bound: string, node: string): boolean =>
  bound.endsWith('*') ? node.startsWith(bound.slice(0, -1)) : node === bound;

function refuseLater(wanted: string | null, longest: string | null): void {
  if (longest === null) return;
  // As times: texts of years beyond 9999 begin with a plus sign.
  if (wanted !== null && Date.parse(wanted) <= Date.parse(longest)) return;
  const what = wanted === null ? 'a token without end' : 'a later end';
  throw tokenExceeds(
    '/expiresAt',
    `${what} needs the scope ${unlimited}; the longest end that you may give is ${longest}`,
  );
}

function refuseLonger(wanted: string | null, limit: string | null): void {
  if (limit === null || (wanted !== null && wanted <= limit)) return;
  throw tokenExceeds('/expiresAt', `an update never makes a token last longer than ${limit}; issue another one`);
}

const termsOf = ({ name, scopes, roles, apis, node, expiresAt }: TokenTerms): TokenTerms => ({
  ...{ name, scopes, roles },
  ...(apis ? { apis } : {}),
  ...(node === undefined ? {} : { node }),
  expiresAt,
});

const hashOf = ({ hash, salt, prefix }: TokenHash): TokenHash => ({ hash, salt, prefix });

const isSame = (a: TokenTerms, b: TokenTerms): boolean =>
  a.name === b.name &&
  a.expiresAt === b.expiresAt &&
  sameSet(a.scopes, b.scopes) &&
  sameSet(a.roles, b.roles) &&
  (a.apis === undefined) === (b.apis === undefined) &&
  sameSet(a.apis ?? [], b.apis ?? []);

const sameSet = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((one) => b.includes(one));

function evolve(state: TokenState, event: TokenEvent): TokenState {
  switch (event.type) {
    // Only the bootstrap token comes again: each process brings its own text.
    case 'TokenIssued': {
      const others = state.exists ? state.hashes : [];
      const hashes = [hashOf(event), ...others];
      return { exists: true, orgId: event.orgId, terms: termsOf(event), hashes, isRevoked: false };
    }
    case 'TokenUpdated':
      return state.exists ? { ...state, terms: termsOf(event) } : state;
    case 'TokenRotated': {
      if (!state.exists) return state;
      const { overlapUntil } = event;
      const [before] = state.hashes;
      const kept = before && overlapUntil !== null ? [{ ...before, endsAt: overlapUntil }] : [];
      return { ...state, hashes: [hashOf(event), ...kept] };
    }
    case 'TokenRevoked':
      return state.exists ? { ...state, hashes: [], isRevoked: true } : state;
    default:
      return never(event);
  }
}

export const token = { initial: { exists: false } as TokenState, decide, evolve } satisfies Decider<
  TokenCommand,
  TokenEvent,
  TokenState
>;
