/** Fills a log with what years of work leave: patches of a few hundred APIs, certificates, reservations; for benchmarks and tests. */
import { createHash, randomUUID } from 'node:crypto';
import type { JsonObject } from '../../domain/event.ts';
import type { EventStore, NewEvent } from '../../domain/event-store.ts';
import { type DomainEvent, encodeEvent } from '../../domain/events.ts';
import { toApiId } from '../../domain/ids.ts';
import { apiDocument } from './documents.ts';
import { apiActivated, apiCreated, apiPatched, certificateImported, org, streamOf } from './given.ts';

export type GrownLogOptions = {
  readonly events: number;
  /** Default 500. */
  readonly apis?: number;
  /** About so many bytes per definition. Default 1,500. */
  readonly documentBytes?: number;
  /** For engines whose appends are of one stream: the same events, many of one stream in each append. */
  readonly byStream?: boolean;
};

/** Per hundred events; the rest are patches of APIs. */
const certificates = 5;
const reservations = 15;
const flags = 10;

const appendAtOnce = 100;

/** Seventy of a hundred events are patches with a whole document and its difference. The same options make the same events. */
export async function growLog(store: EventStore, options: GrownLogOptions): Promise<void> {
  if (options.byStream) return growByStream(store, options);
  const waiting: { readonly stream: string; readonly event: NewEvent }[] = [];
  const flush = async (): Promise<void> => {
    const group = waiting.splice(0);
    const streams = Map.groupBy(group, ({ stream }) => stream);
    const writes = [...streams].map(([stream, made]) => ({
      ...{ stream, expected: 'any' as const },
      events: made.map(({ event }) => event),
    }));
    if (writes.length > 0) await store.append(writes, { commandId: randomUUID(), timeoutMs: 60_000 });
  };
  for (let index = 0; index < options.events; index++) {
    const event = eventAt(index, options);
    waiting.push({ stream: streamOf(event), event: encodeEvent(event, randomUUID(), metaAt(index)) });
    if (waiting.length === appendAtOnce) await flush();
  }
  await flush();
}

const appendsBeside = 32;

async function growByStream(store: EventStore, options: GrownLogOptions): Promise<void> {
  const waiting = new Map<string, NewEvent[]>();
  let appending: Promise<unknown>[] = [];
  const append = async (stream: string, events: readonly NewEvent[]): Promise<void> => {
    waiting.delete(stream);
    const write = { stream, expected: 'any' as const, events };
    appending.push(store.append([write], { commandId: randomUUID(), timeoutMs: 60_000 }));
    if (appending.length < appendsBeside) return;
    await Promise.all(appending);
    appending = [];
  };
  for (let index = 0; index < options.events; index++) {
    const event = eventAt(index, options);
    const stream = streamOf(event);
    const events = waiting.get(stream) ?? [];
    waiting.set(stream, events);
    events.push(encodeEvent(event, randomUUID(), metaAt(index)));
    // Nothing comes after a certificate.
    if (events.length === appendAtOnce || event.type === 'CertificateImported') await append(stream, events);
  }
  for (const [stream, events] of [...waiting]) await append(stream, events);
  await Promise.all(appending);
}

function eventAt(index: number, { apis = 500, documentBytes = 1_500 }: GrownLogOptions): DomainEvent {
  const id = `api-${index % apis}`;
  const document = documentAt(index, id, documentBytes);
  if (index < apis) return apiCreated({ id, document });
  const kind = index % 100;
  if (kind < certificates) return certificateImported(`host-${index}.example`, { hasKey: true, chain: [pem] });
  if (kind < certificates + reservations) return reservationAt(index, id);
  if (kind < certificates + reservations + flags) return apiActivated(id);
  return apiPatched({ id, document, diff: diffAt(index) });
}

function reservationAt(index: number, owner: string): DomainEvent {
  const value = `\n/listen/${index % 2_000}/`;
  const commandId = randomUUID();
  const name = { orgId: org, kind: 'route' as const, value, owner, commandId };
  return index % 2 === 0 ? { type: 'NameReserved', ...name, ownerName: owner } : { type: 'NameReleased', ...name };
}

const pem = `-----BEGIN CERTIFICATE-----\n${'MIIB'.repeat(300)}\n-----END CERTIFICATE-----\n`;

/** Real documents hold many short members, so the size comes from paths. */
function documentAt(index: number, id: string, bytes: number): JsonObject {
  const operation = { operationId: 'list', responses: { 200: { description: 'What was asked for' } } };
  const count = Math.max(1, Math.round((bytes - 450) / 105));
  const paths = Object.fromEntries(Array.from({ length: count }, (_, path) => [`/things/${path}`, { get: operation }]));
  return apiDocument(
    {
      info: { id: toApiId(id), name: `API ${id}` },
      server: { listenPath: { value: `/${id}/`, strip: true } },
      upstream: { url: `http://127.0.0.1:9001/${index}`, rateLimit: { enabled: true, rate: index, per: '1m' } },
    },
    { paths },
  );
}

const diffAt = (index: number): readonly JsonObject[] => [
  { op: 'replace', path: '/x-svc-api-gateway/upstream/url', value: `http://127.0.0.1:9001/${index}` },
  { op: 'replace', path: '/x-svc-api-gateway/upstream/rateLimit/rate', value: index },
];

const metaAt = (index: number): Readonly<Record<string, string>> => ({
  v: '1',
  at: '2026-03-01T00:00:00.000Z',
  orgId: org,
  actorType: 'token',
  actorId: `token-${index % 20}`,
  authMethod: 'bearer',
  requestId: randomUUID(),
  commandId: randomUUID(),
  commandType: 'PatchStreamsApi',
  hash: createHash('sha256').update(String(index)).digest('hex'),
});
