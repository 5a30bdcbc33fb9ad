/** What the rules let through, what they only remark upon, and documents of a million values. */
import { expect } from 'chai';
import type { Json, JsonObject } from '../../../domain/event.ts';
import {
  auth,
  check,
  global,
  handler,
  jwt,
  key,
  on,
  operation,
  plugins,
  type Row,
  server,
  upstream,
} from '../../support/definition-rows.ts';
import { apiDocument, extensionOf } from '../../support/documents.ts';

const withCaches = apiDocument(
  {
    global: { cache: { enabled: true, timeout: 5, scope: 'shared' } },
    operations: { getA: { cache: { enabled: true } } },
  },
  { paths: { '/a': { get: { operationId: 'getA' } } } },
);

const taken: readonly (readonly [string, JsonObject])[] = [
  [
    'durations of both forms, and an empty one',
    operation({
      enforceTimeout: { enabled: false, duration: '' },
      rateLimit: { enabled: false, rate: 1, per: '1h2m3.5s' },
    }),
  ],
  ['references in a block that is off', upstream({ proxy: { enabled: false, url: 'env://PROXY' } })],
  ['an expression with a name in it', operation({ cache: { enabled: true, cacheByRegex: '(?P<id>[a-z]+)' } })],
  ['caches of an API and of one of its operations', withCaches],
  [
    'addresses and ranges of both families',
    server({ ipAccessControl: { enabled: false, allow: ['10.0.0.0/8', '::1', '2001:db8::/32', '::ffff:10.0.0.1'] } }),
  ],
  [
    'a scheme in both forms that say the same',
    auth(
      {
        securitySchemes: {
          a: {
            enabled: true,
            header: { enabled: true, name: 'x' },
            AuthSources: { header: { enabled: true, name: 'x' } },
          },
        },
      },
      { a: key },
    ),
  ],
  [
    'list and wrapper that say the same',
    plugins('otto', {
      prePlugins: [{ ...on('f'), enabled: false }],
      prePlugin: { plugins: [{ ...on('f'), enabled: false }] },
    }),
  ],
  ['empty words where a word may be', upstream({ tlsTransport: { minVersion: '', maxVersion: '' } })],
  [
    'everything that may be said of records in detail',
    global({
      trafficLogs: {
        enabled: true,
        detail: {
          ...{ max_body_bytes: 0, redact_headers: ['X-Pan'], redact_json: ['$..pan', "$.a['b c'][0].*"] },
          ...{ content_types: ['*/*', 'application/*+json'], parts: ['req.headers'], sample: 0.5, on_error_only: true },
        },
      },
    }),
  ],
  ['an old place of context variables', server({ contextVariables: { enabled: true } })],
  ['a name in an operation that nobody knows', operation({ 'x-note': 'by hand', alow: { enabled: true } })],
  [
    'a source that is off beside the one that the component declares',
    auth({ securitySchemes: { a: { enabled: true, query: { enabled: false, name: 'x' } } } }, { a: key }),
  ],
  [
    'a text that only looks like an address of a secret',
    global({ transformRequestHeaders: { enabled: true, add: [{ name: 'x', value: 'my-env://x' }] } }),
  ],
];

describe('a definition is accepted with', () => {
  for (const [what, document] of taken) it(what, () => expect(check(document).problems).to.deep.equal([]));
});

