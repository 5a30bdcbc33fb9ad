/** Changes of keys, policies, tokens and webhooks in words: for the summary of all changes. */
import { never } from '../domain/event.ts';
import type { DomainEvent } from '../domain/events.ts';
import { textAt } from '../domain/json.ts';
import type { KeyEvent } from '../domain/key.ts';
import type { PolicyEvent } from '../domain/policy.ts';
import type { TokenEvent, TokenTerms } from '../domain/token.ts';
import type { WebhookEvent } from '../domain/webhook.ts';

type AccessEvent = KeyEvent | PolicyEvent | TokenEvent | WebhookEvent;

export const isAccess = (event: DomainEvent): event is AccessEvent => /^(Key|Policy|Token|Webhook)/.test(event.type);

/** What such an event did, in a line or more. */
export function summariseAccess(event: AccessEvent): readonly string[] {
  switch (event.type) {
    case 'TokenIssued':
      return [`token "${event.name}" issued: ${rights(event)}`];
    case 'TokenUpdated':
      return [`token "${event.name}" changed: ${rights(event)}`];
    case 'TokenRotated':
      return [
        event.overlapUntil === null ? 'rotated' : `rotated; the text before is taken until ${event.overlapUntil}`,
      ];
    case 'TokenRevoked':
      return [event.reason === '' ? 'token revoked' : `token revoked: ${event.reason}`];
    case 'KeyCreated':
      return [keyCreated(event)];
    case 'KeyUpdated':
      return ['key changed'];
    case 'KeyDisabled':
      return ['key switched off'];
    case 'KeyQuotaReset':
      return [quotaReset(event)];
    case 'KeyDeleted':
      return ['key deleted'];
    case 'PolicyCreated':
      return [`policy "${textAt(event.document, 'name') ?? event.policyId}" created`];
    case 'PolicyUpdated':
      return [`policy "${textAt(event.document, 'name') ?? event.policyId}" changed`];
    case 'PolicyDeleted':
      return ['policy deleted'];
    case 'WebhookCreated':
      return [`webhook "${textAt(event.document, 'name') ?? event.webhookId}" created`];
    case 'WebhookUpdated':
      return [`webhook "${textAt(event.document, 'name') ?? event.webhookId}" changed`];
    case 'WebhookDeleted':
      return ['webhook deleted'];
    case 'WebhookRedeliveryRequested':
      return [
        `${event.ids === 'all' ? 'all dead letters' : `${event.ids.length} dead letters`} asked to be sent again`,
      ];
    default:
      return never(event);
  }
}

/** Of a key that somebody brought along nothing is known but that it is there. */
function keyCreated({ document, prefix }: Extract<KeyEvent, { type: 'KeyCreated' }>): string {
  const user = textAt(document, 'basic_auth_data', 'user');
  if (user !== undefined) return `user "${user}" created`;
  return prefix === '' ? 'key created' : `key ${prefix}… created`;
}

function quotaReset({ begins, keepsOwn, kept = [] }: Extract<KeyEvent, { type: 'KeyQuotaReset' }>): string {
  const left = begins?.remaining === undefined ? '' : ` with ${begins.remaining} requests left`;
  const ended = begins?.renews === undefined ? '' : `, renewed ${new Date(begins.renews * 1_000).toISOString()}`;
  const others = [...(keepsOwn ? ['its own counter'] : []), ...(kept.length > 0 ? [`APIs ${kept.join(', ')}`] : [])];
  return `quota reset${left}${ended}${others.length > 0 ? `, without ${others.join(' and ')}` : ''}`;
}

function rights({ roles, scopes, apis, node, expiresAt }: TokenTerms): string {
  const allowed = [...roles.map((role) => `role ${role}`), ...scopes].join(', ') || 'nothing';
  const narrowed = apis ? `, only APIs ${apis.join(', ')}` : '';
  const bound = node === undefined ? '' : `, secrets of gateway ${node}`;
  return `${allowed}${narrowed}${bound}, ${expiresAt === null ? 'without end' : `until ${expiresAt}`}`;
}
