/** Connections to upstreams: one pool per API and origin, shared by all versions of the API, closed with the last of them. */
import { createRequire } from 'node:module';
import type * as Undici from 'undici';
import type { TlsVersions } from '../../domain/api/definition.ts';
import { tlsOptions } from './target.ts';

const require = createRequire(import.meta.url);

/** The two of its parts that are used here, at a third of the time that all of it takes to load. */
const Client = require('undici/lib/dispatcher/client.js') as typeof Undici.Client;
const Pool = require('undici/lib/dispatcher/pool.js') as typeof Undici.Pool;

export type Agent = {
  /** Made with the first request. */
  readonly pool: Undici.Dispatcher;
  /** A connection of its own for one request, for when those of the pool turn out to be dead; close it when it is sent. */
  fresh(): Undici.Dispatcher;
  release(): void;
};

type Connecting = { readonly timeoutMs: number; readonly tls: TlsVersions };
export type PoolKey = Connecting & { readonly apiId: string; readonly origin: string };

const connectTimeoutMs = 10_000;
const keepAliveMs = 4_000;
const maxHeadBytes = 65_536;

export class Agents {
  readonly #pools = new Map<string, LazyPool>();

  /** The pool lives until every one who acquired it has released it. */
  acquire({ apiId, origin, timeoutMs, tls }: PoolKey): Agent {
    const key = `${apiId}\n${origin}\n${timeoutMs}\n${tls.min} ${tls.max}`;
    const connecting = { timeoutMs, tls };
    const entry = this.#pools.get(key) ?? new LazyPool(origin, connecting);
    this.#pools.set(key, entry);
    entry.users++;
    let isReleased = false;
    return {
      get pool() {
        return entry.pool;
      },
      fresh: () => new Client(origin, connectionOptions(connecting)),
      release: () => {
        if (isReleased) return;
        isReleased = true;
        entry.users--;
        if (entry.users > 0) return;
        this.#pools.delete(key);
        entry.close();
      },
    };
  }

  get size(): number {
    return this.#pools.size;
  }

  async close(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }
}

/** Most of thousands of APIs are not called in the first minute of a gateway: a pool that nobody asked for costs nothing. */
class LazyPool {
  readonly #origin: string;
  readonly #connecting: Connecting;
  #pool: Undici.Pool | undefined;
  users = 0;

  constructor(origin: string, connecting: Connecting) {
    this.#origin = origin;
    this.#connecting = connecting;
  }

  get pool(): Undici.Pool {
    this.#pool ??= newPool(this.#origin, this.#connecting);
    return this.#pool;
  }

  /** Waits for what is under way by itself; nobody waits for it. */
  close(): void {
    const pool = this.#pool;
    pool?.close().catch(() => pool.destroy());
  }

  async destroy(): Promise<void> {
    await this.#pool?.destroy();
  }
}

/** As many connections as requests under way; the limits of an API shape them, not a queue. */
const newPool = (origin: string, connecting: Connecting): Undici.Pool =>
  new Pool(origin, { ...connectionOptions(connecting), connections: null });

const connectionOptions = ({ timeoutMs, tls }: Connecting) => ({
  pipelining: 1,
  allowH2: false,
  keepAliveTimeout: keepAliveMs,
  maxHeaderSize: maxHeadBytes,
  connect: {
    timeout: timeoutMs > 0 ? Math.min(timeoutMs, connectTimeoutMs) : connectTimeoutMs,
    ...tlsOptions(tls),
  },
});
