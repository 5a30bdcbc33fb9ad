/** Refuses every request of an API, or of a version inside one, whose life has ended (api-definition design 2, 3 and 15.2). */
import type { ApiDefinition } from '../../domain/api/definition.ts';
import type { Step } from '../http/context.ts';
import type { Clock } from '../ports.ts';

type Ends = Pick<ApiDefinition, 'expiresAt' | 'versionExpiresAt'>;

/** Wall clock, because an end is a date. */
export const expiry = ({ expiresAt = Infinity, versionExpiresAt = Infinity }: Ends, clock: Clock): Step =>
  function expiry(context) {
    const now = clock.now();
    if (now >= expiresAt) return context.refuse('api_expired');
    return now >= versionExpiresAt ? context.refuse('version_expired') : undefined;
  };
