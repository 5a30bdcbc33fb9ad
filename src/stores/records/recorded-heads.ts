/** Recorded heads out of the embedded record log of this machine: each reading in a thread of its own that only reads, a few at once. */
import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { HeadsQuery, RecordedHead, RecordedHeads } from '../../../domain/recorded-heads.ts';
import type { HeadsAnswer, HeadsTask } from './recorded-heads-worker.ts';

export type RecordedHeadsOptions = {
  /** Of the record log; it need not be there. */
  readonly directory: string;
  readonly log: Record<'info' | 'warn', (message: string, fields?: Readonly<Record<string, unknown>>) => void>;
  /** What of the log is read in this time counts. Default 2,000. */
  readonly readMs?: number;
  /** From the question to its answer, with the wait for other readings. Default 5,000. */
  readonly maxMs?: number;
  /** Readings at once. Default 2. */
  readonly maxReadings?: number;
};

export type OpenRecordedHeads = RecordedHeads & { close(): Promise<void> };

/** Some 20 MB of memory. */
const maxLetters = 8_388_608;
/** Of the thread; one that needs more ends without an answer. */
const maxHeapMb = 256;

export function openRecordedHeads(options: RecordedHeadsOptions): OpenRecordedHeads {
  const { directory, readMs = 2_000, maxMs = 5_000, maxReadings = 2 } = options;
  const closing = new AbortController();
  const waiting: (() => void)[] = [];
  let readings = 0;
  const freed = (): void => {
    readings -= 1;
    // All of them: one may have given up meanwhile.
    for (const go of waiting.splice(0)) go();
  };
  const turn = async (signal: AbortSignal): Promise<void> => {
    while (readings >= maxReadings) await Promise.race([new Promise<void>((go) => waiting.push(go)), aborted(signal)]);
    signal.throwIfAborted();
    readings += 1;
  };
  const read = async (query: HeadsQuery, asked: AbortSignal): Promise<readonly RecordedHead[]> => {
    const signal = AbortSignal.any([asked, closing.signal, AbortSignal.timeout(maxMs)]);
    await turn(signal);
    return readInThread({ directory, query, maxMs: readMs, maxLetters }, options.log, signal).finally(freed);
  };
  const going = new Set<Promise<unknown>>();
  return {
    async newest(query, signal) {
      if (!existsSync(directory)) return [];
      const reading = read(query, signal);
      going.add(reading);
      return reading.finally(() => going.delete(reading));
    },
    async close() {
      closing.abort(new Error('the reader of recorded heads is closed'));
      await Promise.allSettled(going);
    },
  };
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

async function readInThread(
  task: HeadsTask,
  log: RecordedHeadsOptions['log'],
  signal: AbortSignal,
): Promise<readonly RecordedHead[]> {
  signal.throwIfAborted();
  const file = new URL(`./recorded-heads-worker${extname(import.meta.filename)}`, import.meta.url);
  const thread = new Worker(file, {
    ...{ workerData: task, name: 'recorded-heads' },
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });
  const heads: RecordedHead[] = [];
  let isAnswered = false;
  thread.on('message', (answer: HeadsAnswer) => {
    if ('heads' in answer) heads.push(...answer.heads);
    else {
      isAnswered = true;
      tellOf(answer, task.query, log);
    }
  });
  const end = (): void => void thread.terminate();
  signal.addEventListener('abort', end, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      thread.once('error', reject);
      thread.once('exit', () => resolve());
    });
  } finally {
    signal.removeEventListener('abort', end);
  }
  if (isAnswered) return heads;
  signal.throwIfAborted();
  throw new Error('the thread that reads recorded heads has ended without an answer');
}

function tellOf(
  { isWhole, skipped, reason }: Extract<HeadsAnswer, { isWhole: boolean }>,
  { apiId }: HeadsQuery,
  log: RecordedHeadsOptions['log'],
): void {
  if (skipped > 0) log.warn('parts of the record log cannot be read', { apiId, skipped, reason });
  if (!isWhole) log.info('the last hour of the record log was read in part', { apiId });
}
