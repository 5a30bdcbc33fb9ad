/** The event store in memory: the reference of the port, for tests and trials; everything is gone when the process ends. */
import { v7 } from 'uuid';
import type {
  Appended,
  AppendOptions,
  Batch,
  Capabilities,
  CommandRecord,
  EventStore,
  LogIdentity,
  Page,
  Position,
  StoredEvent,
  StoreHealth,
  Write,
} from '../../../domain/event-store.ts';
import {
  bigFromPosition,
  checkExpectation,
  checkLimit,
  checkWrites,
  commandReuse,
  cutOf,
  defaultMaxEventBytes,
  fromPosition,
  type KnownEvent,
  matches,
  maxAppendEvents,
  maxPageBytes,
  maxScannedPositions,
  type RetentionRule,
  repeatOf,
  responseLifeMs,
  storeClosed,
  toPosition,
} from './event-rules.ts';
import { Doorbell, follow } from './subscription.ts';

export type MemoryEventStoreOptions = {
  /** ms since 1970. Default: the clock of the machine. */
  readonly now?: () => number;
  readonly maxEventBytes?: number;
};

/** `head` is -1 while only a retention rule is known of the stream. */
type Stream = { readonly head: bigint; readonly events: StoredEvent[]; readonly rule?: RetentionRule };

const unknownStream = (): Stream => ({ head: -1n, events: [] });

type Command = CommandRecord & { readonly atMs: number };

export class MemoryEventStore implements EventStore {
  readonly identity: LogIdentity = { logId: v7(), era: 0 };
  readonly can: Capabilities;
  readonly #now: () => number;
  readonly #doorbell = new Doorbell();
  readonly #streams = new Map<string, Stream>();
  readonly #byId = new Map<string, StoredEvent>();
  readonly #commands = new Map<string, Command>();
  #log: StoredEvent[] = [];
  #head = 0;
  #lastMs = 0;
  #isClosed = false;

  constructor({ now = Date.now, maxEventBytes = defaultMaxEventBytes }: MemoryEventStoreOptions = {}) {
    this.#now = now;
    this.can = {
      multiStream: true,
      checks: true,
      gapless: true,
      serverFilter: true,
      commandRecord: true,
      maxEventBytes,
      maxAppendEvents,
    };
  }

