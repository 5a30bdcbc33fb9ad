/** Limits how often all callers of an API together may call it, and tells them where they stand (api-definition design 10.4, 11). */
import type { RateLimit } from '../../domain/api/definition.ts';
import type { Step } from '../http/context.ts';
import type { Counters, LimitDecision } from '../ports.ts';

export type RateLimitDependencies = {
  readonly counters: Counters;
  /** `none` leaves all headers but `Retry-After` out. */
  readonly headers: 'all' | 'none';
};

export function rateLimit(apiId: string, limit: RateLimit, { counters, headers }: RateLimitDependencies): Step {
  const key = `api:${apiId}`;
  const { rate, perMs } = limit;
  const policy = `"api";q=${rate};w=${Math.max(1, Math.ceil(perMs / 1000))}`;
  const limitText = String(rate);
  return function rateLimit(context) {
    const decision = counters.take(key, rate, perMs);
    if (headers === 'all') tell(context.answerHeaders, decision, limitText, policy, context.arrivedMs);
    return decision.allowed ? undefined : context.refuse('rate_api', ['Retry-After', retryAfter(decision)]);
  };
}

/** Whole seconds, rounded up, at least 1. */
const retryAfter = ({ retryAfterMs }: LimitDecision): string => String(Math.max(1, Math.ceil(retryAfterMs / 1000)));

function tell(
  answerHeaders: string[],
  { remaining, resetMs }: LimitDecision,
  limitText: string,
  policy: string,
  nowMs: number,
): void {
  const left = String(remaining);
  answerHeaders.push('X-RateLimit-Limit', limitText, 'X-RateLimit-Remaining', left);
  answerHeaders.push('X-RateLimit-Reset', String(Math.ceil((nowMs + resetMs) / 1000)));
  answerHeaders.push('RateLimit-Policy', policy, 'RateLimit', `"api";r=${left};t=${Math.ceil(resetMs / 1000)}`);
}
