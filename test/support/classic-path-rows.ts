/** The table of path lists: an entry of each, and the block that it is. */
import type { Json, JsonObject } from '../../domain/event.ts';

export type PathRow = {
  readonly list: string;
  readonly entry: JsonObject;
  readonly block: string;
  readonly made: Json;
};

const path = (list: string, entry: JsonObject, block: string, made: Json): PathRow => ({ list, entry, block, made });
const template = { input_type: 'json', template_mode: 'blob', template_source: 'e30=' };

/** An entry per row of the second table. */
export const pathRows: readonly PathRow[] = [
  path('ignored', { ignore_case: true }, 'ignoreAuthentication', { enabled: true, ignoreCase: true }),
  path('white_list', { disabled: true }, 'allow', { enabled: false }),
  path('black_list', {}, 'block', { enabled: true }),
  path('internal', {}, 'internal', { enabled: true }),
  path('cache', {}, 'cache', { enabled: true }),
  path('advance_cache_config', { timeout: 5, cache_key_regex: 'a', cache_response_codes: [200] }, 'cache', {
    enabled: true,
    timeout: 5,
    cacheByRegex: 'a',
    cacheResponseCodes: [200],
  }),
  path('transform', { template_data: template }, 'transformRequestBody', {
    enabled: true,
    format: 'json',
    body: 'e30=',
  }),
  path(
    'transform_response',
    { template_data: { ...template, template_mode: 'file', template_source: 't.tmpl' } },
    'transformResponseBody',
    { enabled: true, format: 'json', path: 't.tmpl' },
  ),
  path('transform_headers', { add_headers: { a: 'b' }, delete_headers: ['c'] }, 'transformRequestHeaders', {
    enabled: true,
    add: [{ name: 'a', value: 'b' }],
    remove: ['c'],
  }),
  path('transform_response_headers', { add_headers: { a: 'b' }, delete_headers: ['c'] }, 'transformResponseHeaders', {
    enabled: true,
    add: [{ name: 'a', value: 'b' }],
    remove: ['c'],
  }),
  path('hard_timeouts', { timeout: 5 }, 'enforceTimeout', { enabled: true, duration: '5s' }),
  path(
    'circuit_breakers',
    { threshold_percent: 0.5, samples: 5, return_to_service_after: 10, disable_half_open_state: true },
    'circuitBreaker',
    { enabled: true, threshold: 0.5, sampleSize: 5, coolDownPeriod: 10, halfOpenStateEnabled: false },
  ),
  path(
    'url_rewrites',
    {
      match_pattern: '(.*)',
      rewrite_to: '/x',
      triggers: [
        {
          on: 'any',
          rewrite_to: '/y',
          options: {
            header_matches: { 'X-A': { match_rx: 'a', reverse: true } },
            query_val_matches: { q: { match_rx: 'b', reverse: false } },
            path_part_matches: { p: { match_rx: 'c', reverse: false } },
            session_meta_matches: { m: { match_rx: 'd', reverse: false } },
            request_context_matches: { v: { match_rx: 'e', reverse: false } },
            payload_matches: { match_rx: 'f', reverse: false },
          },
        },
      ],
    },
    'urlRewrite',
    {
      ...{ enabled: true, pattern: '(.*)', rewriteTo: '/x' },
      triggers: [
        {
          condition: 'any',
          rewriteTo: '/y',
          rules: [
            { in: 'header', name: 'X-A', pattern: 'a', negate: true },
            { in: 'query', name: 'q', pattern: 'b', negate: false },
            { in: 'path', name: 'p', pattern: 'c', negate: false },
            { in: 'sessionMetadata', name: 'm', pattern: 'd', negate: false },
            { in: 'requestContext', name: 'v', pattern: 'e', negate: false },
            { in: 'requestBody', pattern: 'f', negate: false },
          ],
        },
      ],
    },
  ),
  path(
    'virtual',
    {
      ...{ response_function_name: 'fn', function_source_type: 'file', function_source_uri: 'v.js', use_session: true },
      proxy_on_error: true,
    },
    'virtualEndpoint',
    { enabled: true, functionName: 'fn', path: 'v.js', requireSession: true, proxyOnError: true },
  ),
  path('go_plugin', { plugin_path: 'g.so', func_name: 'Fn' }, 'postPlugins', [
    { enabled: true, path: 'g.so', functionName: 'Fn' },
  ]),
  path('size_limits', { size_limit: 9 }, 'requestSizeLimit', { enabled: true, value: 9 }),
  path('method_transforms', { to_method: 'POST' }, 'transformRequestMethod', { enabled: true, toMethod: 'POST' }),
  path('rate_limit', { rate: 5, per: 60 }, 'rateLimit', { enabled: true, rate: 5, per: '1m' }),
  path('track_endpoints', {}, 'trackEndpoint', { enabled: true }),
  path('do_not_track_endpoints', {}, 'doNotTrackEndpoint', { enabled: true }),
  path('validate_json', { schema: { type: 'object' }, error_response_code: 422 }, 'validateRequest', {
    enabled: true,
    errorResponseCode: 422,
  }),
  path('validate_request', { error_response_code: 400 }, 'validateRequest', { enabled: true, errorResponseCode: 400 }),
  path('mock_response', { code: 201, body: 'made', headers: { a: 'b' } }, 'mockResponse', {
    enabled: true,
    code: 201,
    body: 'made',
    headers: [{ name: 'a', value: 'b' }],
  }),
];
