/** Drops the keys of personal data whose time is over, at the start and once a day: then no event shows it any more. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../../gateway/ports.ts';
import type { KeptRing } from '../held-secrets.ts';
import { oldestKeptMonth, personalMonth } from '../personal-data.ts';

export type RetentionOptions = {
  readonly ring: Pick<KeptRing, 'kids' | 'shred'>;
  /** Full months that are kept before the one that runs. */
  readonly months: number;
  readonly now: () => Date;
  readonly log: Log;
};

const dayMs = 24 * 3_600_000;

export function startRetention(options: RetentionOptions): { stop(): Promise<void> } {
  const end = new AbortController();
  const running = go(options, end.signal);
  return {
    stop: async () => {
      end.abort();
      await running;
    },
  };
}

async function go(options: RetentionOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await dropOldMonths(options);
    } catch (error) {
      options.log.warn('key ring: old personal data could not be dropped, it is tried again tomorrow', {
        reason: String(error),
      });
    }
    // The timer alone keeps no process alive that is done.
    await delay(dayMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

/** Names of the keys that are gone now. */
export async function dropOldMonths({ ring, months, now, log }: RetentionOptions): Promise<readonly string[]> {
  const oldest = oldestKeptMonth(now(), months);
  const old = (await ring.kids()).filter((kid) => {
    const month = personalMonth(kid);
    return month !== undefined && month < oldest;
  });
  for (const kid of old) {
    await ring.shred(kid);
    log.info('key ring: personal data of a month was dropped', { kid });
  }
  return old;
}
