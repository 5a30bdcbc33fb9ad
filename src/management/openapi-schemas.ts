/** Schemas of the API's own document, by name. */
import type { JsonObject } from '../../domain/event.ts';
import { accessSchemas } from './schemas/access.ts';
import { applySchemas } from './schemas/apply.ts';
import { certificateSchemas } from './schemas/certificate.ts';
import { chainSchemas } from './schemas/chain.ts';
import { configSchemas } from './schemas/config.ts';
import { feedSchemas } from './schemas/feed.ts';
import { judgementSchemas } from './schemas/judgement.ts';
import { organisationSchemas } from './schemas/organisation.ts';
import { projectionSchemas } from './schemas/projection.ts';
import { tokenSchemas } from './schemas/token.ts';
import { webhookSchemas } from './schemas/webhook.ts';

const text = { type: 'string' };
const flag = { type: 'boolean' };
const count = { type: 'integer' };
const texts = { type: 'array', items: text };
const maybe = { type: ['string', 'null'] };

const closed = (properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject => ({
  type: 'object',
  required,
  properties,
});

const listOf = (name: string, schema: string, further: JsonObject = {}): JsonObject =>
  closed({ [name]: { type: 'array', items: { $ref: `#/components/schemas/${schema}` } }, next: maybe, ...further });

const warning = closed({ pointer: text, code: text, text });
const actor = closed({ type: text, id: text, name: text, detail: text }, ['type', 'id']);

const auditEntry = closed(
  {
    ...{ position: text, at: text, type: text, aggregate: closed({ kind: text, id: text, name: text }) },
    ...{ revision: count, actor, authMethod: text, comment: text, requestId: text, commandId: text, ip: text },
    ...{ userAgentHash: text, summary: texts, hash: text },
  },
  [
    ...['position', 'at', 'type', 'aggregate', 'revision', 'actor', 'authMethod', 'comment', 'requestId'],
    ...['commandId', 'userAgentHash', 'summary', 'hash'],
  ],
);

export const schemas: JsonObject = {
  ClassicDefinition: {
    type: 'object',
    description: 'A Classic definition; its schema is at /api/schemas/apidefs/classic',
  },
  ConvertRequest: closed(
    {
      to: { type: 'string', enum: ['oas'] },
      versions: {
        type: 'object',
        additionalProperties: text,
        description: 'Ids for the APIs that versions become; without one it follows from the name of the version.',
      },
    },
    ['to'],
  ),
  ...accessSchemas,
  ...webhookSchemas,
  ...applySchemas,
  ...chainSchemas,
  ...certificateSchemas,
  ...configSchemas,
  ...feedSchemas,
  ...organisationSchemas,
  ...projectionSchemas,
  ...tokenSchemas,
  ...judgementSchemas,
  ApiDocument: {
    type: 'object',
    description: 'An OpenAPI 3.0 or 3.1 document with `x-svc-api-gateway` and, for streams, `x-svc-streaming`.',
    required: ['openapi', 'info', 'paths'],
    properties: {
      openapi: text,
      info: { type: 'object' },
      paths: { type: 'object' },
      'x-svc-api-gateway': { type: 'object' },
      'x-svc-streaming': { type: ['object', 'null'] },
    },
  },
  Answer: {
    type: 'object',
    required: ['Message', 'Meta', 'Status'],
    properties: {
      ID: text,
      Message: text,
      Meta: { type: ['object', 'string', 'null'] },
      Status: { type: 'string', enum: ['OK', 'Error'] },
    },
  },
  Problem: {
    type: 'object',
    description: 'RFC 9457',
    required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'errors'],
    properties: {
      type: text,
      title: text,
      status: count,
      detail: text,
      instance: text,
      code: text,
      errors: { type: 'array', items: closed({ pointer: text, code: text, message: text }) },
      diff: { type: 'array', items: { type: 'object' } },
      revision: text,
      traceparent: text,
    },
  },
  Rollback: closed({ revision: { type: 'integer', minimum: 0 }, comment: text }, ['revision']),
  ApiEntry: closed({
    id: text,
    name: text,
    kind: text,
    listenPath: text,
    domain: maybe,
    active: flag,
    internal: flag,
    baseId: maybe,
    revision: count,
    position: text,
    updatedAt: text,
    updatedBy: text,
    warnings: { type: 'array', items: warning },
  }),
  ApiList: listOf('apis', 'ApiEntry', { total: count }),
  RevisionEntry: closed({
    revision: count,
    position: text,
    at: text,
    type: text,
    actor,
    comment: text,
    requestId: text,
    summary: texts,
    docSha256: text,
    active: flag,
    internal: flag,
  }),
  RevisionList: listOf('revisions', 'RevisionEntry'),
  Revision: closed({
    revision: count,
    position: text,
    at: text,
    type: text,
    actor,
    comment: text,
    requestId: text,
    summary: texts,
    docSha256: text,
    active: flag,
    internal: flag,
    commandId: text,
    diff: { type: 'array', items: { type: 'object' } },
    diffOmitted: flag,
    warnings: { type: 'array', items: warning },
    pruned: texts,
    intent: { type: ['object', 'null'] },
    document: { type: ['object', 'null'] },
  }),
  AuditEntry: auditEntry,
  AuditEvent: {
    allOf: [
      { $ref: '#/components/schemas/AuditEntry' },
      closed(
        {
          diff: { type: 'array', items: { type: 'object' } },
          diffOmitted: flag,
          groups: { type: 'object' },
          data: { type: 'object' },
        },
        ['diff', 'groups', 'data'],
      ),
    ],
  },
  AuditList: listOf('events', 'AuditEntry'),
  Anchor: closed({
    revision: count,
    position: text,
    at: text,
    logId: text,
    era: count,
    from: text,
    to: text,
    count,
    merkleRoot: text,
    prevAnchorHash: text,
    keyId: text,
    publicKey: text,
    signature: text,
  }),
  AnchorList: closed({ anchors: { type: 'array', items: { $ref: '#/components/schemas/Anchor' } } }),
};
