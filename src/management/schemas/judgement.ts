/** Component schemas of the judgement of documents. */
import type { JsonObject } from '../../../domain/event.ts';

const text: JsonObject = { type: 'string' };

export const judgementSchemas: JsonObject = {
  AnyDocument: { type: 'object' },
  Judgement: {
    type: 'object',
    required: ['errors', 'warnings'],
    properties: {
      errors: {
        type: 'array',
        items: {
          type: 'object',
          required: ['pointer', 'code', 'message'],
          properties: { pointer: text, keyword: text, code: text, message: text },
        },
      },
      warnings: {
        type: 'array',
        items: {
          type: 'object',
          required: ['pointer', 'code', 'text'],
          properties: { pointer: text, code: text, text },
        },
      },
    },
    additionalProperties: false,
  },
};
