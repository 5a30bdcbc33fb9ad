/** JSON Schemas of webhooks; bodies that come in are judged by theirs. */
import type { JsonObject } from '../../../domain/event.ts';
import { webhookTriggers } from '../../../domain/webhook-body.ts';
import { deliveryStates } from '../../../domain/webhook-delivery.ts';

const text = { type: 'string' };
const line = { type: 'string', maxLength: 200, pattern: '^[^\\p{Cc}]*$' };
const id = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' };
const address = { type: 'string', minLength: 1, maxLength: 4_096 };
const headerValue = { type: 'string', maxLength: 8_192 };

const closed = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
});

const headerMap = { type: 'object', maxProperties: 50, additionalProperties: headerValue };
const headerList = {
  type: 'array',
  maxItems: 50,
  items: closed({ name: { type: 'string', minLength: 1, maxLength: 200 }, value: headerValue }, ['name', 'value']),
};

const document = {
  id,
  name: line,
  url: { ...address, description: 'http or https. User info is sealed and becomes basic authentication.' },
  method: { type: 'string', enum: ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'], default: 'POST' },
  bodyTemplate: {
    ...{ type: 'string', maxLength: 65_536 },
    description: 'A template of the body, or, without `{{` in it, a file below `gateway.templates_path`.',
  },
  cooldownPeriod: { ...line, description: '`PT1M` or `1m`.' },
  secret: { type: 'string', maxLength: 4_096, description: 'Signs what is sent; sealed, shown as `***`.' },
  enabled: { type: 'boolean', default: true },
};

export const webhookSchemas: JsonObject = {
  Webhook: {
    type: 'object',
    required: ['id', 'org_id', 'name', 'url', 'method', 'headers', 'enabled', 'updatedAt'],
    properties: { ...document, headers: headerList, org_id: text, updatedAt: text },
  },
  WebhookRequest: closed({
    ...document,
    headers: { anyOf: [headerMap, headerList], description: 'A map or a list; the values are sealed.' },
    target_path: { ...address, description: 'Another name of `url`.' },
    header_map: { ...headerMap, description: 'Another name of `headers`.' },
    template_path: { type: 'string', maxLength: 65_536, description: 'Another name of `bodyTemplate`.' },
    event_timeout: { type: 'integer', minimum: 0, description: 'The `cooldownPeriod` in seconds.' },
    org_id: { ...line, description: "Always the caller's." },
    updatedAt: { ...line, description: 'Not heard.' },
  }),
  WebhookList: {
    type: 'object',
    required: ['hooks', 'next', 'total'],
    properties: {
      hooks: { type: 'array', items: { $ref: '#/components/schemas/Webhook' } },
      next: { type: ['string', 'null'] },
      total: { type: 'integer' },
    },
  },
  WebhookAnswer: {
    type: 'object',
    required: ['ID', 'Message', 'Meta', 'Status'],
    properties: {
      ...{ ID: text, Message: text, Meta: { type: 'null' }, Status: text },
      secret: { type: ['string', 'null'], description: 'Generated; in the first answer only.' },
    },
  },
  WebhookTest: closed({ trigger: { type: 'string', enum: webhookTriggers } }, ['trigger']),
  WebhookTested: {
    type: 'object',
    required: ['eventId', 'trigger', 'isDelivered', 'status', 'timeMs', 'error', 'warnings'],
    properties: {
      ...{ eventId: text, trigger: text, isDelivered: { type: 'boolean' }, timeMs: { type: 'integer' } },
      status: { type: ['integer', 'null'], description: 'Of the answer; null without one.' },
      error: { type: ['string', 'null'], description: 'Why there was no answer.' },
      warnings: { type: 'array', items: { type: 'object' } },
    },
  },
  WebhookRedelivery: closed({
    ids: {
      ...{ type: 'array', minItems: 1, maxItems: 100, items: { type: 'string', minLength: 1, maxLength: 200 } },
      description: 'Of dead letters in the list of deliveries.',
    },
    all: { const: true, description: 'Every dead letter of the webhook, on every node.' },
  }),
  WebhookRedeliveryAnswer: {
    type: 'object',
    required: ['ID', 'Message', 'Meta', 'Status', 'redeliveryId'],
    properties: { ...{ ID: text, Message: text, Meta: { type: 'null' }, Status: text, redeliveryId: text } },
  },
  WebhookDelivery: {
    type: 'object',
    required: [
      ...['id', 'node', 'trigger', 'eventId', 'state', 'attempts', 'lastStatus', 'error', 'raisedAt', 'at', 'nextAt'],
    ],
    properties: {
      id: { ...text, description: 'What `redeliver` takes; the same on every attempt.' },
      node: { ...text, description: 'Who delivers it: a gateway, or `management`.' },
      apiId: { ...text, description: 'Absent where the event is about no API.' },
      ...{ trigger: text, eventId: text, state: { type: 'string', enum: deliveryStates } },
      attempts: { type: 'integer' },
      lastStatus: { type: ['integer', 'null'], description: 'Of the last answer; null without one.' },
      error: { type: ['string', 'null'], description: 'Why there was no answer to the last attempt.' },
      ...{ raisedAt: text, at: { ...text, description: 'Of the last change of `state` or `attempts`.' } },
      nextAt: { type: ['string', 'null'], description: 'Of the next attempt, while it is retried.' },
      warning: { ...text, description: 'Why the default body was sent although there is a template.' },
    },
  },
  WebhookDeliveryList: {
    type: 'object',
    required: ['deliveries', 'next', 'total'],
    properties: {
      deliveries: { type: 'array', items: { $ref: '#/components/schemas/WebhookDelivery' } },
      ...{ next: { type: ['string', 'null'] }, total: { type: 'integer' } },
    },
  },
};
