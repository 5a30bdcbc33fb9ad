/** The soak of reads from KurrentDB: its client has a native part, whose memory nobody collects. `node test/faults/reads.ts --reads 1000000`. */
import { parseArgs } from 'node:util';
import type { EventStore } from '../../domain/event-store.ts';
import { openKurrentLog } from '../../src/stores/events/kurrent-event-store.ts';
import { append, bytes, event, write } from '../support/event-store-events.ts';
import { startDoubleProcess } from '../support/kurrentdb-double-process.ts';

const { values } = parseArgs({ options: { reads: { type: 'string', default: '200000' } } });
const reads = Number(values.reads);
if (!Number.isSafeInteger(reads) || reads < 1_000) throw new Error(`--reads takes 1000 or more, not ${values.reads}`);

const readers = 4;
/** Buffers, threads and compiled code are there after so many reads. */
const warm = Math.max(reads / 5, Math.min(reads / 2, 60_000));
/** What may come on top after that, however long it goes on. */
const maxGrowthMiB = 100;

const memoryMiB = (): number => Math.round(process.memoryUsage.rss() / 1_048_576);

async function fill(store: EventStore): Promise<void> {
  const data = bytes(JSON.stringify({ text: 'x'.repeat(500) }));
  for (let made = 0; made < 50; made++) await append(store, [write(`api-${made % 5}`, 'any', event({ data }))]);
}

await using double = await startDoubleProcess();
const { store, close } = await openKurrentLog(double.url, {});
await fill(store);
let done = 0;
let warmMiB = 0;
const read = async (): Promise<void> => {
  while (done < reads) {
    done += 1;
    if (done % 2 === 0) await store.readAll({ after: '', limit: 20 });
    else await store.readStream('api-1', { limit: 10 });
    if (done === Math.round(warm)) warmMiB = memoryMiB();
    if (done % 20_000 === 0) console.log(`${done} reads: ${memoryMiB()} MiB`);
  }
};
await Promise.all(Array.from({ length: readers }, read));
await close();
const growthMiB = memoryMiB() - warmMiB;
console.log(`${reads} reads: ${growthMiB} MiB more than after ${Math.round(warm)}`);
if (growthMiB > maxGrowthMiB) process.exitCode = 1;
