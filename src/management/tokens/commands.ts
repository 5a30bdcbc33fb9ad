/** Commands on management tokens. The text of a token is in the answer to whoever asked first, and nowhere else. */
import type { JsonObject } from '../../../domain/event.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import { bootstrapTokenId, type OrgId, type TokenId, tokenStream } from '../../../domain/ids.ts';
import { type Issuer, type TokenEvent, type TokenHash, type TokenTerms, token } from '../../../domain/token.ts';
import type { ReadModelStore } from '../../../projections/read-model-store.ts';
import { unrevokedTokens } from '../../../projections/tokens.ts';
import { etagOf, matchesTag, preconditionFailed } from '../conditional.ts';
import type { Command, Plan, PlannedWrite } from '../handle-command.ts';
import { expectedOf, type Loaded, loadToken } from '../load.ts';
import type { Reply } from '../responses.ts';
import { grantOf, isAdministrator, type Roles } from '../roles.ts';
import type { TokenChange } from './bodies.ts';
import { hasEnded } from './directory.ts';
import { keptOf, newTokenText } from './text.ts';

export type TokenCommands = {
  readonly store: EventStore;
  readonly models: ReadModelStore;
  readonly roles: Roles;
  readonly now: () => Date;
};

/** Who wants something of which token. */
type Wish = { readonly orgId: OrgId; readonly tokenId: TokenId; readonly ifMatch?: string | undefined };

type Issuing = Wish & { readonly issuer: Issuer; readonly isDryRun: boolean };

const aggregateOf = ({ tokenId }: Wish): string => tokenStream(tokenId);

export function issueToken(
  { store, roles, now }: TokenCommands,
  { orgId, tokenId, issuer, isDryRun, ...wish }: Issuing,
  terms: TokenTerms,
): Command {
  const text = newTokenText(tokenId);
  const kept = keptOf(text);
  return {
    type: 'IssueToken',
    aggregate: aggregateOf({ orgId, tokenId, ...wish }),
    plan: async () => {
      const grant = grantOf(roles, terms);
      const command = {
        type: 'IssueToken',
        orgId,
        tokenId,
        ...terms,
        ...kept,
        grant,
        issuer,
        now: now().toISOString(),
      } as const;
      const events = token.decide(command, token.initial);
      const replies = textReplies(tokenId, terms, kept, isDryRun ? null : text);
      const headers = { Location: `/api/tokens/${tokenId}`, ETag: etagOf(0n, store.identity.era) };
      return {
        writes: [{ stream: tokenStream(tokenId), expected: 'noStream', events }],
        ...withHeaders(replies, headers),
      };
    },
  };
}

/** `change`: what is to be different. */
export const updateToken = (services: TokenCommands, wish: Wish, { apis, ...change }: TokenChange): Command =>
  onToken('UpdateToken', services, wish, ({ state }) => {
    const before: TokenTerms = state.exists ? state.terms : { name: '', scopes: [], roles: [], expiresAt: null };
    const { apis: held, ...rest } = before;
    const within = apis === undefined ? held : (apis ?? undefined);
    const wanted: TokenTerms = { ...rest, ...change, ...(within ? { apis: within } : {}) };
    const { orgId, tokenId } = wish;
    const { roles } = services;
    const grants = { grant: grantOf(roles, wanted), held: grantOf(roles, before) };
    const events = token.decide({ type: 'UpdateToken', orgId, tokenId, ...wanted, ...grants }, state);
    const [kept] = state.exists ? state.hashes : [];
    return { events, reply: { status: 200, body: shownTerms(tokenId, wanted, kept?.prefix ?? '') } };
  });

