/** Says when the life of an API, or of a version inside one, ends, and refuses every request after it (api-definition design 2, 3 and 15.2). */
import type { ApiDefinition } from '../../domain/api/definition.ts';
import type { Step } from '../http/context.ts';
import type { Clock } from '../ports.ts';

type Ends = Pick<ApiDefinition, 'expiresAt' | 'versionExpiresAt'>;

/** Wall clock, because an end is a date. */
export function expiry({ expiresAt = Infinity, versionExpiresAt = Infinity }: Ends, clock: Clock): Step {
  const first = new Date(Math.min(expiresAt, versionExpiresAt)).toUTCString();
  return function expiry(context) {
    const now = clock.now();
    if (now >= expiresAt) return context.refuse('api_expired');
    if (now >= versionExpiresAt) return context.refuse('version_expired');
    context.answerHeaders.push('x-svc-api-expires', first);
    return undefined;
  };
}
