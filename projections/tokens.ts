/** Management tokens as they are looked up with every request, and as they are listed: never the token, and its hashes for look-ups only. */
import type { Recorded } from '../domain/event.ts';
import { type Position, padPosition, shortPosition } from '../domain/event-store.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { OrgId, TokenId } from '../domain/ids.ts';
import { type TokenEvent, type TokenState, token } from '../domain/token.ts';
import type { Projection } from './projection.ts';
import type { DocumentChange, DocumentReader } from './read-model-store.ts';

type State = Extract<TokenState, { exists: true }>;

export type StoredToken = State & {
  readonly tokenId: TokenId;
  readonly createdAt: string;
  /** Id of the actor who issued it. */
  readonly createdBy: string;
  readonly createdPosition: Position;
  readonly revokedAt?: string;
  /** Of the last event of its stream. */
  readonly revision: string;
  readonly position: Position;
};

const tokens = 'tokens';

const every = (orgId: OrgId): string => `org:${orgId}`;
const unrevoked = (orgId: OrgId): string => `org:${orgId}/unrevoked`;

export const tokensProjection: Projection = {
  name: 'tokens',
  version: 1,
  collections: [tokens],
  filter: { categories: ['token'] },
  // A token that should be gone must not live on because its stream was set aside.
  onPoison: 'stop',
  apply,
};

function apply(recorded: Recorded<DomainEvent>, documents: DocumentReader): readonly DocumentChange[] {
  const { event } = recorded;
  switch (event.type) {
    case 'TokenIssued':
    case 'TokenUpdated':
    case 'TokenRotated':
    case 'TokenRevoked':
      return put(after(recorded, event, findToken(documents, event.tokenId)));
    // The filter lets no other event through.
    default:
      return [];
  }
}

function after(
  { at, meta, position, revision }: Recorded<DomainEvent>,
  event: TokenEvent,
  before: StoredToken | undefined,
): StoredToken | undefined {
  const state = token.evolve(before ?? token.initial, event);
  if (!state.exists) return undefined;
  const { orgId, terms, hashes, isRevoked } = state;
  return {
    ...{ exists: true, orgId, terms, hashes, isRevoked, tokenId: event.tokenId },
    createdAt: before?.createdAt ?? at.toISOString(),
    createdBy: before?.createdBy ?? meta['actorId'] ?? '',
    createdPosition: before?.createdPosition ?? position,
    ...(isRevoked ? { revokedAt: at.toISOString() } : {}),
    ...{ revision: String(revision), position },
  };
}

function put(stored: StoredToken | undefined): readonly DocumentChange[] {
  if (!stored) return [];
  const { orgId, tokenId, createdPosition, isRevoked } = stored;
  const labels = [every(orgId), ...(isRevoked ? [] : [unrevoked(orgId)])];
  return [{ op: 'put', collection: tokens, document: { id: tokenId, sort: createdPosition, labels, body: stored } }];
}

/** Of any organisation, revoked or not: one look-up in an index. */
export const findToken = (documents: DocumentReader, tokenId: TokenId): StoredToken | undefined =>
  documents.get(tokens, tokenId)?.body as StoredToken | undefined;

export type TokenQuery = { readonly withRevoked?: boolean; readonly after?: string; readonly limit?: number };

/** Oldest first. `next`: the cursor of the following page, null at the end. */
export function listTokens(
  documents: DocumentReader,
  orgId: OrgId,
  { withRevoked = false, after: cursor, limit = 50 }: TokenQuery = {},
): { readonly tokens: readonly StoredToken[]; readonly next: string | null } {
  const found = documents.list(tokens, {
    labels: [withRevoked ? every(orgId) : unrevoked(orgId)],
    ...(cursor === undefined ? {} : { after: padPosition(cursor) }),
    limit: limit + 1,
  });
  const page = found.slice(0, limit).map(({ body }) => body as StoredToken);
  const last = page.at(-1);
  return { tokens: page, next: last && found.length > limit ? shortPosition(last.createdPosition) : null };
}

/** Those that are not revoked, all of them. */
export const unrevokedTokens = (documents: DocumentReader, orgId: OrgId): readonly StoredToken[] =>
  listTokens(documents, orgId, { limit: documents.count(tokens, [unrevoked(orgId)]) }).tokens;
