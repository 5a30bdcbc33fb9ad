/** The event store port: what the configuration log promises to whoever appends and reads. Adapters stand in src/stores/events. */

/** A place in the global order: fixed width text, ordered as text. `''` is before everything. Never computed with. */
export type Position = string;

/** What a write expects of its stream; a bigint is the revision of the stream's last event. */
export type Expected = 'any' | 'noStream' | 'streamExists' | bigint;

/** Which events a reader wants; categories are the part of a stream name before its first dash. Members combine with AND. */
export type Filter = {
  readonly categories?: readonly string[];
  readonly types?: readonly string[];
  readonly streams?: readonly string[];
};

/**
 * Which events say nothing that a later one does not say again: those of `types`, of a schema that the reader knows, that
 * one of `by` follows in the same stream with none but `types` in between.
 */
export type Superseding = {
  readonly types: readonly string[];
  readonly by: readonly string[];
  readonly maxSchema: number;
  /** Nobody misses them: they may be left out altogether. */
  readonly isOmitted?: boolean;
};

/** An event on its way in. `data` is UTF-8 JSON text after sealing; `id` is a UUID that is unique in the whole log. */
export type NewEvent = {
  readonly id: string;
  readonly type: string;
  readonly schema: number;
  readonly data: Uint8Array;
  readonly meta: Readonly<Record<string, string>>;
};

export type StoredEvent = NewEvent & {
  readonly stream: string;
  /** 0, 1, 2 … within the stream, without a hole. */
  readonly revision: bigint;
  readonly position: Position;
  /** When it was stored; never goes back within the log. */
  readonly at: Date;
};

/** One stream's part of an append. Without events it is a check of the expectation only. */
export type Write = { readonly stream: string; readonly expected: Expected; readonly events: readonly NewEvent[] };

export type AppendOptions = {
  readonly commandId: string;
  readonly requestHash?: string;
  readonly response?: Uint8Array;
  readonly timeoutMs: number;
};

export type Appended = {
  /** Position of the last event that was written (the current head when there was none). */
  readonly position: Position;
  /** Revision of the last event of each stream written to. */
  readonly heads: ReadonlyMap<string, bigint>;
  /** True when the same events had been appended before; nothing was written again. */
  readonly duplicate: boolean;
};

export type Page = { readonly events: readonly StoredEvent[]; readonly next: Position; readonly atHead: boolean };

export type Batch =
  | { readonly events: readonly StoredEvent[]; readonly checkpoint: Position }
  | { readonly caughtUp: true; readonly checkpoint: Position };

export type CommandRecord = {
  readonly requestHash: string;
  readonly position: Position;
  readonly response?: Uint8Array;
};

export type Capabilities = {
  readonly multiStream: boolean;
  readonly checks: boolean;
  readonly gapless: boolean;
  readonly serverFilter: boolean;
  readonly commandRecord: boolean;
  readonly maxEventBytes: number;
  /** More events in one append would hold up others for long. */
  readonly maxAppendEvents: number;
};

/** Positions are comparable within one log and one era only; an era counts restores from backups. */
export type LogIdentity = { readonly logId: string; readonly era: number };

export type StoreHealth = { readonly writable: boolean; readonly readable: boolean; readonly detail: string };

