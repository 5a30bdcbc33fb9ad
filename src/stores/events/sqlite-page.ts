/** Events on their way between the threads: texts and numbers in one flat list, payloads in one buffer that moves over. */
import type { StoredEvent } from '../../../domain/event-store.ts';
import type { Row } from '../sqlite.ts';
import { toPosition } from './event-rules.ts';

/** Objects cost a copy of each member by name; flat lists cost a third of that. */
export type PackedEvents = {
  /** Per event its members in the order of `membersOf`. */
  readonly members: readonly (string | number)[];
  /** One payload after the other. */
  readonly payloads: Uint8Array<ArrayBuffer>;
};

export type PackedPage = { readonly packed: PackedEvents; readonly next: string; readonly atHead: boolean };

/** The row without its payload. Revisions beyond 2^53 are read by nobody. */
const membersOf = (row: Row, payloadBytes: number): readonly (string | number)[] => [
  ...[String(row['event_id']), String(row['type']), Number(row['schema']), String(row['meta'])],
  ...[String(row['stream']), Number(row['revision']), Number(row['position']), Number(row['at_ms']), payloadBytes],
];

const membersPerEvent = 9;

export type PackableEvent = { readonly row: Row; readonly data: Uint8Array };

export function packEvents(events: readonly PackableEvent[]): PackedEvents {
  const payloads = new Uint8Array(events.reduce((sum, { data }) => sum + data.byteLength, 0));
  const members: (string | number)[] = [];
  let end = 0;
  for (const { row, data } of events) {
    members.push(...membersOf(row, data.byteLength));
    payloads.set(data, end);
    end += data.byteLength;
  }
  return { members, payloads };
}

export function unpackEvents({ members, payloads }: PackedEvents): readonly StoredEvent[] {
  const events: StoredEvent[] = [];
  let start = 0;
  for (let first = 0; first < members.length; first += membersPerEvent) {
    const [id, type, schema, meta, stream, revision, position, atMs, bytes] = members.slice(
      first,
      first + membersPerEvent,
    ) as [string, string, number, string, string, number, number, number, number];
    events.push({
      ...{ id, type, schema, data: payloads.subarray(start, start + bytes) },
      ...{ meta: JSON.parse(meta) as Record<string, string>, stream },
      ...{ revision: BigInt(revision), position: toPosition(position), at: new Date(atMs) },
    });
    start += bytes;
  }
  return events;
}