export function rotateToken(services: TokenCommands, wish: Issuing, overlapMs: number): Command {
  const { orgId, tokenId, issuer, isDryRun } = wish;
  const { roles } = services;
  const text = newTokenText(tokenId);
  const kept = keptOf(text);
  return onToken('RotateToken', services, wish, ({ state }) => {
    const terms: TokenTerms = state.exists ? state.terms : { name: '', scopes: [], roles: [], expiresAt: null };
    const time = services.now();
    const events = token.decide(
      {
        ...{ type: 'RotateToken', orgId, tokenId, ...kept, issuer, now: time.toISOString() },
        overlapUntil: overlapMs === 0 ? null : new Date(time.getTime() + overlapMs).toISOString(),
        held: grantOf(roles, terms),
      },
      state,
    );
    return { events, ...textReplies(tokenId, terms, kept, isDryRun ? null : text) };
  });
}

export const revokeToken = (services: TokenCommands, wish: Wish, reason: string): Command =>
  onToken('RevokeToken', services, wish, ({ state }) => {
    const { orgId, tokenId } = wish;
    const other = tokenId === bootstrapTokenId ? otherAdministrator(services, orgId) : undefined;
    const hasOtherAdministrator = other !== undefined;
    const events = token.decide({ type: 'RevokeToken', orgId, tokenId, reason, hasOtherAdministrator }, state);
    // The other one must still be there when this one goes.
    const isChecked = other !== undefined && events.length > 0 && services.store.can.checks;
    return {
      events,
      checks: isChecked ? [other] : [],
      reply: { status: 200, body: { id: tokenId, status: 'revoked' } },
    };
  });

function otherAdministrator({ models, roles, now }: TokenCommands, orgId: OrgId): PlannedWrite | undefined {
  const time = now().toISOString();
  const found = unrevokedTokens(models, orgId).find(
    (one) => one.tokenId !== bootstrapTokenId && !hasEnded(one, time) && isAdministrator(grantOf(roles, one.terms)),
  );
  return found && { stream: tokenStream(found.tokenId), expected: BigInt(found.revision), events: [] };
}

type Decided = Pick<Plan, 'reply' | 'replayed'> & {
  readonly events: readonly TokenEvent[];
  readonly checks?: readonly PlannedWrite[];
};

const onToken = (
  type: string,
  { store }: TokenCommands,
  wish: Wish,
  decide: (loaded: Loaded<Parameters<typeof token.evolve>[0]>) => Decided,
): Command => ({
  type,
  aggregate: aggregateOf(wish),
  plan: async () => {
    const loaded = await loadToken(store, wish.tokenId);
    const { state } = loaded;
    const { era } = store.identity;
    const etag = etagOf(loaded.head ?? 0n, era);
    const isStale = wish.ifMatch !== undefined && !matchesTag(wish.ifMatch, etag);
    // That it is not there is said by the decision.
    if (isStale && state.exists && state.orgId === wish.orgId) throw preconditionFailed(etag);
    const { events, checks = [], ...replies } = decide(loaded);
    const isUnchanged = events.length === 0;
    const headers = {
      ETag: isUnchanged ? etag : etagOf((loaded.head ?? -1n) + BigInt(events.length), era),
      ...(isUnchanged ? { 'x-svc-unchanged': 'true' } : {}),
    };
    return {
      writes: [{ stream: tokenStream(wish.tokenId), expected: expectedOf(loaded), events }, ...checks],
      ...withHeaders(replies, headers),
    };
  },
});

type Replies = Pick<Plan, 'reply' | 'replayed'>;

/** A repeat learns everything but the text: that is not kept. */
function textReplies(tokenId: TokenId, terms: TokenTerms, { prefix }: TokenHash, text: string | null): Replies {
  const shown = shownTerms(tokenId, terms, prefix);
  return {
    reply: { status: 200, body: { ...shown, token: text } },
    replayed: { status: 200, body: { ...shown, token: null } },
  };
}

const withHeaders = ({ reply, replayed }: Replies, headers: Reply['headers'] = {}): Replies => ({
  reply: { ...reply, headers },
  ...(replayed ? { replayed: { ...replayed, headers } } : {}),
});

const shownTerms = (
  id: TokenId,
  { name, scopes, roles, apis, node, expiresAt }: TokenTerms,
  prefix: string,
): JsonObject => ({
  ...{ id, name, scopes, roles, apis: apis ?? null, node: node ?? null, expiresAt, prefix, status: 'active' },
});
