/** How long state comes back from the log: the gateway snapshot from a million events, a management node, a gateway from its disk. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { EventStore } from '../../domain/event-store.ts';
import { gatewayConfig, readSnapshot } from '../../projections/gateway-config.ts';
import { startProjector } from '../../projections/runner/projector.ts';
import { openKurrentLog } from '../../src/stores/events/kurrent-event-store.ts';
import { MemoryEventStore } from '../../src/stores/events/memory-event-store.ts';
import { openSqliteEventStore } from '../../src/stores/events/sqlite-event-store.ts';
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { eventually } from '../support/eventually.ts';
import { apiFor } from '../support/gateway-start.ts';
import { keptLog } from '../support/given.ts';
import { type GrownLogOptions, growLog } from '../support/grown-log.ts';
import { startDoubleProcess } from '../support/kurrentdb-double-process.ts';
import { openPostgresTestLog } from '../support/postgres-log.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { freePort } from '../support/temporary.ts';
import { echoUpstream } from '../support/upstream.ts';

type Row = { readonly name: string; readonly figures: Readonly<Record<string, number | string>> };

/** Of the replays; a management node starts with a tenth of it. */
const replayed = Number(process.env['BENCH_EVENTS'] ?? 1_000_000);
const engines = (process.env['BENCH_ENGINES'] ?? 'memory,sqlite,postgres,kurrent').split(',');

const apis = 500;

export async function run(): Promise<readonly Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-replay-'));
  try {
    // First: the process that starts it is small then, and is quick to start another one.
    const rows: Row[] = [await gatewayRow(join(folder, 'gateway'))];
    if (engines.includes('memory')) rows.push(await replay('memory', new MemoryEventStore()));
    if (engines.includes('sqlite')) {
      rows.push(await replay('sqlite', await openSqliteEventStore({ path: join(folder, 'replay.db') })));
    }
    if (engines.includes('postgres')) rows.push(await replayPostgres());
    if (engines.includes('kurrent')) rows.push(await replayKurrent());
    for (const documentBytes of [1_500, 5_000]) {
      rows.push(
        ...(await managementRows(join(folder, String(documentBytes)), { events: replayed / 10, documentBytes })),
      );
    }
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A machine without PostgreSQL says so in the row. */
async function replayPostgres(): Promise<Row> {
  try {
    const log = await openPostgresTestLog();
    try {
      return await replay('postgres', log.store);
    } finally {
      await log.dispose();
    }
  } catch (error) {
    return { name: 'replay, postgres', figures: { skipped: String(error) } };
  }
}

/** The double is a process of its own: its memory is not among the figures of the node. */
async function replayKurrent(): Promise<Row> {
  await using double = await startDoubleProcess();
  const { store } = await openKurrentLog(double.url, {});
  const { name, figures } = await replay('kurrentdb', store, { byStream: true });
  return { name, figures: { ...figures, server: `protocol double, ${await double.memoryMiB()} MB of its own` } };
}

const megabytes = (bytes: number): number => Math.round(bytes / 2 ** 20);

/** Small documents, so that the events of the engine in memory fit beside what is measured. */
async function replay(engine: string, store: EventStore, how: Pick<GrownLogOptions, 'byStream'> = {}): Promise<Row> {
  await growLog(store, { events: replayed, apis, documentBytes: 500, ...how });
  const models = openSqliteReadModels(':memory:');
  globalThis.gc?.();
  const before = process.memoryUsage();
  let peak = before.rss;
  const sampling = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 50);
  const started = performance.now();
  const projector = startProjector({ store, models, projections: [gatewayConfig], log: keptLog() });
  await projector.ready;
  const seconds = (performance.now() - started) / 1_000;
  clearInterval(sampling);
  const { objects } = readSnapshot(models, { ...store.identity, position: await store.head() });
  await projector.stop();
  models.close();
  await store.close();
  return {
    name: `replay, ${engine}`,
    figures: {
      events: replayed,
      objects: Object.keys(objects).length,
      seconds,
      'events/s': Math.round(replayed / seconds),
      'memory before MB': megabytes(before.rss),
      'memory more at the peak MB': megabytes(peak - before.rss),
    },
  };
}

