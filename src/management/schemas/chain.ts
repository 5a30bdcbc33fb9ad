/** JSON Schemas of the effective chain of an API. */
import type { JsonObject } from '../../../domain/event.ts';

const text = { type: 'string' };
const flag = { type: 'boolean' };
const list = (items: JsonObject): JsonObject => ({ type: 'array', items });

const entry = {
  type: 'object',
  required: ['name', 'phase', 'source', 'pointer', 'settings', 'runs'],
  properties: {
    name: text,
    phase: { enum: ['request', 'upstream', 'response', null] },
    source: { enum: ['global', 'operation', 'plugin', 'default'] },
    pointer: { type: ['string', 'null'] },
    operation: text,
    settings: { type: ['object', 'null'] },
    runs: flag,
    reason: { ...text, description: 'Why it does not run.' },
  },
};

const problem = {
  type: 'object',
  required: ['pointer', 'code', 'message'],
  properties: { pointer: text, code: text, message: text },
};

export const chainSchemas: JsonObject = {
  Chain: {
    type: 'object',
    required: ['id', 'revision', 'active', 'internal', 'chain', 'problems'],
    properties: {
      ...{ id: text, revision: { type: 'integer' }, active: flag, internal: flag },
      ...{ chain: list(entry), problems: list(problem) },
      versions: {
        ...list({ type: 'object', required: ['name', 'chain'], properties: { name: text, chain: list(entry) } }),
        description: 'Of an API with versions inside: the chain of each. The chain of the API picks among them.',
      },
    },
  },
};
