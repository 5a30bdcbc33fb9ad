/** A limit per key by the generic cell rate algorithm: one number per key, no timer, forgotten when it is full again. */
import { Rejection } from './errors.ts';

export type RateLimit = {
  /** Milliseconds until the next one fits; 0 = it does now. Takes nothing. */
  waitMs(key: string): number;
  /** Takes one if it fits; the answer is as of `waitMs` before taking. */
  take(key: string): number;
  /** The members of `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers). */
  fields(key: string): LimitFields;
};

/** `q` in a window of `w` seconds; `r` left, full again in `t` seconds. */
export type LimitFields = { readonly policy: string; readonly standing: string };

export type RateLimitOptions = {
  /** By which clients know it. */
  readonly name: string;
  readonly rate: number;
  readonly perMs: number;
  readonly burst: number;
  /** Ms, never goes back. */
  readonly monotonic: () => number;
};

/** Above this many keys, those that are full again are dropped. */
const sweepAbove = 10_000;

export function createRateLimit({ name, rate, perMs, burst, monotonic }: RateLimitOptions): RateLimit {
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
  const policy = `"${name}";q=${burst};w=${Math.max(1, Math.ceil((spacingMs * burst) / 1_000))}`;
  return {
    waitMs,
    fields: (key) => {
      const emptyMs = Math.max(0, (fullAt.get(key) ?? 0) - monotonic());
      const left = Math.max(0, Math.min(burst, Math.floor((spacingMs * burst - emptyMs) / spacingMs)));
      return { policy, standing: `"${name}";r=${left};t=${Math.ceil(emptyMs / 1_000)}` };
    },
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

/** The two headers of an answer, for every limit that it was counted against. */
export const limitHeaders = (fields: readonly LimitFields[]): Readonly<Record<string, string>> => ({
  'RateLimit-Policy': fields.map(({ policy }) => policy).join(', '),
  RateLimit: fields.map(({ standing }) => standing).join(', '),
});

/** 429 in whole seconds; the headers say which limit. */
export const tooMany = (waitMs: number, fields: LimitFields): Rejection =>
  new Rejection('rate_limited', 'Too many requests', {
    headers: { ...limitHeaders([fields]), 'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1_000))) },
  });
