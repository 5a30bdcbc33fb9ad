/** Schema of the extension's `upstream` (api-definition design 10). */
import {
  block,
  count,
  duration,
  filledText,
  flag,
  httpToken,
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

export const serviceDiscovery = block({
  cache: block({ timeout: preset(120, count) }),
  cacheTimeout: preset(120, count),
  dataPath: text,
  parentDataPath: text,
  portDataPath: text,
  queryEndpoint: text,
  targetPath: text,
  endpointReturnsList: off,
  useNestedQuery: off,
  useTargetList: off,
});

export const rateLimit = block({ rate: { type: 'integer', minimum: 1 }, per: duration }, ['rate', 'per']);

const tlsVersion = word('1.0', '1.1', '1.2', '1.3');

const uptimeTest = object(
  {
    url: filledText,
    method: httpToken,
    headers: mapOf(text),
    body: text,
    timeout: duration,
    enableProxyProtocol: flag,
    commands: list(object({ name: { type: 'string', enum: ['send', 'expect'] }, message: text }, ['name', 'message'])),
  },
  ['url'],
);

const tokenHeader = block({ name: preset('Authorization', text) });
const client = {
  clientId: text,
  clientSecret: text,
  tokenUrl: text,
  scopes: list(text),
  header: tokenHeader,
  extraMetadata: list(text),
};

const upstreamAuthentication = block({
  basicAuth: block({ header: tokenHeader, username: text, password: text }),
  oauth: block({
    allowedAuthorizeTypes: list({ type: 'string', enum: ['clientCredentials', 'password'] }),
    clientCredentials: object(client),
    password: object({ ...client, username: text, password: text }),
  }),
  requestSigning: block({
    signatureHeader: preset('Authorization', text),
    algorithm: text,
    keyId: text,
    headers: list(text),
    secret: text,
    certificateId: text,
  }),
});

export const upstreamSchema = object({
  url: text,
  authentication: upstreamAuthentication,
  certificatePinning: block({
    domainToPublicKeysMapping: list(object({ domain: filledText, publicKeys: list(text) }, ['domain', 'publicKeys'])),
  }),
  enforceTimeout: block({ duration: preset('30s', duration) }),
  loadBalancing: block({
    skipUnavailableHosts: off,
    targets: list(object({ url: filledText, weight: count }, ['url'])),
  }),
  mutualTLS: block({
    domainToCertificateMapping: list(
      object({ certificate: filledText, domain: filledText }, ['certificate', 'domain']),
    ),
  }),
  preserveHostHeader: block(),
  preserveTrailingSlash: block(),
  proxy: block({ url: text }),
  rateLimit: shared('rateLimit'),
  retry: block({
    attempts: preset(1, count),
    statuses: list(status),
    budget: preset(0.2, { type: 'number', minimum: 0, maximum: 1 }),
  }),
  serviceDiscovery: shared('serviceDiscovery'),
  test: object({ serviceDiscovery: shared('serviceDiscovery') }),
  tlsTransport: object({
    insecureSkipVerify: off,
    ciphers: list(text),
    minVersion: preset('1.2', tlsVersion),
    maxVersion: preset('1.3', tlsVersion),
    forceCommonNameCheck: off,
  }),
  uptimeTests: block({
    hostDownRetestPeriod: preset('10s', duration),
    logRetentionPeriod: duration,
    serviceDiscovery: shared('serviceDiscovery'),
    tests: list(uptimeTest),
  }),
});
