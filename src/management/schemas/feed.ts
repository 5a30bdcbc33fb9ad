/** JSON Schemas of the feed, of gateways and of their reports; reports that come in are judged by theirs. */
import type { JsonObject } from '../../../domain/event.ts';
import { deliveryStates } from '../../../domain/webhook-delivery.ts';

const text = { type: 'string' };
const line = { type: 'string', maxLength: 200 };
const time = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT[\\d:.]{8,20}Z$' };
const long = { type: 'string', maxLength: 4_000 };
const count = { type: 'integer', minimum: 0 };
const labels = { type: 'array', items: line, maxItems: 100 };

const closed = (properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject => ({
  type: 'object',
  required,
  properties,
});

const place = { type: 'string', pattern: '^\\d{0,20}(-\\d{1,20})?$' };
const rejected = {
  type: 'array',
  maxItems: 100,
  items: closed(
    { kind: line, id: line, code: line, message: long, pointer: long, position: place, keptRevision: line },
    [...['kind', 'id', 'code', 'message']],
  ),
};
const reference = { type: 'string', minLength: 1, maxLength: 200 };
const deliveries = {
  type: 'array',
  maxItems: 100,
  items: closed(
    {
      ...{ id: reference, webhookId: reference, orgId: reference, apiId: line, trigger: reference },
      ...{ eventId: reference, state: { type: 'string', enum: deliveryStates }, attempts: count },
      ...{ lastStatus: { type: ['integer', 'null'] }, error: { type: ['string', 'null'], maxLength: 4_000 } },
      ...{ raisedAt: time, at: time, nextAt: { ...time, type: ['string', 'null'] }, warning: long },
    },
    [
      ...['id', 'webhookId', 'orgId', 'trigger', 'eventId', 'state', 'attempts', 'lastStatus', 'error', 'raisedAt'],
      ...['at', 'nextAt'],
    ],
  ),
};
const keys = {
  type: 'array',
  maxItems: 1_000,
  description: 'Access keys that were used since the last report, the newest first.',
  items: closed({ key: { type: 'string', pattern: '^[0-9a-f]{64}$' }, at: time, remaining: count, renews: count }, [
    ...['key', 'at'],
  ]),
};
const reloadCounts = { loaded: count, unchanged: count, rejected: count };
const reload = closed(
  { reloadId: line, position: place, ...reloadCounts, errors: { ...rejected, maxItems: 20 }, message: long },
  [...['reloadId', 'position', ...Object.keys(reloadCounts)]],
);
const trouble = closed({ code: line, message: long });
const scopeOf = (name: string): JsonObject => ({
  ...{ type: 'object', required: [name], additionalProperties: false, properties: { [name]: text } },
});
const source = { type: 'string', enum: ['feed', 'disk', 'seed', 'none'] };
const signature = { keyId: text, signature: text };
const box = closed({
  ...{ era: count, position: text, enc: text },
  secrets: { type: 'array', items: closed({ pointer: text, box: text }) },
});
const nodeSecrets = closed({
  ...{ node: text, recipient: text, signature: text },
  boxes: { type: 'object', additionalProperties: box },
});
const withSecrets = (answer: JsonObject): JsonObject =>
  closed({ ...answer, secrets: nodeSecrets }, Object.keys(answer));

export const feedSchemas: JsonObject = {
  FeedSnapshot: withSecrets({
    ...{ format: { const: 2 }, logId: text, era: count, position: text, revision: text, createdAt: text, group: text },
    ...{ tags: labels, objects: { type: 'object' }, sha256: text, ...signature, publicKey: text },
  }),
  FeedChanges: withSecrets({
    ...{ logId: text, era: count, after: text, next: text, tags: labels },
    ...{ changes: { type: 'array', items: { type: 'object' } }, ...signature },
  }),
  GatewayReport: closed(
    {
      publicKey: { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$', description: 'X25519, base64url.' },
      ...{ run: line, startedAt: line, group: line, tags: labels, version: line, source, apis: count },
      ...{ position: place, revision: place, snapshotSha256: line, ms: count, rejected, trouble, reload },
      ...{ deliveries, keys },
    },
    [
      ...['run', 'startedAt', 'group', 'tags', 'version', 'source', 'apis', 'position', 'revision'],
      ...['snapshotSha256', 'ms', 'rejected'],
    ],
  ),
  Gateway: closed(
    {
      ...{ node: text, group: text, tags: labels, version: text, startedAt: text, lastSeen: text },
      ...{ position: text, revision: text, snapshotSha256: text, source, apis: count, rejected, trouble, reload },
      lag: closed({ events: { type: ['integer', 'null'] }, seconds: count }),
      key: closed({ id: text, since: text, before: text, alarm: { const: true } }, ['id', 'since']),
      health: { type: 'string', enum: ['pass', 'warn', 'fail'] },
    },
    ['node', 'group', 'tags', 'version', 'position', 'revision', 'rejected', 'lag', 'health'],
  ),
  GatewayList: closed({
    position: text,
    gateways: { type: 'array', items: { $ref: '#/components/schemas/Gateway' } },
  }),
  ReloadRequest: {
    type: 'object',
    additionalProperties: false,
    properties: {
      scope: {
        description: 'Every gateway, those of a group, one of them, or all of them for one API.',
        oneOf: [{ const: 'all' }, ...['group', 'node', 'api'].map(scopeOf)],
        default: 'all',
      },
      reason: { type: 'string', maxLength: 1_000 },
      wait: { type: 'integer', minimum: 0, maximum: 30_000, description: 'Milliseconds.' },
      dropBundleCache: { type: 'array', items: text, maxItems: 0, description: 'No bundles are kept yet.' },
    },
  },
  ReloadAnswer: closed(
    {
      ...{ reloadId: text, revision: text },
      nodes: {
        type: 'array',
        items: closed(
          {
            ...{ node: text, group: text, ...reloadCounts, errors: rejected, message: text },
            status: { type: 'string', enum: ['ok', 'partial', 'waiting', 'unreachable'] },
          },
          ['node', 'group', 'status'],
        ),
      },
    },
    ['reloadId'],
  ),
  CacheFlush: closed({ flushId: text, revision: text }, ['flushId']),
  Rollout: closed({
    ...{ revision: count, position: text, at: text, applied: count, total: count },
    nodes: {
      type: 'array',
      items: closed({ node: text, group: text, tags: labels, position: text, revision: text, state: text }),
    },
  }),
};
