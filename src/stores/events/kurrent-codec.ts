/** Events of the port as KurrentDB keeps them: JSON where that loses nothing, compressed bytes where they are large, our own marks in the metadata. */
import { EventStoreError, type NewEvent, type StoredEvent } from '../../../domain/event-store.ts';
import type { OutgoingEvent, RawEvent } from './kurrent-client.ts';
import { decodePayload, encodePayload } from './payload.ts';

/**
 * Marks of ours stand under `svc.`, names with `$` belong to the server; a name of the port that looks like either is
 * written under `svc.key.`.
 */
const isReserved = (name: string): boolean => name.startsWith('$') || name.startsWith('svc.');
const keptAs = 'svc.key.';

/** The names under which the server's own tools look for what belongs together. */
const wellKnown = { correlationId: '$correlationId', causationId: '$causationId' } as const;

/** Which append an event came with, so that a repeat is known from another append with old ids. */
export type Mark = {
  /** The id of the append's first event. */
  readonly append: string;
  /** `2/5` is the third of five. */
  readonly place: string;
  /** A random id of one try: tells an append that was written from a repeat that the server only acknowledged. */
  readonly attempt: string;
};

/** When it was written, by the clock of the writer. */
type Stamp = { readonly atMs: number };

export const markOf = ({ meta }: RawEvent): Mark => ({
  append: meta['svc.append'] ?? '',
  place: meta['svc.place'] ?? '',
  attempt: meta['svc.try'] ?? '',
});

/** Takes its copy of the payload before it returns. */
export async function toServer(event: NewEvent, mark: Mark & Stamp): Promise<OutgoingEvent> {
  const { id, type, schema, meta } = event;
  const { data, encoding, size } = await encodePayload(event.data);
  const json = encoding === 0 ? jsonOf(data) : undefined;
  const marks = {
    'svc.schema': String(schema),
    'svc.append': mark.append,
    'svc.place': mark.place,
    'svc.try': mark.attempt,
    'svc.at': String(mark.atMs),
    ...(encoding === 1 && { 'svc.enc': 'zstd', 'svc.size': String(size) }),
  };
  const outgoing = { id, type, sizeBytes: data.byteLength, meta: { ...toServerMeta(meta), ...marks } };
  return json ? { ...outgoing, json } : { ...outgoing, bytes: data };
}

export async function fromServer(raw: RawEvent): Promise<StoredEvent> {
  const { id, type, stream, revision, position, createdMs, meta } = raw;
  return {
    id,
    type,
    schema: Number(meta['svc.schema'] ?? 1),
    data: await payloadOf(raw),
    meta: fromServerMeta(meta),
    stream,
    revision,
    position,
    at: new Date(createdMs),
  };
}

async function payloadOf({ data, meta, stream, revision }: RawEvent): Promise<Uint8Array> {
  const isCompressed = meta['svc.enc'] === 'zstd';
  const size = isCompressed ? Number(meta['svc.size']) : data.byteLength;
  try {
    return (await decodePayload({ data, encoding: isCompressed ? 1 : 0, size })).slice();
  } catch (cause) {
    throw new EventStoreError('Corrupt', `${stream}@${revision}: the payload cannot be decompressed`, { cause });
  }
}

/** The value of a text that the client would write in exactly the same way; it serialises by itself. */
function jsonOf(data: Uint8Array): object | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

function toServerMeta(meta: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const kept = Object.entries(meta).map(([name, value]) => [isReserved(name) ? `${keptAs}${name}` : name, value]);
  const known = Object.entries(wellKnown).flatMap(([name, theirs]) => (meta[name] ? [[theirs, meta[name]]] : []));
  return Object.fromEntries([...kept, ...known]);
}

function fromServerMeta(meta: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const ours = Object.entries(meta).flatMap(([name, value]) => {
    if (name.startsWith(keptAs)) return [[name.slice(keptAs.length), value]];
    return isReserved(name) ? [] : [[name, value]];
  });
  return Object.fromEntries(ours);
}
