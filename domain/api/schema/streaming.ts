/** Schema of `x-svc-streaming` (streams design 2 and 3): the shape of a stream; components judge their own members. */
import { anyObject, count, flag, list, mapOf, object, text, word } from './shapes.ts';

const label = { type: 'string', pattern: '^(?:[a-z0-9][a-z0-9_]*)?$' };

/** One component by its name, beside these members; any name is let through here. */
const component = { ...object({ label, processors: list(anyObject), type: text }), additionalProperties: {} };

const resources = list({ ...component, required: ['label'] });

const pipeline = {
  ...object({ threads: { type: 'integer' }, processors: list(component) }),
  additionalProperties: false,
};

const stream = object({
  input: component,
  output: component,
  buffer: anyObject,
  pipeline,
  input_resources: resources,
  output_resources: resources,
  processor_resources: resources,
  cache_resources: resources,
  rate_limit_resources: resources,
  shutdown_delay: text,
  shutdown_timeout: text,
  logger: anyObject,
  metrics: anyObject,
  tracer: anyObject,
  http: anyObject,
  tests: list(anyObject),
  svc: object({
    start: word('load', 'on_demand'),
    guarantee: word('none', 'at_most_once', 'at_least_once'),
    idle_timeout: text,
    max_instances: count,
    per_request: flag,
    sample: { type: 'number', minimum: 0, maximum: 1 },
  }),
});

/** One member, `streams`; any name is legal except the empty one. */
export const streamingSchema = {
  $id: 'urn:svc:streaming',
  ...object({ streams: { ...mapOf(stream), propertyNames: { minLength: 1 } } }, ['streams']),
  additionalProperties: false,
};
