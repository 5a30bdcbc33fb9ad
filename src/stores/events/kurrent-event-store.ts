/** The event store on a KurrentDB server: the port's promises where the engine keeps them, and by our own hand where it does not. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
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
import { defaultMaxEventBytes, maxPageBytes, type RetentionRule, storeClosed } from './event-rules.ts';
import { KurrentAppends } from './kurrent-append.ts';
import { KurrentBell } from './kurrent-bell.ts';
import { KurrentCells } from './kurrent-cells.ts';
import { connectKurrent, type Features, type KurrentClient } from './kurrent-client.ts';
import { connectionStringOf } from './kurrent-connection.ts';
import { KurrentConflict } from './kurrent-errors.ts';
import { openIdentity, raiseEra } from './kurrent-identity.ts';
import { checksStream } from './kurrent-names.ts';
import { KurrentReads } from './kurrent-reads.ts';
import { follow } from './subscription.ts';

/** Servers before 25.1 take 1 MiB in one append, with everything around the payload. */
const oldAppendBytes = 900 * 1024;
const newAppendBytes = 255 * 1024 * 1024;
/** Each stream of an append is looked at before it. */
const maxAppendEvents = 2_000;
const probeTimeoutMs = 5_000;
const lookEveryMs = 1_000;
/** A subscription outlives a server that is gone for so long; then its consumer hears of it. */
const patienceMs = 60_000;

class KurrentEventStore implements EventStore {
  readonly identity: LogIdentity;
  readonly can: Capabilities;
  readonly #client: KurrentClient;
  readonly #features: Features;
  readonly #appends: KurrentAppends;
  readonly #reads: KurrentReads;
  readonly #bell: KurrentBell;
  readonly #pending = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(client: KurrentClient, features: Features, identity: LogIdentity, options: OpenLogOptions) {
    const { multiStream, checks } = features;
    const { maxEventBytes = defaultMaxEventBytes, now = Date.now } = options;
    const maxAppendBytes = multiStream ? newAppendBytes : oldAppendBytes;
    this.identity = identity;
    this.can = {
      ...{ multiStream, checks, gapless: false, serverFilter: true, commandRecord: false },
      ...{ maxEventBytes, maxAppendEvents },
    };
    this.#client = client;
    this.#features = features;
    this.#appends = new KurrentAppends({ client, features, can: this.can, maxAppendBytes, now });
    this.#reads = new KurrentReads(client);
    this.#bell = new KurrentBell({ client, head: () => this.#reads.head(), lookEveryMs });
  }

  append(writes: readonly Write[], options: AppendOptions): Promise<Appended> {
    return this.#answer(() => this.#appends.append(writes, options, () => this.#reads.head()));
  }

  readStream(stream: string, options: Parameters<EventStore['readStream']>[1]): Promise<readonly StoredEvent[]> {
    return this.#answer(() => this.#reads.readStream(stream, options));
  }

  readAll(options: Parameters<EventStore['readAll']>[0]): Promise<Page> {
    return this.#answer(() => this.#reads.readAll(options));
  }

  /** Pages of the log; the server's push only says when to look for the next one. */
  async *subscribe(options: Parameters<EventStore['subscribe']>[0]): AsyncGenerator<Batch> {
    this.#bell.enter();
    try {
      yield* follow({ readAll: (page) => this.#patiently(page, options.signal), grown: this.#grown }, options);
    } finally {
      this.#bell.leave();
    }
  }

  positionAt(time: Date): Promise<Position> {
    return this.#answer(() => this.#reads.positionAt(time));
  }

  /** The engine has no place for it that an append could write at once: a projection answers this (`can.commandRecord`). */
  command(_id: string): Promise<CommandRecord | undefined> {
    return this.#answer(async () => undefined);
  }

  /** Readers of the stream miss the events at once; readers of the whole log and the disk when the server scavenges. */
  retain(stream: string, { maxAgeS, maxCount, before }: RetentionRule): Promise<void> {
    const rule = {
      ...(maxAgeS !== undefined && { maxAge: maxAgeS }),
      ...(maxCount !== undefined && { maxCount }),
      ...(before !== undefined && { truncateBefore: Number(before) }),
    };
    return this.#answer(() => this.#client.setRule(stream, rule));
  }

  head(): Promise<Position> {
    return this.#answer(() => this.#reads.head());
  }

  health(): Promise<StoreHealth> {
    return this.#answer(async () => {
      const [unreadable, unwritable] = await Promise.all([this.#readFailure(), this.#writeFailure()]);
      const version = `KurrentDB ${this.#features.version}`;
      const detail = [version, unreadable && `cannot read: ${unreadable}`, unwritable && `cannot write: ${unwritable}`];
      return { readable: !unreadable, writable: !unwritable, detail: detail.filter(Boolean).join('; ') };
    });
  }

  /** Answers what was asked before. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#bell.close();
    await Promise.allSettled(this.#pending);
    await this.#client.close();
  }

  readonly #grown = async (position: Position, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      this.#demandOpen();
      const rung = this.#bell.wait(signal);
      const head = await this.head().catch((error: unknown) =>
        isUnavailable(error) ? position : Promise.reject(error),
      );
      if (head > position) return;
      await rung;
    }
  };

  async #patiently(options: Parameters<EventStore['readAll']>[0], signal: AbortSignal): Promise<Page> {
    for (const endsAtMs = performance.now() + patienceMs; ; ) {
      try {
        return await this.readAll(options);
      } catch (error) {
        if (this.#isClosed || !isUnavailable(error) || performance.now() > endsAtMs) throw error;
        await wait(lookEveryMs, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return { events: [], next: options.after, atHead: true };
      }
    }
  }

  #readFailure(): Promise<string | undefined> {
    const limits = { back: true, limit: 1, maxBytes: maxPageBytes };
    return this.#client.readAll('end', limits).then(
      () => undefined,
      (error: Error) => error.message,
    );
  }

  /** An append that no state of its stream allows goes all the way to the leader and writes nothing. */
  async #writeFailure(): Promise<string | undefined> {
    const event = { id: randomUUID(), type: 'Probe', meta: {}, sizeBytes: 2, json: {} };
    const write = { stream: checksStream, expected: 2n ** 60n, events: [event] };
    try {
      await this.#client.append([write], this.#features, probeTimeoutMs);
      return 'the server does not check expectations';
    } catch (error) {
      return error instanceof KurrentConflict ? undefined : (error as Error).message;
    }
  }

  async #answer<T>(work: () => Promise<T>): Promise<T> {
    this.#demandOpen();
    const answer = work();
    this.#pending.add(answer);
    try {
      return await answer;
    } finally {
      this.#pending.delete(answer);
    }
  }

  #demandOpen(): void {
    if (this.#isClosed) throw storeClosed();
  }
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof EventStoreError && error.code === 'StoreUnavailable';

/** `kurrentdb://[user:password@]host:port[,…][?…]`. Times are the server's own. */
export async function openKurrentLog(url: string, options: OpenLogOptions): Promise<OpenedLog> {
  const client = await connectKurrent(connectionStringOf(url, options.warn ?? (() => {})));
  try {
    const features = await client.features();
    const store = new KurrentEventStore(client, features, await openIdentity(client, features), options);
    return {
      store,
      cells: new KurrentCells(client, features),
      bumpEra: () => raiseEra(client, features),
      close: () => store.close(),
    };
  } catch (error) {
    await client.close();
    throw error;
  }
}
