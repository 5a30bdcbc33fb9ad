/** Writes one batch until the sink has answered for every record: passing failures are waited out, lasting ones narrowed down. */
import type { AnalyticsRecord } from '../domain/analytics-record.ts';
import { type Sink, type SinkBatch, SinkError, type WriteResult } from './ports.ts';
import type { RetryLimits } from './sink-config.ts';

export type Rejected = {
  readonly record: AnalyticsRecord;
  /** Place in the batch. */
  readonly index: number;
  readonly reason: string;
  readonly attempts: number;
};

export type RetryOptions = {
  readonly sink: Sink;
  readonly limits: RetryLimits;
  readonly timeoutMs: number;
  /** No further attempt once it aborts; a write that is under way is left to finish. */
  readonly stop: AbortSignal;
  /** Cancels the write under way. */
  readonly kill: AbortSignal;
  /** Told before each pause. */
  readonly onFailure: (error: SinkError, attempts: number) => void;
  readonly random: () => number;
};

/** Thrown when the pump stops while a write is still to be repeated: nothing of the batch may be committed. */
export class Interrupted extends Error {
  constructor(options?: { readonly cause?: unknown }) {
    super('stopped before the sink had answered', options);
    this.name = 'Interrupted';
  }
}

/** Answers the records that the sink will never take. Errors other than `SinkError` are the sink's own and pass. */
export async function writeBatch(batch: SinkBatch, options: RetryOptions): Promise<readonly Rejected[]> {
  const { rejected, isSplit } = await writeSpan(batch, 0, options);
  // Pieces carry no cursors: a sink that keeps its own checkpoint moves it now, once, for the whole.
  if (isSplit) await writeSpan({ records: [], upTo: batch.upTo }, 0, options);
  return rejected;
}

type Outcome = { readonly rejected: readonly Rejected[]; readonly isSplit: boolean };

async function writeSpan(batch: SinkBatch, offset: number, options: RetryOptions): Promise<Outcome> {
  const { records } = batch;
  const reject = (index: number, reason: string, attempts: number): Rejected[] => {
    const record = records[index];
    return record ? [{ record, index: offset + index, reason, attempts }] : [];
  };
  const answer = await writePatiently(batch, options);
  if ('result' in answer) {
    const rejected = answer.result.ok
      ? []
      : answer.result.rejected.flatMap(({ index, reason }) => reject(index, reason, answer.attempts));
    return { rejected, isSplit: false };
  }
  const reason = answer.error.message;
  if (answer.isGivenUp) {
    return { rejected: records.flatMap((_, index) => reject(index, reason, answer.attempts)), isSplit: true };
  }
  if (records.length === 0) throw answer.error;
  if (records.length === 1) return { rejected: reject(0, reason, answer.attempts), isSplit: true };
  return { rejected: await writeHalves(records, offset, options), isSplit: true };
}

async function writeHalves(
  records: readonly AnalyticsRecord[],
  offset: number,
  options: RetryOptions,
): Promise<readonly Rejected[]> {
  const middle = Math.ceil(records.length / 2);
  const left = await writeSpan({ records: records.slice(0, middle), upTo: [] }, offset, options);
  const right = await writeSpan({ records: records.slice(middle), upTo: [] }, offset + middle, options);
  return [...left.rejected, ...right.rejected];
}

type Answer =
  | { readonly result: WriteResult; readonly attempts: number }
  | { readonly error: SinkError; readonly isGivenUp: boolean; readonly attempts: number };

async function writePatiently(batch: SinkBatch, options: RetryOptions): Promise<Answer> {
  const { limits, stop } = options;
  const start = performance.now();
  for (let attempts = 1; ; attempts++) {
    const outcome = await attempt(batch, options);
    if ('ok' in outcome) return { result: outcome, attempts };
    if (outcome.kind === 'permanent') return { error: outcome, isGivenUp: false, attempts };
    options.onFailure(outcome, attempts);
    const isLate = limits.maxElapsedMs > 0 && performance.now() - start >= limits.maxElapsedMs;
    if (isLate) return { error: outcome, isGivenUp: true, attempts };
    await pause(Math.max(backoffMs(limits, attempts, options.random), outcome.retryAfterMs ?? 0), stop);
    if (stop.aborted) throw new Interrupted({ cause: outcome });
  }
}

/** Full jitter: anything between nothing and a bound that doubles. */
export const backoffMs = (
  { initialMs, maxMs }: Pick<RetryLimits, 'initialMs' | 'maxMs'>,
  attempts: number,
  random: () => number,
): number => random() * Math.min(maxMs, initialMs * 2 ** Math.min(attempts - 1, 30));

/** A write that does not heed its signal is left behind after a moment; the pipeline then opens the sink anew. */
const heedMs = 1_000;

async function attempt(batch: SinkBatch, { sink, timeoutMs, kill }: RetryOptions): Promise<WriteResult | SinkError> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  const guard = refuseAfter(AbortSignal.any([timeout.signal, kill]));
  try {
    return await Promise.race([sink.write(batch, guard.signal), guard.refusal]);
  } catch (error) {
    if (kill.aborted) throw new Interrupted({ cause: error });
    if (error instanceof SinkError) return error;
    if (timeout.signal.aborted && !(error instanceof Unheeded)) {
      return new SinkError('transient', `no answer within ${timeoutMs} ms`, { cause: error });
    }
    throw error;
  } finally {
    clearTimeout(timer);
    guard.end();
  }
}

class Unheeded extends Error {
  constructor() {
    super('the sink did not heed the end of its time');
    this.name = 'Unheeded';
  }
}

function refuseAfter(signal: AbortSignal) {
  let timer: NodeJS.Timeout | undefined;
  let refuse: (error: Error) => void = () => {};
  const refusal = new Promise<never>((_, reject) => {
    refuse = reject;
  });
  const start = (): void => {
    timer = setTimeout(() => refuse(new Unheeded()), heedMs);
  };
  if (signal.aborted) start();
  else signal.addEventListener('abort', start, { once: true });
  const end = (): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', start);
  };
  return { signal, refusal, end };
}

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}
