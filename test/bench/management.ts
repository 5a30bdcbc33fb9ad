/** The management plane at size: lists and changes with 5,000 APIs and 10,000 certificates, and how long until a gateway serves a change. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from '../../domain/event.ts';
import type { EventStore } from '../../domain/event-store.ts';
import { type DomainEvent, encodeEvent } from '../../domain/events.ts';
import { toOrgId } from '../../domain/ids.ts';
import { startSampleUpstream } from '../../src/compose/demo.ts';
import { openSqliteEventStore } from '../../src/stores/events/sqlite-event-store.ts';
import { chainedEventStore } from '../../src/stores/integrity/chained-event-store.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { apiCreated, certificateImported, org, streamOf } from '../support/given.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';

const apis = Number(process.env['BENCH_APIS'] ?? 5_000);
const certificates = Number(process.env['BENCH_CERTIFICATES'] ?? 10_000);

const streamsType = 'application/vnd.svc.streams.oas';

export async function run() {
  const data = mkdtempSync(join(tmpdir(), 'svc-bench-management-'));
  const upstream = await startSampleUpstream(0);
  try {
    await fill(data, upstream.url);
    const svc = await startSvc({ data, env: { ...quiet, SVC_PMP_SINKS_OUT_META_PATH: join(data, 'r.jsonl') } });
    try {
      await eventually(async () => (await fetch(`${svc.gateway}/api-0/`)).status === 200, 600_000);
      await eventually(() => isAtRest(svc.pid), 600_000);
      return [...(await listRows(svc)), ...(await changeRows(svc, upstream.url))];
    } finally {
      await svc.kill();
    }
  } finally {
    await upstream.stop();
    rmSync(data, { recursive: true, force: true });
  }
}

/** A node is ready before its history is folded, and anchors a long log after that. Where nobody can tell it counts as at rest. */
async function isAtRest(pid: number): Promise<boolean> {
  const ticks = (): number => {
    if (!existsSync(`/proc/${pid}/stat`)) return 0;
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  };
  const before = ticks();
  await pause(1_000);
  return ticks() - before < 5;
}

const quiet = {
  SVC_TELEMETRY_LOG_LEVEL: 'error',
  SVC_PMP_SINKS_OUT_TYPE: 'file',
  // What is measured is the work, not the brake.
  SVC_MGMT_RATELIMIT_RATE: '1000000',
  SVC_MGMT_RATELIMIT_BURST: '1000000',
};

/** Straight into the log, chained as the product does it, in appends of a hundred. */
async function fill(data: string, upstreamUrl: string): Promise<void> {
  mkdirSync(data, { recursive: true });
  const file = await openSqliteEventStore({ path: join(data, 'events.db') });
  const store = chainedEventStore(file);
  await append(store, [{ type: 'OrganisationCreated', orgId: org, name: 'default' }]);
  const made: DomainEvent[] = [
    ...Array.from({ length: apis }, (_, api) =>
      apiCreated({ id: `api-${api}`, document: documentOf(api, 0, upstreamUrl) }),
    ),
    ...Array.from({ length: certificates }, (_, one) =>
      certificateImported(`host-${one}.example`, { chain: [pem], facts: { notAfter: '2036-01-01T00:00:00Z' } }),
    ),
  ];
  for (let from = 0; from < made.length; from += 100) await append(store, made.slice(from, from + 100));
  await file.close();
}

const pem = `-----BEGIN CERTIFICATE-----\n${'MIIB'.repeat(300)}\n-----END CERTIFICATE-----\n`;

async function append(store: EventStore, events: readonly DomainEvent[]): Promise<void> {
  const commandId = randomUUID();
  const actor = { actorType: 'token', actorId: 'bootstrap' };
  const meta = { v: '1', at: new Date().toISOString(), orgId: org, ...actor, commandId };
  const writes = events.map((event) => ({
    ...{ stream: streamOf(event), expected: 'noStream' as const },
    events: [encodeEvent(event, randomUUID(), { ...meta, commandType: 'Fill', requestId: commandId })],
  }));
  await store.append(writes, { commandId, timeoutMs: 60_000 });
}

