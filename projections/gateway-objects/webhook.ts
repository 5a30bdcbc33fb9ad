/** What events of a webhook make of its object in the configuration of gateways. */
import { never, type Recorded } from '../../domain/event.ts';
import type { WebhookEvent } from '../../domain/webhook.ts';
import type { GatewayChange } from '../gateway-snapshot.ts';

type Stated = Exclude<WebhookEvent, { type: 'WebhookRedeliveryRequested' }>;

export function webhookChange({ event, position, revision: of }: Recorded<Stated>): GatewayChange {
  switch (event.type) {
    case 'WebhookCreated':
    case 'WebhookUpdated': {
      const { type, orgId, webhookId: id, document, docSha256: sha256, secrets } = event;
      const body = { orgId, document, ...(secrets ? { sealed: { type, secrets } } : {}) };
      return { op: 'upsert', position, object: { kind: 'webhook', id, revision: String(of), position, sha256, body } };
    }
    case 'WebhookDeleted':
      return { op: 'remove', position, kind: 'webhook', id: event.webhookId };
    default:
      return never(event);
  }
}
