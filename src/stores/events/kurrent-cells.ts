/** Shared cells in KurrentDB: a stream for each that keeps its last event, whose revision is the version; a stream of their names for lists. */
import { randomUUID } from 'node:crypto';
import { EventStoreError } from '../../../domain/event-store.ts';
import { type Cell, CellConflict, checkCell, type SharedCells } from '../../../domain/shared-cells.ts';
import { maxPageBytes } from './event-rules.ts';
import type { Features, KurrentClient, OutgoingEvent, RawEvent } from './kurrent-client.ts';
import { KurrentConflict, NotLeader } from './kurrent-errors.ts';
import { cellNamesStream, cellStream } from './kurrent-names.ts';

const timeoutMs = 10_000;
const readsAtOnce = 16;
const pageNames = 500;
const written = 'CellWritten';
const removed = 'CellRemoved';

/** `value` is undefined for a cell that was removed: its stream goes on, so that no version ever comes twice. */
type Stored = { readonly version: bigint; readonly value: string | undefined };

export class KurrentCells implements SharedCells {
  readonly #client: KurrentClient;
  readonly #features: Features;
  readonly #names = new Set<string>();
  #namesRead = -1n;

  constructor(client: KurrentClient, features: Features) {
    this.#client = client;
    this.#features = features;
  }

  async read(key: string): Promise<Omit<Cell, 'key'> | undefined> {
    checkCell(key);
    const stored = await this.#stored(key);
    return stored?.value === undefined ? undefined : { value: stored.value, version: stored.version };
  }

  async write(key: string, value: string, expected: bigint | 'none'): Promise<bigint> {
    checkCell(key, value);
    const event = eventOf(written, { value });
    if (expected !== 'none') return this.#append(key, expected, event, expected);
    const stored = await this.#stored(key);
    if (stored?.value !== undefined) throw new CellConflict(key, expected);
    if (!stored) await this.#introduce(key);
    return this.#append(key, stored?.version ?? 'noStream', event, expected);
  }

  async list(prefix: string): Promise<readonly Cell[]> {
    await this.#readNames();
    const keys = [...this.#names].filter((name) => name.startsWith(prefix)).toSorted();
    const cells: Cell[] = [];
    for (let start = 0; start < keys.length; start += readsAtOnce) {
      const some = keys.slice(start, start + readsAtOnce);
      const found = await Promise.all(some.map(async (key) => ({ key, ...(await this.#stored(key)) })));
      for (const { key, value, version } of found) {
        if (value !== undefined && version !== undefined) cells.push({ key, value, version });
      }
    }
    return cells;
  }

  async remove(key: string): Promise<void> {
    checkCell(key);
    for (;;) {
      const stored = await this.#stored(key);
      if (stored?.value === undefined) return;
      try {
        await this.#append(key, stored.version, eventOf(removed, {}), stored.version);
        return;
      } catch (error) {
        if (!(error instanceof CellConflict)) throw error;
      }
    }
  }

  async #stored(key: string): Promise<Stored | undefined> {
    const limits = { back: true, limit: 1, maxBytes: maxPageBytes };
    const [last] = (await this.#client.readStream(cellStream(key), 'end', limits)).events;
    return last && { version: last.revision, value: last.type === removed ? undefined : textOf(last, 'value') };
  }

  /** Before its first event, so that no list misses it and no event of it is kept longer than needed. */
  async #introduce(key: string): Promise<void> {
    await this.#readNames();
    if (this.#names.has(key)) return;
    await this.#client.setRule(cellStream(key), { maxCount: 1 });
    const write = { stream: cellNamesStream, expected: 'any' as const, events: [eventOf('CellNamed', { key })] };
    await this.#client.append([write], this.#features, timeoutMs);
  }

  async #readNames(): Promise<void> {
    for (let hasMore = true; hasMore; ) {
      const limits = { limit: pageNames, maxBytes: maxPageBytes };
      const page = await this.#client.readStream(cellNamesStream, this.#namesRead + 1n, limits);
      for (const event of page.events) this.#names.add(textOf(event, 'key'));
      this.#namesRead = page.events.at(-1)?.revision ?? this.#namesRead;
      hasMore = page.hasMore;
    }
  }

  async #append(
    key: string,
    revision: bigint | 'noStream',
    event: OutgoingEvent,
    expected: bigint | 'none',
  ): Promise<bigint> {
    const write = { stream: cellStream(key), expected: revision, events: [event] };
    for (const endsAtMs = performance.now() + timeoutMs; ; ) {
      try {
        const { heads } = await this.#client.append([write], this.#features, endsAtMs - performance.now());
        const version = heads.get(write.stream);
        if (version !== undefined) return version;
        throw new EventStoreError('UnknownOutcome', 'kurrentdb: the server named no revision');
      } catch (error) {
        if (error instanceof KurrentConflict) throw new CellConflict(key, expected);
        if (!(error instanceof NotLeader)) throw error;
      }
    }
  }
}

/** A new id each time: two writers of the same value are two writers. */
const eventOf = (type: string, json: Readonly<Record<string, string>>): OutgoingEvent => ({
  id: randomUUID(),
  type,
  meta: {},
  sizeBytes: 0,
  json,
});

function textOf({ data, stream, revision }: RawEvent, member: string): string {
  const text = (JSON.parse(new TextDecoder().decode(data)) as Readonly<Record<string, unknown>>)[member];
  if (typeof text === 'string') return text;
  throw new EventStoreError('Corrupt', `${stream}@${revision} has no ${member}`);
}