const operation = { operationId: 'list', responses: { 200: { description: 'What was asked for' } } };

/** Ten paths, as an API of ordinary size. */
function documentOf(api: number, change: number, upstreamUrl: string): JsonObject {
  const paths = Object.fromEntries(
    Array.from({ length: 10 }, (_, path) => [`/things/${path}`, { get: { ...operation, operationId: `list${path}` } }]),
  );
  return apiDocument(
    {
      info: { id: `api-${api}`, name: `API ${api}`, orgId: toOrgId(org) },
      server: { listenPath: { value: `/api-${api}/`, strip: true } },
      upstream: { url: upstreamUrl },
      global: { transformResponseHeaders: { enabled: true, add: [{ name: 'x-change', value: String(change) }] } },
    },
    { paths },
  );
}

const pages: Readonly<Record<string, (round: number) => string>> = {
  'page of APIs': () => '/api/apis?limit=50',
  'page of certificates': (round) => `/api/certs?p=${1 + (round % (certificates / 10))}`,
  'page of certificates, detailed': (round) => `/api/certs?mode=detailed&p=${1 + (round % (certificates / 10))}`,
  'page of the audit': () => '/api/audit?limit=50',
};

/** Beside each page nothing is asked for, in turns: what that takes is the way and the machine. */
async function listRows(svc: SvcProcess) {
  const rows = [];
  for (const [name, path] of Object.entries(pages)) {
    const [times, nothing]: [number[], number[]] = [[], []];
    for (let round = 0; round < 400; round++) {
      nothing.push(await timeOf(svc, '/livez'));
      times.push(await timeOf(svc, path(round)));
    }
    // The first calls compile.
    const { 'p50 ms': halfOfNothing, 'p99 ms': mostOfNothing } = quantiles(nothing.slice(50));
    const reference = { 'p50 ms of nothing': halfOfNothing, 'p99 ms of nothing': mostOfNothing };
    rows.push({ name, figures: { ...quantiles(times.slice(50)), ...reference } });
  }
  return rows;
}

async function timeOf(svc: SvcProcess, path: string): Promise<number> {
  const sent = performance.now();
  const answer = await svc.call(path);
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
  return performance.now() - sent;
}

const patches = 200;

async function changeRows(svc: SvcProcess, upstreamUrl: string) {
  const served: number[] = [];
  for (let change = 1; change <= patches / 4; change++) {
    const api = change * 7;
    const sent = performance.now();
    await patch(svc, api, change, upstreamUrl);
    for (;;) {
      const answer = await fetch(`${svc.gateway}/api-${api}/`);
      await answer.arrayBuffer();
      if (answer.headers.get('x-change') === String(change)) break;
    }
    served.push(performance.now() - sent);
  }
  return [
    { name: 'PATCH served by the gateway', figures: quantiles(served) },
    { name: 'PATCH, one at a time', figures: await patchesAtOnce(svc, 1, upstreamUrl) },
    { name: 'PATCH, 16 at once', figures: await patchesAtOnce(svc, 16, upstreamUrl) },
  ];
}

async function patchesAtOnce(svc: SvcProcess, width: number, upstreamUrl: string) {
  let next = 0;
  const started = performance.now();
  const lane = async (): Promise<void> => {
    while (next < patches) {
      const change = next++;
      await patch(svc, change, 10_000 + change, upstreamUrl);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return { 'PATCH/s': patches / ((performance.now() - started) / 1_000) };
}

async function patch(svc: SvcProcess, api: number, change: number, upstreamUrl: string): Promise<void> {
  const answer = await svc.call(`/api/apis/streams/api-${api}`, {
    method: 'PATCH',
    headers: { 'content-type': streamsType },
    body: JSON.stringify(documentOf(api, change, upstreamUrl)),
  });
  if (answer.status !== 200) throw new Error(`PATCH answered ${answer.status}: ${await answer.text()}`);
  await answer.arrayBuffer();
}

function quantiles(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { 'p50 ms': at(0.5), 'p99 ms': at(0.99), 'max ms': at(1) };
}
