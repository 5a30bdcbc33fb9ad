/** One sink's way from the log: read, filter, map, batch, write, commit; begins again from its checkpoint when it fails. */
import { addLedgers, type Cursor, emptyLedger, type LedgerDelta, type RecordLog } from '../domain/record-log.ts';
import { type BatchOptions, batches, type PipelineBatch } from './batches.ts';
import { Account } from './checkpoint.ts';
import { handleRejected, keepBadFrame, StoppedByRejection } from './dead-letters.ts';
import { createFilter } from './filter.ts';
import { createMap } from './map.ts';
import type { Log, Sink } from './ports.ts';
import { createRate } from './rate.ts';
import { backoffMs, Interrupted, pause, type Rejected, writeBatch } from './retry.ts';
import { batchLimits, retryLimits, type SinkConfig, writeTimeoutMs } from './sink-config.ts';

/** `stopped`: by a refused record with `on_reject: stop`, or with the pump. */
export type PipelineState = 'starting' | 'running' | 'retrying' | 'restarting' | 'stopped';

export type PipelineStatus = {
  readonly type: string;
  readonly state: PipelineState;
  readonly required: boolean;
  readonly lagRecords: number;
  readonly lagSeconds: number;
  readonly ratePerSecond: number;
  readonly restarts: number;
  readonly lastError: { readonly message: string; readonly at: string } | null;
  readonly checkpoint: readonly Cursor[];
  readonly deadLetters: number;
  readonly ledger: LedgerDelta;
};

export type PipelineOptions = {
  readonly name: string;
  readonly config: SinkConfig;
  readonly log: RecordLog;
  readonly logger: Log;
  readonly openSink: () => Sink;
  readonly random: () => number;
};

/** Failures of one kind in a row are logged once, then at most this often. */
const logEveryMs = 60_000;
const closeMs = 5_000;

export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #stop = new AbortController();
  readonly #kill = new AbortController();
  readonly #rate = createRate();
  readonly #filter;
  readonly #map;
  readonly #ended: Promise<void>;
  #state: PipelineState = 'starting';
  #restarts = 0;
  #failures = 0;
  #loggedMs = Number.NEGATIVE_INFINITY;
  #lastError: PipelineStatus['lastError'] = null;

  /** Throws when filters or field names are wrong; everything later is waited out. */
  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#filter = createFilter(options.config.filters);
    this.#map = createMap(options.config);
    this.#ended = this.#supervise();
  }

  get isUp(): boolean {
    return this.#state === 'running';
  }

  async status(): Promise<PipelineStatus> {
    const { name, config, log } = this.#options;
    const [stats, marks, ledger] = await Promise.all([log.stats(name), log.marks(name), log.ledger(name)]);
    return {
      type: config.type,
      state: this.#state,
      required: config.required ?? false,
      lagRecords: stats.lagRecords,
      lagSeconds: stats.lagSeconds,
      ratePerSecond: this.#rate.perSecond(),
      restarts: this.#restarts,
      lastError: this.#lastError,
      checkpoint: marks ?? [],
      deadLetters: ledger.deadLettered,
      ledger,
    };
  }

  /** Ends reading, finishes what is under way within the time, commits. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stop.abort();
    const timer = setTimeout(() => this.#kill.abort(), deadlineMs);
    await this.#ended;
    clearTimeout(timer);
  }

  async #supervise(): Promise<void> {
    const limits = retryLimits(this.#options.config);
    while (!this.#stop.signal.aborted) {
      try {
        await this.#run();
      } catch (error) {
        if (error instanceof Interrupted) break;
        this.#note(error, 'sink restarts from its checkpoint');
        if (error instanceof StoppedByRejection) break;
        this.#state = 'restarting';
        this.#restarts += 1;
        this.#failures += 1;
        await pause(backoffMs(limits, this.#failures, this.#options.random), this.#stop.signal);
      }
    }
    this.#state = 'stopped';
  }

  async #run(): Promise<void> {
    const { name, config, log, openSink } = this.#options;
    const sink = openSink();
    const run = new AbortController();
    try {
      const { resumeFrom = [] } = await sink.open();
      await this.#begin();
      const options: BatchOptions = {
        limits: batchLimits(config),
        account: new Account((await log.marks(name)) ?? []),
        filter: this.#filter,
        map: this.#map,
        resumeFrom,
        onBad: (delivery) => keepBadFrame(log, name, delivery),
      };
      this.#state = 'running';
      const deliveries = log.read(name, 'checkpoint', AbortSignal.any([this.#stop.signal, run.signal]));
      await this.#carry(batches(deliveries, options), sink);
    } finally {
      run.abort();
      await sink.close(closeMs);
    }
  }

  /** A consumer that was never here takes its place in the log before it reads, so that a restart finds the same one. */
  async #begin(): Promise<void> {
    const { name, config, log } = this.#options;
    if ((await log.marks(name)) !== undefined) return;
    await log.commit(name, await log.edge(config.start === 'now' ? 'end' : 'start'), emptyLedger);
  }

  /** The next batch is collected while the one before it is written. */
  async #carry(source: AsyncGenerator<PipelineBatch>, sink: Sink): Promise<void> {
    let next = source.next();
    for (;;) {
      const { value: batch, done } = await next;
      if (done) return;
      next = source.next();
      // Awaited in the next turn, which a failed write keeps from coming.
      next.catch(() => {});
      await this.#deliver(batch, sink);
    }
  }

  async #deliver(batch: PipelineBatch, sink: Sink): Promise<void> {
    const { name, config, log } = this.#options;
    const rejected = batch.records.length > 0 ? await this.#write(batch, sink) : [];
    const letters = rejected.flatMap((item) => {
      const cursor = batch.cursors[item.index];
      return cursor ? [{ ...item, cursor }] : [];
    });
    await handleRejected(log, name, letters, config.onReject ?? 'dlq');
    const delivered = batch.records.length - letters.length;
    const outcome = { ...emptyLedger, delivered, deadLettered: letters.length };
    await log.commit(name, batch.upTo, addLedgers(batch.ledger, outcome));
    this.#rate.add(delivered);
    this.#failures = 0;
    if (letters.length > 0) this.#options.logger.warn('records were refused', { sink: name, count: letters.length });
  }

  async #write(batch: PipelineBatch, sink: Sink): Promise<readonly Rejected[]> {
    const { config, random } = this.#options;
    const rejected = await writeBatch(batch, {
      sink,
      limits: retryLimits(config),
      timeoutMs: writeTimeoutMs(config),
      stop: this.#stop.signal,
      kill: this.#kill.signal,
      random,
      onFailure: (error) => {
        this.#state = 'retrying';
        this.#note(error, 'sink does not take records, trying again');
      },
    });
    this.#state = 'running';
    return rejected;
  }

  #note(error: unknown, message: string): void {
    const text = error instanceof Error ? error.message : String(error);
    this.#lastError = { message: text, at: new Date().toISOString() };
    const isNew = this.#failures === 0 && this.#state === 'running';
    if (!isNew && performance.now() - this.#loggedMs < logEveryMs) return;
    this.#loggedMs = performance.now();
    this.#options.logger.warn(message, { sink: this.#options.name, error: text });
  }
}
