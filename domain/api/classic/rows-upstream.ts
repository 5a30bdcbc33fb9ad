/** The upstream in both written forms: target, balance, discovery, transport, certificates, credentials, tests (api-definition design 10, 15.1). */
import type { Json, JsonObject } from '../../event.ts';
import { at, isObject, textAt } from '../../json.ts';
import { durationMs } from '../duration.ts';
import { disabledBy, each, get, isEmpty, onlyToOas, pairs, type Row, row, same, seconds, switchOf } from './row.ts';

/** Far above what anybody writes by hand; a weight above it would fill a definition with repeats. */
const maxRepeats = 1000;

const weighted = (list: Json): Json => {
  if (!Array.isArray(list)) return list;
  const counts = new Map<Json, number>();
  for (const url of list) counts.set(url, (counts.get(url) ?? 0) + 1);
  return [...counts].map(([url, weight]) => ({ url, weight }));
};

const repeated = (list: Json): Json =>
  Array.isArray(list)
    ? list.flatMap((target: Json) => {
        const weight = at(target, 'weight') ?? 1;
        const times = typeof weight === 'number' ? Math.min(Math.max(0, Math.floor(weight)), maxRepeats) : 1;
        return Array.from({ length: times }, () => textAt(target, 'url') ?? '');
      })
    : list;

const balance = 'upstream/loadBalancing';

const balancing: readonly Row[] = [
  {
    ...same('proxy/enable_load_balancing', `${balance}/enabled`),
    toOas: (classic) =>
      ['enable_load_balancing', 'target_list', 'check_host_against_uptime_tests'].some(
        (name) => get(classic, `proxy/${name}`) !== undefined,
      )
        ? get(classic, 'proxy/enable_load_balancing') === true
        : undefined,
  },
  row('proxy/target_list', `${balance}/targets`, weighted, repeated),
  same('proxy/check_host_against_uptime_tests', `${balance}/skipUnavailableHosts`),
];

const discovery = (place: string, oas: string): readonly Row[] => [
  switchOf(`${place}/use_discovery_service`, `${oas}/enabled`, place),
  same(`${place}/query_endpoint`, `${oas}/queryEndpoint`),
  same(`${place}/use_nested_query`, `${oas}/useNestedQuery`),
  same(`${place}/parent_data_path`, `${oas}/parentDataPath`),
  same(`${place}/data_path`, `${oas}/dataPath`),
  same(`${place}/port_data_path`, `${oas}/portDataPath`),
  same(`${place}/target_path`, `${oas}/targetPath`),
  same(`${place}/use_target_list`, `${oas}/useTargetList`),
  same(`${place}/endpoint_returns_list`, `${oas}/endpointReturnsList`),
  disabledBy(`${place}/cache_disabled`, `${oas}/cache/enabled`, {
    classic: [`${place}/cache_timeout`],
    oas: [`${oas}/cache/timeout`],
  }),
  same(`${place}/cache_timeout`, `${oas}/cache/timeout`),
];

/** Versions of TLS by the number that they have on the wire. */
const tlsVersions: readonly (readonly [number, string])[] = [
  [769, '1.0'],
  [770, '1.1'],
  [771, '1.2'],
  [772, '1.3'],
  [0, ''],
];

const tlsVersion = (classic: string, oas: string): Row =>
  row(
    classic,
    oas,
    (number) => tlsVersions.find(([known]) => known === number)?.[1] ?? number,
    (text) => tlsVersions.find(([, known]) => known === text)?.[0] ?? text,
  );

const transport: readonly Row[] = [
  same('proxy/transport/ssl_insecure_skip_verify', 'upstream/tlsTransport/insecureSkipVerify'),
  same('proxy/transport/ssl_ciphers', 'upstream/tlsTransport/ciphers'),
  tlsVersion('proxy/transport/ssl_min_version', 'upstream/tlsTransport/minVersion'),
  tlsVersion('proxy/transport/ssl_max_version', 'upstream/tlsTransport/maxVersion'),
  same('proxy/transport/ssl_force_common_name_check', 'upstream/tlsTransport/forceCommonNameCheck'),
  disabledBy('proxy/transport/proxy_url_disabled', 'upstream/proxy/enabled', {
    classic: ['proxy/transport/proxy_url'],
    oas: ['upstream/proxy/url'],
  }),
  same('proxy/transport/proxy_url', 'upstream/proxy/url'),
];

