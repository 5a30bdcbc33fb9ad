/** Identity, place, limits and switches of an API in both written forms (api-definition design 15.1). */
import type { Json, JsonObject } from '../../event.ts';
import { isObject } from '../../json.ts';
import { endsIn, isVersionFirst } from './own-versions.ts';
import {
  disabledBy,
  each,
  get,
  isEmpty,
  listAt,
  onlyToClassic,
  onlyToOas,
  opposite,
  pairs,
  type Row,
  row,
  same,
  sameUnlessEmpty,
  seconds,
  secondsOfDuration,
  switchOf,
} from './row.ts';

/** Without the member an API is active: a definition that says nothing is meant to be served. */
const state: readonly Row[] = [
  { ...same('active', 'info/state/active'), toOas: (classic) => get(classic, 'active') ?? true },
  same('internal', 'info/state/internal'),
];

export const versioningRows: readonly Row[] = [
  ...['enabled', 'name', 'default', 'location', 'key'].map((name) =>
    same(`definition/${name}`, `info/versioning/${name}`),
  ),
  {
    ...same('definition/strip_versioning_data', 'info/versioning/stripVersioningData'),
    toOas: (classic) => {
      const strips = [get(classic, 'definition/strip_versioning_data'), get(classic, 'definition/strip_path')];
      return strips.includes(true) ? true : (strips[0] ?? strips[1]);
    },
  },
  same('definition/url_versioning_pattern', 'info/versioning/urlVersioningPattern'),
  same('definition/fallback_to_default', 'info/versioning/fallbackToDefault'),
  pairs('definition/versions', 'info/versioning/versions', 'name', 'id'),
];

const place: readonly Row[] = [
  same('proxy/listen_path', 'server/listenPath/value'),
  same('proxy/strip_listen_path', 'server/listenPath/strip'),
  disabledBy('domain_disabled', 'server/customDomain/enabled', {
    classic: ['domain', 'certificates'],
    oas: ['server/customDomain/name', 'server/customDomain/certificates'],
  }),
  same('domain', 'server/customDomain/name'),
  same('certificates', 'server/customDomain/certificates'),
  disabledBy('tags_disabled', 'server/gatewayTags/enabled', {
    classic: ['tags'],
    oas: ['server/gatewayTags/tags'],
  }),
  same('tags', 'server/gatewayTags/tags'),
  sameUnlessEmpty('listen_port', 'server/port'),
  sameUnlessEmpty('protocol', 'server/protocol'),
];

/** Two lists with a switch each there, one block here. A list that is switched off counts only where the block is off. */
const addressList = (flag: string, list: string, oas: string): readonly Row[] => [
  onlyToOas(list, oas, (classic) => {
    const addresses = get(classic, list);
    return get(classic, flag) === true || !hasAddresses(classic) ? addresses : undefined;
  }),
  onlyToClassic(list, oas, (extension) => get(extension, oas)),
  onlyToClassic(flag, oas, (extension) =>
    get(extension, 'server/ipAccessControl/enabled') === true ? !isEmpty(get(extension, oas)) : undefined,
  ),
];

const hasAddresses = (classic: JsonObject): boolean =>
  get(classic, 'ip_access_control_disabled') !== true &&
  (get(classic, 'enable_ip_whitelisting') === true || get(classic, 'enable_ip_blacklisting') === true);

const addressMembers = ['enable_ip_whitelisting', 'allowed_ips', 'enable_ip_blacklisting', 'blacklisted_ips'];

const addresses: readonly Row[] = [
  {
    classic: 'ip_access_control_disabled',
    oas: 'server/ipAccessControl/enabled',
    toOas: (classic) =>
      ['ip_access_control_disabled', ...addressMembers].some((name) => get(classic, name) !== undefined)
        ? hasAddresses(classic)
        : undefined,
    toClassic: (extension) => {
      const block = get(extension, 'server/ipAccessControl');
      return block === undefined
        ? undefined
        : get(block, 'enabled') !== true && !isEmpty(get(block, 'allow') ?? get(block, 'block'));
    },
  },
  ...addressList('enable_ip_whitelisting', 'allowed_ips', 'server/ipAccessControl/allow'),
  ...addressList('enable_ip_blacklisting', 'blacklisted_ips', 'server/ipAccessControl/block'),
];

const global = 'middleware/global';

const logMembers = ['do_not_track', 'tag_headers', 'expire_analytics_after', 'analytics_plugin', 'analytics_plugins'];

const analyticsPlugin: readonly Row[] = [
  { ...same('enable', 'enabled'), toOas: (entry) => get(entry, 'enable') ?? false },
  same('func_name', 'functionName'),
  same('plugin_path', 'path'),
  same('on_error', 'onError'),
];

const allPlugins = each('analytics_plugins', `${global}/trafficLogs/plugins`, analyticsPlugin);

/** An export writes the members of a plugin that nobody has set. */
const isPlugin = (entry: Json | undefined): boolean =>
  isObject(entry) ? Object.values(entry).some((member) => !isEmpty(member)) : entry !== undefined;

/** The list wins over the one; the one is written for readers that know no list. */
const analyticsPlugins: readonly Row[] = [
  {
    ...allPlugins,
    toOas: (classic) => {
      const one = get(classic, 'analytics_plugin');
      const isAlone = get(classic, 'analytics_plugins') === undefined && isPlugin(one);
      return allPlugins.toOas(isAlone ? { analytics_plugins: [one ?? {}] } : classic);
    },
    toClassic: (extension) =>
      listAt(extension, `${global}/trafficLogs/plugins`).length > 1 ? allPlugins.toClassic(extension) : undefined,
  },
  onlyToClassic('analytics_plugin', `${global}/trafficLogs/plugins`, (extension) => {
    const plugins = allPlugins.toClassic(extension);
    return Array.isArray(plugins) ? plugins[0] : undefined;
  }),
];

