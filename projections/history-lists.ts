/** The lists of the history: revisions of one API, the audit, and one event of it (management design 12). */
import { type Position, padPosition, shortPosition } from '../domain/event-store.ts';
import { type ApiId, apiStream, type OrgId } from '../domain/ids.ts';
import {
  type Actor,
  type Entry,
  history,
  justAfter,
  organisation,
  requestLabel,
  type ShortEntry,
  within,
} from './history.ts';
import type { DocumentReader } from './read-model-store.ts';
import { type HistoryReads, wholeEntries, wholeEntry } from './whole-entries.ts';

/** Places inside a list: text order of positions, newest first. */
type Paging = {
  /** `next` of the page before. */
  readonly after?: string;
  /** Default 50. */
  readonly limit?: number;
};

/** An element of `GET /api/apis/{id}/revisions`; positions without leading zeros. */
type Revision = {
  readonly revision: number;
  readonly position: string;
  readonly at: string;
  readonly type: string;
  readonly actor: Actor;
  readonly comment: string;
  readonly requestId: string;
  readonly summary: readonly string[];
  readonly docSha256: string;
  readonly active: boolean;
  readonly internal: boolean;
};

export type RevisionPage = { readonly revisions: readonly Revision[]; readonly next: string | null };

/** Newest first; empty for an API that the organisation never had. */
export async function listRevisions(
  reads: HistoryReads,
  orgId: OrgId,
  apiId: ApiId,
  { after, to, limit = 50 }: Paging & { readonly to?: Position } = {},
): Promise<RevisionPage> {
  const label = within(orgId, `stream:${apiStream(apiId)}`);
  const { entries, next } = newestFirst(reads.models, [label], limit, upTo(after, to));
  return { revisions: (await wholeEntries(reads, orgId, entries)).map(toRevision), next };
}

export const toRevision = ({
  revision,
  position,
  at,
  type,
  actor,
  comment,
  requestId,
  summary,
  state,
}: Entry): Revision => ({
  revision,
  position: shortPosition(position),
  at,
  type,
  actor,
  comment,
  requestId,
  summary,
  docSha256: state.docSha256 ?? '',
  active: state.active ?? false,
  internal: state.internal ?? false,
});

export type AuditQuery = Paging & {
  /** Id of the actor. */
  readonly actor?: string;
  /** A kind (`api`) or one thing (`api-orders`). */
  readonly aggregate?: string;
  readonly type?: string;
  readonly requestId?: string;
  /** Part of the change message, in any case. */
  readonly comment?: string;
  /** Positions, both included. Times are resolved by the caller (`src/management/past/time-travel.ts`). */
  readonly from?: string;
  readonly to?: string;
};

/** An element of `GET /api/audit`. `hash` is empty while the log has no hash chain. */
export type AuditEntry = Omit<Entry, 'state' | 'position' | 'type'> & {
  readonly position: string;
  readonly type: string;
};

export type AuditPage = { readonly events: readonly AuditEntry[]; readonly next: string | null };

/** One event of the organisation. */
export async function findAuditEntry(
  reads: HistoryReads,
  orgId: OrgId,
  position: Position,
): Promise<AuditEntry | undefined> {
  const found = reads.models.get(history, position);
  if (!found?.labels.includes(organisation(orgId))) return undefined;
  return shownEntry(await wholeEntry(reads, orgId, found.body as Entry | ShortEntry));
}

const shownEntry = ({ state: _, ...entry }: Entry): AuditEntry => ({
  ...entry,
  position: shortPosition(entry.position),
});

/** Newest first. */
export async function listAudit(reads: HistoryReads, orgId: OrgId, query: AuditQuery = {}): Promise<AuditPage> {
  const { actor, aggregate, type, requestId, comment, from, to, after, limit = 50 } = query;
  // The rarest first: the read model store walks the rows of the first label.
  const filters = [
    ...(requestId === undefined ? [] : [requestLabel(requestId)]),
    ...(aggregate?.includes('-') ? [`stream:${aggregate}`] : []),
    ...(type === undefined ? [] : [`type:${type}`]),
    ...(actor === undefined ? [] : [`actor:${actor}`]),
    ...(aggregate === undefined || aggregate.includes('-') ? [] : [`kind:${aggregate}`]),
  ];
  const labels = filters.length === 0 ? [organisation(orgId)] : filters.map((filter) => within(orgId, filter));
  const bounds = { ...(from === undefined ? {} : { after: justBefore(padPosition(from)) }), ...upTo(after, to) };
  const wanted = comment?.toLowerCase();
  const isWanted = (entry: Entry | ShortEntry): boolean =>
    (requestId === undefined || entry.requestId === requestId) &&
    (wanted === undefined || entry.comment.toLowerCase().includes(wanted));
  const { entries, next } =
    wanted === undefined && requestId === undefined
      ? newestFirst(reads.models, labels, limit, bounds)
      : newestOf(reads.models, labels, { limit, bounds, isWanted });
  return { events: (await wholeEntries(reads, orgId, entries)).map(shownEntry), next };
}

type Found = { readonly entries: readonly (Entry | ShortEntry)[]; readonly next: string | null };

type Bounds = { readonly after?: string; readonly before?: string };

/** Entries that one answer looks through at most for what no label tells; `next` goes on behind them. */
const maxLookedAt = 20_000;
const lookAtOnce = 500;

type Wanted = {
  readonly limit: number;
  readonly bounds: Bounds;
  readonly isWanted: (entry: Entry | ShortEntry) => boolean;
};

/** There is no index of words, nor of single requests. */
function newestOf(documents: DocumentReader, labels: readonly string[], { limit, bounds, isWanted }: Wanted): Found {
  const found: (Entry | ShortEntry)[] = [];
  let before = bounds.before;
  for (let looked = 0; looked < maxLookedAt; looked += lookAtOnce) {
    const range = before === undefined ? bounds : { ...bounds, before };
    const { entries, next } = newestFirst(documents, labels, lookAtOnce, range);
    for (const entry of entries) {
      if (!isWanted(entry)) continue;
      if (found.length === limit) return { entries: found, next: shortPosition(found.at(-1)?.position ?? '') };
      found.push(entry);
    }
    before = entries.at(-1)?.position;
    if (next === null) return { entries: found, next: null };
  }
  return { entries: found, next: shortPosition(before ?? '') };
}

/** The lower of a cursor, which is not inside, and an end, which is. */
function upTo(after: string | undefined, to: string | undefined): { readonly before?: string } {
  const ends = [
    ...(after === undefined ? [] : [padPosition(after)]),
    ...(to === undefined ? [] : [justAfter(to === '' ? '' : padPosition(to))]),
  ];
  const [before] = ends.toSorted();
  return before === undefined ? {} : { before };
}

/** As `justAfter`. */
const justBefore = (position: Position): string =>
  `${position.slice(0, -1)}${String.fromCharCode(position.charCodeAt(position.length - 1) - 1)}~`;

function newestFirst(documents: DocumentReader, labels: readonly string[], limit: number, bounds: Bounds): Found {
  const found = documents.list(history, { labels, ...bounds, descending: true, limit: limit + 1 });
  const entries = found.slice(0, limit).map(({ body }) => body as Entry | ShortEntry);
  const last = entries.at(-1);
  return { entries, next: last && found.length > limit ? shortPosition(last.position) : null };
}