const remarked: readonly Row[] = [
  [
    'a block without effect in an operation',
    operation({ trackEndpoint: { enabled: true } }),
    'middleware/operations/getA/trackEndpoint',
    'no_effect',
  ],
  [
    'a cache of an operation without one of the API',
    operation({ cache: { enabled: true, timeout: 5 } }),
    'middleware/operations/getA/cache',
    'no_effect',
  ],
  ['a cache that keeps nothing', global({ cache: { enabled: true } }), 'middleware/global/cache', 'no_effect'],
  [
    'what becomes of a store of the cache that is away',
    global({ cache: { enabled: true, timeout: 5, cacheAllSafeRequests: true, onStoreFailure: 'closed' } }),
    'middleware/global/cache/onStoreFailure',
    'no_effect',
  ],
  [
    'a shared cache of answers that tell of their callers',
    global({
      cache: { enabled: true, timeout: 5, cacheAllSafeRequests: true, scope: 'shared' },
      transformResponseHeaders: { enabled: true, add: [{ name: 'x-name', value: '$svc_meta.name' }] },
    }),
    'middleware/global/cache/scope',
    'no_effect',
  ],
  ['a retry', upstream({ retry: { enabled: true } }), 'upstream/retry', 'no_effect'],
  [
    'overrides of errors',
    {
      ...apiDocument(),
      'x-svc-api-gateway': {
        ...(apiDocument()['x-svc-api-gateway'] as JsonObject),
        errorOverrides: { enabled: true, value: { '5xx': [{ response: { message: 'x' } }] } },
      },
    },
    'errorOverrides',
    'no_effect',
  ],
  [
    'a handler of events in JavaScript',
    handler({ type: 'custom', trigger: 'AuthFailure', functionName: 'f' }),
    'server/eventHandlers/1',
    'no_effect',
  ],
  [
    'a handler of events that nothing raises',
    handler({ type: 'log', trigger: 'HostDown' }),
    'server/eventHandlers/1',
    'no_effect',
  ],
  [
    'a template beside the name of a webhook, which has its own',
    handler({ type: 'webhook', trigger: 'AuthFailure', id: 'stored', bodyTemplate: '{{.Type}}' }),
    'server/eventHandlers/1/bodyTemplate',
    'no_effect',
  ],
  [
    'no word about authentication',
    { ...apiDocument(), 'x-svc-api-gateway': { ...extensionOf(), server: { listenPath: { value: '/a' } } } },
    'server/authentication',
    'auth_absent',
  ],
  [
    'a member of another kind of scheme',
    auth({ securitySchemes: { a: { enabled: true, allowedIssuers: ['https://a.example'] } } }, { a: key }),
    'server/authentication/securitySchemes/a/allowedIssuers',
    'no_effect',
  ],
  [
    'a block of an operation that nobody knows',
    operation({ alow: { enabled: true } }),
    'middleware/operations/getA/alow',
    'unknown_key',
  ],
  [
    'a trigger that never fires',
    handler({ type: 'log', trigger: 'RateLimitSmoothingUp' }),
    'server/eventHandlers/1/trigger',
    'trigger_never_fires',
  ],
  [
    'a hook that the language lacks, switched off',
    plugins('otto', { responsePlugins: [{ ...on('f'), enabled: false }] }),
    'middleware/global/responsePlugins/0',
    'plugin_hook_unsupported',
  ],
  [
    'a session where there is none yet',
    plugins('otto', { prePlugins: [{ ...on('f'), enabled: false, requireSession: true }] }),
    'middleware/global/prePlugins/0/requireSession',
    'plugin_session_unused',
  ],
];

describe('a definition is remarked upon for', () => {
  it('nothing, when its caches do something', () => expect(check(withCaches).warnings).to.deep.equal([]));
  for (const [what, document, pointer, code] of remarked) {
    it(what, () => {
      const { warnings, problems } = check(document);
      expect(problems).to.deep.equal([]);
      expect(warnings.map((found) => [found.pointer, found.code])).to.deep.include([
        `/x-svc-api-gateway/${pointer}`,
        code,
      ]);
    });
  }
  it('nothing that it says of records in detail', () => {
    const detail = { max_body_bytes: 10, redact_json: ['$.a'], sample: 0.5 };
    const recorded = { detailedActivityLogs: { enabled: true } };
    const { warnings } = check(apiDocument({ server: recorded, global: { trafficLogs: { enabled: true, detail } } }));
    expect(warnings).to.deep.equal([]);
  });
  it('alternatives that are left out, and an operation that only looks open', () => {
    const { warnings, problems } = check({
      ...auth({ securityProcessingMode: 'compliant', securitySchemes: { a: { enabled: true } } }, { a: key, b: jwt }),
      security: [{ a: [] }, {}, { b: [] }],
      paths: { '/a': { get: { security: [] }, post: { security: [{ a: [] }] } } },
    });
    expect(problems).to.deep.equal([]);
    expect(warnings.map(({ pointer, code }) => `${code} ${pointer}`)).to.deep.equal([
      'no_effect /x-svc-api-gateway/server/authentication/securityProcessingMode',
      'auth_alternative_left_out /security/1',
      'auth_alternative_left_out /security/2',
      'operation_security_unread /paths/~1a/get/security',
    ]);
  });
  it('handlers that a streams API cannot have', () => {
    const { problems } = check(handler({ type: 'custom', functionName: 'f', trigger: 'AuthFailure' }), 'streams');
    expect(problems.map(({ pointer, code }) => [pointer, code])).to.deep.equal([
      ['/x-svc-api-gateway/server/eventHandlers/1/type', 'handler_type_unknown'],
    ]);
  });
});

describe('a million values in a definition', () => {
  const many = (value: Json): Json => Array.from({ length: 1_000_000 }, () => value);
  const cases: readonly (readonly [string, JsonObject, string, string])[] = [
    [
      'of a wrong type behind a shared shape',
      global({ prePlugins: many(1) }),
      'middleware/global/prePlugins/99',
      'type',
    ],
    [
      'of a wrong type',
      global({ cors: { enabled: true, allowedOrigins: many({}) } }),
      'middleware/global/cors/allowedOrigins/99',
      'type',
    ],
    [
      'that break a rule',
      server({ ipAccessControl: { enabled: true, allow: many('x') } }),
      'server/ipAccessControl/allow/99',
      'ip_range_invalid',
    ],
  ];
  for (const [what, document, pointer, code] of cases) {
    it(`${what} are told as the first hundred, each at its place`, () => {
      const { problems } = check(document);
      expect(problems).to.have.length(100);
      expect(problems.at(-1)).to.include({ pointer: `/x-svc-api-gateway/${pointer}`, code });
    });
  }
});
