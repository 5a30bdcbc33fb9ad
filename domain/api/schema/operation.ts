/** Schema of the blocks of one operation (api-definition design 7, plugins design 4.5 and 6.5). */
import {
  block,
  count,
  duration,
  expression,
  flag,
  headerPairs,
  list,
  object,
  off,
  preset,
  shared,
  status,
  text,
  word,
} from './shapes.ts';

const lettersMatter = block({ ignoreCase: off });

const bodyTransform = block(
  {
    format: { type: 'string', enum: ['json', 'xml'] },
    body: text,
    path: text,
    onError: preset('fail', word('fail', 'pass')),
  },
  ['format'],
);

const rewriteRule = object(
  {
    in: { type: 'string', enum: ['query', 'header', 'path', 'sessionMetadata', 'requestContext', 'requestBody'] },
    name: text,
    pattern: expression,
    negate: flag,
  },
  ['in'],
);

const urlRewrite = block({
  pattern: expression,
  rewriteTo: text,
  triggers: list(
    object({ condition: { type: 'string', enum: ['any', 'all'] }, rewriteTo: text, rules: list(rewriteRule) }, [
      'condition',
      'rewriteTo',
    ]),
  ),
});

const circuitBreaker = {
  threshold: { type: 'number', exclusiveMinimum: 0, maximum: 1 },
  sampleSize: { type: 'integer', minimum: 1 },
  coolDownPeriod: { type: 'integer', minimum: 1 },
  halfOpenStateEnabled: flag,
};

export const operationSchema = object({
  allow: lettersMatter,
  block: lettersMatter,
  ignoreAuthentication: lettersMatter,
  internal: block(),
  validateRequest: block({ errorResponseCode: preset(422, { type: 'integer', minimum: 400, maximum: 599 }) }),
  mockResponse: block({
    code: preset(200, status),
    body: text,
    headers: headerPairs,
    fromOASExamples: block({
      code: preset(200, status),
      contentType: preset('application/json', text),
      exampleName: text,
    }),
  }),
  transformRequestMethod: block(
    { toMethod: { type: 'string', enum: ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'HEAD'] } },
    ['toMethod'],
  ),
  transformRequestBody: bodyTransform,
  transformResponseBody: bodyTransform,
  transformRequestHeaders: shared('headerTransform'),
  transformResponseHeaders: shared('headerTransform'),
  urlRewrite,
  cache: block({ timeout: preset(0, count), cacheByRegex: expression, cacheResponseCodes: list(status) }),
  enforceTimeout: block({ duration, value: { type: 'number', minimum: 0 } }),
  circuitBreaker: block(circuitBreaker, Object.keys(circuitBreaker)),
  requestSizeLimit: shared('requestSizeLimit'),
  rateLimit: shared('rateLimit'),
  trackEndpoint: block(),
  doNotTrackEndpoint: block(),
  virtualEndpoint: block({
    functionName: text,
    name: text,
    path: text,
    body: text,
    proxyOnError: flag,
    requireSession: flag,
  }),
  postPlugins: list(block({ functionName: text, name: text, path: text })),
  tokenExchange: block(),
});
