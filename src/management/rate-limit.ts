/** A limit per key by the generic cell rate algorithm: one number per key, no timer, forgotten when it is full again. */

export type RateLimit = {
  /** Milliseconds until the next one fits; 0 = it does now. Takes nothing. */
  waitMs(key: string): number;
  /** Takes one if it fits; the answer is as of `waitMs` before taking. */
  take(key: string): number;
};

export type RateLimitOptions = {
  readonly rate: number;
  readonly perMs: number;
  readonly burst: number;
  /** Ms, never goes back. */
  readonly monotonic: () => number;
};

/** Above this many keys, those that are full again are dropped. */
const sweepAbove = 10_000;

export function createRateLimit({ rate, perMs, burst, monotonic }: RateLimitOptions): RateLimit {
  const spacingMs = perMs / rate;
  const toleranceMs = spacingMs * (burst - 1);
  /** When the key would be full again. */
  const fullAt = new Map<string, number>();
  const waitMs = (key: string): number => {
    const now = monotonic();
    return Math.max(0, Math.max(fullAt.get(key) ?? now, now) - toleranceMs - now);
  };
  const sweep = (now: number): void => {
    for (const [key, at] of fullAt) if (at <= now) fullAt.delete(key);
  };
  return {
    waitMs,
    take: (key) => {
      const wait = waitMs(key);
      if (wait > 0) return wait;
      const now = monotonic();
      if (fullAt.size >= sweepAbove) sweep(now);
      fullAt.set(key, Math.max(fullAt.get(key) ?? now, now) + spacingMs);
      return 0;
    },
  };
}
