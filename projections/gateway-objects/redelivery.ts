/** What a request to send dead letters again makes of the object of its webhook in the configuration of gateways. */
import type { Recorded } from '../../domain/event.ts';
import type { WebhookEvent } from '../../domain/webhook.ts';
import type { GatewayChange, RedeliveryObject } from '../gateway-snapshot.ts';

type Requested = Extract<WebhookEvent, { type: 'WebhookRedeliveryRequested' }>;

/** A gateway that was away for longer has to be asked again. */
const maxRequests = 20;

/** A request for all of them stands for those before it too. */
export function redeliveryChange(
  { event, position, revision }: Recorded<Requested>,
  before: RedeliveryObject | undefined,
): GatewayChange {
  const { orgId, webhookId: id, redeliveryId, ids } = event;
  const earlier = ids === 'all' ? [] : (before?.body.requests ?? []);
  const requests = [...earlier, { position, redeliveryId, ids }].slice(-maxRequests);
  const object = { id, revision: String(revision), position, sha256: '', body: { orgId, requests } };
  return { op: 'upsert', position, object: { kind: 'redelivery', ...object } };
}
