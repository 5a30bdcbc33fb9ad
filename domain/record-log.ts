/** The record log port: the second log, which carries analytics records in frames from gateways to the pump. Adapters stand in src/stores/records. */
import type { AnalyticsRecord, RecordExtension } from './analytics-record.ts';

/** All that a log knows of what it carries: its number. Analytics records, unless it is opened for something else. */
export type Numbered = { readonly ext: Pick<RecordExtension, 'node' | 'epoch' | 'seq'> };

export type LossReason = 'ring_full' | 'spool_full' | 'sampled' | 'plugin' | 'crash';

/** What is known of lost records of one API, so that totals stay right. Latency in ms. */
export type LossTally = {
  readonly apiId: string;
  readonly hits: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly bytesIn: number;
  readonly bytesOut: number;
};

/** Times in ms since 1970. A `loss` covers the numbers `from` to `to` of `epoch`, both included. */
export type Marker =
  | {
      readonly kind: 'start';
      readonly at: number;
      readonly version: string;
      readonly pid: number;
      readonly previousEpoch: number;
    }
  | { readonly kind: 'end'; readonly at: number; readonly last: number }
  | {
      readonly kind: 'loss';
      readonly epoch: number;
      readonly from: number;
      readonly to: number;
      readonly reason: LossReason;
      readonly atFrom: number;
      readonly atTo: number;
      readonly tally: readonly LossTally[];
    };

/**
 * Up to 500 records of one run of one gateway process, the unit in memory, on the wire and on disk (pump design 6).
 * It covers the sequence numbers `first` to `last` without a hole: each is a record or inside one of its own epoch's loss
 * markers. A frame with markers about the run only has `last` = `first` - 1.
 */
export type Frame<Entry extends Numbered = AnalyticsRecord> = {
  readonly node: string;
  readonly epoch: number;
  readonly first: number;
  readonly last: number;
  readonly createdMs: number;
  readonly records: readonly Entry[];
  readonly markers: readonly Marker[];
};

/** A consumer's name: one per sink. */
export type ConsumerId = string;

/**
 * A place in the record log. `lane` is one (node, epoch), written by `laneOf`; `pos` is ordered as text within it and
 * begins with the last sequence number that it covers, in 16 digits, so that any reader can tell what a step skipped.
 */
export type Cursor = { readonly lane: string; readonly pos: string };

export const laneOf = (node: string, epoch: number): string => `${node}/${epoch}`;

const sequenceDigits = 16;

export const sequenceText = (sequence: number): string => String(sequence).padStart(sequenceDigits, '0');

/** The last sequence number of the lane that the cursor covers; 0 before the first. */
export const lastSequenceOf = (cursor: Cursor): number => Number(cursor.pos.slice(0, sequenceDigits));

/** `overtaken`: retention took the numbers up to the cursor before the consumer had read them. */
export type Delivery<Entry extends Numbered = AnalyticsRecord> =
  | { readonly cursor: Cursor; readonly frame: Frame<Entry> }
  | { readonly cursor: Cursor; readonly bad: { readonly bytes: Uint8Array; readonly reason: string } }
  | { readonly cursor: Cursor; readonly overtaken: true };

/** What happened to records since the last commit; all numbers are counts of records (pump design 8.2). */
export type LedgerDelta = {
  readonly produced: number;
  readonly delivered: number;
  readonly filtered: number;
  readonly deadLettered: number;
  readonly overtaken: number;
  readonly lost: Readonly<Partial<Record<LossReason, number>>>;
  readonly unexplained: number;
};

export const emptyLedger: LedgerDelta = {
  produced: 0,
  delivered: 0,
  filtered: 0,
  deadLettered: 0,
  overtaken: 0,
  lost: {},
  unexplained: 0,
};

export function addLedgers(a: LedgerDelta, b: LedgerDelta): LedgerDelta {
  const lost: Partial<Record<LossReason, number>> = { ...a.lost };
  for (const [reason, count] of Object.entries(b.lost) as [LossReason, number][]) {
    lost[reason] = (lost[reason] ?? 0) + count;
  }
  return {
    produced: a.produced + b.produced,
    delivered: a.delivered + b.delivered,
    filtered: a.filtered + b.filtered,
    deadLettered: a.deadLettered + b.deadLettered,
    overtaken: a.overtaken + b.overtaken,
    lost,
    unexplained: a.unexplained + b.unexplained,
  };
}

export type DeadLetter<Entry extends Numbered = AnalyticsRecord> = {
  readonly cursor: Cursor;
  readonly reason: string;
  readonly attempts: number;
  readonly at: number;
  readonly record?: Entry;
  readonly bytes?: Uint8Array;
};

/** Letters of these records (`recordId`), letters from before a time (ms since 1970), or all but the newest. */
export type ForgottenLetters =
  | { readonly records: readonly string[] }
  | { readonly beforeMs: number }
  | { readonly butNewest: number };

export type RecordLogStats = {
  readonly lagRecords: number;
  readonly lagSeconds: number;
  readonly bytes: number;
};

export type ReadFrom = 'checkpoint' | 'start' | 'end' | readonly Cursor[];

/** What a reader asks of the log; one consumer per sink, which share nothing. */
export interface RecordLog<Entry extends Numbered = AnalyticsRecord> {
  /**
   * Every frame at least once, in order within a lane, from the place on and then live, until the signal aborts.
   * `checkpoint` of a consumer that never committed is the start of the log.
   */
  read(consumer: ConsumerId, from: ReadFrom, signal: AbortSignal): AsyncIterable<Delivery<Entry>>;
  /** Moves the consumer's low-water mark per lane and adds to its ledger, in one transaction. */
  commit(consumer: ConsumerId, upTo: readonly Cursor[], ledger: LedgerDelta): Promise<void>;
  /** The consumer's marks, one per lane; undefined as long as it never committed anything. */
  marks(consumer: ConsumerId): Promise<readonly Cursor[] | undefined>;
  /** Where the log begins or ends now, a cursor per lane: the marks of a consumer that starts there. */
  edge(at: 'start' | 'end'): Promise<readonly Cursor[]>;
  stats(consumer: ConsumerId): Promise<RecordLogStats>;
  ledger(consumer: ConsumerId): Promise<LedgerDelta>;
  deadLetter(consumer: ConsumerId, item: DeadLetter<Entry>): Promise<void>;
  /** Oldest first. */
  deadLetters(consumer: ConsumerId): Promise<readonly DeadLetter<Entry>[]>;
  /** Answers how many were taken away. */
  forgetDeadLetters(consumer: ConsumerId, which: ForgottenLetters): Promise<number>;
  health(): Promise<{ readonly writable: boolean; readonly readable: boolean; readonly detail: string }>;
  close(): Promise<void>;
}

/**
 * One run of one gateway process: the only writer of its lane. `lost` are the markers for earlier runs of the node that
 * never ended (reason `crash`); they belong into the first frame of this run.
 */
export interface RecordLane<Entry extends Numbered = AnalyticsRecord> {
  readonly node: string;
  readonly epoch: number;
  readonly previousEpoch: number;
  readonly lost: readonly Marker[];
  /** Resolves when the frame survives a kill of the process; `durable` waits for the disk as well. */
  append(frame: Frame<Entry>, options: { readonly durable: boolean }): Promise<void>;
  /** Notes the highest number given out, for counting what a kill takes; cheap, called every few ms, never throws. */
  watermark(givenOut: number): void;
  /** Marks the run as ended at `last`; nothing may be appended afterwards. */
  end(last: number): Promise<void>;
}
