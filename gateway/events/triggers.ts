/** Which refusal raises which event: a step that refuses with a new code needs a row here (api-definition design 14.2). */
import type { WebhookTrigger } from '../../domain/webhook-body.ts';
import { type RefusalCode, refusals } from '../http/errors.ts';

/** `message` where the refusal says something else than the trigger does; `reason` where the body tells one. */
type Fired = { readonly trigger: WebhookTrigger; readonly message?: string; readonly reason?: string };

const version = (code: RefusalCode): Fired => ({ trigger: 'VersionFailure', reason: refusals[code].text });

const raised = {
  auth_unknown: { trigger: 'AuthFailure' },
  auth_duplicate: { trigger: 'AuthFailure' },
  auth_no_right: { trigger: 'AuthFailure' },
  path_not_granted: { trigger: 'AuthFailure' },
  key_expired: { trigger: 'KeyExpired' },
  key_inactive: { trigger: 'KeyExpired', message: 'Attempted access from inactive key.' },
  rate_key: { trigger: 'RatelimitExceeded' },
  quota_key: { trigger: 'QuotaExceeded' },
  org_rate: { trigger: 'OrgRateLimitExceeded' },
  org_quota: { trigger: 'OrgQuotaExceeded' },
  rate_api: { trigger: 'RatelimitExceeded', message: refusals.rate_api.text },
  api_expired: version('api_expired'),
  version_expired: version('version_expired'),
  version_missing: version('version_missing'),
  version_unknown: version('version_unknown'),
} satisfies Partial<Record<RefusalCode, Fired>>;

export const raisedBy: Readonly<Partial<Record<RefusalCode, Fired>>> = raised;
