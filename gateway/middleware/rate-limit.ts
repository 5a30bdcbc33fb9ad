/** Limits how often all callers of an API together may call it, and tells them where they stand (api-definition design 10.4, 11). */
import type { RateLimit } from '../../domain/api/definition.ts';
import type { Step } from '../http/context.ts';
import { retryAfter, tellLimit } from '../http/limits.ts';
import type { Counters } from '../ports.ts';

export type RateLimitDependencies = {
  readonly counters: Counters;
  /** `none` leaves all headers but `Retry-After` out. */
  readonly headers: 'all' | 'none';
};

export function rateLimit(apiId: string, limit: RateLimit, { counters, headers }: RateLimitDependencies): Step {
  const key = `api:${apiId}`;
  const { rate, perMs } = limit;
  const told = { name: 'api', limit: rate, windowS: perMs / 1_000 } as const;
  return function rateLimit(context) {
    const { allowed, remaining, resetMs, retryAfterMs } = counters.take(key, rate, perMs);
    tellLimit(context, { ...told, remaining, resetMs }, headers);
    return allowed ? undefined : context.refuse('rate_api', retryAfter(retryAfterMs));
  };
}
