/** The fields of `x-svc-api-gateway` that the product document lists, with their types; `[]` is an element of a list. */

export type FieldType = 'string' | 'boolean' | 'integer' | 'object' | 'array';

const fields = (type: FieldType, holder: string, names: string): readonly (readonly [string, FieldType])[] =>
  names.split(' ').map((name) => [`${holder}.${name}`, type]);

const plugin = (list: string) => [
  ...fields('boolean', `middleware.global.${list}[]`, 'enabled rawBodyOnly requireSession'),
  ...fields('string', `middleware.global.${list}[]`, 'functionName path'),
];

const headers = (name: string) => [
  ...fields('boolean', `middleware.global.${name}`, 'enabled'),
  ...fields('string', `middleware.global.${name}.add[]`, 'name value'),
  ...fields('string', `middleware.global.${name}`, 'remove[]'),
];

const discovery = (holder: string) => [
  ...fields('boolean', holder, 'enabled cache.enabled endpointReturnsList useNestedQuery useTargetList'),
  ...fields('integer', holder, 'cache.timeout cacheTimeout'),
  ...fields('string', holder, 'dataPath parentDataPath portDataPath queryEndpoint targetPath'),
];

const sources = (scheme: string) =>
  ['cookie', 'header', 'query'].flatMap((place) => [
    ...fields('boolean', `server.authentication.${scheme}.AuthSources.${place}`, 'enabled'),
    ...fields('string', `server.authentication.${scheme}.AuthSources.${place}`, 'name'),
  ]);

export const productFields: readonly (readonly [path: string, type: FieldType])[] = [
  ...fields('string', 'info', 'dbId expiration id name orgId'),
  ...fields('boolean', 'info', 'state.active state.internal'),
  ...fields(
    'string',
    'info.versioning',
    'default key location name urlVersioningPattern versions[].id versions[].name',
  ),
  ...fields('boolean', 'info.versioning', 'enabled fallbackToDefault stripVersioningData'),

  ...fields('boolean', 'middleware.global.cache', 'cacheAllSafeRequests enableUpstreamCacheControl enabled'),
  ...fields('string', 'middleware.global.cache', 'cacheByHeaders[] controlTTLHeaderName'),
  ...fields('integer', 'middleware.global.cache', 'cacheResponseCodes[] timeout'),
  ...fields('boolean', 'middleware.global', 'contextVariables.enabled trafficLogs.enabled'),
  ...fields('boolean', 'middleware.global.cors', 'allowCredentials debug enabled optionsPassthrough'),
  ...fields('string', 'middleware.global.cors', 'allowedHeaders[] allowedMethods[] allowedOrigins[] exposedHeaders[]'),
  ...fields('integer', 'middleware.global.cors', 'maxAge'),
  ...fields('boolean', 'middleware.global.pluginConfig', 'bundle.enabled data.enabled'),
  ...fields('string', 'middleware.global.pluginConfig', 'bundle.path driver'),
  ...fields('object', 'middleware.global.pluginConfig', 'data.value'),
  ...['prePlugins', 'postAuthenticationPlugins', 'postPlugins', 'responsePlugins'].flatMap(plugin),
  ...['prePlugin', 'postAuthenticationPlugin', 'postPlugin', 'responsePlugin'].flatMap((name) =>
    plugin(`${name}.plugins`),
  ),
  ...['transformRequestHeaders', 'transformResponseHeaders'].flatMap(headers),
  ...fields('object', 'middleware', 'operations'),

  ...fields('boolean', 'server.authentication', 'enabled stripAuthorizationData'),
  ...fields('string', 'server.authentication', 'baseIdentityProvider'),
  ...fields('object', 'server.authentication', 'securitySchemes'),
  ...['custom', 'hmac', 'oidc'].flatMap(sources),
  ...fields('boolean', 'server.authentication', 'custom.enabled hmac.enabled oidc.enabled oidc.segregateByClientId'),
  ...fields('boolean', 'server.authentication.custom.config', 'enabled rawBodyOnly idExtractor.enabled'),
  ...fields('string', 'server.authentication.custom.config', 'functionName path idExtractor.source idExtractor.with'),
  ...fields(
    'string',
    'server.authentication.custom.config.idExtractor.config',
    'formParamName headerName regexp xPathExp',
  ),
  ...fields('integer', 'server.authentication.custom.config.idExtractor.config', 'regexpMatchIndex'),
  ...fields('string', 'server.authentication.hmac', 'allowedAlgorithms[]'),
  ...fields('integer', 'server.authentication.hmac', 'allowedClockSkew'),
  ...fields('string', 'server.authentication.oidc.providers[]', 'issuer'),
  ...fields('string', 'server.authentication.oidc.providers[].clientToPolicyMapping[]', 'clientId policyId'),
  ...fields('string', 'server.authentication.oidc.scopes', 'claimName'),
  ...fields('string', 'server.authentication.oidc.scopes.scopeToPolicyMapping[]', 'policyId scope'),
  ...fields('string', 'server.clientCertificates', 'allowlist[]'),
  ...fields('boolean', 'server', 'clientCertificates.enabled customDomain.enabled'),
  ...fields('string', 'server.customDomain', 'certificates[] name'),
  ...fields('boolean', 'server', 'detailedActivityLogs.enabled detailedTracing.enabled gatewayTags.enabled'),
  ...fields('boolean', 'server.eventHandlers[]', 'enabled'),
  ...fields('string', 'server.eventHandlers[]', 'id name trigger type'),
  ...fields('string', 'server', 'gatewayTags.tags[] listenPath.value'),
  ...fields('boolean', 'server', 'listenPath.strip'),

  ...fields('string', 'upstream', 'url'),
  ...fields('boolean', 'upstream', 'certificatePinning.enabled mutualTLS.enabled rateLimit.enabled'),
  ...fields('string', 'upstream.certificatePinning.domainToPublicKeysMapping[]', 'domain publicKeys[]'),
  ...fields('string', 'upstream.mutualTLS.domainToCertificateMapping[]', 'certificate domain'),
  ...fields('integer', 'upstream.rateLimit', 'rate'),
  ...fields('string', 'upstream.rateLimit', 'per'),
  ...['upstream.serviceDiscovery', 'upstream.test.serviceDiscovery'].flatMap(discovery),
];
