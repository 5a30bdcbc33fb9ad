/** Refuses keys that are switched off or whose life has ended (api-definition design 9.6). */
import type { Context, StepResult } from '../http/context.ts';
import type { Clock } from '../ports.ts';

const invalid = ['WWW-Authenticate', 'Bearer error="invalid_token"'];

/** Wall clock, because the end of a key is a date. */
export const keyExpiry = (clock: Clock) =>
  function keyExpiry(context: Context): StepResult {
    const { access } = context;
    if (access === undefined) return context.refuse('auth_unknown');
    if (access.isInactive) return context.refuse('key_inactive');
    const hasEnded = access.expiresAt !== 0 && clock.now() >= access.expiresAt;
    return hasEnded ? context.refuse('key_expired', invalid) : undefined;
  };
