/** JSON Schemas of declarative sets: one object as files hold it, the whole set, and what applying it changed. */
import type { JsonObject } from '../../../domain/event.ts';

const text = { type: 'string' };
const flag = { type: 'boolean' };
const count = { type: 'integer', minimum: 0 };
const owner = { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$' };
const apiId = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' };
const anything = { type: 'object' };

const closed = (properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
});

const labels = closed({ owner }, []);
const one = (properties: JsonObject, required: readonly string[]): JsonObject =>
  closed({ $schema: text, labels, document: anything, ...properties }, ['kind', 'document', ...required]);

const byKind = {
  api: one({ kind: { const: 'api' }, id: apiId, apiKind: { enum: ['oas', 'streams', 'classic'] } }, ['id', 'apiKind']),
  webhook: one({ kind: { const: 'webhook' }, id: apiId }, ['id']),
  policy: one({ kind: { const: 'policy' }, id: apiId }, ['id']),
  key: one(
    {
      kind: { const: 'key' },
      id: { type: 'string', pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the key, which is in no file.' },
      prefix: { type: 'string', maxLength: 32, pattern: '^[^\\p{Cc}]*$' },
    },
    ['id', 'prefix'],
  ),
  cert: one(
    {
      ...{ kind: { const: 'cert' }, id: text },
      document: closed(
        {
          ...{ name: text, pem: text, chain: { type: 'array', items: text } },
          secret: closed({ $secret: text }),
          parsed: anything,
        },
        ['pem'],
      ),
    },
    [],
  ),
};

/** By kind, so that what is wrong with an object is said once. */
export const setObjectSchemas: Readonly<Record<keyof typeof byKind, JsonObject>> = byKind;

const setObject: JsonObject = {
  description:
    'An API (its OpenAPI document), a webhook, a policy, an access key (by its hash), or a certificate (its public part; `secret` names the key that the server holds).',
  type: 'object',
  required: ['kind', 'document'],
  properties: { kind: { enum: Object.keys(byKind) } },
  anyOf: Object.values(byKind),
};

const change = { enum: ['created', 'updated', 'deleted', 'none'] };
const names = { kind: { enum: Object.keys(byKind) }, id: text, name: text };
const counts = { type: 'object', additionalProperties: count };

export const applySchemas: JsonObject = {
  ApplySet: closed(
    {
      objects: { type: 'array', items: setObject, maxItems: 50_000 },
      owner: { ...owner, default: 'default', description: 'Whose objects these are; an own `labels.owner` wins.' },
      prune: { ...flag, description: 'Deletes what carries this owner and is not in the set.' },
      takeOver: { ...flag, description: 'Objects of others and of nobody become this owner’s.' },
      allowHoles: { ...flag, description: 'Certificates come without the private keys that are not here.' },
      acceptLoss: { ...flag, description: 'Classic definitions come without what this gateway does not offer.' },
      base: { ...text, pattern: '^\\d{1,20}(-\\d{1,20})?$', description: '409 when anything has changed since.' },
    },
    ['objects'],
  ),
  Applied: {
    type: 'object',
    required: ['base', 'owner', 'objects', 'counts', 'existing', 'warnings'],
    properties: {
      base: { ...text, description: 'The revision that this was decided on.' },
      owner: text,
      objects: {
        description: 'What changes, in the order of kinds. With `dryRun=true` also both documents and the difference.',
        type: 'array',
        items: {
          type: 'object',
          required: [...Object.keys(names), 'change'],
          properties: { ...names, change, owner: text, ownerBefore: text, before: anything, after: anything },
        },
      },
      counts: closed({ created: count, updated: count, deleted: count, unchanged: count }),
      existing: { ...counts, description: 'How many there are of each kind before.' },
      warnings: { type: 'array', items: { type: 'object' } },
    },
  },
};
