/** The record log in files: a directory per gateway node, SQLite segments with a frame per row, marks and ledgers beside them. */
import { accessSync, constants, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type {
  ConsumerId,
  Cursor,
  DeadLetter,
  Delivery,
  ForgottenLetters,
  LedgerDelta,
  Numbered,
  ReadFrom,
  RecordLane,
  RecordLog,
  RecordLogStats,
} from '../../../domain/record-log.ts';
import { Bell } from './embedded/bell.ts';
import { Consumers, DeadLetters } from './embedded/consumers.ts';
import { settleNode } from './embedded/epochs.ts';
import { type EmbeddedLane, openEmbeddedLane } from './embedded/lane.ts';
import { openNodeDatabase } from './embedded/node-database.ts';
import { nodesIn } from './embedded/nodes-in.ts';
import { trimSegments } from './embedded/retention.ts';
import type { FsyncMode } from './embedded/segment-writer.ts';
import { edgeOf, statsOf } from './embedded/standing.ts';

export type EmbeddedRecordLogOptions = {
  /** One folder per node comes to stand in it. */
  readonly directory: string;
  /** `none`, `always`, or ms between a commit and its way to the disk. */
  readonly fsync: FsyncMode;
  /** Per node. */
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  readonly log: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
  /** Size and age at which a segment is closed; 64 MiB and an hour. */
  readonly segmentMaxBytes?: number;
  readonly segmentMaxAgeMs?: number;
};

const nodePattern = /^[a-z0-9-]{1,64}$/;
const hourMs = 3_600_000;
const cleanEveryMs = 60_000;
const busyPollMs = 5;
const idlePollMs = 100;
/** How long a reader may keep the thread before others get a turn. */
const turnMs = 2;

export const openEmbeddedRecordLog = (options: EmbeddedRecordLogOptions): EmbeddedRecordLog =>
  new EmbeddedRecordLog(options);

/** The same log for other entries: nothing in it looks into one beyond its number. */
export const openEmbeddedLogOf = <Entry extends Numbered>(options: EmbeddedRecordLogOptions): EmbeddedLogOf<Entry> =>
  new EmbeddedRecordLog(options) as unknown as EmbeddedLogOf<Entry>;

type EmbeddedLogOf<Entry extends Numbered> = RecordLog<Entry> & {
  openLane(node: string): Promise<RecordLane<Entry>>;
};

/** Readers in other processes follow the same directory; of two pumps on one consumer the second to commit is refused. */
export class EmbeddedRecordLog implements RecordLog {
  readonly #options: EmbeddedRecordLogOptions;
  readonly #consumers: Consumers;
  readonly #deadLetters: DeadLetters;
  readonly #bell = new Bell();
  readonly #lanes = new Set<EmbeddedLane>();
  readonly #closing = new AbortController();
  #cleaning: NodeJS.Timeout | undefined;

  constructor(options: EmbeddedRecordLogOptions) {
    mkdirSync(options.directory, { recursive: true });
    this.#options = options;
    this.#consumers = new Consumers(options.directory);
    this.#deadLetters = new DeadLetters(options.directory);
  }

  /** Begins a run of the node: the next number, and what earlier runs that were killed have lost. */
  async openLane(node: string): Promise<RecordLane> {
    if (!nodePattern.test(node)) throw new Error(`node id "${node}" must be 1 to 64 of a-z, 0-9 and "-"`);
    const { directory, fsync, maxBytes, maxAgeMs, log } = this.#options;
    const lane = openEmbeddedLane({
      node,
      nodeDirectory: join(directory, node),
      fsync,
      maxBytes,
      maxAgeMs,
      segmentMaxBytes: this.#options.segmentMaxBytes ?? Math.min(64 * 1_048_576, Math.ceil(maxBytes / 4)),
      segmentMaxAgeMs: this.#options.segmentMaxAgeMs ?? Math.min(hourMs, maxAgeMs),
      ring: this.#bell.ring,
      warn: (message, fields) => log.warn(message, fields),
    });
    this.#lanes.add(lane);
    return lane;
  }

  async *read(consumer: ConsumerId, from: ReadFrom, signal: AbortSignal): AsyncGenerator<Delivery> {
    const stop = AbortSignal.any([signal, this.#closing.signal]);
    this.#cleaning ??= setInterval(() => this.trim(), cleanEveryMs).unref();
    // Where the end is now.
    const start = this.#startOf(consumer, from);
    // A gateway only writes.
    const { LogReader } = await import('./embedded/log-reader.ts');
    using reader = new LogReader(this.#options.directory, start);
    let pauseMs = busyPollMs;
    while (!stop.aborted) {
      let turnEnds = performance.now() + turnMs;
      let found = false;
      for (const delivery of reader.look()) {
        found = true;
        yield delivery;
        if (stop.aborted) return;
        if (performance.now() < turnEnds) continue;
        await new Promise<void>((resolve) => setImmediate(resolve));
        turnEnds = performance.now() + turnMs;
      }
      pauseMs = found ? busyPollMs : Math.min(idlePollMs, pauseMs * 2);
      if (!found) await this.#bell.wait(pauseMs, stop);
    }
  }

  async commit(consumer: ConsumerId, upTo: readonly Cursor[], ledger: LedgerDelta): Promise<void> {
    this.#consumers.commit(consumer, upTo, ledger);
  }

  async marks(consumer: ConsumerId): Promise<readonly Cursor[] | undefined> {
    return this.#consumers.marks(consumer);
  }

  async edge(at: 'start' | 'end'): Promise<readonly Cursor[]> {
    return edgeOf(this.#options.directory, at);
  }

  async stats(consumer: ConsumerId): Promise<RecordLogStats> {
    return statsOf(this.#options.directory, this.#consumers.marks(consumer) ?? [], Date.now());
  }

  async ledger(consumer: ConsumerId): Promise<LedgerDelta> {
    return this.#consumers.ledger(consumer);
  }

  async deadLetter(consumer: ConsumerId, item: DeadLetter): Promise<void> {
    this.#deadLetters.add(consumer, item);
  }

  async deadLetters(consumer: ConsumerId): Promise<readonly DeadLetter[]> {
    return this.#deadLetters.list(consumer);
  }

  async forgetDeadLetters(consumer: ConsumerId, which: ForgottenLetters): Promise<number> {
    return this.#deadLetters.forget(consumer, which);
  }

  async health(): Promise<{ readonly writable: boolean; readonly readable: boolean; readonly detail: string }> {
    const may = (mode: number): boolean => {
      try {
        accessSync(this.#options.directory, mode);
        return true;
      } catch {
        return false;
      }
    };
    const writable = may(constants.W_OK | constants.X_OK);
    const readable = may(constants.R_OK | constants.X_OK) && !this.#closing.signal.aborted;
    return { writable, readable, detail: writable && readable ? 'ok' : `no access to ${this.#options.directory}` };
  }

  /** Retention for nodes of which no process is alive; a live node looks after its own directory. */
  trim(): void {
    for (const node of nodesIn(this.#options.directory)) {
      const nodeDirectory = join(this.#options.directory, node);
      try {
        using book = openNodeDatabase(nodeDirectory);
        if (settleNode(book, nodeDirectory)) trimSegments(book, nodeDirectory, this.#options, Date.now());
      } catch (error) {
        this.#options.log.warn('retention failed', { node, error: String(error) });
      }
    }
  }

  /** Runs that were not ended count as killed. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#cleaning);
    await Promise.all([...this.#lanes].map((lane) => lane.abandon()));
    this.#lanes.clear();
    this.#consumers[Symbol.dispose]();
    this.#deadLetters[Symbol.dispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #startOf(consumer: ConsumerId, from: ReadFrom): readonly Cursor[] {
    if (from === 'checkpoint') return this.#consumers.take(consumer) ?? edgeOf(this.#options.directory, 'start');
    return typeof from === 'string' ? edgeOf(this.#options.directory, from) : from;
  }
}
