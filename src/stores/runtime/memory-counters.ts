/** Counters in the memory of one process: rates as GCRA, one number per counter (api-definition design 11), and quotas. */
import type { Counters, LimitDecision } from '../../../gateway/ports.ts';
import { memoryQuotas } from './memory-quotas.ts';

/**
 * `tat[0]`: theoretical arrival time of the next request. In an array of its own, so that a new time is no new object.
 * `other`: the next one of the same name, with another rate or period.
 */
type Counter = {
  readonly rate: number;
  readonly perMs: number;
  readonly tat: Float64Array;
  readonly other: Counter | undefined;
};

/** Counters at rest are as good as absent; they are looked for after so many look-ups. */
const takesBetweenSweeps = 10_000;

/** `monotonic` in ms. Each rate and period of a name has a counter of its own, until that is at rest. */
export function memoryCounters({ now: wallNow, monotonic }: { now(): number; monotonic(): number }): Counters {
  const counters = new Map<string, Counter>();
  let takes = 0;

  function sweep(now: number): void {
    for (const [key, counter] of counters) {
      const left = awake(counter, now);
      if (left === undefined) counters.delete(key);
      else if (left !== counter) counters.set(key, left);
    }
  }

  return {
    ...memoryQuotas({ now: () => wallNow() }),
    take(key, rate, perMs) {
      const now = monotonic();
      takes++;
      if (takes % takesBetweenSweeps === 0) sweep(now);
      const first = counters.get(key);
      let counter = first;
      while (counter !== undefined && (counter.rate !== rate || counter.perMs !== perMs)) counter = counter.other;
      if (counter === undefined) {
        counter = { rate, perMs, tat: Float64Array.of(now), other: awake(first, now) };
        counters.set(key, counter);
      }
      return takeFrom(counter, now);
    },
  };
}

/** Those that are not at rest. */
function awake(counter: Counter | undefined, now: number): Counter | undefined {
  if (counter === undefined) return undefined;
  const { tat } = counter;
  const other = awake(counter.other, now);
  if ((tat[0] ?? 0) <= now) return other;
  return other === counter.other ? counter : { ...counter, other };
}

/** A tolerance for sums of fractions, far below any period. */
const epsilonMs = 1e-6;

function takeFrom(counter: Counter, now: number): LimitDecision {
  const { rate, perMs, tat } = counter;
  const stepMs = perMs / rate;
  const ahead = Math.max((tat[0] ?? 0) - now, 0);
  const allowed = ahead <= perMs - stepMs + epsilonMs;
  if (allowed) tat[0] = now + ahead + stepMs;
  const resetMs = allowed ? ahead + stepMs : ahead;
  return {
    allowed,
    remaining: Math.max(0, Math.floor((perMs - resetMs + epsilonMs) / stepMs)),
    resetMs,
    retryAfterMs: allowed ? 0 : ahead - (perMs - stepMs),
  };
}
