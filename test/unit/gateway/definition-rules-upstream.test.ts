/** Rules beyond the schema on `upstream` and on operations, a row each. */
import { operation, type Row, refuses, upstream } from '../../support/definition-rows.ts';

const refused: readonly Row[] = [
  // Upstream.
  ['an OAS API that goes nowhere', upstream({ url: '' }), 'upstream/url', 'upstream_url_missing'],
  [
    'weights that are all zero',
    upstream({ loadBalancing: { enabled: true, targets: [{ url: 'http://a/', weight: 0 }] } }),
    'upstream/loadBalancing/targets',
    'weights_zero',
  ],
  [
    'no target at all',
    upstream({ loadBalancing: { enabled: true } }),
    'upstream/loadBalancing/targets',
    'targets_missing',
  ],
  [
    'a target that is no address',
    upstream({ loadBalancing: { enabled: true, targets: [{ url: 'http://a/' }, { url: 'a:1' }] } }),
    'upstream/loadBalancing/targets/1/url',
    'url_invalid',
  ],
  [
    'a weight that is negative',
    upstream({ loadBalancing: { enabled: false, targets: [{ url: 'http://a/', weight: -1 }] } }),
    'upstream/loadBalancing/targets/0/weight',
    'minimum',
  ],
  [
    'a lowest version above the highest',
    upstream({ tlsTransport: { minVersion: '1.3', maxVersion: '1.2' } }),
    'upstream/tlsTransport/minVersion',
    'tls_versions',
  ],
  [
    'a cipher that there is not',
    upstream({ tlsTransport: { ciphers: ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA255'] } }),
    'upstream/tlsTransport/ciphers/1',
    'tls_cipher_unknown',
  ],
  [
    'a version of TLS that nobody should speak any more',
    upstream({ tlsTransport: { minVersion: '1.1' } }),
    'upstream/tlsTransport/minVersion',
    'not_offered',
  ],
  [
    'another as the highest',
    upstream({ tlsTransport: { minVersion: '1.0', maxVersion: '1.0' } }),
    'upstream/tlsTransport/maxVersion',
    'not_offered',
  ],
  [
    'a domain with a path',
    upstream({
      mutualTLS: {
        enabled: false,
        domainToCertificateMapping: [
          { domain: '*.a.example:443', certificate: 'c' },
          { domain: 'a/b', certificate: 'c' },
        ],
      },
    }),
    'upstream/mutualTLS/domainToCertificateMapping/1/domain',
    'domain_pattern_invalid',
  ],
  [
    'a pin that is none',
    upstream({
      certificatePinning: {
        enabled: false,
        domainToPublicKeysMapping: [{ domain: 'a', publicKeys: ['a'.repeat(64), 'sha256'] }],
      },
    }),
    'upstream/certificatePinning/domainToPublicKeysMapping/0/publicKeys/1',
    'pin_invalid',
  ],
  [
    'two ways to sign on at the upstream',
    upstream({ authentication: { enabled: true, basicAuth: { enabled: true }, oauth: { enabled: true } } }),
    'upstream/authentication',
    'upstream_auth_conflict',
  ],
  [
    'two types of OAuth',
    upstream({
      authentication: {
        enabled: true,
        oauth: { enabled: true, allowedAuthorizeTypes: ['clientCredentials', 'password'] },
      },
    }),
    'upstream/authentication/oauth/allowedAuthorizeTypes',
    'upstream_oauth_types',
  ],
  [
    'a signature without key',
    upstream({ authentication: { enabled: true, requestSigning: { enabled: true } } }),
    'upstream/authentication/requestSigning',
    'upstream_signing_key',
  ],
  // Operations.
  [
    'a circuit breaker without its fields',
    operation({ circuitBreaker: { enabled: false, threshold: 0.5 } }),
    'middleware/operations/getA/circuitBreaker/sampleSize',
    'required',
  ],
  [
    'a threshold of zero',
    operation({
      circuitBreaker: { enabled: false, threshold: 0, sampleSize: 1, coolDownPeriod: 1, halfOpenStateEnabled: false },
    }),
    'middleware/operations/getA/circuitBreaker/threshold',
    'exclusiveMinimum',
  ],
  [
    'a threshold above one',
    operation({
      circuitBreaker: { enabled: false, threshold: 1.1, sampleSize: 1, coolDownPeriod: 1, halfOpenStateEnabled: false },
    }),
    'middleware/operations/getA/circuitBreaker/threshold',
    'maximum',
  ],
  [
    'a method that there is not',
    operation({ transformRequestMethod: { enabled: false, toMethod: 'FETCH' } }),
    'middleware/operations/getA/transformRequestMethod/toMethod',
    'enum',
  ],
  [
    'a status of refusal that is a success',
    operation({ validateRequest: { enabled: false, errorResponseCode: 200 } }),
    'middleware/operations/getA/validateRequest/errorResponseCode',
    'minimum',
  ],
  [
    'a rewrite without pattern',
    operation({ urlRewrite: { enabled: true, rewriteTo: '/' } }),
    'middleware/operations/getA/urlRewrite/pattern',
    'rewrite_incomplete',
  ],
  [
    'a timeout without time',
    operation({ enforceTimeout: { enabled: true } }),
    'middleware/operations/getA/enforceTimeout/duration',
    'duration_invalid',
  ],
  [
    'a framing header in a mock',
    operation({
      mockResponse: {
        enabled: false,
        headers: [
          { name: 'a', value: '' },
          { name: 'Transfer-Encoding', value: 'x' },
        ],
      },
    }),
    'middleware/operations/getA/mockResponse/headers/1/name',
    'header_not_allowed',
  ],
];

describe('an upstream or an operation is refused for', () => {
  refuses(refused);
});
