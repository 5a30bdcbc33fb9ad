/** A delivery to a webhook, complete but for what a test says. */
import type { WebhookDelivery } from '../../domain/webhook-delivery.ts';

const startMs = Date.parse('2026-03-01T00:00:00Z');

/** Raised `number` seconds after the first one. */
export const webhookDelivery = (number: number, members: Partial<WebhookDelivery> = {}): WebhookDelivery => {
  const at = new Date(startMs + number * 1_000).toISOString();
  return {
    ...{ id: `d${number}`, webhookId: 'alarms', orgId: 'acme', apiId: 'orders', trigger: 'AuthFailure' },
    ...{ eventId: `e${number}`, state: 'delivered', attempts: 1, lastStatus: 204, error: null },
    ...{ raisedAt: at, at, nextAt: null, ...members },
  };
};
