/** JSON Schemas of tokens; bodies that come in are judged by theirs. */
import type { JsonObject } from '../../../domain/event.ts';

const text = { type: 'string' };
const maybe = { type: ['string', 'null'] };
const texts = { type: 'array', items: text };
const name = { type: 'string', minLength: 1, maxLength: 100, pattern: '^[^\\p{Cc}]*$' };
const names = {
  type: 'array',
  items: { type: 'string', minLength: 1, maxLength: 64 },
  maxItems: 100,
  uniqueItems: true,
};
const expiresAt = { type: ['string', 'null'], maxLength: 40, description: 'RFC 3339, null for never.' };

const closed = (properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
});

const rights = {
  scopes: { ...names, description: 'Scopes by name.' },
  roles: { ...names, description: 'Named sets of scopes.' },
  apis: { ...names, minItems: 1, maxItems: 1_000, description: 'Scopes about APIs hold for these ids only.' },
};

const node = {
  type: 'string',
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$|^(?:[A-Za-z0-9][A-Za-z0-9._-]{0,61})?\\*$',
  description:
    'The gateway that the token belongs to: its id, or how ids begin and `*`. It gets secrets sealed for that one.',
};

/** As it is shown. */
const maybeApis = {
  ...rights.apis,
  type: ['array', 'null'],
  description: `${rights.apis.description} null: every one.`,
};

const status = { type: 'string', enum: ['active', 'expired', 'revoked'] };

const shown = {
  ...{ id: text, name: text, scopes: texts, roles: texts, apis: { type: ['array', 'null'], items: text }, node: maybe },
  ...{ expiresAt: maybe, prefix: text, status },
};

const token = closed({
  ...shown,
  ...{ overlapUntil: maybe, createdAt: text, createdBy: text, revokedAt: maybe },
  ...{ lastUsedAt: maybe, lastUsedFrom: maybe, revision: { type: 'integer' }, position: text },
});

export const tokenSchemas: JsonObject = {
  TokenRequest: closed({ name, ...rights, node, expiresAt }, ['name']),
  TokenUpdate: { ...closed({ name, ...rights, apis: maybeApis, expiresAt }, []), minProperties: 1 },
  TokenRotation: closed({ overlap: { type: 'string', maxLength: 40, description: 'Duration: `1h`, `PT1H`.' } }, []),
  Token: token,
  IssuedToken: closed({ ...shown, token: maybe }),
  TokenList: closed({ tokens: { type: 'array', items: { $ref: '#/components/schemas/Token' } }, next: maybe }),
};
