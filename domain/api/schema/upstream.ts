/** Schema of the extension's `upstream` (api-definition design 10). */
import { anyObject, block, count, duration, filledText, flag, list, object, shared, text } from './shapes.ts';

export const serviceDiscovery = block({
  cache: block({ timeout: count }),
  cacheTimeout: count,
  dataPath: text,
  parentDataPath: text,
  portDataPath: text,
  queryEndpoint: text,
  targetPath: text,
  endpointReturnsList: flag,
  useNestedQuery: flag,
  useTargetList: flag,
});

export const upstreamSchema = object({
  url: text,
  certificatePinning: block({
    domainToPublicKeysMapping: list(object({ domain: filledText, publicKeys: list(text) }, ['domain', 'publicKeys'])),
  }),
  mutualTLS: block({
    domainToCertificateMapping: list(
      object({ certificate: filledText, domain: filledText }, ['certificate', 'domain']),
    ),
  }),
  rateLimit: block({ rate: { type: 'integer', minimum: 1 }, per: duration }, ['rate', 'per']),
  serviceDiscovery: shared('serviceDiscovery'),
  test: object({ serviceDiscovery: shared('serviceDiscovery') }),
  preserveHostHeader: block(),
  preserveTrailingSlash: block(),
  enforceTimeout: block({ duration }),
  authentication: anyObject,
});
