/** What every event store adapter judges in the same way: expectations, limits of calls, filters, gapless positions. */
import {
  categoryOf,
  EventStoreError,
  type Expected,
  type Filter,
  type NewEvent,
  type Position,
  padPosition,
  type StoredEvent,
  type Superseding,
  type Write,
  WrongExpectedVersion,
} from '../../../domain/event-store.ts';

/** Default of `store.max_event_bytes`. */
export const defaultMaxEventBytes = 4 * 1024 * 1024;

/** One append of so many takes two to three seconds on a slow machine; writers wait for each other for five. */
export const maxAppendEvents = 25_000;

/** P8: no page holds more payload than this, whatever its limit. */
export const maxPageBytes = 16 * 1024 * 1024;

/** P10: a filtered page looks at no more positions than this. */
export const maxScannedPositions = 1_000;

/** So many for a reader that can do without most payloads, or most events: the more on a page, the more are superseded. */
export const skimmedPositions = ({ isOmitted = false }: Superseding): number => (isOmitted ? 16_000 : 4_000);

/** Stored answers of commands are given out for 30 days; the record itself stays. */
export const responseLifeMs = 30 * 24 * 3_600 * 1_000;

/** P3. `head` is the revision of the stream's last event ever, undefined when it never had one. */
export function checkExpectation(stream: string, expected: Expected, head: bigint | undefined): void {
  const holds =
    expected === 'any' ||
    (expected === 'noStream' && head === undefined) ||
    (expected === 'streamExists' && head !== undefined) ||
    expected === head;
  if (!holds) throw new WrongExpectedVersion(stream, expected, head);
}

/** Refuses what no state of the log could accept. */
export function checkWrites(writes: readonly Write[], maxEventBytes: number): void {
  const streams = new Set<string>();
  const ids = new Set<string>();
  for (const { stream, events } of writes) {
    if (streams.has(stream)) throw new EventStoreError('Unsupported', `stream ${stream} stands in one append twice`);
    streams.add(stream);
    for (const { id, type, data } of events) {
      if (ids.has(id)) throw new EventStoreError('IdReuse', `event id ${id} stands in one append twice`);
      ids.add(id);
      if (data.byteLength > maxEventBytes) {
        throw new EventStoreError(
          'EventTooLarge',
          `${type} on ${stream} has ${data.byteLength} bytes, store.max_event_bytes is ${maxEventBytes}`,
        );
      }
    }
  }
}

export function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1_000) return;
  throw new EventStoreError('Unsupported', `limit is ${limit}, allowed are 1 to 1,000`);
}

/** What is known of an event id that an append brings. */
export type KnownEvent = {
  readonly stream: string;
  readonly type: string;
  readonly revision: bigint;
  readonly position: bigint;
};

export type Repeat = { readonly position: bigint; readonly heads: ReadonlyMap<string, bigint> };

/**
 * P5: the outcome of the append that wrote these events before, or undefined when none of the ids is known. Events of one
 * append stand at positions without a gap in the order of its writes; anything else is another append with old ids.
 */
export function repeatOf(writes: readonly Write[], known: (id: string) => KnownEvent | undefined): Repeat | undefined {
  const heads = new Map<string, bigint>();
  let position: bigint | undefined;
  let unknown: NewEvent | undefined;
  for (const { stream, events } of writes) {
    for (const event of events) {
      const found = known(event.id);
      if (!found) {
        unknown = event;
        continue;
      }
      const isNext = position === undefined || found.position === position + 1n;
      if (!isNext || found.stream !== stream || found.type !== event.type) throw idReuse(event.id);
      position = found.position;
      heads.set(stream, found.revision);
    }
  }
  if (position === undefined) return undefined;
  if (unknown) throw idReuse(unknown.id);
  return { position, heads };
}

const idReuse = (id: string): EventStoreError =>
  new EventStoreError('IdReuse', `event id ${id} is not from the same append as the others`);

/** A command id may come again with its own events only. */
export const commandReuse = (commandId: string): EventStoreError =>
  new EventStoreError('IdReuse', `command ${commandId} has appended other events before`);

export const matches = (filter: Filter | undefined, { stream, type }: Pick<StoredEvent, 'stream' | 'type'>): boolean =>
  (filter?.categories?.includes(categoryOf(stream)) ?? true) &&
  (filter?.types?.includes(type) ?? true) &&
  (filter?.streams?.includes(stream) ?? true);

/** The text of a gapless position; 0 is before everything. */
export const toPosition = (number: number | bigint): Position =>
  number === 0 || number === 0n ? '' : padPosition(String(number));

export const fromPosition = (position: Position): number => Number(bigFromPosition(position));

export function bigFromPosition(position: Position): bigint {
  if (/^\d{0,20}$/.test(position)) return BigInt(position);
  throw new EventStoreError('Unsupported', `position ${position.slice(0, 60)} does not belong to this log`);
}

/** Which events retention lets go: revisions below `before`, events stored before `olderThanMs`. */
export type Cut = { readonly before: bigint; readonly olderThanMs: number };

export type RetentionRule = { readonly maxAgeS?: number; readonly maxCount?: number; readonly before?: bigint };

export function cutOf(rule: RetentionRule, head: bigint, nowMs: number): Cut {
  const beyondCount = rule.maxCount === undefined ? 0n : head + 1n - BigInt(rule.maxCount);
  const before = rule.before ?? 0n;
  return {
    before: before > beyondCount ? before : beyondCount,
    olderThanMs: rule.maxAgeS === undefined ? 0 : nowMs - rule.maxAgeS * 1_000,
  };
}

export const storeClosed = (): EventStoreError => new EventStoreError('StoreUnavailable', 'the event store is closed');
