/** Schemas of the routes about projections, for the API's own document. */
import type { JsonObject } from '../../../domain/event.ts';

const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };
const maybe = { type: ['string', 'null'] };
const states = ['catching-up', 'live', 'rebuilding', 'standby', 'stopped', 'retrying'];

const closed = (properties: JsonObject): JsonObject => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
});

const rebuild: JsonObject = closed({
  generation: count,
  version: count,
  position: text,
  progress: { type: ['number', 'null'], minimum: 0, maximum: 1 },
  state: { type: 'string', enum: [...states, 'waiting'] },
  reason: maybe,
});

const projection: JsonObject = closed({
  name: text,
  version: count,
  position: text,
  lagEvents: { type: ['integer', 'null'], minimum: 0 },
  lagSeconds: { type: 'number', minimum: 0 },
  state: { type: 'string', enum: states },
  reason: maybe,
  parked: { type: 'array', items: closed({ position: text, stream: text, reason: text }) },
  rebuild: { anyOf: [{ $ref: '#/components/schemas/ProjectionRebuild' }, { type: 'null' }] },
});

export const projectionSchemas: JsonObject = {
  ProjectionRebuild: rebuild,
  ProjectionList: closed({ projections: { type: 'array', items: projection } }),
  ProjectionRetry: closed({ folded: count, left: count }),
  ProjectionSkip: closed({ skipped: text }),
};
