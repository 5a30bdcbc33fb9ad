/** The description of a chain: it names what runs and in that order, and says of everything else that is configured why it does not. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonObject } from '../../../domain/event.ts';
import { toApiId, toOrgId } from '../../../domain/ids.ts';
import { createCheckApi } from '../../../gateway/check-api.ts';
import { type ChainEntry, describeChain } from '../../../gateway/describe-chain.ts';
import { KeptAnswers } from '../../../gateway/middleware/cache/kept-answers.ts';
import { buildStack } from '../../../gateway/stack.ts';
import { memoryCache } from '../../../src/stores/runtime/memory-cache.ts';
import { memoryCounters } from '../../../src/stores/runtime/memory-counters.ts';
import { apiDocument } from '../../support/documents.ts';
import { listLog, startTestGateway, systemClock } from '../../support/gateway-start.ts';

const checkApi = createCheckApi();

function definitionOf(document: JsonObject) {
  const checked = checkApi({ apiId: toApiId('orders'), orgId: toOrgId('org'), kind: 'streams', document });
  if (!checked.definition) throw new Error(JSON.stringify(checked.problems));
  return checked.definition;
}

const described = (document: JsonObject): readonly ChainEntry[] => describeChain(definitionOf(document), document);

const stepsOf = (entries: readonly ChainEntry[], phase: ChainEntry['phase']): readonly string[] =>
  entries.filter((entry) => entry.runs && entry.phase === phase).map(({ name }) => name);

const headers = (enabled: boolean, value: string): JsonObject => ({ enabled, add: [{ name: 'X-A', value }] });

const everything = apiDocument({
  info: { expiration: '2999-01-01 00:00' },
  server: { listenPath: { value: '/orders/' }, authentication: { enabled: true, stripAuthorizationData: true } },
  upstream: { rateLimit: { enabled: true, rate: 5, per: '1m' } },
  global: {
    cors: { enabled: true, allowedOrigins: ['https://a.example'] },
    requestSizeLimit: { enabled: true, value: 9 },
    contextVariables: { enabled: true },
    transformRequestHeaders: headers(true, '$svc_context.request_data_x'),
    transformResponseHeaders: headers(true, 'b'),
  },
});

describe('describeChain', () => {
  it('names every step with its source, place and settings, around the upstream', () => {
    const entries = described(everything);
    expect(entries.map(({ name, phase }) => `${phase} ${name}`)).to.deep.equal([
      ...['request expiry', 'request cors', 'request organisation-limits', 'request request-size'],
      'request context-variables',
      ...['request authentication', 'request strip-credentials', 'request key-expiry', 'request access-rights'],
      ...['request granular-access', 'request key-rate-limit', 'request key-quota', 'request rate-limit-api'],
      'request request-headers',
      ...['upstream upstream', 'response response-headers'],
    ]);
    expect(entries.every(({ runs }) => runs)).to.equal(true);
    const byDefault = entries.filter(({ source }) => source === 'default').map(({ name }) => name);
    expect(byDefault).to.deep.equal(['organisation-limits']);
    expect(entries.find(({ name }) => name === 'request-size')).to.deep.equal({
      ...{ name: 'request-size', phase: 'request', source: 'global', settings: { maxBytes: 9 }, runs: true },
      pointer: '/x-svc-api-gateway/middleware/global/requestSizeLimit',
    });
    expect(entries.find(({ name }) => name === 'rate-limit-api')?.settings).to.deep.equal({ rate: 5, perMs: 60_000 });
  });

  const rows: readonly [name: string, document: JsonObject, step: string, reason: RegExp][] = [
    ['a step that is switched off', apiDocument({ global: { cors: { enabled: false } } }), 'cors', /switched off/],
    [
      'headers that change nothing',
      apiDocument({ global: { transformRequestHeaders: { enabled: true } } }),
      'request-headers',
      /adds and removes nothing/,
    ],
    [
      'variables that nobody reads',
      apiDocument({ global: { contextVariables: { enabled: true } } }),
      'context-variables',
      /no text of the API names/,
    ],
    [
      'a block without a step',
      apiDocument({ global: { ignoreCase: { enabled: true } } }),
      'ignoreCase',
      /stores it and does not run it/,
    ],
    [
      'a plugin that is switched off',
      apiDocument({ global: { prePlugins: [{ enabled: false, functionName: 'f', path: 'p' }] } }),
      'prePlugins',
      /switched off/,
    ],
    [
      'a cache that keeps nothing',
      apiDocument({ global: { cache: { enabled: true } } }),
      'cache-look-up',
      /nothing would/,
    ],
    ['an end that is none', apiDocument({ info: { expiration: '-1' } }), 'expiry', /has no end/],
    ['an upstream that is not there', apiDocument({ upstream: { url: '' } }), 'upstream', /paths answer 404/],
  ];
  for (const [name, document, step, reason] of rows) {
    it(`says why it does not run: ${name}`, () => {
      const entry = described(document).find((one) => one.name === step);
      expect(entry).to.include({ runs: false, settings: null });
      expect(entry?.reason).to.match(reason);
    });
  }

  it('begins with the versions of a base, and says when they are switched off', () => {
    const versions = [{ name: 'v2', id: 'orders-v2' }];
    const versioning = { enabled: true, location: 'url', versions };
    const entries = described(apiDocument({ info: { versioning }, global: { cors: { enabled: true } } }));
    const running = entries.filter(({ runs }) => runs).map(({ name }) => name);
    expect(running).to.deep.equal(['version', 'cors', 'organisation-limits', 'upstream']);
    expect(entries[0]).to.deep.include({ phase: 'request', pointer: '/x-svc-api-gateway/info/versioning', runs: true });
    expect(entries[0]?.settings).to.deep.include({ location: 'url', versions });
    const off = described(apiDocument({ info: { versioning: { ...versioning, enabled: false } } }));
    expect(off.find(({ name }) => name === 'versioning')).to.include({ runs: false, reason: 'is switched off' });
  });

  it('names the operation of a block', () => {
    const document = apiDocument({ operations: { getOrder: { allow: { enabled: false } } } });
    expect(described(document).at(-1)).to.deep.include({ name: 'allow', source: 'operation', operation: 'getOrder' });
  });

  it('shows caches of operations in the step that asks them, or why they do nothing', () => {
    const paths = { '/a': { get: { operationId: 'getA' } }, '/b': { get: { operationId: 'getB' } } };
    const chain = (enabled: boolean) =>
      described(
        apiDocument(
          {
            global: { cache: { enabled, timeout: 5 } },
            operations: { getA: { cache: { enabled: true } }, getB: { cache: { enabled: false } } },
          },
          { paths },
        ),
      ).filter(({ name }) => name.startsWith('cache'));
    const [lookUp, write, off] = chain(true);
    expect([lookUp, write].map((entry) => [entry?.name, entry?.phase])).to.deep.equal([
      ['cache-look-up', 'request'],
      ['cache-write', 'response'],
    ]);
    expect(lookUp?.settings?.['operations']).to.deep.equal([{ method: 'GET', path: '/a', timeoutS: 5 }]);
    expect(off).to.include({ operation: 'getB', reason: 'is switched off' });
    expect(chain(false).map(({ reason }) => reason)).to.deep.equal([
      ...['is switched off', 'the cache of the API is off, or keeps nothing', 'is switched off'],
    ]);
  });

  it('shows no credentials of the upstream', () => {
    const document = apiDocument();
    const definition = definitionOf(document);
    const upstream = { ...definition.upstream, url: 'http://user:pass@a.example/x' };
    expect(JSON.stringify(describeChain({ ...definition, upstream }, document)))
      .to.contain('http://a.example/x')
      .and.not.contain('pass@');
  });

  it('names exactly the steps that are built, whatever the document', () => {
    const dependencies = {
      ...{
        counters: memoryCounters(systemClock),
        clock: systemClock,
        log: listLog(),
        lookUpKey: () => undefined,
        sessionOf: () => undefined,
      },
      organisationOf: () => ({ terms: undefined, records: undefined }),
      rateLimitHeaders: 'all' as const,
      quotaAlarms: [],
      bodyIdleMs: 1_000,
      kept: new KeptAnswers(memoryCache({ maxBytes: 1_000, ...systemClock }), systemClock),
      cacheEntryBytes: 1_000,
    };
    const flag = fc.boolean();
    const document = fc
      .record({
        flags: fc.tuple(flag, flag, flag, flag, flag, flag, flag, flag, flag),
        value: fc.constantFrom('a', '$svc_context.request_data'),
      })
      .map(({ flags: [ends, keys, limit, cors, size, variables, request, response, cache], value }) =>
        apiDocument({
          info: ends ? { expiration: '2999-01-01 00:00' } : {},
          server: { listenPath: { value: '/orders/' }, authentication: { enabled: keys } },
          upstream: { rateLimit: { enabled: limit, rate: 5, per: '1m' } },
          global: {
            ...{ cors: { enabled: cors }, requestSizeLimit: { enabled: size, value: 9 } },
            ...{ contextVariables: { enabled: variables } },
            ...{ cache: { enabled: cache, timeout: 5, cacheAllSafeRequests: true } },
            ...{ transformRequestHeaders: headers(request, value), transformResponseHeaders: headers(response, value) },
          },
        }),
      );
    fc.assert(
      fc.property(document, (made) => {
        const entries = described(made);
        const built = buildStack(definitionOf(made), dependencies, '1');
        expect([...stepsOf(entries, 'request'), ...stepsOf(entries, 'response')]).to.deep.equal(built.names);
        expect(stepsOf(entries, 'request')).to.have.length(built.request.length);
        expect(stepsOf(entries, 'response')).to.have.length(built.response.length);
      }),
      { numRuns: 60 },
    );
  });

  it('names the steps that a gateway says it runs', async () => {
    await using gateway = await startTestGateway();
    await gateway.put('orders', everything);
    const config = (await (await fetch(`${gateway.control}/svc/config`)).json()) as {
      readonly apis: readonly { readonly steps: readonly string[] }[];
    };
    const entries = described(everything);
    expect([...stepsOf(entries, 'request'), ...stepsOf(entries, 'response')]).to.deep.equal(config.apis[0]?.steps);
  });
});
