/** Rows about the upstream: what is said in the Classic form, and what it is in the other. */
import { type ClassicRow, row, upstream } from './classic-definitions.ts';

const discovery = {
  ...{ use_discovery_service: true, query_endpoint: 'http://127.0.0.1/d', use_nested_query: true },
  ...{ parent_data_path: 'a.b', data_path: 'host', port_data_path: 'port', target_path: '/x', use_target_list: true },
  ...{ endpoint_returns_list: true, cache_timeout: 30, cache_disabled: false },
};
const discovered = {
  ...{ enabled: true, queryEndpoint: 'http://127.0.0.1/d', useNestedQuery: true, parentDataPath: 'a.b' },
  ...{ dataPath: 'host', portDataPath: 'port', targetPath: '/x', useTargetList: true, endpointReturnsList: true },
  cache: { enabled: true, timeout: 30 },
};

export const upstreamRows: readonly ClassicRow[] = [
  row('target', { proxy: { target_url: 'http://127.0.0.1:1/b' } }, upstream({ url: 'http://127.0.0.1:1/b' })),
  row(
    'how it is asked',
    { proxy: { disable_strip_slash: true, preserve_host_header: true } },
    upstream({ preserveTrailingSlash: { enabled: true }, preserveHostHeader: { enabled: true } }),
  ),
  row(
    'balance',
    {
      proxy: {
        ...{ enable_load_balancing: true, target_list: ['http://a', 'http://a', 'http://b'] },
        check_host_against_uptime_tests: true,
      },
    },
    upstream({
      loadBalancing: {
        enabled: true,
        targets: [
          { url: 'http://a', weight: 2 },
          { url: 'http://b', weight: 1 },
        ],
        skipUnavailableHosts: true,
      },
    }),
  ),
  row('discovery', { proxy: { service_discovery: discovery } }, upstream({ serviceDiscovery: discovered })),
  row(
    'transport',
    {
      proxy: {
        transport: {
          ...{ ssl_insecure_skip_verify: true, ssl_ciphers: ['TLS_A'], ssl_min_version: 771, ssl_max_version: 772 },
          ...{ ssl_force_common_name_check: true, proxy_url: 'http://127.0.0.1:3' },
        },
      },
    },
    upstream({
      tlsTransport: {
        ...{ insecureSkipVerify: true, ciphers: ['TLS_A'], minVersion: '1.2', maxVersion: '1.3' },
        forceCommonNameCheck: true,
      },
      proxy: { enabled: true, url: 'http://127.0.0.1:3' },
    }),
  ),
  row(
    'upstream certificates and pins',
    {
      ...{ upstream_certificates: { '*': 'c1' }, upstream_certificates_disabled: true },
      ...{ pinned_public_keys: { 'a.example': 'k1,k2' }, certificate_pinning_disabled: false },
    },
    upstream({
      mutualTLS: { enabled: false, domainToCertificateMapping: [{ domain: '*', certificate: 'c1' }] },
      certificatePinning: {
        enabled: true,
        domainToPublicKeysMapping: [{ domain: 'a.example', publicKeys: ['k1', 'k2'] }],
      },
    }),
  ),
  row(
    'credentials',
    {
      upstream_auth: {
        enabled: true,
        basic_auth: { enabled: true, username: 'u', password: 'clear', header: { enabled: true, name: 'X-U' } },
        oauth: {
          enabled: false,
          allowed_authorize_types: ['clientCredentials'],
          client_credentials: {
            ...{ client_id: 'c', client_secret: 'clear', token_url: 'http://127.0.0.1/t', scopes: ['s'] },
            extra_metadata: ['m'],
          },
        },
      },
      request_signing: {
        ...{ is_enabled: true, signature_header: 'X-S', algorithm: 'hmac-sha256', key_id: 'k', header_list: ['date'] },
        secret: 'clear',
      },
    },
    upstream({
      authentication: {
        enabled: true,
        basicAuth: { enabled: true, username: 'u', password: 'clear', header: { enabled: true, name: 'X-U' } },
        oauth: {
          enabled: false,
          allowedAuthorizeTypes: ['clientCredentials'],
          clientCredentials: {
            ...{ clientId: 'c', clientSecret: 'clear', tokenUrl: 'http://127.0.0.1/t', scopes: ['s'] },
            extraMetadata: ['m'],
          },
        },
        requestSigning: {
          ...{ enabled: true, signatureHeader: 'X-S', algorithm: 'hmac-sha256', keyId: 'k', headers: ['date'] },
          secret: 'clear',
        },
      },
    }),
  ),
  row(
    'tests',
    {
      uptime_tests: {
        disabled: false,
        check_list: [
          { url: 'http://127.0.0.1/h', method: 'GET', headers: { a: 'b' }, body: '', timeout: 1_500_000_000 },
        ],
        config: { expire_utime_after: 60, recheck_wait: 10, service_discovery: discovery },
      },
    },
    upstream({
      uptimeTests: {
        enabled: true,
        tests: [{ url: 'http://127.0.0.1/h', method: 'GET', headers: { a: 'b' }, body: '', timeout: '1500ms' }],
        ...{ logRetentionPeriod: '1m', hostDownRetestPeriod: '10s', serviceDiscovery: discovered },
      },
    }),
  ),
];
