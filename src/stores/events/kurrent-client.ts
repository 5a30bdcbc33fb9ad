/** The narrow seam between the adapter and the package of KurrentDB: what is asked of a server, with a time limit on every call. */
import type {
  AppendStreamState,
  ConsistencyCheck,
  EventData,
  KurrentDBClient,
  ReadPosition,
  Position as ServerPosition,
  StreamMetadata,
} from '@kurrent/kurrentdb-client';
import { EventStoreError, type Expected, type Position, padPosition } from '../../../domain/event-store.ts';
import { fromAppend, fromRead, typeOf } from './kurrent-errors.ts';

export type RawEvent = {
  readonly id: string;
  readonly type: string;
  readonly stream: string;
  readonly revision: bigint;
  readonly position: Position;
  readonly createdMs: number;
  /** The bytes as the server keeps them. */
  readonly data: Uint8Array;
  readonly meta: Readonly<Record<string, string>>;
};

/** `hasMore`: the page ended because it was full, not because the stream did. */
export type RawPage = { readonly events: readonly RawEvent[]; readonly hasMore: boolean };

/** `json` goes as JSON, `bytes` as they are. Metadata are a flat map, because appends to several streams take no other. */
export type OutgoingEvent = {
  readonly id: string;
  readonly type: string;
  readonly meta: Readonly<Record<string, string>>;
  /** Of the payload as it is sent. */
  readonly sizeBytes: number;
} & ({ readonly json: object } | { readonly bytes: Uint8Array });

/** Without events it is a check. */
export type OutgoingWrite = {
  readonly stream: string;
  readonly expected: Expected;
  readonly events: readonly OutgoingEvent[];
};

export type Acknowledged = { readonly heads: ReadonlyMap<string, bigint>; readonly position: Position | undefined };

/** A regular expression of the server over stream names or event types. */
export type ServerFilter = { readonly on: 'streamName' | 'eventType'; readonly regex: string };

export type StreamRule = Pick<StreamMetadata, 'maxAge' | 'maxCount' | 'truncateBefore'>;

export type Features = { readonly version: string; readonly multiStream: boolean; readonly checks: boolean };

export type PageLimits = { readonly back?: boolean; readonly limit: number; readonly maxBytes: number };

type Package = typeof import('@kurrent/kurrentdb-client');

/** What the package keeps to itself and the adapter needs: the server's list of features, and the connection to close. */
type Inner = {
  readonly capabilities: Promise<{ readonly serverVersion: string; supports(method: { path: string }): boolean }>;
  getChannel(): Promise<{ close(): void }>;
};

const sessions = '/kurrentdb.protocol.v2.streams.StreamsService';

const missingPackage =
  'store.url: KurrentDB needs the package @kurrent/kurrentdb-client, which is not installed or has no build for this ' +
  'platform (Linux, macOS on x64 and arm64, Windows on x64): npm install @kurrent/kurrentdb-client@1.3';

/** The import costs a tenth of a second and native code, so that only who has such an address pays for it. */
async function loadPackage(): Promise<Package> {
  try {
    return await import('@kurrent/kurrentdb-client');
  } catch (cause) {
    throw new EventStoreError('Unsupported', missingPackage, { cause });
  }
}

/**
 * Reads run in a native add-on, everything else on another connection, so one client of the package is held for each: a
 * reader whose first call found no server never reads again, and a writer whose server accepts and never answers holds back
 * every later append. Both are made anew then.
 */
export class KurrentClient {
  readonly #package: Package;
  readonly #url: string;
  readonly #timeoutMs: number;
  #reader: KurrentDBClient;
  #writer: KurrentDBClient;

  constructor(loaded: Package, url: string) {
    this.#package = loaded;
    this.#url = url;
    this.#timeoutMs = Number(/[?&]defaultDeadline=(\d+)/.exec(url)?.[1] ?? 10_000);
    this.#reader = this.#connect();
    this.#writer = this.#connect();
  }

  async features(): Promise<Features> {
    const asked = (this.#writer as unknown as Inner).capabilities;
    const server = await within(asked, this.#timeoutMs, () => late('the list of features')).catch((cause: unknown) => {
      throw fromRead(cause);
    });
    return {
      version: server.serverVersion,
      multiStream: server.supports({ path: `${sessions}/AppendSession` }),
      checks: server.supports({ path: `${sessions}/AppendRecords` }),
    };
  }

