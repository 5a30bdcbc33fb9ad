/** The one check of an API: shape, rules, what is not offered, and remarks, each with its pointer. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { oasExtensionSchema, streamsExtensionSchema } from '../../../domain/api/schema/extension.ts';
import { streamingSchema } from '../../../domain/api/schema/streaming.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { toApiId, toOrgId } from '../../../domain/ids.ts';
import { createCheckApi } from '../../../gateway/check-api.ts';
import { apiDocument, openApi } from '../../support/documents.ts';

const checkApi = createCheckApi();
const check = (document: JsonObject, kind: 'streams' | 'oas' = 'streams') =>
  checkApi({ apiId: toApiId('orders'), orgId: toOrgId('org'), kind, document });
const server = (members: JsonObject) => apiDocument({ server: { listenPath: { value: '/orders' }, ...members } });
const pointer = (path: string) => `/x-svc-api-gateway/${path}`;

describe('checkApi reads', () => {
  it('a definition with its defaults', () => {
    expect(check(apiDocument()).definition).to.deep.include({
      listenPath: '/orders',
      stripListenPath: true,
      active: true,
      trafficLogs: true,
      contextVariables: false,
    });
  });
  it('a keyless API when authentication is off or absent', () => {
    expect(check(apiDocument()).definition?.authentication).to.equal(undefined);
    expect(check(server({ authentication: { enabled: false } })).definition?.authentication).to.equal(undefined);
  });
  it('authentication without a scheme as the token scheme, never as open', () => {
    expect(check(server({ authentication: { enabled: true } })).definition?.authentication).to.deep.equal({
      sources: [{ header: 'Authorization' }],
      strip: false,
    });
  });
  it('the sources of a token scheme from its component and its own settings', () => {
    const scheme = { enabled: true, query: { enabled: true, name: 'k' }, cookie: { enabled: false, name: 'c' } };
    const document = {
      ...server({ authentication: { enabled: true, securitySchemes: { key: scheme } } }),
      components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
    };
    expect(check(document).definition?.authentication?.sources).to.deep.equal([{ header: 'X-Key', query: 'k' }]);
  });
  it('a rate limit in ms', () => {
    const document = apiDocument({ upstream: { rateLimit: { enabled: true, rate: 5, per: 'PT1M' } } });
    expect(check(document).definition?.upstream.rateLimit).to.deep.equal({ rate: 5, perMs: 60_000 });
  });
  it('nothing of a block that is off', () => {
    const document = apiDocument({
      upstream: { rateLimit: { enabled: false, rate: 5, per: 'PT1M' } },
      global: { cors: { enabled: false }, transformRequestHeaders: { enabled: false, remove: ['a'] } },
    });
    const { definition } = check(document);
    expect(definition?.upstream.rateLimit).to.equal(undefined);
    expect(definition?.cors).to.equal(undefined);
    expect(definition?.requestHeaders).to.equal(undefined);
  });
});

describe('checkApi refuses', () => {
  const cases: readonly [string, JsonObject, string, string][] = [
    ['another OpenAPI version', { ...apiDocument(), openapi: '2.0' }, '/openapi', 'openapi_version'],
    ['no paths', { ...apiDocument(), paths: null }, '/paths', 'type'],
    ['a missing extension', openApi(), '/x-svc-api-gateway', 'type'],
    ['a name that is blank', apiDocument({ info: { name: ' ' } }), pointer('info/name'), 'pattern'],
    ['a missing state', apiDocument({ info: { state: {} } }), pointer('info/state/active'), 'required'],
    [
      'a wrong type in the second element',
      apiDocument({ global: { cors: { enabled: true, allowedOrigins: ['a', 1] } } }),
      pointer('middleware/global/cors/allowedOrigins/1'),
      'type',
    ],
    [
      'an enabled block without enabled',
      server({ revisionHeader: {} }),
      pointer('server/revisionHeader/enabled'),
      'required',
    ],
    [
      'a listen path with a query',
      server({ listenPath: { value: '/a?b' } }),
      pointer('server/listenPath/value'),
      'listen_path_invalid',
    ],
    [
      'the path of the health answer',
      server({ listenPath: { value: '/hello/' } }),
      pointer('server/listenPath/value'),
      'listen_path_reserved',
    ],
    [
      'a template in the listen path',
      server({ listenPath: { value: '/a/{b}' } }),
      pointer('server/listenPath/value'),
      'not_offered',
    ],
    [
      'a domain that is none',
      server({ customDomain: { enabled: true, name: 'a b' } }),
      pointer('server/customDomain/name'),
      'domain_invalid',
    ],
    [
      'a relative upstream',
      apiDocument({ upstream: { url: 'upstream' } }),
      pointer('upstream/url'),
      'upstream_url_invalid',
    ],
    [
      'a scheme that is not offered',
      apiDocument({ upstream: { url: 'tcp://a:1' } }),
      pointer('upstream/url'),
      'not_offered',
    ],
    [
      'a check of signatures that is switched on',
      apiDocument({
        server: {
          authentication: {
            enabled: true,
            securitySchemes: { t: { enabled: true, signatureValidation: { enabled: true, secret: 's' } } },
          },
        },
      }),
      pointer('server/authentication/securitySchemes/t/signatureValidation'),
      'not_offered',
    ],
    [
      'a rate of zero',
      apiDocument({ upstream: { rateLimit: { enabled: true, rate: 0, per: '1s' } } }),
      pointer('upstream/rateLimit/rate'),
      'minimum',
    ],
    [
      'a period of months',
      apiDocument({ upstream: { rateLimit: { enabled: true, rate: 1, per: 'P1M' } } }),
      pointer('upstream/rateLimit/per'),
      'duration_invalid',
    ],
    [
      'an empty period',
      apiDocument({ upstream: { rateLimit: { enabled: true, rate: 1, per: '' } } }),
      pointer('upstream/rateLimit/per'),
      'duration_invalid',
    ],
    [
      'credentials for any origin',
      apiDocument({ global: { cors: { enabled: true, allowCredentials: true } } }),
      pointer('middleware/global/cors/allowCredentials'),
      'cors_any_with_credentials',
    ],
    [
      'two stars in an origin',
      apiDocument({ global: { cors: { enabled: true, allowedOrigins: ['*.a.*'] } } }),
      pointer('middleware/global/cors/allowedOrigins/0'),
      'cors_origin_invalid',
    ],
    [
      'a framing header',
      apiDocument({
        global: { transformRequestHeaders: { enabled: true, add: [{ name: 'content-length', value: '1' }] } },
      }),
      pointer('middleware/global/transformRequestHeaders/add/0/name'),
      'header_not_allowed',
    ],
    [
      'a framing header that is removed',
      apiDocument({ global: { transformRequestHeaders: { enabled: true, remove: ['x', 'content-length'] } } }),
      pointer('middleware/global/transformRequestHeaders/remove/1'),
      'header_not_allowed',
    ],
    [
      'a line break in a header value',
      apiDocument({ global: { transformResponseHeaders: { enabled: true, add: [{ name: 'x', value: 'a\r\nb' }] } } }),
      pointer('middleware/global/transformResponseHeaders/add/0/value'),
      'header_value_invalid',
    ],
    [
      'an end of life that is no time',
      apiDocument({ info: { expiration: 'tomorrow' } }),
      pointer('info/expiration'),
      'expiration_invalid',
    ],
    [
      'an end of life on a day that there is not',
      apiDocument({ info: { expiration: '2030-02-31 10:00' } }),
      pointer('info/expiration'),
      'expiration_invalid',
    ],
    [
      'streams beside another key',
      { ...apiDocument(), 'x-svc-streaming': { streams: {}, more: 1 } },
      '/x-svc-streaming/more',
      'additionalProperties',
    ],
    [
      'client certificates, which are not run',
      server({ clientCertificates: { enabled: true, allowlist: [] } }),
      pointer('server/clientCertificates'),
      'not_offered',
    ],
    [
      'an operation block that is not run',
      apiDocument({ operations: { getA: { block: { enabled: true } } } }),
      pointer('middleware/operations/getA/block'),
      'not_offered',
    ],
    [
      'a plugin that is not run',
      apiDocument({ global: { prePlugins: [{ enabled: true, functionName: 'f' }] } }),
      pointer('middleware/global/prePlugins/0'),
      'not_offered',
    ],
    [
      'a plugin in a wrapper',
      apiDocument({ global: { postPlugin: { plugins: [{ enabled: true, functionName: 'f' }] } } }),
      pointer('middleware/global/postPlugin/plugins/0'),
      'not_offered',
    ],
    [
      'a scheme without component',
      {
        ...server({ authentication: { enabled: true, securitySchemes: { a: { enabled: true } } } }),
        components: { securitySchemes: {} },
      },
      pointer('server/authentication/securitySchemes/a'),
      'auth_missing_component',
    ],
    [
      'a scheme in a document without schemes',
      server({ authentication: { enabled: true, securitySchemes: { a: { enabled: true } } } }),
      pointer('server/authentication/securitySchemes/a'),
      'auth_no_components',
    ],
    [
      'a scheme that is not run',
      {
        ...server({ authentication: { enabled: true, securitySchemes: { b: { enabled: true } } } }),
        components: { securitySchemes: { b: { type: 'http', scheme: 'basic' } } },
      },
      pointer('server/authentication/securitySchemes/b'),
      'not_offered',
    ],
  ];
  for (const [name, document, where, code] of cases) {
    it(name, () => {
      const { problems, definition } = check(document);
      expect(problems).to.deep.include.members([problems.find((found) => found.pointer === where)]);
      expect(problems.find((found) => found.pointer === where)?.code).to.equal(code);
      expect(definition).to.equal(undefined);
    });
  }
  it('every problem of a stage together', () => {
    const { problems } = check(apiDocument({ info: { name: 1 }, upstream: { url: 2 } }));
    expect(problems.map((problem) => problem.pointer)).to.have.members([pointer('info/name'), pointer('upstream/url')]);
  });
  it('an OAS API without upstream, which a streams API may be', () => {
    const document = openApi({
      'x-svc-api-gateway': { info: { name: 'a', state: { active: true } }, server: { listenPath: { value: '/a' } } },
    });
    expect(check(document, 'oas').problems.map((problem) => problem.pointer)).to.deep.equal([pointer('upstream')]);
    expect(check(document).problems).to.deep.equal([]);
  });
});

describe('checkApi reads what is said in part', () => {
  const timeouts: readonly [name: string, block: JsonObject, timeoutMs: number][] = [
    ['no block as thirty seconds', {}, 30_000],
    ['a block that is off as thirty seconds', { enforceTimeout: { enabled: false, duration: '1s' } }, 30_000],
    ['a block without duration as thirty seconds', { enforceTimeout: { enabled: true } }, 30_000],
    ['an empty duration as thirty seconds', { enforceTimeout: { enabled: true, duration: '' } }, 30_000],
    ['zero as none', { enforceTimeout: { enabled: true, duration: '0s' } }, 0],
    ['a duration', { enforceTimeout: { enabled: true, duration: 'PT1.5S' } }, 1500],
  ];
  for (const [name, members, timeoutMs] of timeouts) {
    it(`a time-out of the upstream: ${name}`, () => {
      expect(check(apiDocument({ upstream: members })).definition?.upstream.timeoutMs).to.equal(timeoutMs);
    });
  }

  const switches: readonly [name: string, older: boolean | undefined, newer: boolean | undefined, isOn: boolean][] = [
    ['in their older place', true, undefined, true],
    ['in their newer place', undefined, true, true],
    ['in the newer place when both are there', true, false, false],
    ['nowhere', undefined, undefined, false],
  ];
  for (const [name, older, newer, isOn] of switches) {
    it(`context variables ${name}`, () => {
      const block = (enabled: boolean | undefined) => (enabled === undefined ? {} : { contextVariables: { enabled } });
      const document = apiDocument({
        server: { listenPath: { value: '/a' }, ...block(older) },
        global: block(newer),
      });
      expect(check(document).definition?.contextVariables).to.equal(isOn);
    });
  }
});

describe('checkApi remarks', () => {
  it('unknown keys with the nearest known one', () => {
    const { warnings } = check(server({ listenPath: { value: '/a', stripp: true } }));
    expect(warnings).to.deep.equal([
      {
        pointer: pointer('server/listenPath/stripp'),
        code: 'unknown_key',
        text: 'unknown key "stripp", did you mean "strip"?',
      },
    ]);
  });
  it('blocks that have no effect yet', () => {
    const { warnings, definition } = check(apiDocument({ global: { ignoreCase: { enabled: true } } }));
    expect(definition).not.to.equal(undefined);
    expect(warnings.map(({ code }) => code)).to.deep.equal(['no_effect']);
  });
  it('unknown keys of streams', () => {
    const { warnings } = check({ ...apiDocument(), 'x-svc-streaming': { streams: { a: { inputs: {} } } } });
    expect(warnings).to.deep.include({
      pointer: '/x-svc-streaming/streams/a/inputs',
      code: 'unknown_key',
      text: 'unknown key "inputs", did you mean "input"?',
    });
  });
  it('streams that are stored', () => {
    const { warnings } = check({ ...apiDocument(), 'x-svc-streaming': { streams: { a: {} } } });
    expect(warnings.map(({ pointer: place }) => place)).to.deep.equal(['/x-svc-streaming/streams']);
  });
});

describe('the schemas of the extensions', () => {
  it('are themselves JSON Schema 2020-12, which the start of a gateway does not check again', () => {
    const ajv = new Ajv2020();
    for (const schema of [streamsExtensionSchema, oasExtensionSchema, streamingSchema]) {
      expect(ajv.validateSchema(schema), JSON.stringify(ajv.errors)).to.equal(true);
    }
  });

  it('finds unknown keys behind a shape that is written once and used in many places', () => {
    const document = apiDocument({});
    const extension = document['x-svc-api-gateway'] as JsonObject;
    const middleware = { global: { prePlugins: [{ enabled: false, functionName: 'f', pathh: 'x' }] } };
    const { warnings } = check({ ...document, 'x-svc-api-gateway': { ...extension, middleware } });
    expect(warnings).to.deep.include({
      pointer: '/x-svc-api-gateway/middleware/global/prePlugins/0/pathh',
      code: 'unknown_key',
      text: 'unknown key "pathh", did you mean "path"?',
    });
  });
});
