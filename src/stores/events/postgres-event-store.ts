/** The event store on PostgreSQL: the port in front of a pool of connections, for several management nodes on one log. */
import { v7 } from 'uuid';
import {
  type Appended,
  type AppendOptions,
  type Batch,
  type Capabilities,
  type CommandRecord,
  type EventStore,
  EventStoreError,
  type LogIdentity,
  type Page,
  type Position,
  type StoredEvent,
  type StoreHealth,
  type Write,
} from '../../../domain/event-store.ts';
import type { OpenedLog, OpenLogOptions } from '../opened-log.ts';
import { openPostgres, type PostgresDatabase, postgresAddress } from '../postgres.ts';
import {
  bigFromPosition,
  checkLimit,
  checkWrites,
  defaultMaxEventBytes,
  maxAppendEvents,
  type RetentionRule,
  storeClosed,
} from './event-rules.ts';
import { encodePayload } from './payload.ts';
import { append, channelOf, probe, retain } from './postgres-append.ts';
import { postgresCells } from './postgres-cells.ts';
import { PostgresDoorbell } from './postgres-doorbell.ts';
import { Lane } from './postgres-lane.ts';
import { prepareLog } from './postgres-migrations.ts';
import {
  commandRecord,
  forgetResponses,
  headState,
  positionAt,
  raiseEra,
  readAll,
  readStream,
} from './postgres-reads.ts';
import { follow } from './subscription.ts';

/** One for the write that is under way, the others for reads; the doorbell has its own. */
const maxConnections = 6;

const writeTimeoutMs = 30_000;
const probeTimeoutMs = 5_000;
const forgetEveryMs = 3_600_000;

/**
 * `postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME`; the schema is `svc` when none is named, and made with its
 * tables at the first open. Texts of errors never hold the password.
 */