const keyLists = pairs(
  'pinned_public_keys',
  'upstream/certificatePinning/domainToPublicKeysMapping',
  'domain',
  'publicKeys',
);

const withKeys = (list: Json | undefined, convert: (keys: Json) => Json): Json | undefined =>
  Array.isArray(list)
    ? list.map((pair: Json) =>
        isObject(pair) && pair['publicKeys'] !== undefined
          ? { ...pair, publicKeys: convert(pair['publicKeys']) }
          : pair,
      )
    : list;

/** Ids joined with commas there, a list here. */
const pinning: Row = {
  ...keyLists,
  toOas: (classic) =>
    withKeys(keyLists.toOas(classic), (keys) =>
      typeof keys === 'string' ? (keys === '' ? [] : keys.split(',').map((key) => key.trim())) : keys,
    ),
  toClassic: (extension) => {
    const list = withKeys(get(extension, keyLists.oas), (keys) => (Array.isArray(keys) ? keys.join(',') : keys));
    return list === undefined
      ? undefined
      : keyLists.toClassic({ upstream: { certificatePinning: { domainToPublicKeysMapping: list } } });
  },
};

const certificates: readonly Row[] = [
  disabledBy('upstream_certificates_disabled', 'upstream/mutualTLS/enabled', {
    classic: ['upstream_certificates'],
    oas: ['upstream/mutualTLS/domainToCertificateMapping'],
  }),
  pairs('upstream_certificates', 'upstream/mutualTLS/domainToCertificateMapping', 'domain', 'certificate'),
  disabledBy('certificate_pinning_disabled', 'upstream/certificatePinning/enabled', {
    classic: ['pinned_public_keys'],
    oas: ['upstream/certificatePinning/domainToPublicKeysMapping'],
  }),
  pinning,
];

const isOn = (value: Json | undefined): boolean => value === true;

/** One switch here stands above what are two blocks there. */
const credentials = 'upstream/authentication';

const under = (flag: string, oas: string, isAbove: (classic: JsonObject) => boolean): Row => ({
  ...same(flag, oas),
  toOas: (classic) => {
    const room = flag.slice(0, flag.lastIndexOf('/'));
    return get(classic, room) === undefined ? undefined : isOn(get(classic, flag)) && isAbove(classic);
  },
  toClassic: (extension) => {
    const value = get(extension, oas);
    return typeof value === 'boolean' ? value && isOn(get(extension, `${credentials}/enabled`)) : value;
  },
});

const isAuthOn = (classic: JsonObject): boolean => isOn(get(classic, 'upstream_auth/enabled'));

const client = (place: string, oas: string): readonly Row[] => [
  same(`${place}/client_id`, `${oas}/clientId`),
  same(`${place}/client_secret`, `${oas}/clientSecret`),
  same(`${place}/token_url`, `${oas}/tokenUrl`),
  same(`${place}/scopes`, `${oas}/scopes`),
  same(`${place}/header`, `${oas}/header`),
  same(`${place}/extra_metadata`, `${oas}/extraMetadata`),
];

const upstreamOauth = 'upstream_auth/oauth';

