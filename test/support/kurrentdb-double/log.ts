/** The log of the double: records in one global order, streams with revisions, and the server's rules for both. */
import { randomUUID } from 'node:crypto';
import { type Decision, decide, type Expected, type StreamState } from './expectation.ts';
import { isDeleted, parseMetadata, type StreamMetadata, truncatedForEver, visible } from './retention.ts';

export type ProposedEvent = {
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly customMetadata: Uint8Array;
};

export type LogRecord = ProposedEvent & {
  readonly stream: string;
  readonly revision: bigint;
  /** Commit and prepare position in one: the double has no transaction that is longer than one append. */
  readonly position: bigint;
  readonly createdMs: number;
};

export type LogWrite = {
  readonly stream: string;
  readonly expected: Expected;
  readonly events: readonly ProposedEvent[];
};

export type PlacedEvent = { readonly stream: string; readonly event: ProposedEvent };

/** An expectation of a stream that need not be written to. */
export type Check = { readonly stream: string; readonly expected: Expected };

export type Violation = Check & { readonly index: number; readonly actual: bigint | undefined };

export type Conflict = {
  readonly reason: 'conflict';
  readonly stream: string;
  readonly expected: Expected;
  readonly actual: bigint | undefined;
};

export type Refusal = Conflict | { readonly reason: 'deleted' | 'tombstoned'; readonly stream: string };

export type Committed = { readonly position: bigint; readonly heads: ReadonlyMap<string, bigint> };

export type Outcome = Committed | Refusal;

export type Clock = { readonly nowMs: number };

type History = { readonly records: LogRecord[]; isTombstoned: boolean; metadata: StreamMetadata };

/** The revision of the record that ends a tombstoned stream: the largest signed 64-bit number. */
const tombstoneRevision = 9_223_372_036_854_775_807n;

/** Positions are offsets into the server's files: the first is not 0, and they grow by a record's size, never by one. */
const firstPosition = 512n;
const recordOverheadBytes = 128;

