/** What became of events that were sent to a webhook, as nodes tell it, and asking them to send dead letters again. */

import { webhookUnknown } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { toWebhookId, type WebhookId } from '../../../domain/ids.ts';
import { deliveryStates } from '../../../domain/webhook-delivery.ts';
import { findWebhook } from '../../../projections/webhooks.ts';
import { readJsonObject } from '../bodies/bodies.ts';
import { type Call, commandContext, numberParameter, wordParameter } from '../call.ts';
import { queryInvalid } from '../errors.ts';
import { cursorOf, type NodeDelivery } from '../fleet/deliveries.ts';
import { pageReply } from '../paging.ts';
import * as parameter from '../parameters.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';
import { redeliverWebhook } from '../webhook-commands.ts';

const idOf = ({ params }: Call): WebhookId => toWebhookId(params['webhookId'] ?? '');

async function list(call: Call, { models, deliveries }: Services): Promise<Reply> {
  const { orgId } = call.caller;
  const webhookId = idOf(call);
  const state = wordParameter(call, 'state', deliveryStates);
  const limit = numberParameter(call, 'limit', { min: 1, max: 500, absent: 50 });
  const after = afterOf(call);
  if (!findWebhook(models, orgId, webhookId)) throw webhookUnknown();
  const all = await deliveries.list(orgId, webhookId);
  const found = all.filter((delivery) => state === undefined || delivery.state === state);
  const rest = after === undefined ? found : found.filter((delivery) => cursorOf(delivery) < after);
  const last = rest.length > limit ? rest[limit - 1] : undefined;
  const next = last ? Buffer.from(cursorOf(last)).toString('base64url') : null;
  return pageReply(call, { deliveries: rest.slice(0, limit).map(shown), next, total: found.length } as {
    readonly next: string | null;
  });
}

const shown = ({ webhookId: _, orgId: __, apiId = '', ...delivery }: NodeDelivery): JsonObject => ({
  ...delivery,
  ...(apiId === '' ? {} : { apiId }),
});

function afterOf({ query }: Call): string | undefined {
  const text = query.get('after') || undefined;
  if (text === undefined) return undefined;
  const place = Buffer.from(text, 'base64url').toString('utf8');
  if (/^\d{4}-\d\d-\d\dT[^/]*Z\/[^/]+\/.+$/s.test(place)) return place;
  throw queryInvalid('after', 'is no cursor of this list');
}

const redeliver = (call: Call, services: Services): Promise<Reply> => {
  const ids = services.webhookBodies.redelivery(readJsonObject(call.body));
  const target = { orgId: call.caller.orgId, webhookId: idOf(call), ifMatch: call.header('if-match') };
  return services.commands.run(commandContext(call), redeliverWebhook(services, target, ids));
};

const example = {
  ...{ id: '018f…-1', node: 'edge-1', apiId: 'orders', trigger: 'QuotaExceeded', eventId: '018f…' },
  ...{ state: 'retrying', attempts: 3, lastStatus: 503, error: null, raisedAt: '2026-01-31T12:00:00.000Z' },
  ...{ at: '2026-01-31T12:00:07.000Z', nextAt: '2026-01-31T12:00:11.000Z' },
};

export const webhookDeliveryRoutes: readonly Route[] = [
  {
    tag: 'webhooks',
    form: 'documented',
    scope: 'webhooks:read',
    method: 'GET',
    path: '/api/webhooks/{webhookId}/deliveries',
    operationId: 'listWebhookDeliveries',
    summary: 'What became of the events sent to a webhook, newest first: the last 1,000 deliveries of each node',
    parameters: [
      parameter.queryParameter('state', 'Only these.', { type: 'string', enum: deliveryStates }),
      ...[parameter.limit, parameter.after],
    ],
    answer: {
      description: 'One page; nothing of what was sent',
      schema: { $ref: '#/components/schemas/WebhookDeliveryList' },
      example: { deliveries: [example], next: null, total: 1 },
    },
    errors: ['id_invalid', 'webhook_unknown'],
    handle: list,
  },
  {
    tag: 'webhooks',
    form: 'documented',
    scope: 'webhooks:write',
    method: 'POST',
    path: '/api/webhooks/{webhookId}/redeliver',
    operationId: 'redeliverWebhook',
    summary: 'Asks the nodes to send dead letters again, with the same event ids; each node does it once',
    parameters: parameter.writeParameters,
    body: {
      ...{ types: ['application/json'], maxBytes: 64 * 1024, schema: 'WebhookRedelivery', example: { all: true } },
      description: 'Which: `ids` of deliveries, or `all`',
    },
    answer: {
      status: 202,
      description: 'Asked; `x-svc-revision` is what nodes have to reach',
      schema: { $ref: '#/components/schemas/WebhookRedeliveryAnswer' },
      example: {
        ...{ ID: 'alarms', Message: 'Redelivery requested', Meta: null, Status: 'OK', redeliveryId: '018f…' },
      },
    },
    errors: ['body_malformed', 'id_invalid', 'precondition_failed', 'webhook_invalid', 'webhook_unknown'],
    handle: redeliver,
  },
];
