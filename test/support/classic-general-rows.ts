/** Rows about the API itself: what is said in the Classic form, and what it is in the other. */
import { type ClassicRow, global, row, server, upstream } from './classic-definitions.ts';

export const generalRows: readonly ClassicRow[] = [
  row('ids', { id: '5f', api_id: 'a1', org_id: 'o1' }, { info: { dbId: '5f', id: 'a1', orgId: 'o1' } }),
  row(
    'name, state, life and slug',
    { name: 'Orders', active: false, internal: true, expiration: '2030-01-02 03:04', slug: 'orders' },
    {
      info: { name: 'Orders', state: { active: false, internal: true }, expiration: '2030-01-02 03:04' },
      server: { slug: 'orders' },
    },
  ),
  row(
    'versions',
    {
      definition: {
        ...{ enabled: true, name: 'v1', default: 'v1', location: 'header', key: 'x-v', strip_versioning_data: true },
        ...{ url_versioning_pattern: 'v[0-9]+', fallback_to_default: true, versions: { v2: 'api2' } },
      },
    },
    {
      info: {
        versioning: {
          ...{ enabled: true, name: 'v1', default: 'v1', location: 'header', key: 'x-v', stripVersioningData: true },
          ...{ urlVersioningPattern: 'v[0-9]+', fallbackToDefault: true, versions: [{ name: 'v2', id: 'api2' }] },
        },
      },
    },
  ),
  row(
    'listen path',
    { proxy: { listen_path: '/orders/', strip_listen_path: true } },
    server({ listenPath: { value: '/orders/', strip: true } }),
  ),
  row(
    'domain',
    { domain: 'api.example.org', certificates: ['c1'], domain_disabled: true },
    server({ customDomain: { enabled: false, name: 'api.example.org', certificates: ['c1'] } }),
  ),
  row('labels', { tags: ['edge'], tags_disabled: false }, server({ gatewayTags: { enabled: true, tags: ['edge'] } })),
  row('port', { listen_port: 9443, protocol: 'https' }, server({ port: 9443, protocol: 'https' })),
  row(
    'limit',
    { global_rate_limit: { rate: 10, per: 90, disabled: false } },
    upstream({ rateLimit: { enabled: true, rate: 10, per: '1m30s' } }),
  ),
  row(
    'limits of keys',
    { disable_rate_limit: true, disable_quota: true, dont_set_quota_on_create: true },
    global({ skipRateLimit: true, skipQuota: true, skipQuotaReset: true }),
  ),
  row(
    'cache',
    {
      cache_options: {
        ...{ enable_cache: true, cache_timeout: 60, cache_all_safe_requests: true, cache_response_codes: [200] },
        ...{ cache_by_headers: ['x-a'], enable_upstream_cache_control: true, cache_control_ttl_header: 'x-ttl' },
      },
    },
    global({
      cache: {
        ...{ enabled: true, timeout: 60, cacheAllSafeRequests: true, cacheResponseCodes: [200] },
        ...{ cacheByHeaders: ['x-a'], enableUpstreamCacheControl: true, controlTTLHeaderName: 'x-ttl' },
      },
    }),
  ),
  row(
    'cors',
    {
      CORS: {
        ...{ enable: true, allowed_origins: ['https://a.example'], allowed_methods: ['GET'], allowed_headers: ['x-a'] },
        ...{ exposed_headers: ['x-b'], allow_credentials: true, max_age: 5, options_passthrough: true, debug: true },
      },
    },
    global({
      cors: {
        ...{ enabled: true, allowedOrigins: ['https://a.example'], allowedMethods: ['GET'], allowedHeaders: ['x-a'] },
        ...{ exposedHeaders: ['x-b'], allowCredentials: true, maxAge: 5, optionsPassthrough: true, debug: true },
      },
    }),
  ),
  row('variables', { enable_context_vars: true }, global({ contextVariables: { enabled: true } })),
  row(
    'records',
    { do_not_track: true, tag_headers: ['x-t'], expire_analytics_after: 3600 },
    global({ trafficLogs: { enabled: false, tagHeaders: ['x-t'], customRetentionPeriod: 3600 } }),
  ),
  row('details', { enable_detailed_recording: true }, server({ detailedActivityLogs: { enabled: true } })),
  row('spans', { detailed_tracing: true }, server({ detailedTracing: { enabled: true } })),
  row(
    'addresses',
    {
      ...{ enable_ip_whitelisting: true, allowed_ips: ['10.0.0.0/8'], enable_ip_blacklisting: true },
      ...{ blacklisted_ips: ['10.1.1.1'], ip_access_control_disabled: false },
    },
    server({ ipAccessControl: { enabled: true, allow: ['10.0.0.0/8'], block: ['10.1.1.1'] } }),
  ),
  row(
    'overrides',
    { error_overrides: { 403: [{ match: { flag: 'auth_missing' }, response: { status_code: 401, body: 'no' } }] } },
    {
      errorOverrides: {
        enabled: true,
        value: { 403: [{ match: { flag: 'auth_missing' }, response: { statusCode: 401, body: 'no' } }] },
      },
    },
  ),
];