export class DoubleLog {
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  readonly #streams = new Map<string, History>();
  readonly #recentIds = new Map<string, LogRecord>();
  #records: LogRecord[] = [];
  #nextPosition = firstPosition;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Appends all writes or none. */
  append(writes: readonly LogWrite[]): Outcome {
    return this.#append(
      writes,
      writes.flatMap(({ stream, events }) => events.map((event) => ({ stream, event }))),
    );
  }

  /** Appends all records, in the order given, when every check holds; checks may name streams that are not written to. */
  appendRecords(records: readonly PlacedEvent[], checks: readonly Check[]): Outcome | { violations: Violation[] } {
    const writes = [...Map.groupBy(records, ({ stream }) => stream)].map(([stream, placed]) => ({
      stream,
      expected: checks.find((check) => check.stream === stream)?.expected ?? 'any',
      events: placed.map(({ event }) => event),
    }));
    const violations = checks.flatMap((check, index) => {
      const write = writes.find(({ stream }) => stream === check.stream) ?? { ...check, events: [] };
      const { kind } = this.#decide(write);
      if (kind !== 'conflict' && kind !== 'deleted') return [];
      return [{ ...check, index, actual: this.#head(check.stream) }];
    });
    return violations.length > 0 ? { violations } : this.#append(writes, records);
  }

  #append(writes: readonly LogWrite[], records: readonly PlacedEvent[]): Outcome {
    const decisions = writes.map((write) => ({ write, decision: this.#decide(write) }));
    const refused = decisions.find(({ decision }) => decision.kind !== 'write' && decision.kind !== 'repeat');
    if (refused) return this.#refusal(refused.write, refused.decision);
    const repeats = decisions.flatMap(({ decision }) => (decision.kind === 'repeat' ? [decision.last] : []));
    if (repeats.length === 0) return this.#commit(records);
    if (repeats.length === writes.length) return committed(repeats);
    // Of a true repetition the server would know every write.
    const known = decisions.find(({ decision }) => decision.kind === 'repeat') ?? decisions[0];
    return this.#refusal((known as (typeof decisions)[number]).write, { kind: 'conflict' });
  }

  /** Hides the stream's events; a later append goes on with the next revision. */
  delete(stream: string, expected: Expected): Outcome {
    const write = { stream, expected, events: [] };
    const decision = this.#decide(write);
    return decision.kind === 'write' ? this.#truncate(stream, truncatedForEver) : this.#refusal(write, decision);
  }

  /** Ends the stream for ever. */
  tombstone(stream: string, expected: Expected): Outcome {
    const write = { stream, expected, events: [] };
    const decision = this.#decide(write);
    if (decision.kind !== 'write') return this.#refusal(write, decision);
    const record = this.#place(stream, tombstoneRevision, systemEvent('$streamDeleted', {}));
    this.#records.push(record);
    this.#history(stream).isTombstoned = true;
    this.#announce();
    return { position: record.position, heads: new Map() };
  }

  isTombstoned(stream: string): boolean {
    return this.#streams.get(stream)?.isTombstoned ?? false;
  }

  /** What a reader of the stream may see; undefined when it does not exist or was deleted. */
  read(stream: string): readonly LogRecord[] | undefined {
    const history = this.#streams.get(stream);
    if (!history || history.records.length === 0 || isDeleted(history.metadata)) return undefined;
    return visible(history.records, history.metadata, this.#clock.nowMs);
  }

  /** The global order. Records that a stream's metadata hides stay here until they are scavenged. */
  get records(): readonly LogRecord[] {
    return this.#records;
  }

  /** Drops for good what the metadata of the streams hides; revisions and positions of the rest stay. */
  scavenge(): void {
    const seen = new Set([...this.#streams.keys()].flatMap((stream) => this.read(stream) ?? []));
    this.#records = this.#records.filter((record) => seen.has(record) || record.type.startsWith('$'));
  }

  /** A restarted server remembers no ids: then only explicit expectations tell a repetition. */
  forgetIds(): void {
    this.#recentIds.clear();
  }

  /** Calls the listener after each change until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get clock(): Clock {
    return this.#clock;
  }

  #history(stream: string): History {
    const known = this.#streams.get(stream);
    if (known) return known;
    const made: History = { records: [], isTombstoned: false, metadata: {} };
    this.#streams.set(stream, made);
    return made;
  }

  #head(stream: string): bigint | undefined {
    return this.#streams.get(stream)?.records.at(-1)?.revision;
  }

  #decide(write: LogWrite): Decision {
    if (write.stream.startsWith('$$') && this.isTombstoned(write.stream.slice(2))) return { kind: 'tombstoned' };
    return decide(this.#state(write.stream), write.expected, write.events, (id) => {
      const record = this.#recentIds.get(id);
      return record?.stream === write.stream ? record : undefined;
    });
  }

  #state(stream: string): StreamState {
    const { records = [], isTombstoned = false, metadata = {} } = this.#streams.get(stream) ?? {};
    return { records, isTombstoned, isDeleted: isDeleted(metadata) };
  }

  #refusal({ stream, expected }: LogWrite, { kind }: Decision): Refusal {
    if (kind === 'deleted' || kind === 'tombstoned') return { reason: kind, stream };
    return { reason: 'conflict', stream, expected, actual: this.#head(stream) };
  }

  #commit(placed: readonly PlacedEvent[]): Committed {
    const records = placed.map(({ stream, event }) => {
      const history = this.#history(stream);
      const revision = history.records.length;
      // A deleted stream that is written to again shows what comes from here on.
      if (isDeleted(history.metadata)) this.#truncate(stream, revision);
      return this.#store(this.#place(stream, BigInt(revision), event));
    });
    this.#announce();
    return committed(records);
  }

  #place(stream: string, revision: bigint, event: ProposedEvent): LogRecord {
    const position = this.#nextPosition;
    this.#nextPosition += BigInt(recordOverheadBytes + event.data.length + event.customMetadata.length);
    return { ...event, stream, revision, position, createdMs: this.#clock.nowMs };
  }

  #store(record: LogRecord): LogRecord {
    this.#records.push(record);
    this.#recentIds.set(record.id, record);
    this.#history(record.stream).records.push(record);
    if (record.stream.startsWith('$$')) this.#history(record.stream.slice(2)).metadata = parseMetadata(record.data);
    return record;
  }

  #truncate(stream: string, before: number): Committed {
    const metadata = { ...this.#history(stream).metadata, $tb: before };
    return this.#commit([{ stream: `$$${stream}`, event: systemEvent('$metadata', metadata) }]);
  }

  #announce(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Later records of a stream win, so that each stream is named with its head. */
function committed(records: readonly LogRecord[]): Committed {
  const heads = new Map(records.map((record) => [record.stream, record.revision]));
  const [last] = records.toSorted((left, right) => (left.position > right.position ? -1 : 1));
  return { position: last?.position ?? 0n, heads };
}

const systemEvent = (type: string, content: object): ProposedEvent => ({
  id: randomUUID(),
  type,
  contentType: 'application/json',
  data: Buffer.from(JSON.stringify(content)),
  customMetadata: new Uint8Array(),
});
