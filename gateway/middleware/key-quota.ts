/** Limits how many requests a key may make in a window, by the quota of the API or of the key itself (api-definition design 11). */
import { rightsId } from '../access/session.ts';
import type { Step } from '../http/context.ts';
import { retryAfter, tellLimit } from '../http/limits.ts';
import type { Clock, Counters } from '../ports.ts';

export type KeyQuotaDependencies = {
  readonly counters: Counters;
  readonly clock: Clock;
  /** `none` leaves all headers but `Retry-After` out. */
  readonly headers: 'all' | 'none';
  /** Percentages at which somebody is told, where the key names none. */
  readonly alarms: readonly number[];
};

export const keyQuota = ({ counters, clock, headers, alarms }: KeyQuotaDependencies): Step =>
  function keyQuota(context) {
    const { access, route } = context;
    const quota = access && (access.rights.get(rightsId(access, route.definition))?.limits ?? access.limits).quota;
    if (quota === undefined) return undefined;
    const { allowed, max, spent, remaining, renewsAtMs } = counters.spend(quota.counter, quota);
    const resetMs = renewsAtMs === 0 ? undefined : Math.max(0, renewsAtMs - clock.now());
    const windowS = quota.renewalMs === 0 ? undefined : quota.renewalMs / 1_000;
    tellLimit(context, { name: 'quota', limit: max, windowS, remaining, resetMs }, headers);
    // A quota that never renews has no time to come back at.
    if (!allowed) return context.refuse('quota_key', resetMs === undefined ? [] : retryAfter(resetMs));
    const watched = quota.alarms.length > 0 ? quota.alarms : alarms;
    if (watched.length > 0) context.quotaAlarms = alarmsAt(watched, max, spent);
    return undefined;
  };

/** Counters rise one by one, so that in a window each percentage is passed by one request. */
const alarmsAt = (alarms: readonly number[], max: number, spent: number): readonly number[] =>
  alarms.filter((percent) => spent === Math.ceil((max * percent) / 100));
