/** What a webhook is told: the triggers, and the body for each (api-definition design 14.2 and 14.3), built as a structure. */
import type { Json, JsonObject } from './event.ts';

const certificateMembers = ['cert_id', 'cert_name', 'cert_role', 'api_id', 'timestamp'];

/** By trigger: what it says, and the members of its body beside `event` and `message`. */
const bodies = {
  QuotaExceeded: { message: 'Key Quota Limit Exceeded', members: ['path', 'origin', 'key'] },
  RatelimitExceeded: { message: 'Rate Limit Exceeded', members: ['path', 'origin', 'key'] },
  AuthFailure: { message: 'Auth Failure', members: ['path', 'origin', 'key'] },
  KeyExpired: { message: 'Attempted access from expired key.', members: ['path', 'origin', 'key'] },
  VersionFailure: {
    message: 'Attempted access to disallowed version / path.',
    members: ['path', 'origin', 'key', 'reason'],
  },
  OrgQuotaExceeded: { message: 'Organisation quota has been exceeded', members: ['path', 'origin', 'key'] },
  OrgRateLimitExceeded: { message: 'Organisation rate limit has been exceeded', members: ['path', 'origin', 'key'] },
  TriggerExceeded: { message: 'Quota trigger reached', members: ['org', 'key', 'trigger_limit'] },
  BreakerTripped: { message: 'Breaker Tripped', members: ['api_id', 'path'] },
  BreakerReset: { message: 'Breaker Reset', members: ['api_id', 'path'] },
  BreakerTriggered: { message: 'Breaker Tripped', members: ['api_id', 'path', 'Status'] },
  HostDown: { message: 'Uptime test failed', members: ['url', 'response_code', 'tcp_error', 'host', 'api_id'] },
  HostUp: { message: 'Uptime test succeeded', members: ['url', 'response_code', 'tcp_error', 'host', 'api_id'] },
  UpstreamOAuthError: { message: 'A token for the upstream could not be had', members: ['api_id'] },
  TokenCreated: { message: 'Key generated.', members: ['org', 'key'] },
  TokenUpdated: { message: 'Key modified.', members: ['org', 'key'] },
  TokenDeleted: { message: 'Key deleted.', members: ['org', 'key'] },
  CertificateExpiringSoon: {
    message: 'Certificate expires soon',
    members: [...certificateMembers, 'expires_at', 'days_remaining'],
  },
  CertificateExpired: {
    message: 'Certificate has expired',
    members: [...certificateMembers, 'expired_at', 'days_since_expiry'],
  },
} as const satisfies Readonly<Record<string, { readonly message: string; readonly members: readonly string[] }>>;

export type WebhookTrigger = keyof typeof bodies;

export const webhookTriggers = Object.keys(bodies) as readonly WebhookTrigger[];

export const isWebhookTrigger = (name: string): name is WebhookTrigger => Object.hasOwn(bodies, name);

/** The members of `facts` that the trigger has, in its order; an unknown one is left out. */
export function webhookBody(trigger: WebhookTrigger, facts: JsonObject): JsonObject {
  const { message, members } = bodies[trigger];
  const told = members.flatMap((name): readonly (readonly [string, Json])[] => {
    const value = facts[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { event: trigger, message: facts['message'] ?? message, ...Object.fromEntries(told) };
}

/** Facts of an event that did not happen; every member of every body is among them. */
export const sampleFacts = (orgId: string, now: Date): JsonObject => ({
  ...{ path: '/sample/', origin: '192.0.2.1', key: 'sample-key-hash', reason: 'sample', org: orgId, api_id: 'sample' },
  ...{ trigger_limit: '80', Status: '0', url: 'http://upstream.example/', response_code: '503', tcp_error: 'false' },
  ...{ host: 'upstream.example', cert_id: 'sample', cert_name: 'sample.example', cert_role: 'server' },
  ...{ timestamp: now.toISOString(), expires_at: now.toISOString(), days_remaining: 7 },
  ...{ expired_at: now.toISOString(), days_since_expiry: 1 },
});
