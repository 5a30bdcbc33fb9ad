/** Schema of the extension's `middleware` (api-definition design 6, plugins design 0.2 and 10). */
import { detailParts, jsonPathPattern, mediaTypePattern, mostBodyBytes } from '../../record-detail.ts';
import { operationSchema } from './operation.ts';
import {
  anyObject,
  block,
  count,
  duration,
  expression,
  filledText,
  flag,
  headerPairs,
  httpToken,
  integer,
  list,
  mapOf,
  object,
  off,
  preset,
  shared,
  status,
  text,
  word,
} from './shapes.ts';

export const pluginEntry = block(
  {
    functionName: filledText,
    path: text,
    rawBodyOnly: flag,
    requireSession: flag,
    deadline: duration,
    failureMode: word('closed', 'open'),
    sendBody: word('raw', 'text', 'never'),
    // Reserved: `rules/plugins.ts` refuses a source that stands in the definition.
    code: text,
    pluginId: text,
    pluginHash: text,
  },
  ['functionName'],
);
export const pluginList = list(shared('pluginEntry'));
export const pluginWrapper = object({ plugins: shared('pluginList') }, ['plugins']);
export const headerTransform = block({ add: headerPairs, remove: list(httpToken) });
export const requestSizeLimit = block({ value: { type: 'integer', minimum: 1 } }, ['value']);

const analyticsPlugin = block({ functionName: filledText, path: text, onError: word('redact', 'drop', 'keep') }, [
  'functionName',
]);

/** Names as in the settings of a gateway, which say the same for all APIs. */
const recordDetail = object({
  max_body_bytes: { ...count, maximum: mostBodyBytes },
  redact_headers: list(httpToken),
  redact_json: list({ ...text, pattern: jsonPathPattern }),
  content_types: list({ ...text, pattern: mediaTypePattern }),
  parts: list({ ...text, enum: detailParts }),
  sample: { type: 'number', minimum: 0, maximum: 1 },
  on_error_only: flag,
});

const globalSchema = object({
  cache: block({
    cacheAllSafeRequests: off,
    cacheByHeaders: list(httpToken),
    cacheResponseCodes: list(status),
    controlTTLHeaderName: preset('x-svc-cache-action-set-ttl', text),
    enableUpstreamCacheControl: off,
    timeout: preset(0, count),
    scope: preset('key', word('key', 'shared')),
    onStoreFailure: preset('bypass', word('bypass', 'closed')),
  }),
  contextVariables: block(),
  cors: block({
    allowCredentials: off,
    allowedHeaders: list(httpToken),
    allowedMethods: list(httpToken),
    allowedOrigins: list(text),
    exposedHeaders: list(httpToken),
    debug: off,
    maxAge: preset(0, integer),
    optionsPassthrough: off,
  }),
  ignoreCase: block(),
  pluginConfig: object({
    bundle: block({ path: text }, ['path']),
    data: block({ value: anyObject }, ['value']),
    driver: text,
    deadline: duration,
    isolation: text,
  }),
  prePlugins: shared('pluginList'),
  postAuthenticationPlugins: shared('pluginList'),
  postPlugins: shared('pluginList'),
  responsePlugins: shared('pluginList'),
  prePlugin: shared('pluginWrapper'),
  postAuthenticationPlugin: shared('pluginWrapper'),
  postPlugin: shared('pluginWrapper'),
  responsePlugin: shared('pluginWrapper'),
  requestSizeLimit: shared('requestSizeLimit'),
  skipRateLimit: off,
  skipQuota: off,
  skipQuotaReset: off,
  trafficLogs: block({
    tagHeaders: list(httpToken),
    customRetentionPeriod: { ...duration, type: ['string', 'integer'], minimum: 0 },
    plugins: list(analyticsPlugin),
    detail: recordDetail,
    onFull: word('ladder', 'block'),
    waitForCommit: flag,
  }),
  transformRequestHeaders: shared('headerTransform'),
  transformResponseHeaders: shared('headerTransform'),
});

const named = { propertyNames: { pattern: '\\S' } };

export const middlewareSchema = object({
  global: globalSchema,
  operations: { ...mapOf(operationSchema), ...named },
  mcpTools: mapOf(anyObject),
  mcpResources: mapOf(anyObject),
  mcpPrompts: mapOf(anyObject),
});

const override = object(
  {
    match: object({ flag: text, messagePattern: expression, bodyField: text, bodyValue: {} }),
    response: object({ statusCode: status, body: text, message: text, template: text, headers: mapOf(text) }),
  },
  ['response'],
);

/** api-definition design 2: a status or a class of statuses, each with a list of what replaces the answer. */
export const errorOverridesSchema = block({
  value: { ...mapOf(list(override)), propertyNames: { pattern: '^[1-5](?:[0-9][0-9]|[xX][xX])$' } },
});