/** A node as a user starts it, from the start of the process until it says that it is ready. */
async function managementRows(data: string, options: GrownLogOptions): Promise<readonly Row[]> {
  mkdirSync(data, { recursive: true });
  const store = await openSqliteEventStore({ path: join(data, 'events.db') });
  await growLog(store, { ...options, apis });
  await store.close();
  const rows: Row[] = [];
  for (const models of ['no read models', 'read models at the head']) {
    rows.push({
      name: `management start, ${models}, ${options.documentBytes} bytes`,
      figures: { events: options.events, ...(await managementStart(data)) },
    });
  }
  return rows;
}

async function managementStart(data: string) {
  const started = performance.now();
  const svc = await startSvc({ data, args: ['--role', 'management'], env: { SVC_TELEMETRY_LOG_LEVEL: 'error' } });
  try {
    const listening = performance.now() - started;
    let slowest = 0;
    await eventually(async () => {
      const asked = performance.now();
      const { status } = await fetch(`${svc.management}/readyz`);
      slowest = Math.max(slowest, performance.now() - asked);
      // Who asks all the time takes a core away from what is waited for.
      if (status !== 200) await pause(20);
      return status === 200;
    }, 600_000);
    return {
      'listens after ms': Math.round(listening),
      'ready after ms': Math.round(performance.now() - started),
      'slowest answer meanwhile ms': Math.round(slowest),
    };
  } finally {
    await svc.stop();
  }
}

const gatewayStarts = 11;

/** A gateway as a user starts it, while management is down: from the start of the process to the end of its first answer. */
async function gatewayRow(data: string): Promise<Row> {
  const upstream = await echoUpstream();
  const env = {
    SVC_GW_MANAGEMENTURL: `http://127.0.0.1:${await freePort()}`,
    SVC_GW_NODETOKEN: `$file:${join(data, 'management', 'admin-token')}`,
    // What Node has compiled is kept from one start to the next, here apart from that of the user.
    XDG_CACHE_HOME: join(data, 'cache'),
  };
  await fillGateway(data, env, upstream.url);
  const times: number[] = [];
  for (let start = 0; start < gatewayStarts; start++) times.push(await gatewayStart(data, env));
  await upstream[Symbol.asyncDispose]();
  const sorted = times.toSorted((a, b) => a - b);
  return {
    name: 'svc start --role gateway, from its disk',
    figures: {
      apis,
      'first answer after ms (median)': Math.round(sorted[sorted.length >> 1] ?? 0),
      'quickest ms': Math.round(sorted[0] ?? 0),
      'slowest ms': Math.round(sorted.at(-1) ?? 0),
    },
  };
}

type Env = Readonly<Record<string, string>> & { readonly SVC_GW_MANAGEMENTURL: string };

/** Management gives it its configuration once, and goes. */
async function fillGateway(data: string, env: Env, upstreamUrl: string): Promise<void> {
  const management = await startSvc({
    data: join(data, 'management'),
    args: ['--role', 'management'],
    env: { SVC_MGMT_LISTEN: new URL(env.SVC_GW_MANAGEMENTURL).host },
  });
  const headers = { 'content-type': 'application/vnd.svc.streams.oas' };
  for (let api = 0; api < apis; api++) {
    const body = JSON.stringify(apiFor(`api-${api}`, upstreamUrl));
    const { status } = await management.call('/api/apis/streams', { method: 'POST', headers, body });
    if (status !== 200) throw new Error(`API ${api}: ${status}`);
  }
  const gateway = await startGateway(data, env);
  await eventually(async () => (await fetch(`${gateway.gateway}/api-${apis - 1}/`)).status === 200, 30_000);
  await gateway.stop();
  await management.stop();
}

const startGateway = (data: string, env: Env): Promise<SvcProcess> =>
  startSvc({ data: join(data, 'gateway'), args: ['--role', 'gateway'], env });

async function gatewayStart(data: string, env: Env): Promise<number> {
  const started = performance.now();
  const svc = await startGateway(data, env);
  const answer = await fetch(`${svc.gateway}/api-7/`);
  await answer.text();
  const took = performance.now() - started;
  await svc.stop();
  if (answer.status !== 200) throw new Error(`the first answer was ${answer.status}`);
  return took;
}
