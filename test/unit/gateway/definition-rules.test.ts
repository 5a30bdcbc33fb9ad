/** Rules beyond the schema, a row each: texts, `info`, `server`, authentication, events, the document. */
import { expect } from 'chai';
import type { JsonObject } from '../../../domain/event.ts';
import {
  auth,
  check,
  global,
  handler,
  jwt,
  key,
  operation,
  type Row,
  refuses,
  server,
  upstream,
} from '../../support/definition-rows.ts';
import { apiDocument } from '../../support/documents.ts';

const recorded = (detail: JsonObject): JsonObject => global({ trafficLogs: { enabled: true, detail } });

const refused: readonly Row[] = [
  // Records in detail.
  [
    'more of a body than a record may hold',
    recorded({ max_body_bytes: 16_777_217 }),
    'middleware/global/trafficLogs/detail/max_body_bytes',
    'maximum',
  ],
  [
    'a JSON path without its root',
    recorded({ redact_json: ['$.a', 'card.number'] }),
    'middleware/global/trafficLogs/detail/redact_json/1',
    'pattern',
  ],
  [
    'a part that no record has',
    recorded({ parts: ['req.trailers'] }),
    'middleware/global/trafficLogs/detail/parts/0',
    'enum',
  ],
  [
    'a media type that is none',
    recorded({ content_types: ['json'] }),
    'middleware/global/trafficLogs/detail/content_types/0',
    'pattern',
  ],
  ['a share above one', recorded({ sample: 1.5 }), 'middleware/global/trafficLogs/detail/sample', 'maximum'],
  // Texts wherever they stand.
  [
    'a duration of months in a block of an operation',
    operation({ rateLimit: { enabled: false, rate: 1, per: 'P1M' } }),
    'middleware/operations/getA/rateLimit/per',
    'duration_invalid',
  ],
  [
    'a duration without unit',
    upstream({ enforceTimeout: { enabled: true, duration: '5' } }),
    'upstream/enforceTimeout/duration',
    'duration_invalid',
  ],
  [
    'a cool-down that is negative',
    handler({ type: 'log', trigger: 'AuthFailure', cooldownPeriod: '-1s' }),
    'server/eventHandlers/1/cooldownPeriod',
    'duration_invalid',
  ],
  [
    'a period of 400 days',
    upstream({ rateLimit: { enabled: true, rate: 1, per: 'P400D' } }),
    'upstream/rateLimit/per',
    'duration_invalid',
  ],
  [
    'look-ahead',
    operation({ urlRewrite: { enabled: false, pattern: 'a(?=b)' } }),
    'middleware/operations/getA/urlRewrite/pattern',
    'pattern_invalid',
  ],
  [
    'a back-reference',
    operation({ cache: { enabled: true, cacheByRegex: '(a)\\1' } }),
    'middleware/operations/getA/cache/cacheByRegex',
    'pattern_invalid',
  ],
  [
    'an expression that is not closed',
    auth({
      securitySchemes: { b: { enabled: false, extractCredentialsFromBody: { enabled: false, userRegexp: '(' } } },
    }),
    'server/authentication/securitySchemes/b/extractCredentialsFromBody/userRegexp',
    'pattern_invalid',
  ],
  ['a reference to consul', upstream({ url: 'consul://service' }), 'upstream/url', 'secret_source_not_offered'],
  [
    'a reference to vault inside a text',
    global({
      transformRequestHeaders: {
        enabled: true,
        add: [
          { name: 'a', value: 'b' },
          { name: 'x', value: 'k=$secret_vault.a' },
        ],
      },
    }),
    'middleware/global/transformRequestHeaders/add/1/value',
    'secret_source_not_offered',
  ],
  ['a reference to the environment', upstream({ url: 'env://HOST' }), 'upstream/url', 'secret_source_not_offered'],
  ['a reference of the form $kv', server({ slug: '$kv{a}' }), 'server/slug', 'secret_source_not_offered'],
  // Info and server.
  [
    'an address that is none',
    server({ ipAccessControl: { enabled: false, allow: ['10.0.0.1', '10.0.0.256'] } }),
    'server/ipAccessControl/allow/1',
    'ip_range_invalid',
  ],
  [
    'a range that is too long',
    server({ ipAccessControl: { enabled: false, block: ['::1/129'] } }),
    'server/ipAccessControl/block/0',
    'ip_range_invalid',
  ],
  [
    'PEM text for a client certificate',
    server({ clientCertificates: { enabled: false, allowlist: ['id', '-----BEGIN CERTIFICATE-----'] } }),
    'server/clientCertificates/allowlist/1',
    'certificate_reference',
  ],
  [
    'a tag that is there twice',
    server({ gatewayTags: { enabled: true, tags: ['a', 'b', 'a'] } }),
    'server/gatewayTags/tags/2',
    'tag_repeated',
  ],
  ['a port of its own', server({ port: 8443 }), 'server/port', 'not_offered'],
  // Authentication.
  [
    'a provider that there is not',
    auth({ baseIdentityProvider: 'jwt_claims' }),
    'server/authentication/baseIdentityProvider',
    'auth_provider_unknown',
  ],
  [
    'two schemes without saying whose session counts',
    auth({ securitySchemes: { a: { enabled: true }, b: { enabled: true } } }, { a: key, b: jwt }),
    'server/authentication/baseIdentityProvider',
    'auth_provider_missing',
  ],
  [
    'a provider of none of the schemes',
    auth(
      { baseIdentityProvider: 'basic_auth_user', securitySchemes: { a: { enabled: true }, b: { enabled: true } } },
      { a: key, b: jwt },
    ),
    'server/authentication/baseIdentityProvider',
    'auth_provider_missing',
  ],
  [
    'a scheme with every source off',
    auth({ securitySchemes: { a: { enabled: true, header: { enabled: false } } } }, { a: key }),
    'server/authentication/securitySchemes/a',
    'auth_source_missing',
  ],
  [
    'sources in two places that differ',
    auth(
      {
        securitySchemes: {
          a: {
            enabled: true,
            header: { enabled: true, name: 'x' },
            AuthSources: { header: { enabled: true, name: 'y' } },
          },
        },
      },
      { a: key },
    ),
    'server/authentication/securitySchemes/a/AuthSources',
    'auth_sources_conflict',
  ],
  [
    'keys without a method',
    auth({ securitySchemes: { b: { enabled: true, source: 'https://a.example/jwks' } } }, { b: jwt }),
    'server/authentication/securitySchemes/b/signingMethod',
    'auth_method_missing',
  ],
  [
    'an algorithm that there is not',
    auth({ hmac: { enabled: true, allowedAlgorithms: ['hmac-sha256', 'hmac-md5'] } }),
    'server/authentication/hmac/allowedAlgorithms/1',
    'auth_algorithm_unknown',
  ],
  [
    'a scheme with signatures of other products',
    auth({ securitySchemes: { a: { enabled: true, scopeCheck: { enabled: true } } } }, { a: key }),
    'server/authentication/securitySchemes/a/scopeCheck',
    'not_offered',
  ],
  [
    'alternatives of which none can be met',
    {
      ...auth({ securityProcessingMode: 'compliant', securitySchemes: { a: { enabled: true } } }, { a: key, b: jwt }),
      security: [{}, { a: [], b: [] }],
    },
    'server/authentication/securityProcessingMode',
    'auth_alternatives',
  ],
  // Events.
  [
    'a trigger that there is not',
    handler({ type: 'log', trigger: 'AuthFailures' }),
    'server/eventHandlers/1/trigger',
    'trigger_unknown',
  ],
  [
    'a type that there is not',
    handler({ type: 'mail', trigger: 'AuthFailure' }),
    'server/eventHandlers/1/type',
    'handler_type_unknown',
  ],
  [
    'a webhook that goes nowhere',
    handler({ type: 'webhook', trigger: 'AuthFailure' }),
    'server/eventHandlers/1/url',
    'handler_incomplete',
  ],
  [
    'a webhook to a file',
    handler({ type: 'webhook', trigger: 'AuthFailure', url: 'ftp://a/b' }),
    'server/eventHandlers/1/url',
    'url_invalid',
  ],
  [
    'a custom handler without function',
    handler({ type: 'custom', trigger: 'AuthFailure' }),
    'server/eventHandlers/1/functionName',
    'handler_incomplete',
  ],
  [
    'a webhook by a method that it has not',
    handler({ type: 'webhook', trigger: 'AuthFailure', url: 'https://a/', method: 'HEAD' }),
    'server/eventHandlers/1/method',
    'enum',
  ],
  [
    'a template that does not parse',
    handler({ type: 'webhook', trigger: 'AuthFailure', url: 'https://a/', bodyTemplate: '{{ .Type' }),
    'server/eventHandlers/1/bodyTemplate',
    'template_invalid',
  ],
  [
    'a template in a file outside of its folder',
    handler({ type: 'webhook', trigger: 'AuthFailure', url: 'https://a/', bodyTemplate: 'a/../../b' }),
    'server/eventHandlers/1/bodyTemplate',
    'template_path_invalid',
  ],
];

describe('a definition is refused for', () => {
  refuses(refused);

  it('an operationId that stands twice, and a reference to another document, each at its place', () => {
    const get = { operationId: 'a', responses: { 200: { $ref: 'other.yaml#/R' } } };
    const { problems } = check({ ...apiDocument(), paths: { '/a': { get }, '/b/{c}': { get: { operationId: 'a' } } } });
    expect(problems.map(({ pointer, code }) => [pointer, code])).to.deep.equal([
      ['/paths/~1a/get/responses/200/$ref', 'reference_external'],
      ['/paths/~1b~1{c}/get/operationId', 'operation_id_repeated'],
    ]);
  });

  it('the construct of an expression that cannot run in linear time, by its name', () => {
    const fault = (pattern: string) =>
      check(operation({ cache: { enabled: true, cacheByRegex: pattern } })).problems[0]?.message;
    expect(fault('(?<!a)b')).to.contain('look-around is not allowed');
    expect(fault('(a)\\1')).to.contain('a back-reference is not allowed');
    expect(fault('(?>a)')).to.contain('an atomic group is not allowed');
    expect(fault('a++')).to.contain('a possessive quantifier is not allowed');
  });
});
