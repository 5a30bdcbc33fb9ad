/** Schema of the extension's `middleware` (api-definition design 6 and 7). */
import {
  anyObject,
  block,
  count,
  filledText,
  flag,
  headerPairs,
  httpToken,
  integer,
  list,
  mapOf,
  object,
  shared,
  text,
} from './shapes.ts';

export const pluginEntry = block({ functionName: filledText, path: text, rawBodyOnly: flag, requireSession: flag }, [
  'functionName',
]);
export const pluginList = list(shared('pluginEntry'));
export const pluginWrapper = object({ plugins: shared('pluginList') }, ['plugins']);
export const headerTransform = block({ add: headerPairs, remove: list(httpToken) });

const globalSchema = object({
  cache: block({
    cacheAllSafeRequests: flag,
    cacheByHeaders: list(text),
    cacheResponseCodes: list(integer),
    controlTTLHeaderName: text,
    enableUpstreamCacheControl: flag,
    timeout: count,
  }),
  contextVariables: block(),
  cors: block({
    allowCredentials: flag,
    allowedHeaders: list(text),
    allowedMethods: list(text),
    allowedOrigins: list(text),
    exposedHeaders: list(text),
    debug: flag,
    maxAge: integer,
    optionsPassthrough: flag,
  }),
  ignoreCase: block(),
  pluginConfig: object({
    bundle: block({ path: text }, ['path']),
    data: block({ value: anyObject }, ['value']),
    driver: text,
  }),
  prePlugins: shared('pluginList'),
  postAuthenticationPlugins: shared('pluginList'),
  postPlugins: shared('pluginList'),
  responsePlugins: shared('pluginList'),
  prePlugin: shared('pluginWrapper'),
  postAuthenticationPlugin: shared('pluginWrapper'),
  postPlugin: shared('pluginWrapper'),
  responsePlugin: shared('pluginWrapper'),
  requestSizeLimit: block({ value: { type: 'integer', minimum: 1 } }, ['value']),
  trafficLogs: block({ tagHeaders: list(httpToken), customRetentionPeriod: count, plugins: shared('pluginList') }),
  transformRequestHeaders: shared('headerTransform'),
  transformResponseHeaders: shared('headerTransform'),
});

/** Blocks of an operation all have `enabled`; their other members are checked when the gateway offers them. */
const operationSchema = mapOf(anyObject);

export const middlewareSchema = object({ global: globalSchema, operations: mapOf(operationSchema) });
