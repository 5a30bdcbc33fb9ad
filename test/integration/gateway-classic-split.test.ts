/** A Classic definition with versions inside and the APIs that it is split into, side by side over real sockets: the same requests, the same answers. */
import { expect } from 'chai';
import { splitVersions } from '../../domain/api/classic-split.ts';
import type { JsonObject } from '../../domain/event.ts';
import { classicDefinition, laidOver } from '../support/classic-definitions.ts';
import { startTestGateway, type TestGateway } from '../support/gateway-start.ts';
import { type Echo, echoUpstream, type Upstream } from '../support/upstream.ts';

describe('a Classic definition and the APIs that its versions become', () => {
  let upstream: Upstream;
  let before: TestGateway;
  let after: TestGateway;
  beforeEach(async () => {
    upstream = await echoUpstream();
    before = await startTestGateway();
    after = await startTestGateway();
  });
  afterEach(async () => {
    await before[Symbol.asyncDispose]();
    await after[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  const definition = (members: JsonObject, wanted: string): JsonObject => ({
    ...laidOver(
      classicDefinition('orders', `${upstream.url}one?k=v`, {
        definition: { location: 'header', key: 'X-Version' },
        CORS: { enable: true, allowed_origins: ['https://a.example'] },
      }),
      members,
    ),
    version_data: {
      not_versioned: false,
      default_version: wanted,
      versions: {
        v1: { global_headers: { 'x-from': 'one' }, global_size_limit: 4 },
        v2: { override_target: `${upstream.url}two`, global_response_headers: { 'x-answer': 'two' } },
        v3: { global_headers_remove: ['x-sent'] },
        old: { expires: '2020-01-01 00:00' },
      },
    },
  });

  type Request = readonly [path: string, headers: Record<string, string>, init?: RequestInit];

  /** Everything by which a client or an upstream could tell one from the other. */
  async function seen(gateway: TestGateway, [path, headers, init]: Request): Promise<unknown> {
    const sent = { 'x-sent': 'yes', origin: 'https://a.example', ...headers };
    const answer = await fetch(`${gateway.url}${path}`, { ...init, headers: sent });
    const { method, url, body, headers: passed } = (await answer.json()) as Echo;
    // Versions inside one API have one set of origins, which counts for refusals too.
    const own = answer.ok
      ? ['x-answer', 'vary', 'access-control-allow-origin'].map((name) => answer.headers.get(name))
      : [];
    const shown = ['x-from', 'x-sent', 'x-version'].map((name) => passed?.[name]);
    return { status: answer.status, own, method, url, body, shown };
  }

  const version = (name: string) => ({ 'x-version': name });
  const post = (body: string): RequestInit => ({ method: 'POST', body });

  const cases: readonly (readonly [string, JsonObject, string, readonly Request[]])[] = [
    [
      'in a header, with a default',
      {},
      'v2',
      [
        ...['v1', 'v2', 'v3', 'old'].flatMap((name): Request[] => [
          ['/orders/a/b?c=d', version(name)],
          ['/orders', version(name)],
          ['/orders/a', version(name), post('12345')],
        ]),
        ['/orders/a', {}],
      ],
    ],
    [
      'in a header, taken away, others to the default',
      { definition: { strip_versioning_data: true, fallback_to_default: true } },
      'v1',
      ['v1', 'v2', 'v9'].map((name): Request => ['/orders/a', version(name)]),
    ],
    [
      'in the path, and the listen path goes on to the upstream',
      { definition: { location: 'url', key: '', strip_path: true }, proxy: { strip_listen_path: false } },
      '',
      [
        ['/orders/v1/a', {}],
        ['/orders/v2/a?b', {}],
        ['/orders/v3/a/', {}],
      ],
    ],
    [
      'in a parameter, without a default',
      { definition: { location: 'url-param', key: 'v' } },
      '',
      [
        ['/orders/a?v=v2&w', {}],
        ['/orders/a?v=v3', {}],
        ['/orders/a', {}],
      ],
    ],
  ];
  for (const [name, members, wanted, requests] of cases) {
    it(`answer alike when the version stands ${name}`, async () => {
      const classic = definition(members, wanted);
      const { document, versions } = splitVersions(classic, (one) => `orders-${one}`);
      await before.settled(before.feed.put('orders', classic, 'classic'));
      for (const { id, document: child } of versions) await after.put(id, child);
      await after.put('orders', document);
      expect(after.gateway.applied().rejected).to.deep.equal([]);
      for (const request of requests) {
        expect(await seen(after, request), request[0]).to.deep.equal(await seen(before, request));
      }
    });
  }

  it('differ in the status for a version that does not exist, as the report says', async () => {
    const classic = definition({}, 'v1');
    const { document, losses } = splitVersions(classic, (one) => `orders-${one}`);
    await before.settled(before.feed.put('orders', classic, 'classic'));
    await after.put('orders', document);
    const ask = async ({ url }: TestGateway) => (await fetch(`${url}/orders/a`, { headers: version('v9') })).status;
    expect([await ask(before), await ask(after)]).to.deep.equal([403, 404]);
    expect(losses.find(({ pointer }) => pointer === '/version_data')?.text).to.match(/404.*403/);
  });
});