  async append(writes: readonly Write[], options: AppendOptions): Promise<Appended> {
    this.#demandOpen();
    checkWrites(writes, this.can.maxEventBytes);
    const repeat = repeatOf(writes, (id) => this.#known(id));
    if (repeat) return { position: toPosition(repeat.position), heads: repeat.heads, duplicate: true };
    const before = this.#commands.get(options.commandId);
    if (before && writes.some(({ events }) => events.length > 0)) throw commandReuse(options.commandId);
    if (before) return { position: before.position, heads: new Map(), duplicate: true };
    for (const { stream, expected } of writes) checkExpectation(stream, expected, this.#headOf(stream));

    // Nothing below may fail: this is the commit.
    this.#lastMs = Math.max(this.#lastMs, this.#now());
    const heads = new Map<string, bigint>();
    for (const write of writes) if (write.events.length > 0) heads.set(write.stream, this.#write(write));
    const position = toPosition(this.#head);
    const { requestHash = '', response } = options;
    this.#commands.set(options.commandId, {
      requestHash,
      position,
      atMs: this.#lastMs,
      ...(response && { response: response.slice() }),
    });
    if (heads.size > 0) this.#doorbell.ring();
    return { position, heads, duplicate: false };
  }

  async readStream(
    stream: string,
    { from = 0n, to, back = false, limit }: Parameters<EventStore['readStream']>[1],
  ): Promise<readonly StoredEvent[]> {
    this.#demandOpen();
    checkLimit(limit);
    const events = this.#streams.get(stream)?.events ?? [];
    const inside = events.filter(({ revision }) => revision >= from && (to === undefined || revision <= to));
    return pageOf(back ? inside.reverse() : inside, limit);
  }

  async readAll({ after, limit, filter }: Parameters<EventStore['readAll']>[0]): Promise<Page> {
    this.#demandOpen();
    checkLimit(limit);
    const start = fromPosition(after);
    const end = filter ? Math.min(this.#head, start + maxScannedPositions) : this.#head;
    const found = this.#between(start, end, limit + 1, (event) => matches(filter, event));
    const events = pageOf(found, limit);
    const next = events.length < found.length ? (events.at(-1)?.position ?? after) : toPosition(Math.max(start, end));
    return { events, next, atHead: fromPosition(next) >= this.#head };
  }

  subscribe(options: Parameters<EventStore['subscribe']>[0]): AsyncIterable<Batch> {
    return follow(
      {
        readAll: (page) => this.readAll(page),
        grown: async (position, signal) => {
          while (!signal.aborted && this.#head <= fromPosition(position)) {
            this.#demandOpen();
            await this.#doorbell.wait(signal);
          }
        },
      },
      options,
    );
  }

  async positionAt(time: Date): Promise<Position> {
    this.#demandOpen();
    if (this.#lastMs <= time.getTime()) return toPosition(this.#head);
    return this.#log.findLast(({ at }) => at.getTime() <= time.getTime())?.position ?? '';
  }

  async command(id: string): Promise<CommandRecord | undefined> {
    this.#demandOpen();
    const record = this.#commands.get(id);
    if (!record) return undefined;
    const { requestHash, position, response, atMs } = record;
    const isFresh = atMs > this.#now() - responseLifeMs;
    return { requestHash, position, ...(response && isFresh && { response: response.slice() }) };
  }

  async retain(name: string, rule: RetentionRule): Promise<void> {
    this.#demandOpen();
    this.#keep(name, { ...(this.#streams.get(name) ?? unknownStream()), rule });
  }

  async head(): Promise<Position> {
    this.#demandOpen();
    return toPosition(this.#head);
  }

  async health(): Promise<StoreHealth> {
    this.#demandOpen();
    return { writable: true, readable: true, detail: `memory, ${this.#log.length} events` };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#doorbell.ring();
  }

  #demandOpen(): void {
    if (this.#isClosed) throw storeClosed();
  }

  #known(id: string): KnownEvent | undefined {
    const event = this.#byId.get(id);
    return event && { ...event, position: bigFromPosition(event.position) };
  }

  #write({ stream, events }: Write): bigint {
    const old = this.#streams.get(stream) ?? unknownStream();
    const stored = events.map(
      ({ id, type, schema, data, meta }, index): StoredEvent => ({
        id,
        type,
        schema,
        data: data.slice(),
        meta: Object.freeze({ ...meta }),
        stream,
        revision: old.head + BigInt(index) + 1n,
        position: toPosition(this.#head + index + 1),
        at: new Date(this.#lastMs),
      }),
    );
    this.#head += stored.length;
    for (const event of stored) {
      this.#log.push(event);
      old.events.push(event);
      this.#byId.set(event.id, event);
    }
    const head = old.head + BigInt(stored.length);
    this.#keep(stream, { ...old, head });
    return head;
  }

  #headOf(name: string): bigint | undefined {
    const head = this.#streams.get(name)?.head ?? -1n;
    return head < 0n ? undefined : head;
  }

  /** Puts the stream back without what its rule lets go. */
  #keep(name: string, stream: Stream): void {
    this.#streams.set(name, stream);
    if (!stream.rule) return;
    const cut = cutOf(stream.rule, stream.head, this.#now());
    const isGone = ({ revision, at }: StoredEvent): boolean => revision < cut.before || at.getTime() < cut.olderThanMs;
    const gone = new Set(stream.events.filter(isGone));
    if (gone.size === 0) return;
    this.#streams.set(name, { ...stream, events: stream.events.filter((event) => !gone.has(event)) });
    this.#log = this.#log.filter((event) => !gone.has(event));
    for (const { id } of gone) this.#byId.delete(id);
  }

  /** At most `most` wanted events at positions above `start` up to `end`. */
  #between(
    start: number,
    end: number,
    most: number,
    isWanted: (event: StoredEvent) => boolean,
  ): readonly StoredEvent[] {
    const found: StoredEvent[] = [];
    const last = toPosition(end);
    for (let index = this.#indexAfter(toPosition(start)); found.length < most; index++) {
      const event = this.#log[index];
      if (!event || event.position > last) break;
      if (isWanted(event)) found.push(event);
    }
    return found;
  }

  #indexAfter(position: Position): number {
    let low = 0;
    let high = this.#log.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#log[middle]?.position ?? '') > position) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** P8: at most `limit` events and 16 MiB, but at least one. Copies, so that nobody can change the log. */
function pageOf(events: readonly StoredEvent[], limit: number): readonly StoredEvent[] {
  let bytes = 0;
  const page: StoredEvent[] = [];
  for (const event of events.slice(0, limit)) {
    bytes += event.data.byteLength;
    if (page.length > 0 && bytes > maxPageBytes) break;
    page.push({ ...event, data: event.data.slice(), at: new Date(event.at) });
  }
  return page;
}
