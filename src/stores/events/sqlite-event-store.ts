/** The embedded event store: the port in front of one worker thread that owns the SQLite log. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
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
  type NewEvent,
  type Page,
  type Position,
  type StoredEvent,
  type StoreHealth,
  type Write,
} from '../../../domain/event-store.ts';
import { CellConflict, checkCell, type SharedCells } from '../../../domain/shared-cells.ts';
import type { OpenedLog } from '../opened-log.ts';
import { copyDatabase } from '../sqlite.ts';
import {
  checkLimit,
  checkWrites,
  defaultMaxEventBytes,
  fromPosition,
  maxAppendEvents,
  type RetentionRule,
  storeClosed,
} from './event-rules.ts';
import { fromMessage } from './sqlite-errors.ts';
import type { SqliteLogOptions } from './sqlite-log.ts';
import { unpackEvents } from './sqlite-page.ts';
import type { CallName, Calls, Reply, Request } from './sqlite-protocol.ts';
import { Doorbell, follow, type PageRange } from './subscription.ts';

export type SqliteEventStoreOptions = Omit<SqliteLogOptions, 'newLogId'> & {
  /** ms since 1970. Default: the clock of the machine. */
  readonly now?: () => number;
  /** Payload of one event. Default 4 MiB. */
  readonly maxEventBytes?: number;
};

const forgetEveryMs = 3_600_000;

/** Resolves when the log is open; throws what stands against it (network file system, newer format, no permission). */
export async function openSqliteEventStore({
  now = Date.now,
  maxEventBytes = defaultMaxEventBytes,
  warn,
  ...log
}: SqliteEventStoreOptions): Promise<SqliteEventStore> {
  const worker = new Worker(new URL(`./sqlite-worker${extname(import.meta.filename)}`, import.meta.url), {
    name: 'event-store',
    workerData: { ...log, newLogId: v7() } satisfies SqliteLogOptions,
  });
  const opened = await firstReply(worker);
  for (const text of opened.warnings) warn?.(text);
  return new SqliteEventStore(worker, opened.identity, { now, maxEventBytes });
}

/** The store with its cells and what an operator asks of it. */
export async function openSqliteLog(options: SqliteEventStoreOptions): Promise<OpenedLog> {
  const store = await openSqliteEventStore(options);
  return {
    store,
    cells: store.cells,
    bumpEra: () => store.bumpEra(),
    backup: (path) => copyDatabase(options.path, path),
    close: () => store.close(),
  };
}

function firstReply(worker: Worker): Promise<Extract<Reply, { type: 'opened' }>> {
  const { promise, resolve, reject } = Promise.withResolvers<Extract<Reply, { type: 'opened' }>>();
  const settle = (reply: Reply): void => {
    worker.off('error', reject);
    if (reply.type === 'opened') resolve(reply);
    else if (reply.type === 'refused') worker.once('exit', () => reject(fromMessage(reply.error)));
  };
  worker.once('error', reject);
  worker.once('message', settle);
  return promise;
}

type Pending = {
  readonly call: CallName;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: EventStoreError) => void;
};

