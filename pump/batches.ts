/** Collects deliveries into batches of whole frames, after filter and map. */
import type { AnalyticsRecord } from '../domain/analytics-record.ts';
import { addLedgers, type Cursor, type Delivery, emptyLedger, type LedgerDelta } from '../domain/record-log.ts';
import type { Account } from './checkpoint.ts';
import type { RecordFilter } from './filter.ts';
import type { RecordMap } from './map.ts';
import type { BatchLimits } from './sink-config.ts';

/** `cursors` runs beside `records`; `ledger` lacks what only the sink's answer decides. */
export type PipelineBatch = {
  readonly records: readonly AnalyticsRecord[];
  readonly cursors: readonly Cursor[];
  readonly upTo: readonly Cursor[];
  readonly ledger: LedgerDelta;
};

export type BatchOptions = {
  readonly limits: BatchLimits;
  readonly account: Account;
  readonly filter: RecordFilter;
  readonly map: RecordMap;
  /** The sink's own marks: what lies at or below them is there already and only counted. */
  readonly resumeFrom: readonly Cursor[];
  readonly onBad: (delivery: Delivery) => Promise<void>;
};

/** A batch is closed by records, by bytes, or when its first record has waited long enough; the rest comes at the end. */
export async function* batches(
  deliveries: AsyncIterable<Delivery>,
  options: BatchOptions,
): AsyncGenerator<PipelineBatch> {
  const iterator = deliveries[Symbol.asyncIterator]();
  let collector = new Collector(options);
  let next: Promise<IteratorResult<Delivery>> | undefined;
  try {
    for (;;) {
      next ??= iterator.next();
      const result = collector.isEmpty ? await next : await within(next, collector.restMs());
      if (result !== 'late') next = undefined;
      if (result !== 'late' && !result.done) await collector.add(result.value);
      const isOver = result !== 'late' && result.done === true;
      if (result !== 'late' && !isOver && !collector.isFull()) continue;
      if (!collector.isEmpty) yield collector.batch();
      if (isOver) return;
      collector = new Collector(options);
    }
  } finally {
    // A read that is under way would hold up the return; it ends when its signal aborts.
    if (next === undefined) await iterator.return?.();
    else next.catch(() => {});
  }
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

class Collector {
  readonly #options: BatchOptions;
  readonly #resume: ReadonlyMap<string, string>;
  readonly #records: AnalyticsRecord[] = [];
  readonly #cursors: Cursor[] = [];
  readonly #upTo = new Map<string, Cursor>();
  #ledger = emptyLedger;
  #bytes = 0;
  #firstMs = 0;

  constructor(options: BatchOptions) {
    this.#options = options;
    this.#resume = new Map(options.resumeFrom.map(({ lane, pos }) => [lane, pos]));
  }

  get isEmpty(): boolean {
    return this.#upTo.size === 0;
  }

  isFull(): boolean {
    const { limits } = this.#options;
    return this.#records.length >= limits.records || this.#bytes >= limits.bytes || this.restMs() === 0;
  }

  restMs(): number {
    return Math.max(0, this.#firstMs + this.#options.limits.waitMs - performance.now());
  }

  async add(delivery: Delivery): Promise<void> {
    if (this.isEmpty) this.#firstMs = performance.now();
    await this.#options.onBad(delivery);
    const { records, ledger } = this.#options.account.take(delivery);
    this.#upTo.set(delivery.cursor.lane, delivery.cursor);
    const kept = records.filter(this.#options.filter);
    const isThere = delivery.cursor.pos <= (this.#resume.get(delivery.cursor.lane) ?? '');
    this.#ledger = addLedgers(addLedgers(this.#ledger, ledger), {
      ...emptyLedger,
      filtered: records.length - kept.length,
      delivered: isThere ? kept.length : 0,
    });
    if (!isThere) this.#keep(kept, delivery.cursor);
  }

  batch(): PipelineBatch {
    return {
      records: this.#records,
      cursors: this.#cursors,
      upTo: [...this.#upTo.values()],
      ledger: this.#ledger,
    };
  }

  #keep(records: readonly AnalyticsRecord[], cursor: Cursor): void {
    for (const record of records) {
      const mapped = this.#options.map(record);
      this.#records.push(mapped);
      this.#cursors.push(cursor);
      this.#bytes += estimateBytes(mapped);
    }
  }
}

/** Close enough for a limit, and far cheaper than encoding. */
const estimateBytes = (record: AnalyticsRecord): number =>
  900 + record.raw_request.length + record.raw_response.length + record.user_agent.length + record.path.length * 3;
