/** Quotas in the memory of one process: what was spent of a window that opens with the first request (api-definition design 11). */
import type { Counters, QuotaDecision, QuotaTerms } from '../../../gateway/ports.ts';

/**
 * `opensAt` in ms since 1970; `isSaid`: somebody has said when it ends, so that it may as well open later. `spent` counts
 * in place, so that a request makes no object here; `renewalMs`: as last asked.
 */
type Window = { opensAt: number; readonly isSaid: boolean; spent: number; renewalMs: number };

/** Windows that have ended are as good as absent; they are looked for after so many look-ups. */
const spendsBetweenSweeps = 10_000;

/** `now` in ms since 1970: windows end at times that clients are told. */
export function memoryQuotas({ now }: { now(): number }): Pick<Counters, 'spend' | 'standing' | 'retain'> {
  const windows = new Map<string, Window>();
  let spends = 0;

  function sweep(time: number): void {
    for (const [key, window] of windows) if (hasEnded(window.opensAt, window.renewalMs, time)) windows.delete(key);
  }

  function open(key: string, terms: QuotaTerms, time: number): Window | undefined {
    const window = windows.get(key);
    if (!window) return begun(terms, time);
    // The clock was set back since. Nobody waits for longer than a window because it once was wrong.
    if (window.opensAt > time && !window.isSaid) window.opensAt = time;
    return hasEnded(window.opensAt, terms.renewalMs, time) ? undefined : window;
  }

  return {
    spend(key, terms) {
      const time = now();
      spends++;
      if (spends % spendsBetweenSweeps === 0) sweep(time);
      const window = open(key, terms, time) ?? opened(time, terms);
      window.renewalMs = terms.renewalMs;
      windows.set(key, window);
      const allowed = window.spent < terms.max;
      if (allowed) window.spent++;
      return decision(allowed, window, terms);
    },
    standing(key, terms) {
      const window = open(key, terms, now());
      return decision((window?.spent ?? 0) < terms.max, window, terms);
    },
    retain(isWanted) {
      for (const key of windows.keys()) if (!isWanted(key)) windows.delete(key);
    },
  };
}

const hasEnded = (opensAt: number, renewalMs: number, time: number): boolean =>
  renewalMs > 0 && opensAt + renewalMs <= time;

const opened = (opensAt: number, { renewalMs }: QuotaTerms): Window => ({
  ...{ opensAt, isSaid: false, spent: 0, renewalMs },
});

/** The window that a counter begins in, where the terms say so and it has not ended. */
function begun({ max, renewalMs, initial }: QuotaTerms, time: number): Window | undefined {
  if (!initial) return undefined;
  const isSaid = initial.renewsAtMs > 0 && renewalMs > 0;
  const opensAt = isSaid ? initial.renewsAtMs - renewalMs : time;
  if (hasEnded(opensAt, renewalMs, time)) return undefined;
  return { opensAt, isSaid, spent: Math.max(0, max - initial.remaining), renewalMs };
}

const decision = (allowed: boolean, window: Window | undefined, { max, renewalMs }: QuotaTerms): QuotaDecision => ({
  ...{ allowed, max, spent: window?.spent ?? 0, remaining: Math.max(0, max - (window?.spent ?? 0)) },
  renewsAtMs: window && renewalMs > 0 ? window.opensAt + renewalMs : 0,
});
