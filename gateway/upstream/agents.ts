/** Connections to upstreams: one pool per API and origin, shared by all versions of the API, closed with the last of them. */
import { Client, type Dispatcher, Pool } from 'undici';

export type Agent = {
  readonly pool: Dispatcher;
  /** A connection of its own for one request, for when those of the pool turn out to be dead; close it when it is sent. */
  fresh(): Dispatcher;
  release(): void;
};

export type PoolKey = { readonly apiId: string; readonly origin: string; readonly timeoutMs: number };

const connectTimeoutMs = 10_000;
const keepAliveMs = 4_000;
const maxHeadBytes = 65_536;

export class Agents {
  readonly #pools = new Map<string, { readonly pool: Pool; users: number }>();

  /** The pool lives until every one who acquired it has released it. */
  acquire({ apiId, origin, timeoutMs }: PoolKey): Agent {
    const key = `${apiId}\n${origin}\n${timeoutMs}`;
    const entry = this.#pools.get(key) ?? { pool: newPool(origin, timeoutMs), users: 0 };
    this.#pools.set(key, entry);
    entry.users++;
    let isReleased = false;
    return {
      pool: entry.pool,
      fresh: () => new Client(origin, connectionOptions(timeoutMs)),
      release: () => {
        if (isReleased) return;
        isReleased = true;
        entry.users--;
        if (entry.users > 0) return;
        this.#pools.delete(key);
        // Waits for what is under way by itself; nobody waits for it.
        entry.pool.close().catch(() => entry.pool.destroy());
      },
    };
  }

  get size(): number {
    return this.#pools.size;
  }

  async close(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map(({ pool }) => pool.destroy()));
  }
}

/** As many connections as requests under way; the limits of an API shape them, not a queue. */
const newPool = (origin: string, timeoutMs: number): Pool =>
  new Pool(origin, { ...connectionOptions(timeoutMs), connections: null });

const connectionOptions = (timeoutMs: number) => ({
  pipelining: 1,
  allowH2: false,
  keepAliveTimeout: keepAliveMs,
  maxHeaderSize: maxHeadBytes,
  connect: { timeout: timeoutMs > 0 ? Math.min(timeoutMs, connectTimeoutMs) : connectTimeoutMs },
});
