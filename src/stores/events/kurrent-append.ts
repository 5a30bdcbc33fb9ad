/** Appends to KurrentDB: every one with an explicit expectation, recognised when it comes again, judged by the port's table. */
import { randomUUID } from 'node:crypto';
import {
  type Appended,
  type AppendOptions,
  type Capabilities,
  EventStoreError,
  type Expected,
  type Position,
  type Write,
  WrongExpectedVersion,
} from '../../../domain/event-store.ts';
import { checkExpectation, checkWrites } from './event-rules.ts';
import type { Acknowledged, Features, KurrentClient, OutgoingWrite } from './kurrent-client.ts';
import { markOf, toServer } from './kurrent-codec.ts';
import { KurrentConflict, NotLeader } from './kurrent-errors.ts';
import { checksStream, isOurs } from './kurrent-names.ts';
import { KeyedQueue } from './kurrent-queue.ts';
import { type KnownPart, KurrentTails } from './kurrent-tails.ts';

type Prepared = {
  readonly writes: readonly Write[];
  readonly outgoing: readonly OutgoingWrite[];
  readonly append: string;
  readonly attempt: string;
  /** Streams that are written to, as against those that are only checked. */
  readonly written: readonly string[];
};

type AppendsOptions = {
  readonly client: KurrentClient;
  readonly features: Features;
  readonly can: Capabilities;
  readonly maxAppendBytes: number;
  readonly now: () => number;
};

/** So many streams are asked for at once. */
const parallelLooks = 16;

export class KurrentAppends {
  readonly #client: KurrentClient;
  readonly #features: Features;
  readonly #can: Capabilities;
  readonly #maxAppendBytes: number;
  readonly #tails: KurrentTails;
  readonly #now: () => number;
  readonly #queue = new KeyedQueue();

  constructor({ client, features, can, maxAppendBytes, now }: AppendsOptions) {
    this.#client = client;
    this.#features = features;
    this.#can = can;
    this.#maxAppendBytes = maxAppendBytes;
    this.#now = now;
    this.#tails = new KurrentTails(client);
  }

  async append(
    writes: readonly Write[],
    { timeoutMs }: AppendOptions,
    head: () => Promise<Position>,
  ): Promise<Appended> {
    const endsAtMs = performance.now() + timeoutMs;
    checkWrites(writes, this.#can.maxEventBytes);
    this.#checkSupport(writes);
    const prepared = await this.#prepare(writes);
    if (prepared.written.length > 0) {
      const settle = () => this.#tails.holding(prepared.written, () => this.#settle(prepared, endsAtMs));
      return this.#queue.run(prepared.written, settle);
    }
    await this.#checkOnly(prepared, endsAtMs);
    return { position: await head(), heads: new Map(), duplicate: false };
  }

  #checkSupport(writes: readonly Write[]): void {
    const foreign = writes.find(({ stream }) => !isOurs(stream));
    if (foreign) throw new EventStoreError('Unsupported', `stream ${foreign.stream} belongs to the engine`);
    const isSeveral = writes.filter(({ events }) => events.length > 0).length > 1;
    if (isSeveral && !this.#can.multiStream) throw unsupported('appends to several streams', '25.1', this.#features);
    const isCheck = writes.some(({ events }) => events.length === 0);
    if (isCheck && !this.#can.checks) throw unsupported('checks without events', '26.1', this.#features);
  }

  async #prepare(writes: readonly Write[]): Promise<Prepared> {
    const attempt = randomUUID();
    const atMs = this.#now();
    const count = writes.reduce((sum, { events }) => sum + events.length, 0);
    const append = writes.find(({ events }) => events.length > 0)?.events[0]?.id ?? '';
    let index = 0;
    const outgoing = await Promise.all(
      writes.map(async ({ stream, expected, events }): Promise<OutgoingWrite> => {
        const made = events.map((event) => toServer(event, { append, place: `${index++}/${count}`, attempt, atMs }));
        return { stream, expected, events: await Promise.all(made) };
      }),
    );
    this.#checkSize(outgoing);
    const written = writes.filter(({ events }) => events.length > 0).map(({ stream }) => stream);
    return { writes, outgoing, append, attempt, written };
  }

  #checkSize(writes: readonly OutgoingWrite[]): void {
    const bytes = writes
      .flatMap(({ events }) => events)
      .reduce((sum, { meta, sizeBytes }) => sum + sizeBytes + Buffer.byteLength(JSON.stringify(meta)), 0);
    if (bytes <= this.#maxAppendBytes) return;
    throw new EventStoreError(
      'EventTooLarge',
      `an append has ${bytes} bytes, this server takes ${this.#maxAppendBytes}`,
    );
  }

  /** A server takes no append without events: one of ours is written beside the checks, to a stream that nobody reads. */
  async #checkOnly({ outgoing, attempt }: Prepared, endsAtMs: number): Promise<void> {
    if (outgoing.every(({ expected }) => expected === 'any')) return;
    const marker = { id: attempt, type: 'Checked', meta: {}, sizeBytes: 2, json: {} };
    const write = { stream: checksStream, expected: 'any' as const, events: [marker] };
    try {
      await this.#client.append([write, ...outgoing], this.#features, leftMs(endsAtMs));
    } catch (error) {
      throw error instanceof KurrentConflict ? (conflictOf(outgoing, error) ?? contended()) : plain(error);
    }
  }