export async function openPostgresLog(url: string, options: OpenLogOptions = {}): Promise<OpenedLog> {
  const database = await openPostgres(postgresAddress(url), maxConnections);
  try {
    const identity = await prepareLog(database, { newLogId: v7(), readOnly: options.readOnly });
    const store = new PostgresEventStore(database, identity, options);
    return {
      store,
      cells: postgresCells(database, {
        run: (work) => store.run(work),
        change: (work) => store.change(work),
        nowMs: () => options.now?.() ?? null,
      }),
      bumpEra: () => store.change(() => raiseEra(database)),
      close: () => store.close(),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

class PostgresEventStore implements EventStore {
  readonly identity: LogIdentity;
  readonly can: Capabilities;
  readonly #database: PostgresDatabase;
  readonly #isReadOnly: boolean;
  readonly #now: (() => number) | undefined;
  readonly #doorbell: PostgresDoorbell;
  readonly #lane = new Lane();
  readonly #running = new Set<Promise<unknown>>();
  readonly #forgetting: NodeJS.Timeout;
  /** A write failed and none has succeeded since. */
  #isSuspect = false;
  #closing: Promise<void> | undefined;

  constructor(database: PostgresDatabase, identity: LogIdentity, options: OpenLogOptions) {
    const { now, maxEventBytes, warn, readOnly = false } = options;
    this.#database = database;
    this.#isReadOnly = readOnly;
    this.identity = identity;
    this.#now = now;
    this.can = {
      multiStream: true,
      checks: true,
      gapless: true,
      serverFilter: true,
      commandRecord: true,
      maxEventBytes: maxEventBytes ?? defaultMaxEventBytes,
      maxAppendEvents,
    };
    this.#doorbell = new PostgresDoorbell({
      look: async () => (await headState(database)).position,
      listen: (handlers) => database.listen(channelOf(database.schema), handlers),
      warn: (text) => warn?.(text),
    });
    this.#forgetting = setInterval(() => this.#forget(), forgetEveryMs).unref();
    this.#forget();
  }

  async append(writes: readonly Write[], { timeoutMs, ...options }: AppendOptions): Promise<Appended> {
    checkWrites(writes, this.can.maxEventBytes);
    const encoding = Promise.all(writes.flatMap(({ events }) => events.map(({ data }) => encodePayload(data))));
    // Awaited in its turn, which may not come.
    encoding.catch(() => undefined);
    const appended = await this.#write(timeoutMs, async (restMs) => {
      const payloads = await encoding;
      const limits = { timeoutMs: restMs, nowMs: this.#nowMs() };
      return append(this.#database, { writes, payloads, options }, limits);
    });
    this.#doorbell.grown(appended.position);
    return appended;
  }

  async readStream(stream: string, range: Parameters<EventStore['readStream']>[1]): Promise<readonly StoredEvent[]> {
    checkLimit(range.limit);
    return this.run(() => readStream(this.#database, stream, range));
  }

  async readAll(page: Parameters<EventStore['readAll']>[0]): Promise<Page> {
    checkLimit(page.limit);
    bigFromPosition(page.after);
    return this.run(() => readAll(this.#database, page));
  }

  async *subscribe(options: Parameters<EventStore['subscribe']>[0]): AsyncGenerator<Batch> {
    this.#demandOpen();
    this.#doorbell.enter();
    try {
      yield* follow(
        {
          readAll: (page) => this.#readPatiently(page, options.signal),
          grown: (position, signal) => this.#doorbell.longerThan(position, signal),
        },
        options,
      );
    } finally {
      this.#doorbell.leave();
    }
  }

  positionAt(time: Date): Promise<Position> {
    return this.run(() => positionAt(this.#database, time.getTime()));
  }

  command(id: string): Promise<CommandRecord | undefined> {
    return this.run(() => commandRecord(this.#database, id, this.#nowMs()));
  }

  async retain(stream: string, rule: RetentionRule): Promise<void> {
    await this.#write(writeTimeoutMs, (timeoutMs) =>
      retain(this.#database, stream, rule, { timeoutMs, nowMs: this.#nowMs() }),
    );
  }

  head(): Promise<Position> {
    return this.run(async () => (await headState(this.#database)).position);
  }

  async health(): Promise<StoreHealth> {
    this.#demandOpen();
    try {
      const { position, isReadOnly } = await this.run(() => headState(this.#database));
      const detail = `postgresql, head ${BigInt(position)}${this.#doorbell.hears ? ', hears notifications' : ''}`;
      if (this.#isReadOnly) return { writable: false, readable: true, detail: `${detail}, opened for reading` };
      if (isReadOnly) return { writable: false, readable: true, detail: `${detail}, takes no writes (a replica?)` };
      return await this.#writable(detail);
    } catch (error) {
      if (this.#closing !== undefined) throw error;
      return { writable: false, readable: false, detail: messageOf(error) };
    }
  }

  /** Waits for everything that was asked before; later calls are refused. */
  close(): Promise<void> {
    this.#closing ??= this.#shut();
    return this.#closing;
  }

  /** Every call passes here: refused when the store is closed, waited for when it closes. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#demandOpen();
    const running = work();
    const settled: Promise<unknown> = running.then(
      () => this.#running.delete(settled),
      () => this.#running.delete(settled),
    );
    this.#running.add(settled);
    return running;
  }

  /** As `run`, for what writes. */
  async change<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isReadOnly) throw new EventStoreError('StoreReadOnly', 'the log was opened for reading');
    return this.run(work);
  }

  async #write<T>(timeoutMs: number, work: (restMs: number) => Promise<T>): Promise<T> {
    try {
      const result = await this.change(() => this.#lane.run(timeoutMs, work));
      this.#isSuspect = false;
      return result;
    } catch (error) {
      if (isFault(error)) this.#isSuspect = true;
      throw error;
    }
  }

  /** Only a real commit shows whether the server takes writes again. */
  async #writable(detail: string): Promise<StoreHealth> {
    if (!this.#isSuspect) return { writable: true, readable: true, detail };
    try {
      await this.#write(probeTimeoutMs, (timeoutMs) => probe(this.#database, { timeoutMs, nowMs: null }));
      return { writable: true, readable: true, detail };
    } catch (error) {
      return { writable: false, readable: true, detail: messageOf(error) };
    }
  }

  /** A subscription outlives a restart of the server: it reads on when a look at the head succeeds again. */
  async #readPatiently(page: Parameters<EventStore['readAll']>[0], signal: AbortSignal): Promise<Page> {
    for (;;) {
      try {
        return await this.readAll(page);
      } catch (error) {
        if (!isUnavailable(error) || this.#closing !== undefined) throw error;
        await this.#doorbell.readable(signal);
        if (signal.aborted) return { events: [], next: page.after, atHead: false };
      }
    }
  }

  async #shut(): Promise<void> {
    clearInterval(this.#forgetting);
    const watching = this.#doorbell.end(storeClosed());
    await Promise.all([...this.#running, watching]);
    await this.#database.close();
  }

  #nowMs(): number | null {
    return this.#now?.() ?? null;
  }

  #demandOpen(): void {
    if (this.#closing !== undefined) throw storeClosed();
  }

  /** Housekeeping; a store that cannot do it now does it an hour later, and says what ails it in `health`. */
  #forget(): void {
    this.change(() => forgetResponses(this.#database, this.#nowMs())).catch(() => undefined);
  }
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof EventStoreError && error.code === 'StoreUnavailable';

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A refusal says nothing about the server. */
const isFault = (error: unknown): boolean =>
  error instanceof EventStoreError &&
  (error.code === 'StoreFull' ||
    error.code === 'StoreReadOnly' ||
    error.code === 'StoreUnavailable' ||
    error.code === 'UnknownOutcome');