export class SqliteEventStore implements EventStore, AsyncDisposable {
  readonly identity: LogIdentity;
  readonly can: Capabilities;
  readonly cells: SharedCells;
  readonly #worker: Worker;
  readonly #now: () => number;
  readonly #pending = new Map<number, Pending>();
  readonly #doorbell = new Doorbell();
  readonly #forgetting: NodeJS.Timeout;
  #lastId = 0;
  #followers = 0;
  /** The furthest head heard of. */
  #head: Position = '';
  /** Why no call is taken any more. */
  #end: EventStoreError | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    worker: Worker,
    identity: LogIdentity,
    { now, maxEventBytes }: { readonly now: () => number; readonly maxEventBytes: number },
  ) {
    this.#worker = worker;
    this.identity = identity;
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
    this.cells = this.#cells();
    worker.on('message', (reply: Reply) => this.#hear(reply));
    worker.on('error', (cause) => this.#fail(cause));
    worker.on('exit', () => this.#fail(new Error('the worker of the event store has ended')));
    this.#forgetting = setInterval(() => this.#forget(), forgetEveryMs).unref();
    this.#forget();
  }

  async append(writes: readonly Write[], { timeoutMs, ...options }: AppendOptions): Promise<Appended> {
    this.#demandOpen();
    checkWrites(writes, this.can.maxEventBytes);
    const sent = writes.map(({ stream, expected, events }) => ({ stream, expected, events: events.map(portable) }));
    const answer = this.#call('append', sent, portableOptions(options), this.#now()).then((appended) => {
      this.#grow(appended.position);
      return appended;
    });
    return within(answer, timeoutMs);
  }

  async readStream(stream: string, range: Parameters<EventStore['readStream']>[1]): Promise<readonly StoredEvent[]> {
    checkLimit(range.limit);
    return unpackEvents(await this.#call('readStream', stream, range));
  }

  async readAll({ after, limit, filter }: Parameters<EventStore['readAll']>[0]): Promise<Page> {
    checkLimit(limit);
    return this.#page({ after, limit, ...(filter && { filter }) });
  }

  async *subscribe(options: Parameters<EventStore['subscribe']>[0]): AsyncGenerator<Batch> {
    if (this.#followers++ === 0) await this.#call('watch', true);
    try {
      const log = { canSkim: true, readAll: (page: PageRange) => this.#page(page) };
      yield* follow({ ...log, grown: (...at) => this.#grown(...at) }, options);
    } finally {
      if (--this.#followers === 0 && !this.#end) await this.#call('watch', false);
    }
  }

  async positionAt(time: Date): Promise<Position> {
    return this.#call('positionAt', time.getTime());
  }

  async command(id: string): Promise<CommandRecord | undefined> {
    return this.#call('command', id, this.#now());
  }

  async retain(stream: string, rule: RetentionRule): Promise<void> {
    return this.#call('retain', stream, rule, this.#now());
  }

  async head(): Promise<Position> {
    return this.#call('head');
  }

  async health(): Promise<StoreHealth> {
    if (this.#end && !this.#closing) return { writable: false, readable: false, detail: this.#end.message };
    return this.#call('health');
  }

  async bumpEra(): Promise<number> {
    return this.#call('bumpEra');
  }

  /** Waits for everything that was asked before; later calls are refused. */
  close(): Promise<void> {
    this.#closing ??= this.#shut();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #shut(): Promise<void> {
    clearInterval(this.#forgetting);
    if (this.#end) return;
    const closed = this.#call('close');
    this.#end = storeClosed();
    this.#doorbell.ring();
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve));
    await closed;
    await ended;
  }

  #cells(): SharedCells {
    return {
      read: async (key) => {
        checkCell(key);
        return this.#call('readCell', key);
      },
      write: async (key, value, expected) => {
        checkCell(key, value);
        const version = await this.#call('writeCell', { key, value, expected, nowMs: this.#now() });
        if (version === undefined) throw new CellConflict(key, expected);
        return version;
      },
      list: (prefix) => this.#call('listCells', prefix),
      remove: async (key) => {
        checkCell(key);
        return this.#call('removeCell', key);
      },
    };
  }

  async #page(range: PageRange): Promise<Page> {
    fromPosition(range.after);
    const { packed, next, atHead } = await this.#call('readAll', range);
    return { events: unpackEvents(packed), next, atHead };
  }

  #call<Name extends CallName>(call: Name, ...args: Parameters<Calls[Name]>): Promise<ReturnType<Calls[Name]>> {
    return new Promise((resolve, reject) => {
      this.#demandOpen();
      const id = ++this.#lastId;
      this.#pending.set(id, { call, resolve: resolve as Pending['resolve'], reject });
      this.#worker.postMessage({ id, call, args } as Request);
    });
  }

  #hear(reply: Reply): void {
    if (reply.type === 'grown') this.#grow(reply.head);
    if (reply.type !== 'answer' && reply.type !== 'failure') return;
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if (reply.type === 'answer') pending?.resolve(reply.value);
    else pending?.reject(fromMessage(reply.error));
  }

  #grow(head: Position): void {
    if (head <= this.#head) return;
    this.#head = head;
    this.#doorbell.ring();
  }

  async #grown(position: Position, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#head <= position) {
      this.#demandOpen();
      await this.#doorbell.wait(signal);
    }
  }

  #demandOpen(): void {
    if (this.#end) throw this.#end;
  }

  /** The thread is gone: whoever waits for an append cannot know what became of it. */
  #fail(cause: unknown): void {
    const message = cause instanceof Error ? cause.message : String(cause);
    this.#end ??= new EventStoreError('StoreUnavailable', message, { cause });
    for (const [id, { call, reject }] of this.#pending) {
      this.#pending.delete(id);
      reject(new EventStoreError(call === 'append' ? 'UnknownOutcome' : 'StoreUnavailable', message, { cause }));
    }
    this.#doorbell.ring();
  }

  /** Housekeeping; a store that cannot do it now does it an hour later, and says what ails it in `health`. */
  #forget(): void {
    this.#call('forgetResponses', this.#now()).catch(() => undefined);
  }
}

/** Copied exactly: a view into a larger buffer would send all of it to the other thread. */
const portable = ({ id, type, schema, data, meta }: NewEvent): NewEvent => ({
  id,
  type,
  schema,
  data: exact(data),
  meta: { ...meta },
});

const exact = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes);

const portableOptions = ({
  commandId,
  requestHash,
  response,
}: Omit<AppendOptions, 'timeoutMs'>): Omit<AppendOptions, 'timeoutMs'> => ({
  commandId,
  ...(requestHash !== undefined && { requestHash }),
  ...(response && { response: exact(response) }),
});

/** P6: what takes longer may still happen. */
async function within<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new EventStoreError('UnknownOutcome', `no answer within ${timeoutMs} ms; repeat the same append`)),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