  async #settle(prepared: Prepared, endsAtMs: number): Promise<Appended> {
    const unknown = prepared.writes.filter(({ stream, expected, events }) => {
      const head = this.#tails.known(stream)?.head;
      // An expectation that fits what is known will be refused when it is known wrongly.
      const isFresh = head !== undefined && (typeof expected !== 'bigint' || expected === head);
      return events.length > 0 && !isFresh;
    });
    await this.#look(unknown.map(({ stream }) => stream));
    await this.#recall(prepared);
    for (;;) {
      const repeat = this.#repeatOf(prepared);
      if (repeat) return repeat;
      if (leftMs(endsAtMs) <= 0) throw contended();
      const sent = prepared.outgoing.flatMap((write) => this.#explicit(write));
      try {
        const answer = await this.#client.append(sent, this.#features, leftMs(endsAtMs));
        return await this.#confirm(prepared, sent, answer);
      } catch (error) {
        if (error instanceof NotLeader) continue;
        if (!(error instanceof KurrentConflict)) throw error;
        await this.#judge(prepared, error);
      }
    }
  }

  /** An expectation that leaves the revision open is pinned to the one that is known, so that a repeat is never written twice. */
  #explicit(write: OutgoingWrite): readonly OutgoingWrite[] {
    const { stream, expected, events } = write;
    if (events.length === 0) return expected === 'any' ? [] : [write];
    const head = this.#tails.known(stream)?.head;
    if (expected === 'any') return [{ ...write, expected: head ?? 'noStream' }];
    return expected === 'streamExists' && head !== undefined ? [{ ...write, expected: head }] : [write];
  }

  /** After a conflict: our own events may be there already; else the caller's expectation failed, or only ours did. */
  async #judge(prepared: Prepared, conflict: KurrentConflict): Promise<void> {
    await this.#look(prepared.written);
    for (const [stream, head] of conflict.found) this.#tails.standsAt(stream, head);
    await this.#recall(prepared);
    if (this.#repeatOf(prepared)) return;
    const failure = conflictOf(prepared.outgoing, conflict);
    if (failure) throw failure;
  }

  async #look(streams: readonly string[]): Promise<void> {
    for (let start = 0; start < streams.length; start += parallelLooks) {
      const group = streams.slice(start, start + parallelLooks);
      await Promise.all(group.map((stream) => this.#tails.look(stream)));
    }
  }

  /** A stream that has gone by: a repeat of long ago stands right behind the revision that it expected, and nowhere else. */
  async #recall({ writes }: Prepared): Promise<void> {
    for (const { stream, expected, events } of writes) {
      const tail = this.#tails.known(stream);
      if (tail?.head === undefined || expected === 'any' || expected === 'streamExists') continue;
      const first = expected === 'noStream' ? 0n : expected + 1n;
      const isKnown = events.every(({ id }) => tail.parts.has(id));
      if (!isKnown && first <= tail.head) await this.#tails.lookAt(stream, first, events.length);
    }
  }

  /** P5, as far as is known of the streams. */
  #repeatOf({ writes, append }: Prepared): Appended | undefined {
    const count = writes.reduce((sum, { events }) => sum + events.length, 0);
    const found: (readonly [string, KnownPart])[] = [];
    let index = 0;
    for (const { stream, events } of writes) {
      const parts = this.#tails.known(stream)?.parts;
      for (const { id, type } of events) {
        const part = parts?.get(id);
        const isSame = part?.append === append && part.place === `${index}/${count}` && part.type === type;
        if (part && !isSame) throw idReuse(id);
        if (part) found.push([stream, part]);
        index += 1;
      }
    }
    const last = found.at(-1)?.[1];
    if (!last) return undefined;
    if (found.length < count) throw idReuse(append);
    const heads = new Map(found.map(([stream, { revision }]) => [stream, revision]));
    return { position: last.position, heads, duplicate: true };
  }

  /** Reads the last event back: only its mark tells whether the server wrote it now or had it already. */
  async #confirm(prepared: Prepared, sent: readonly OutgoingWrite[], answer: Acknowledged): Promise<Appended> {
    const heads = headsOf(sent, answer);
    const written = sent.filter(({ events }) => events.length > 0);
    const last = written.at(-1);
    const revision = last && heads.get(last.stream);
    if (!last || revision === undefined) throw unconfirmed('the server named no revision');
    const { events } = await this.#client
      .readStream(last.stream, revision, { limit: 1, maxBytes: this.#maxAppendBytes })
      .catch((cause: Error) => Promise.reject(unconfirmed(cause.message)));
    const stored = events.find((event) => event.revision === revision);
    // Retention may take an event as soon as it is written.
    if (!stored && answer.position) return { position: answer.position, heads, duplicate: false };
    if (stored?.id !== last.events.at(-1)?.id) throw unconfirmed(`another event stands at ${last.stream}@${revision}`);
    const position = stored?.position ?? '';
    if (!stored || markOf(stored).attempt !== prepared.attempt) return { position, heads, duplicate: true };
    this.#remember(prepared, heads, position);
    return { position, heads, duplicate: false };
  }

  /** The positions inside an append are not known, and asked for its last event only. */
  #remember({ writes, append }: Prepared, heads: ReadonlyMap<string, bigint>, position: Position): void {
    const count = writes.reduce((sum, { events }) => sum + events.length, 0);
    let index = 0;
    for (const { stream, events } of writes) {
      const head = heads.get(stream);
      const parts = events.map(({ id, type }, offset): readonly [string, KnownPart] => {
        const revision = (head ?? 0n) - BigInt(events.length - 1 - offset);
        return [id, { type, revision, position, append, place: `${index++}/${count}` }];
      });
      if (head !== undefined) this.#tails.wrote(stream, head, parts);
    }
  }
}