  /** The only place that appends; every write says what it expects. Throws `KurrentConflict`, `NotLeader` and the port's errors. */
  async append(writes: readonly OutgoingWrite[], features: Features, timeoutMs: number): Promise<Acknowledged> {
    const asked = this.#send(writes, features, timeoutMs);
    const unanswered = (): Error => {
      this.#writer = this.#renewed(this.#writer);
      return new EventStoreError('UnknownOutcome', `kurrentdb: no answer to an append in ${timeoutMs} ms`);
    };
    return within(asked, timeoutMs, unanswered).catch((cause: unknown) => {
      throw fromAppend(cause);
    });
  }

  /** A missing stream is an empty page. */
  readStream(stream: string, from: bigint | 'start' | 'end', limits: PageLimits): Promise<RawPage> {
    const { back = false, limit } = limits;
    const options = { fromRevision: from, direction: directionOf(back), maxCount: limit + 1 };
    return this.#page((reader) => reader.readStream(stream, options), limits);
  }

  /** The global order behind a place, or before it when it goes back: that place itself is not among the events. */
  readAll(from: Position | 'end', limits: PageLimits & { readonly filter?: ServerFilter }): Promise<RawPage> {
    const { back = false, limit, filter } = limits;
    const options = {
      fromPosition: from === 'end' ? from : placeOf(from),
      direction: directionOf(back),
      // The server gives the event at the place again when it goes forwards.
      maxCount: limit + 2,
      ...(filter && { filter: this.#filter(filter) }),
    };
    return this.#page((reader) => reader.readAll(options), limits, from);
  }

  /** Calls back for every event behind a place, old and new, until it cannot any more, which it may say or not. */
  follow(filter: ServerFilter, from: Position, onEvent: (position: Position) => void, onEnd: () => void): () => void {
    const options = { fromPosition: placeOf(from), filter: this.#filter(filter) };
    const subscription = this.#writer.subscribeToAll(options);
    subscription
      .on('data', ({ event }) => {
        if (event) onEvent(positionText(event.position));
      })
      .on('error', onEnd)
      .on('end', onEnd)
      .on('close', onEnd);
    return () => void subscription.unsubscribe().catch(() => undefined);
  }

  /** Replaces the rule by which the stream lets old events go; what else its metadata say stays. */
  async setRule(stream: string, rule: StreamRule): Promise<void> {
    const work = async (): Promise<void> => {
      const { metadata = {} } = await this.#reader.getStreamMetadata(stream);
      const { maxAge: _age, maxCount: _count, truncateBefore: _before, ...others } = metadata;
      await this.#writer.setStreamMetadata(stream, { ...others, ...rule }, { deadline: this.#timeoutMs });
    };
    await within(work(), this.#timeoutMs, () => late('metadata')).catch((cause: unknown) => {
      throw fromAppend(cause);
    });
  }

  async close(): Promise<void> {
    await Promise.all([dispose(this.#reader), dispose(this.#writer)]);
  }

  #connect(): KurrentDBClient {
    return this.#package.KurrentDBClient.connectionString(this.#url);
  }

  #renewed(old: KurrentDBClient): KurrentDBClient {
    void dispose(old);
    return this.#connect();
  }

  #filter({ on, regex }: ServerFilter) {
    const { streamNameFilter, eventTypeFilter } = this.#package;
    return on === 'streamName' ? streamNameFilter({ regex }) : eventTypeFilter({ regex });
  }

  async #send(writes: readonly OutgoingWrite[], features: Features, deadline: number): Promise<Acknowledged> {
    const [write] = writes;
    if (write && writes.length === 1 && write.events.length > 0) {
      const options = { streamState: stateOf(write.expected), deadline };
      const result = await this.#writer.appendToStream(write.stream, write.events.map(eventData), options);
      const heads = new Map([[write.stream, result.nextExpectedRevision]]);
      return { heads, position: result.position && positionText(result.position) };
    }
    const { position, responses } = await (features.checks ? this.#appendRecords(writes) : this.#appendSession(writes));
    const heads = new Map(responses.map(({ streamName, revision }) => [streamName, revision]));
    return { heads, position: positionText({ commit: position, prepare: position }) };
  }

  #appendRecords(writes: readonly OutgoingWrite[]) {
    const records = writes.flatMap(({ stream, events }) =>
      events.map((event) => ({ streamName: stream, record: eventData(event) })),
    );
    const checks = writes
      .filter(({ expected }) => expected !== 'any')
      .map(({ stream, expected }): ConsistencyCheck => {
        return { type: this.#package.STREAM_STATE, streamName: stream, expectedState: stateOf(expected) };
      });
    return this.#writer.appendRecords(records, checks);
  }

  #appendSession(writes: readonly OutgoingWrite[]) {
    return this.#writer.multiStreamAppend(
      writes.map(({ stream, expected, events }) => ({
        streamName: stream,
        expectedState: stateOf(expected),
        events: events.map(eventData),
      })),
    );
  }

