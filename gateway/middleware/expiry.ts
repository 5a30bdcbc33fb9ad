/** Refuses every request of an API whose life has ended (api-definition design 2 and 3). */
import type { Step } from '../http/context.ts';
import type { Clock } from '../ports.ts';

/** Wall clock, because the end of an API is a date. */
export const expiry = (expiresAt: number, clock: Clock): Step =>
  function expiry(context) {
    return clock.now() >= expiresAt ? context.refuse('api_expired') : undefined;
  };
