/** What an attempt to deliver an event means: delivered, to be tried again at a time, or dead (api-definition design 14.4, point 3). */
import type { Sent } from './webhook-sender.ts';

/** Durations in ms. */
export type RetryPolicy = {
  readonly firstMs: number;
  readonly longestMs: number;
  /** From the event on. */
  readonly giveUpMs: number;
  /** Attempts that an answer gets which says that another one will change nothing. */
  readonly refusedAttempts: number;
};

export const webhookRetries: RetryPolicy = {
  firstMs: 1_000,
  longestMs: 600_000,
  giveUpMs: 86_400_000,
  refusedAttempts: 3,
};

export type Verdict =
  | { readonly state: 'delivered' }
  | { readonly state: 'retrying'; readonly dueMs: number }
  | { readonly state: 'dead' };

export type Attempted = {
  readonly sent: Sent;
  /** With this one. */
  readonly attempts: number;
  /** When the event was raised, and now; ms since 1970. */
  readonly sinceMs: number;
  readonly nowMs: number;
  /** At least 0, below 1. */
  readonly random: number;
};

/** Of 4xx, those that pass by themselves. */
const passing: readonly number[] = [408, 425, 429];

export function verdictOf({ sent, attempts, sinceMs, nowMs, random }: Attempted, policy: RetryPolicy): Verdict {
  const { status, retryAfterMs = 0 } = sent;
  if (status !== null && status >= 200 && status < 300) return { state: 'delivered' };
  const isRefused = status !== null && status >= 400 && status < 500 && !passing.includes(status);
  if (isRefused && attempts >= policy.refusedAttempts) return { state: 'dead' };
  const dueMs = nowMs + Math.max(backoffMs(attempts, random, policy), retryAfterMs);
  return dueMs - sinceMs > policy.giveUpMs ? { state: 'dead' } : { state: 'retrying', dueMs };
}

/** Doubles with each attempt; between half and all of it, so that events of one outage do not come back together. */
function backoffMs(attempts: number, random: number, { firstMs, longestMs }: RetryPolicy): number {
  const whole = Math.min(longestMs, firstMs * 2 ** Math.min(attempts - 1, 30));
  return Math.round(whole * (0.5 + random / 2));
}