  async #page(
    read: (reader: KurrentDBClient) => AsyncIterable<Resolved>,
    limits: PageLimits,
    except: Position = '',
  ): Promise<RawPage> {
    const reader = this.#reader;
    try {
      return await within(collect(read(reader), limits, except), this.#timeoutMs, () => late('a page'));
    } catch (cause) {
      if (typeOf(cause) === 'stream-not-found') return { events: [], hasMore: false };
      if (isBroken(cause) && reader === this.#reader) this.#reader = this.#renewed(reader);
      throw fromRead(cause);
    }
  }
}

export const connectKurrent = async (url: string): Promise<KurrentClient> => {
  const loaded = await loadPackage();
  try {
    return new KurrentClient(loaded, url);
  } catch {
    // The error of the package carries the address, and with it the password.
    throw new EventStoreError('Unsupported', 'store.url: the address of KurrentDB cannot be used as it is written');
  }
};

type Resolved = { readonly event?: Recorded };

/** What the package gives of an event, whatever its kind. */
type Recorded = {
  readonly id: string;
  readonly type: string;
  readonly streamId: string;
  readonly revision: bigint;
  readonly created: Date;
  readonly isJson: boolean;
  readonly data: unknown;
  readonly metadata?: unknown;
  readonly position?: ServerPosition;
};

async function collect(source: AsyncIterable<Resolved>, limits: PageLimits, except: Position): Promise<RawPage> {
  const events: RawEvent[] = [];
  let bytes = 0;
  for await (const { event } of source) {
    if (!event) continue;
    const raw = rawEvent(event);
    if (raw.position === except) continue;
    bytes += sizeOf(raw);
    const isFull = events.length === limits.limit || (events.length > 0 && bytes > limits.maxBytes);
    if (isFull) return { events, hasMore: true };
    events.push(raw);
  }
  return { events, hasMore: false };
}

/** The package's reader gives whole seconds of the server's time: where in its second an event falls, its writer's clock says. */
function createdMs(created: Date, meta: RawEvent['meta']): number {
  const serverMs = created.getTime();
  const writerMs = Number(meta['svc.at'] ?? serverMs);
  return serverMs % 1_000 === 0 ? Math.min(Math.max(serverMs, writerMs), serverMs + 999) : serverMs;
}

/** What the payload takes once it is decompressed. */
const sizeOf = ({ data, meta }: RawEvent): number => Math.max(data.byteLength, Number(meta['svc.size'] ?? 0));

function rawEvent({ id, type, streamId, revision, created, isJson, data, metadata, position }: Recorded): RawEvent {
  const isFlat = typeof metadata === 'object' && metadata !== null && !(metadata instanceof Uint8Array);
  const meta = isFlat ? (metadata as RawEvent['meta']) : {};
  return {
    id,
    type,
    stream: streamId,
    revision,
    position: position ? positionText(position) : '',
    createdMs: createdMs(created, meta),
    data: isJson ? Buffer.from(JSON.stringify(data)) : (data as Uint8Array),
    meta,
  };
}

const eventData = (event: OutgoingEvent): EventData => {
  const { id, type, meta } = event;
  return 'json' in event
    ? { id, type, contentType: 'application/json', data: event.json as Record<string, unknown>, metadata: { ...meta } }
    : { id, type, contentType: 'application/octet-stream', data: event.bytes, metadata: { ...meta } };
};

const states = { any: 'any', noStream: 'no_stream', streamExists: 'stream_exists' } as const;

const stateOf = (expected: Expected): AppendStreamState => (typeof expected === 'bigint' ? expected : states[expected]);

const directionOf = (back: boolean): 'backwards' | 'forwards' => (back ? 'backwards' : 'forwards');

const positionText = ({ commit, prepare }: ServerPosition): Position => padPosition(`${commit}-${prepare}`);

function placeOf(position: Position): ReadPosition {
  const [, commit = '0', prepare = '0'] = /^(\d+)-(\d+)$/.exec(position) ?? [];
  if (position === '') return 'start';
  return { commit: BigInt(commit), prepare: BigInt(prepare) };
}

const late = (what: string): Error => new EventStoreError('StoreUnavailable', `kurrentdb: no answer: ${what}`);

const isBroken = (error: unknown): boolean => typeOf(error) === 'unavailable' || error instanceof EventStoreError;

/** The package has no time limit of its own for reads and for appends in batches. */
async function within<T>(work: Promise<T>, timeoutMs: number, tooLate: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(tooLate()), Math.max(0, timeoutMs));
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

/** The package leaves its connection open. */
async function dispose(client: KurrentDBClient): Promise<void> {
  await client.dispose();
  const channel = await (client as unknown as Inner).getChannel().catch(() => undefined);
  channel?.close();
}