const logs: readonly Row[] = [
  {
    classic: 'do_not_track',
    oas: `${global}/trafficLogs/enabled`,
    toOas: (classic) =>
      logMembers.some((name) => get(classic, name) !== undefined) ? get(classic, 'do_not_track') !== true : undefined,
    toClassic: (extension) => {
      const enabled = get(extension, `${global}/trafficLogs/enabled`);
      return typeof enabled === 'boolean' ? !enabled : enabled;
    },
  },
  same('tag_headers', `${global}/trafficLogs/tagHeaders`),
  {
    ...same('expire_analytics_after', `${global}/trafficLogs/customRetentionPeriod`),
    // Whole seconds there; a number of them or a duration here.
    toClassic: (extension) => {
      const period = get(extension, `${global}/trafficLogs/customRetentionPeriod`);
      const inSeconds = typeof period === 'string' ? secondsOfDuration(period) : period;
      return typeof inSeconds === 'number' ? Math.round(inSeconds) : inSeconds;
    },
  },
  ...analyticsPlugins,
  same('enable_detailed_recording', 'server/detailedActivityLogs/enabled'),
  same('detailed_tracing', 'server/detailedTracing/enabled'),
];

const cache: readonly Row[] = [
  switchOf('cache_options/enable_cache', `${global}/cache/enabled`, 'cache_options'),
  same('cache_options/cache_timeout', `${global}/cache/timeout`),
  same('cache_options/cache_all_safe_requests', `${global}/cache/cacheAllSafeRequests`),
  same('cache_options/cache_response_codes', `${global}/cache/cacheResponseCodes`),
  same('cache_options/cache_by_headers', `${global}/cache/cacheByHeaders`),
  same('cache_options/enable_upstream_cache_control', `${global}/cache/enableUpstreamCacheControl`),
  same('cache_options/cache_control_ttl_header', `${global}/cache/controlTTLHeaderName`),
];

const cors: readonly Row[] = [
  switchOf('CORS/enable', `${global}/cors/enabled`, 'CORS'),
  same('CORS/allowed_origins', `${global}/cors/allowedOrigins`),
  same('CORS/allowed_methods', `${global}/cors/allowedMethods`),
  same('CORS/allowed_headers', `${global}/cors/allowedHeaders`),
  same('CORS/exposed_headers', `${global}/cors/exposedHeaders`),
  same('CORS/allow_credentials', `${global}/cors/allowCredentials`),
  same('CORS/max_age', `${global}/cors/maxAge`),
  same('CORS/options_passthrough', `${global}/cors/optionsPassthrough`),
  same('CORS/debug', `${global}/cors/debug`),
];

/** A limit without a rate or a period is none. */
const isLimit = (classic: JsonObject): boolean =>
  !isEmpty(get(classic, 'global_rate_limit/rate')) && !isEmpty(get(classic, 'global_rate_limit/per'));

const whenLimit = (limit: Row): Row => ({
  ...limit,
  toOas: (classic) => (isLimit(classic) ? limit.toOas(classic) : undefined),
});

const rateLimit: readonly Row[] = [
  whenLimit({
    ...opposite('global_rate_limit/disabled', 'upstream/rateLimit/enabled'),
    toOas: (classic) => get(classic, 'global_rate_limit/disabled') !== true,
  }),
  whenLimit(same('global_rate_limit/rate', 'upstream/rateLimit/rate')),
  whenLimit(seconds('global_rate_limit/per', 'upstream/rateLimit/per')),
];

const override: readonly Row[] = [
  same('match/flag', 'match/flag'),
  same('match/message_pattern', 'match/messagePattern'),
  same('match/body_field', 'match/bodyField'),
  same('match/body_value', 'match/bodyValue'),
  same('response/status_code', 'response/statusCode'),
  same('response/body', 'response/body'),
  same('response/message', 'response/message'),
  same('response/template', 'response/template'),
  same('response/headers', 'response/headers'),
];

const byStatus = each('list', 'list', override);

const overrides = (direction: 'toOas' | 'toClassic', map: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(map).map(([status, list]) => [status, byStatus[direction]({ list }) ?? list]));

const errorOverrides: readonly Row[] = [
  disabledBy('error_overrides_disabled', 'errorOverrides/enabled', {
    classic: ['error_overrides'],
    oas: ['errorOverrides/value'],
  }),
  row(
    'error_overrides',
    'errorOverrides/value',
    (map) =>
      map !== null && typeof map === 'object' && !Array.isArray(map) ? overrides('toOas', map as JsonObject) : map,
    (map) =>
      map !== null && typeof map === 'object' && !Array.isArray(map) ? overrides('toClassic', map as JsonObject) : map,
  ),
];

/** Unless that of the version comes first (`rows-version.ts`). */
const end: Row = {
  ...same('expiration', 'info/expiration'),
  toOas: (classic) => (isVersionFirst(endsIn(classic)) ? undefined : get(classic, 'expiration')),
};

export const generalRows: readonly Row[] = [
  same('id', 'info/dbId'),
  same('api_id', 'info/id'),
  same('org_id', 'info/orgId'),
  same('name', 'info/name'),
  ...state,
  end,
  same('slug', 'server/slug'),
  ...versioningRows,
  ...place,
  ...addresses,
  same('disable_rate_limit', `${global}/skipRateLimit`),
  same('disable_quota', `${global}/skipQuota`),
  same('dont_set_quota_on_create', `${global}/skipQuotaReset`),
  same('enable_context_vars', `${global}/contextVariables/enabled`),
  ...logs,
  ...cache,
  ...cors,
  ...rateLimit,
  ...errorOverrides,
];
