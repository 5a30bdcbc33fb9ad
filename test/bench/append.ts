/** Measures appends per second on each engine (`BENCH_ENGINES`; all by default): one at a time, 50 at once, and in batches of 100 events; chained by hash, as the product appends. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventStore, NewEvent } from '../../domain/event-store.ts';
import { openLog } from '../../src/stores/open.ts';
import { startDoubleProcess } from '../support/kurrentdb-double-process.ts';
import { startPostgres } from '../support/postgres-server.ts';

export type Measured = { readonly name: string; readonly figures: Record<string, number | string> };

/** A small document, as most changes of a configuration are. */
const payload = new TextEncoder().encode(JSON.stringify({ apiId: 'bench', document: { text: 'x'.repeat(1_000) } }));

const newEvent = (): NewEvent => ({
  id: randomUUID(),
  type: 'ApiDefinitionPatched',
  schema: 1,
  data: payload,
  meta: { v: '1', actorId: 'bench', commandType: 'PatchStreamsApi' },
});

const engines: Readonly<Record<string, (folder: string) => Promise<Measured>>> = {
  sqlite: async (folder) => measure('sqlite', (await openLog(`sqlite:${join(folder, 'events.db')}`)).store),
  memory: async () => measure('memory', (await openLog('memory:')).store),
  postgres: measurePostgres,
  kurrent: measureKurrent,
};

const wanted = process.env['BENCH_ENGINES']?.split(',') ?? Object.keys(engines);

export async function run(): Promise<Measured[]> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-append-'));
  try {
    const rows: Measured[] = [];
    for (const [name, run] of Object.entries(engines)) if (wanted.includes(name)) rows.push(await run(folder));
    return rows;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** With the durability of a server that is used, not with the one of tests. */
async function measurePostgres(): Promise<Measured> {
  const server = await startPostgres({ settings: ['fsync = on', 'synchronous_commit = on', 'full_page_writes = on'] });
  try {
    return await measure('postgresql', (await openLog(server.url)).store);
  } finally {
    server.dispose();
  }
}

/** What the client, the protocol and the adapter cost: the double keeps its log in memory and syncs no disk. */
async function measureKurrent(): Promise<Measured> {
  await using double = await startDoubleProcess();
  const { name, figures } = await measure('kurrentdb', (await openLog(double.url)).store);
  return { name, figures: { ...figures, server: 'protocol double, in memory, a process of its own' } };
}

async function measure(engine: string, store: EventStore): Promise<Measured> {
  try {
    await manyLanes(store, 1, 50);
    return {
      name: `append, ${engine}`,
      figures: {
        'one at a time (appends/s)': await perSecond(500, () => manyLanes(store, 1, 500)),
        '50 at once (appends/s)': await perSecond(5_000, () => manyLanes(store, 50, 100)),
        'batches of 100 (events/s)': await perSecond(5_000, () => manyLanes(store, 1, 50, 100)),
        payload: `${payload.byteLength} bytes`,
      },
    };
  } finally {
    await store.close();
  }
}

/** Each lane has a stream of its own and waits for each of its appends, with explicit expectations as commands have. */
async function manyLanes(store: EventStore, lanes: number, appends: number, eventsEach = 1): Promise<void> {
  const lane = async (): Promise<void> => {
    const stream = `api-${randomUUID()}`;
    for (let count = 0; count < appends; count++) {
      const expected = count === 0 ? 'noStream' : BigInt(count * eventsEach - 1);
      const events = Array.from({ length: eventsEach }, newEvent);
      await store.append([{ stream, expected, events }], { commandId: randomUUID(), timeoutMs: 10_000 });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

async function perSecond(count: number, work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return Math.round((count * 1_000) / (performance.now() - start));
}