const authentication: readonly Row[] = [
  {
    ...same('upstream_auth/enabled', `${credentials}/enabled`),
    toOas: (classic) =>
      get(classic, 'upstream_auth') === undefined && get(classic, 'request_signing') === undefined
        ? undefined
        : isAuthOn(classic) || isOn(get(classic, 'request_signing/is_enabled')),
    toClassic: (extension) => get(extension, `${credentials}/enabled`),
  },
  under('upstream_auth/basic_auth/enabled', `${credentials}/basicAuth/enabled`, isAuthOn),
  same('upstream_auth/basic_auth/username', `${credentials}/basicAuth/username`),
  same('upstream_auth/basic_auth/password', `${credentials}/basicAuth/password`),
  same('upstream_auth/basic_auth/header', `${credentials}/basicAuth/header`),
  under(`${upstreamOauth}/enabled`, `${credentials}/oauth/enabled`, isAuthOn),
  same(`${upstreamOauth}/allowed_authorize_types`, `${credentials}/oauth/allowedAuthorizeTypes`),
  ...client(`${upstreamOauth}/client_credentials`, `${credentials}/oauth/clientCredentials`),
  ...client(`${upstreamOauth}/password_authentication`, `${credentials}/oauth/password`),
  same(`${upstreamOauth}/password_authentication/username`, `${credentials}/oauth/password/username`),
  same(`${upstreamOauth}/password_authentication/password`, `${credentials}/oauth/password/password`),
  under('request_signing/is_enabled', `${credentials}/requestSigning/enabled`, () => true),
  same('request_signing/signature_header', `${credentials}/requestSigning/signatureHeader`),
  same('request_signing/algorithm', `${credentials}/requestSigning/algorithm`),
  same('request_signing/key_id', `${credentials}/requestSigning/keyId`),
  same('request_signing/header_list', `${credentials}/requestSigning/headers`),
  same('request_signing/secret', `${credentials}/requestSigning/secret`),
  same('request_signing/certificate_id', `${credentials}/requestSigning/certificateId`),
];

const nanosecondsOfMs = 1_000_000;

/** Time-outs of checks are nanoseconds there. */
const checkTimeout: Row = row(
  'timeout',
  'timeout',
  (value) => (typeof value === 'number' ? `${(value / nanosecondsOfMs).toFixed(6).replace(/\.?0+$/, '')}ms` : value),
  (value) => {
    const ms = typeof value === 'string' ? durationMs(value) : undefined;
    return ms === undefined ? value : Math.round(ms * nanosecondsOfMs);
  },
);

const check: readonly Row[] = [
  same('url', 'url'),
  same('method', 'method'),
  same('headers', 'headers'),
  same('body', 'body'),
  checkTimeout,
  same('enable_proxy_protocol', 'enableProxyProtocol'),
  same('commands', 'commands'),
];

const tests: readonly Row[] = [
  disabledBy('uptime_tests/disabled', 'upstream/uptimeTests/enabled', {
    classic: ['uptime_tests/check_list'],
    oas: ['upstream/uptimeTests/tests'],
  }),
  each('uptime_tests/check_list', 'upstream/uptimeTests/tests', check),
  seconds('uptime_tests/config/expire_utime_after', 'upstream/uptimeTests/logRetentionPeriod'),
  seconds('uptime_tests/config/recheck_wait', 'upstream/uptimeTests/hostDownRetestPeriod'),
  ...discovery('uptime_tests/config/service_discovery', 'upstream/uptimeTests/serviceDiscovery'),
];

/** The switch of the tests must be there as soon as anything of them is. */
const testsFilled: readonly Row[] = tests.map((one, index) =>
  index === 0
    ? {
        ...one,
        toOas: (classic: JsonObject) =>
          one.toOas(classic) ?? (get(classic, 'uptime_tests/config') === undefined ? undefined : false),
      }
    : one,
);

/** The target of the only version stands above that of the API. */
const hasOwnTarget = (classic: JsonObject): boolean => !isEmpty(get(classic, 'version/override_target'));

const target: readonly Row[] = [
  {
    ...same('proxy/target_url', 'upstream/url'),
    toOas: (classic) => (hasOwnTarget(classic) ? undefined : get(classic, 'proxy/target_url')),
  },
  onlyToOas('version/override_target', 'upstream/url', (classic) =>
    hasOwnTarget(classic) ? get(classic, 'version/override_target') : undefined,
  ),
];

export const upstreamRows: readonly Row[] = [
  ...target,
  same('proxy/disable_strip_slash', 'upstream/preserveTrailingSlash/enabled'),
  same('proxy/preserve_host_header', 'upstream/preserveHostHeader/enabled'),
  ...balancing,
  ...discovery('proxy/service_discovery', 'upstream/serviceDiscovery'),
  ...transport,
  ...certificates,
  ...authentication,
  ...testsFilled,
];