export interface EventStore {
  /**
   * Appends all writes or none (P1). Throws `WrongExpectedVersion` when an expectation fails (P4), `IdReuse` when some of
   * the event ids are known and some are not (P5), `UnknownOutcome` when it cannot tell; then the same append is repeated
   * (P6), and event ids make that safe.
   */
  append(writes: readonly Write[], options: AppendOptions): Promise<Appended>;
  /**
   * One stream's events; a missing stream reads as an empty list (P12). `from` and `to` are the lowest and the highest
   * revision wanted, both included, whatever the direction. `limit` 1 to 1,000; a page holds at most 16 MiB (P8).
   */
  readStream(
    stream: string,
    options: { readonly from?: bigint; readonly to?: bigint; readonly back?: boolean; readonly limit: number },
  ): Promise<readonly StoredEvent[]>;
  /** The global order after a position. Nothing appears later at a position at or before `next` (P7). */
  readAll(options: { readonly after: Position; readonly limit: number; readonly filter?: Filter }): Promise<Page>;
  /**
   * Every matching event after `after` exactly once, in order, from catch-up to live without a seam (P9). Empty batches move
   * the checkpoint when the filter matches nothing (P10). Ends when the signal aborts. With `superseding`, until it is
   * caught up for the first time, an event that a later one of its batch supersedes may come with an empty payload, or not at
   * all where the rule says so.
   */
  subscribe(options: {
    readonly after: Position;
    readonly filter?: Filter;
    readonly superseding?: Superseding;
    readonly signal: AbortSignal;
  }): AsyncIterable<Batch>;
  /** The last position whose event was stored at or before `time`; `''` when there is none. */
  positionAt(time: Date): Promise<Position>;
  /** What a command with this id answered; undefined when it never ran. */
  command(id: string): Promise<CommandRecord | undefined>;
  /** Lets old events of an operational stream go; its revisions go on (P2). */
  retain(
    stream: string,
    rule: { readonly maxAgeS?: number; readonly maxCount?: number; readonly before?: bigint },
  ): Promise<void>;
  head(): Promise<Position>;
  health(): Promise<StoreHealth>;
  close(): Promise<void>;
  readonly identity: LogIdentity;
  readonly can: Capabilities;
}

/** The same store with members of its own, for whoever replaces some of them: those of a class are not copied by a spread. */
export const forwardedStore = (store: EventStore): EventStore => ({
  identity: store.identity,
  can: store.can,
  append: (...args) => store.append(...args),
  readStream: (...args) => store.readStream(...args),
  readAll: (...args) => store.readAll(...args),
  subscribe: (...args) => store.subscribe(...args),
  positionAt: (...args) => store.positionAt(...args),
  command: (...args) => store.command(...args),
  retain: (...args) => store.retain(...args),
  head: () => store.head(),
  health: () => store.health(),
  close: () => store.close(),
});

/** The places in the list of those events that a later one of it supersedes. */
export function supersededIn(
  events: readonly Pick<StoredEvent, 'stream' | 'type' | 'schema'>[],
  { types, by, maxSchema }: Superseding,
): ReadonlySet<number> {
  const found = new Set<number>();
  const repeated = new Set<string>();
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index];
    if (!event) continue;
    const { stream, type, schema } = event;
    const isKnown = schema <= maxSchema && types.includes(type);
    if (isKnown && repeated.has(stream)) found.add(index);
    if (isKnown && by.includes(type)) repeated.add(stream);
    else if (!isKnown) repeated.delete(stream);
  }
  return found;
}

export type EventStoreErrorCode =
  | 'WrongExpectedVersion'
  | 'IdReuse'
  | 'UnknownOutcome'
  | 'StoreUnavailable'
  | 'StoreReadOnly'
  | 'StoreFull'
  | 'EventTooLarge'
  | 'StreamTombstoned'
  | 'Unsupported'
  | 'Corrupt';

/** Every failure of an event store; the command layer turns the code into a status in one place. */
export class EventStoreError extends Error {
  readonly code: EventStoreErrorCode;
  constructor(code: EventStoreErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'EventStoreError';
    this.code = code;
  }
}

/** An expectation failed; none of the events of the append is present (P4). `actual` is undefined for a missing stream. */
export class WrongExpectedVersion extends EventStoreError {
  readonly stream: string;
  readonly expected: Expected;
  readonly actual: bigint | undefined;
  constructor(stream: string, expected: Expected, actual: bigint | undefined) {
    super('WrongExpectedVersion', `stream ${stream}: expected ${expected}, found ${actual ?? 'no stream'}`);
    this.stream = stream;
    this.expected = expected;
    this.actual = actual;
  }
}

/** The part of a stream name before its first dash. */
export const categoryOf = (stream: string): string => {
  const dash = stream.indexOf('-');
  return dash < 0 ? stream : stream.slice(0, dash);
};

/** Width of the positions of gapless engines. */
const positionDigits = 20;

/** Brings a position from the wire (leading zeros dropped) to the form of the store: `4711` becomes twenty digits. */
export const padPosition = (text: string): Position =>
  text
    .split('-')
    .map((part) => part.padStart(positionDigits, '0'))
    .join('-');

/** The form for headers and answers, without leading zeros: `0` is before everything. */
export const shortPosition = (position: Position): string =>
  position === ''
    ? '0'
    : position
        .split('-')
        .map((part) => part.replace(/^0+(?=\d)/, ''))
        .join('-');