/** The server's own numbers are not asked where the expectation says them: of a repeat they may be of today. */
function headsOf(sent: readonly OutgoingWrite[], answer: Acknowledged): ReadonlyMap<string, bigint> {
  const heads = new Map<string, bigint>();
  for (const { stream, expected, events } of sent) {
    const before = expected === 'noStream' ? -1n : expected;
    const head = typeof before === 'bigint' ? before + BigInt(events.length) : answer.heads.get(stream);
    if (events.length > 0 && head !== undefined) heads.set(stream, head);
  }
  return heads;
}

/** The caller's expectation that does not hold, if one of those that the server names does not. */
function conflictOf(writes: readonly OutgoingWrite[], { found }: KurrentConflict): WrongExpectedVersion | undefined {
  const failed = writes.find(({ stream, expected }) => found.has(stream) && !holds(expected, found.get(stream)));
  return failed && new WrongExpectedVersion(failed.stream, failed.expected, found.get(failed.stream));
}

function holds(expected: Expected, head: bigint | undefined): boolean {
  try {
    checkExpectation('', expected, head);
    return true;
  } catch {
    return false;
  }
}

const leftMs = (endsAtMs: number): number => endsAtMs - performance.now();

const plain = (error: unknown): unknown => (error instanceof NotLeader ? contended() : error);

const contended = (): EventStoreError =>
  new EventStoreError('StoreUnavailable', 'kurrentdb: others were faster until the time was over; nothing was written');

const unconfirmed = (reason: string): EventStoreError =>
  new EventStoreError('UnknownOutcome', `kurrentdb: the append was acknowledged and not found again: ${reason}`);

const idReuse = (id: string): EventStoreError =>
  new EventStoreError('IdReuse', `event id ${id} is not from the same append as the others`);

const unsupported = (what: string, version: string, features: Features): EventStoreError =>
  new EventStoreError('Unsupported', `${what} need KurrentDB ${version}, this server says ${features.version}`);
