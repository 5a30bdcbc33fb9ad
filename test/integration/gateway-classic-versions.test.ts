/** Versions inside one Classic definition, over real sockets: which one a request gets, and what each of them does by itself. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { classicDefinition, laidOver } from '../support/classic-definitions.ts';
import { eventually } from '../support/eventually.ts';
import { recordOf, startWithEcho } from '../support/gateway-start.ts';
import { type Echo, echoUpstream } from '../support/upstream.ts';

type Asked = { readonly status: number; readonly url?: string; readonly code?: string; readonly error?: string };
type Row = readonly [name: string, path: string, headers: Record<string, string>, expected: Partial<Asked>];

const version = (name: string) => ({ 'x-api-version': name });
const missing = { status: 403, code: 'version_missing', error: 'Version information not found' };
const unknown = { status: 403, code: 'version_unknown', error: 'This API version does not seem to exist' };
const served = (url: string) => ({ status: 200, url });

describe('versions inside a Classic definition', () => {
  let gateway: Awaited<ReturnType<typeof startWithEcho>>;
  before(async () => {
    gateway = await startWithEcho();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const versions = (members: Readonly<Record<string, JsonObject>> = {}): JsonObject => ({
    v1: { name: 'v1' },
    v2: { name: 'v2', override_target: `${gateway.echo.url}two` },
    old: { name: 'old', expires: '2020-01-01 00:00' },
    ...members,
  });
  /** At `/orders/`, its versions in a header. */
  const orders = (members: JsonObject = {}, data: JsonObject = {}): JsonObject => ({
    ...laidOver(
      classicDefinition('orders', `${gateway.echo.url}one`, {
        definition: { location: 'header', key: 'X-Api-Version' },
      }),
      members,
    ),
    version_data: { not_versioned: false, default_version: '', versions: versions(), ...data },
  });
  const put = async (document: JsonObject): Promise<void> => {
    await gateway.settled(gateway.feed.put('orders', document, 'classic'));
    expect(gateway.gateway.applied().rejected).to.deep.equal([]);
  };
  const ask = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}): Promise<Response> =>
    fetch(`${gateway.url}${path}`, { headers, ...init });
  const asked = async (path: string, headers: Record<string, string> = {}): Promise<Asked> => {
    const answer = await ask(path, headers);
    return { status: answer.status, ...((await answer.json()) as object) };
  };

  const tables: readonly (readonly [title: string, members: () => JsonObject, rows: readonly Row[]])[] = [
    [
      'a header names it',
      () => orders(),
      [
        ['a version', '/orders/a?b=c', version('v1'), served('/one/a?b=c')],
        ['a version with a target of its own', '/orders/a', version('v2'), served('/two/a')],
        ['the listen path alone', '/orders', version('v2'), served('/two')],
        ['no version', '/orders/a', {}, missing],
        ['an empty header', '/orders/a', version(''), missing],
        ['another version', '/orders/a', version('v9'), unknown],
        ['a name in other letters', '/orders/a', version('V2'), unknown],
        ['a name of every object', '/orders/a', version('constructor'), unknown],
        ['the word for the base of other versions', '/orders/a', version('self'), unknown],
        ['a version whose life has ended', '/orders/a', version('old'), { status: 403, code: 'version_expired' }],
      ],
    ],
    [
      'there is a default',
      () => orders({}, { default_version: 'v2' }),
      [
        ['no version', '/orders/a', {}, served('/two/a')],
        ['another version', '/orders/a', version('v9'), unknown],
      ],
    ],
    [
      'the default stands in for others',
      () => orders({ definition: { fallback_to_default: true } }, { default_version: 'v2' }),
      [['another version', '/orders/a', version('v9'), served('/two/a')]],
    ],
    [
      'a query parameter names it and is taken away',
      () => orders({ definition: { location: 'url-param', key: 'v', strip_versioning_data: true } }),
      [
        ['a version', '/orders/a?v=v2&x=1', {}, served('/two/a?x=1')],
        ['another version', '/orders/a?v=v9', {}, unknown],
        ['a header', '/orders/a', version('v2'), missing],
      ],
    ],
    [
      'the first segment names it',
      () => orders({ definition: { location: 'url', key: '' } }),
      [
        ['a version', '/orders/v2/a', {}, served('/two/v2/a')],
        ['another version', '/orders/a', {}, unknown],
        ['no segment', '/orders', {}, missing],
      ],
    ],
    [
      'the first segment names it and is taken away, and the listen path stays',
      () =>
        orders({
          definition: { location: 'url', key: '', strip_path: true, url_versioning_pattern: 'v[0-9]' },
          proxy: { strip_listen_path: false },
        }),
      [
        ['a version', '/orders/v2/a', {}, served('/two/orders/a')],
        ['a segment that does not look like one', '/orders/a/v2', {}, missing],
      ],
    ],
    [
      'the version that has ended is the default',
      () => orders({}, { default_version: 'old' }),
      [
        [
          'no version',
          '/orders/a',
          {},
          { status: 403, error: 'Api Version has expired, please check documentation or contact administrator' },
        ],
      ],
    ],
    [
      'nothing says whether there are versions',
      () => ({ ...orders(), version_data: { versions: versions() } }),
      [['no version', '/orders/a', {}, missing]],
    ],
  ];
  for (const [title, document, rows] of tables) {
    describe(`when ${title}`, () => {
      before(() => put(document()));
      for (const [name, path, headers, expected] of rows) {
        it(`${name} gets ${expected.code ?? expected.url ?? expected.status}`, async () => {
          expect(await asked(path, headers)).to.deep.include(expected);
        });
      }
    });
  }

  it('have headers, sizes and ends of their own', async () => {
    const own = {
      v1: { global_headers: { 'x-from': 'one' }, global_headers_remove: ['x-drop'], global_size_limit: 4 },
      v2: {
        ...{ global_headers: { 'x-from': 'two' }, global_response_headers: { 'x-answer': 'two' } },
        ...{ global_response_headers_remove: ['content-type'], expires: '2999-12-31 23:59' },
      },
    };
    await put(orders({}, { versions: own }));
    const echo = async (name: string): Promise<readonly [Headers, Echo]> => {
      const answer = await ask('/orders/a', { ...version(name), 'x-drop': 'me' });
      return [answer.headers, (await answer.json()) as Echo];
    };
    const [oneHeaders, one] = await echo('v1');
    expect(one.headers).to.include({ 'x-from': 'one' }).and.not.to.have.property('x-drop');
    expect(oneHeaders.get('x-answer')).to.equal(null);
    const [twoHeaders, two] = await echo('v2');
    expect(two.headers).to.include({ 'x-from': 'two', 'x-drop': 'me' });
    expect([twoHeaders.get('x-answer'), twoHeaders.get('content-type')]).to.deep.equal(['two', null]);
    expect(oneHeaders.has('x-svc-api-expires')).to.equal(false);
    expect(twoHeaders.get('x-svc-api-expires')).to.equal('Tue, 31 Dec 2999 23:59:00 GMT');
    const sent = { method: 'POST', body: '12345' };
    expect((await ask('/orders/a', version('v1'), sent)).status).to.equal(400);
    expect((await ask('/orders/a', version('v2'), sent)).status).to.equal(200);
  });

  it('say in Vary what they depend on, refusals too', async () => {
    await put(orders());
    for (const headers of [version('v1'), version('v9'), {}]) {
      expect((await ask('/orders/a', headers)).headers.get('vary')).to.equal('X-Api-Version');
    }
  });

  it('do not see the header that is stripped, nor one that passes for it', async () => {
    await put(orders({ definition: { strip_versioning_data: true } }));
    const answer = await ask('/orders/a', { ...version('v1'), x_api_version: 'v2' });
    const { headers } = (await answer.json()) as Echo;
    expect(headers).to.not.have.any.keys('x-api-version', 'x_api_version');
  });

  it('share the authentication, which nobody passes by naming another or none', async () => {
    await put(orders({ use_keyless: false, auth: { auth_header_name: 'X-Key' } }, { default_version: 'v1' }));
    for (const headers of [version('v1'), version('v2'), {}]) {
      expect((await ask('/orders/a', headers)).status).to.equal(401);
    }
    expect((await ask('/orders/a', version('v9'))).status).to.equal(403);
  });

  it('are granted to keys by their names', async () => {
    await put(orders({ use_keyless: false, auth: { auth_header_name: 'X-Key' } }, { default_version: 'v2' }));
    const statuses = async (granted: readonly string[]): Promise<readonly number[]> => {
      const rights = { access_rights: { orders: { versions: granted } } };
      await gateway.settled(gateway.feed.putKey('the-key', rights));
      const asks = [version('v1'), version('v2'), {}].map((one) => ask('/orders/a', { ...one, 'x-key': 'the-key' }));
      return (await Promise.all(asks)).map(({ status }) => status);
    };
    expect(await statuses(['v1'])).to.deep.equal([200, 403, 403]);
    expect(await statuses(['v2'])).to.deep.equal([403, 200, 200]);
    expect(await statuses(['Default'])).to.deep.equal([403, 403, 403]);
    expect(await statuses([])).to.deep.equal([200, 200, 200]);
  });

  it('share the limit of the API', async () => {
    await put(orders({ global_rate_limit: { rate: 2, per: 3600 } }));
    expect((await ask('/orders/a', version('v1'))).status).to.equal(200);
    expect((await ask('/orders/a', version('v2'))).status).to.equal(200);
    expect((await ask('/orders/a', version('v1'))).status).to.equal(429);
  });

  it('answer a browser that asks for leave, although it names no version', async () => {
    await put(orders({ CORS: { enable: true, allowed_origins: ['https://a.example'] } }));
    const origin = { origin: 'https://a.example' };
    const preflight = { ...origin, 'access-control-request-method': 'GET' };
    const answer = await ask('/orders/a', preflight, { method: 'OPTIONS' });
    expect(answer.headers.get('access-control-allow-origin')).to.equal('https://a.example');
    const actual = await ask('/orders/a', { ...origin, ...version('v2') });
    expect(actual.headers.get('access-control-allow-origin')).to.equal('https://a.example');
    expect((await ask('/orders/a', origin)).status).to.equal(403);
  });

  it('pass a preflight on to the target that they share, where the API says so', async () => {
    await put(orders({ CORS: { enable: true, options_passthrough: true } }));
    const preflight = { origin: 'https://a.example', 'access-control-request-method': 'GET' };
    const echo = (await (await ask('/orders/a', preflight, { method: 'OPTIONS' })).json()) as Echo;
    expect(echo).to.include({ method: 'OPTIONS', url: '/one/a' });
    const named = await ask('/orders/a', { ...preflight, ...version('v9') }, { method: 'OPTIONS' });
    expect(named.status).to.equal(403);
  });

  it('are one API in records, by the name of the version and one revision', async () => {
    await put(orders());
    const revision = gateway.feed.current.objects['api:orders']?.revision;
    await ask('/orders/in-v2', version('v2'));
    await ask('/orders/in-none', version('v9'));
    const record = await recordOf(gateway, '/orders/in-v2');
    expect(record).to.include({ api_id: 'orders', api_version: 'v2', listen_path: '/orders' });
    expect(record.ext.api_rev).to.equal(revision);
    const refused = await recordOf(gateway, '/orders/in-none');
    expect(refused).to.include({ api_id: 'orders', api_version: 'Non Versioned', response_code: 403 });
    expect(refused.ext.error).to.include({ details: 'version_unknown' });
  });

  it('are stamped with the new revision when the same document is stored again', async () => {
    await put(orders());
    await put(orders());
    const revision = gateway.feed.current.objects['api:orders']?.revision;
    await ask('/orders/again', version('v2'));
    expect((await recordOf(gateway, '/orders/again')).ext.api_rev).to.equal(revision);
  });

  it('let their connections go together, when the API is gone and the last answer is out', async () => {
    const other = await echoUpstream();
    try {
      await put(orders({}, { versions: versions({ v3: { override_target: other.url } }) }));
      await ask('/orders/a', version('v3'));
      expect(other.connections().open).to.equal(1);
      await gateway.settled(gateway.feed.remove('orders'));
      await eventually(() => other.connections().open === 0);
    } finally {
      await other[Symbol.asyncDispose]();
    }
  });

  it('are no versions of another API', async () => {
    await put(orders());
    const base = classicDefinition('front', gateway.echo.url, {
      definition: { enabled: true, name: 'here', location: 'header', key: 'X-Front', versions: { there: 'orders' } },
    });
    await gateway.settled(gateway.feed.put('front', base, 'classic'));
    expect(await asked('/front/a', { 'x-front': 'there', ...version('v1') })).to.include({ code: 'version_unknown' });
    expect(await asked('/front/a', { 'x-front': 'here' })).to.deep.include(served('/a'));
  });

  it('keep running as they were when the next definition is not good', async () => {
    await put(orders());
    const bad = orders({}, { versions: versions({ v2: { override_target: 'ftp://127.0.0.1/' } }) });
    await gateway.settled(gateway.feed.put('orders', bad, 'classic'));
    expect(gateway.gateway.applied().rejected[0]?.message).to.match(/^\/version_data\/versions\/v2\/override_target: /);
    expect(await asked('/orders/a', version('v2'))).to.deep.include(served('/two/a'));
  });

  it('stand in the configuration that the node shows, without credentials', async () => {
    const target = gateway.echo.url.replace('//', '//user:clear@');
    await put(orders({}, { versions: versions({ v3: { override_target: target, global_size_limit: 1 } }) }));
    const shown = (await (await fetch(`${gateway.control}/svc/config`)).json()) as {
      readonly apis: readonly JsonObject[];
    };
    const api = shown.apis.find(({ id }) => id === 'orders');
    expect(api?.['versions']).to.deep.include({
      name: 'v3',
      upstream: gateway.echo.url.replace('//', '//***@'),
      steps: ['organisation-limits', 'request-size'],
    });
  });
});
