/** Connections to upstreams: one pool per API and origin, shared by all versions of the API, closed with the last of them. */
import { Pool } from 'undici';

export type Agent = { readonly pool: Pool; release(): void };

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

const newPool = (origin: string, timeoutMs: number): Pool =>
  new Pool(origin, {
    // As many connections as requests under way; the limits of an API shape them, not a queue.
    connections: null,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: keepAliveMs,
    maxHeaderSize: maxHeadBytes,
    connect: { timeout: timeoutMs > 0 ? Math.min(timeoutMs, connectTimeoutMs) : connectTimeoutMs },
  });
