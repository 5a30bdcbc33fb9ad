/** A backup opened in the place of its log: what is in it, and how it goes on in the next era. */
import { basename } from 'node:path';
import { emptyHistory, historyOf, joined, type Restore } from './fault-history.ts';
import { openForFaults } from './fault-open.ts';
import { createRandom } from './fault-random.ts';
import { readFinalLog } from './fault-reading.ts';
import { memoryRecorder } from './fault-recorder.ts';
import { runWorkload } from './fault-workload.ts';

/** `startUs`: when it was begun. */
export type Backup = { readonly path: string; readonly startUs: number };

const newEvents = 60;

export async function restoreAndUse({ path, startUs }: Backup, seed: number): Promise<Restore> {
  const url = `sqlite:${path}`;
  const before = await openForFaults(url, {});
  const restored = await readFinalLog(before.store);
  await before.bumpEra();
  await before.close();

  const { store, close } = await openForFaults(url, {});
  const ending = new AbortController();
  const lanes = Array.from({ length: 2 }, async (_, lane) => {
    const recorder = memoryRecorder();
    let left = newEvents;
    await runWorkload({
      ...{ store, recorder, random: createRandom(seed, basename(path), lane), timeoutMs: 5_000, past: [] },
      ...{ strict: ['api-0', 'api-1'], loose: ['gwnode-0'], created: 'uniq-route.' },
      ...{ signal: ending.signal, jumpClock: () => undefined },
      onAnswer: (events) => {
        left -= events;
        if (left <= 0) ending.abort();
      },
    });
    return historyOf(`lane ${lane} after the restore`, recorder.lines);
  });
  const history = joined([emptyHistory, ...(await Promise.all(lanes))]);
  const finalLog = await readFinalLog(store);
  await close();
  return { startUs, restored, history, finalLog };
}
