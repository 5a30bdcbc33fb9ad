/** The state at a time: a position from what a request names, and one API as it was there (event-store design 2.2, 15). */
import { type ApiState, api } from '../../../domain/api/api.ts';
import type { ApiDocument, ApiKind } from '../../../domain/api/definition.ts';
import type { SealedSecrets } from '../../../domain/document-secrets.ts';
import { atInvalid } from '../../../domain/errors.ts';
import { type EventStore, type Position, padPosition, type StoredEvent } from '../../../domain/event-store.ts';
import { type DomainEvent, decodeEvent } from '../../../domain/events.ts';
import { type ApiId, apiStream, type OrgId } from '../../../domain/ids.ts';
import { type Labelled, labelled } from '../../../domain/labels.ts';
import { backToWhole } from '../../../projections/whole-entries.ts';

const positionPattern = /^\d{1,20}(?:-\d{1,20})?$/;
const timePattern = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** Where the text stood: the name of the parameter, or a member of a body and its pointer. */
export type Parameter = readonly [name: string, pointer?: string];

/**
 * The place that `at=` names: a position, or the last one at or before a time (RFC 3339). `now` in ms since 1970. Throws
 * `at_invalid` for what is neither, and for what lies in the future.
 */
export async function resolveAt(
  store: EventStore,
  text: string,
  now: number,
  named: Parameter = ['at'],
): Promise<Position> {
  if (positionPattern.test(text)) {
    const position = toPosition(text);
    if (position > (await store.head())) throw atInvalid(`position ${text} is in the future`, ...named);
    return position;
  }
  const time = readTime(text);
  if (time === undefined) {
    throw atInvalid('must be a time (RFC 3339, for example 2026-01-31T12:00:00Z) or a position', ...named);
  }
  if (time > now) throw atInvalid(`${text} is in the future`, ...named);
  return store.positionAt(new Date(time));
}

/** Both ends of a list, as positions that count as inside; an end that is not limited is absent. */
export type Range = { readonly from?: Position; readonly to?: Position };

/**
 * `from` and `to` of a list, each a position or a time, both included. Other than `at=` they may lie in the future. Throws
 * `at_invalid` for what is neither.
 */
export async function resolveRange(
  store: EventStore,
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
): Promise<Range> {
  return {
    ...(from === undefined ? {} : { from: await firstOf(store, from) }),
    ...(to === undefined ? {} : { to: await lastOf(store, to) }),
  };
}

async function firstOf(store: EventStore, text: string): Promise<Position> {
  if (positionPattern.test(text)) return toPosition(text);
  const before = await store.positionAt(new Date(demandTime('from', text) - 1));
  // No event has this place: it stands right behind the last event that is too early.
  return before === '' ? '' : `${before}!`;
}

const lastOf = async (store: EventStore, text: string): Promise<Position> =>
  positionPattern.test(text) ? toPosition(text) : store.positionAt(new Date(demandTime('to', text)));

function demandTime(name: string, text: string): number {
  const time = readTime(text);
  if (time === undefined) throw atInvalid('must be a time (RFC 3339) or a position', name);
  return time;
}

/** `0` is before everything. */
const toPosition = (text: string): Position => (/^0+$/.test(text) ? '' : padPosition(text));

/** ms since 1970; undefined for what is no RFC 3339 time or no day of the calendar. */
export function readTime(text: string): number | undefined {
  if (!timePattern.test(text)) return undefined;
  const time = Date.parse(text.replace(' ', 'T').toUpperCase());
  // Date.parse takes 30 February for 2 March.
  const [year, month, day] = text.slice(0, 10).split('-').map(Number) as [number, number, number];
  const isDay = new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day;
  return Number.isNaN(time) || !isDay ? undefined : time;
}

export type ApiThen = Labelled & {
  readonly document: ApiDocument;
  readonly kind: ApiKind;
  readonly docSha256: string;
  readonly sealed?: SealedSecrets;
  /** Of the last event at or before the place, with its position and time. */
  readonly revision: bigint;
  readonly position: Position;
  readonly at: Date;
};

/** The API as it was at a position; undefined when it did not exist then, or belongs to another organisation. */
export async function apiAt(
  store: EventStore,
  orgId: OrgId,
  apiId: ApiId,
  position: Position,
): Promise<ApiThen | undefined> {
  const revision = await revisionAt(store, apiStream(apiId), position);
  return revision === undefined ? undefined : apiAtRevision(store, orgId, apiId, revision);
}

/** The API as it was at a revision of its stream; undefined as above. */
export async function apiAtRevision(
  store: EventStore,
  orgId: OrgId,
  apiId: ApiId,
  revision: bigint,
): Promise<ApiThen | undefined> {
  const recorded = (await backToWhole(store, apiStream(apiId), revision)).map(decodeEvent);
  const last = recorded.at(-1);
  // A stream that ends before the revision has no such state.
  if (!last || last.revision !== revision) return undefined;
  let state: ApiState = api.initial;
  for (const { event } of recorded) if (isApiEvent(event)) state = api.evolve(state, event);
  if (!state.exists || state.orgId !== orgId) return undefined;
  const { document, kind, docSha256, sealed, labels } = state;
  return {
    document,
    kind,
    docSha256,
    ...(sealed ? { sealed } : {}),
    ...labelled(labels),
    revision: last.revision,
    position: last.position,
    at: last.at,
  };
}

/** The last revision of a stream at or before a position: revisions have no holes, so halves are cut off. */
export async function revisionAt(store: EventStore, stream: string, position: Position): Promise<bigint | undefined> {
  const [last] = await store.readStream(stream, { back: true, limit: 1 });
  if (!last) return undefined;
  if (last.position <= position) return last.revision;
  let low = -1n;
  let high = last.revision;
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    const [event] = await store.readStream(stream, { from: middle, to: middle, limit: 1 });
    if (event && event.position <= position) low = middle;
    else high = middle;
  }
  return low < 0n ? undefined : low;
}

const longPage = 100;

/** The events of a stream from the first on up to a revision. */
export async function eventsUpTo(store: EventStore, stream: string, revision: bigint): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (let from = 0n; from <= revision; ) {
    const page: readonly StoredEvent[] = await store.readStream(stream, { from, to: revision, limit: longPage });
    const newest = page.at(-1);
    if (!newest) break;
    events.push(...page);
    from = newest.revision + 1n;
  }
  return events;
}

type ApiEvent = Parameters<typeof api.evolve>[1];

const isApiEvent = (event: DomainEvent): event is ApiEvent => event.type.startsWith('Api');
