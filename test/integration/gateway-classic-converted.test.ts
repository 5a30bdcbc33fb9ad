/** Versions of a Classic definition that have become APIs, over real sockets: keys reach what they reached, neither more nor less. */
import { expect } from 'chai';
import { splitVersions } from '../../domain/api/classic-split.ts';
import type { JsonObject } from '../../domain/event.ts';
import { classicDefinition, laidOver } from '../support/classic-definitions.ts';
import { startTestGateway, type TestGateway } from '../support/gateway-start.ts';
import { echoUpstream, type Upstream } from '../support/upstream.ts';

const version = (name: string) => ({ 'x-api-version': name });

describe('versions of a Classic definition that have become APIs', () => {
  let upstream: Upstream;
  let gateway: TestGateway;
  before(async () => {
    upstream = await echoUpstream();
    gateway = await startTestGateway();
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  const classic = (): JsonObject => ({
    ...laidOver(
      classicDefinition('orders', `${upstream.url}one`, { definition: { location: 'header', key: 'X-Api-Version' } }),
      { use_keyless: false, auth: { auth_header_name: 'X-Key' } },
    ),
    version_data: {
      ...{ not_versioned: false, default_version: 'v2' },
      versions: { v1: { name: 'v1' }, v2: { name: 'v2', override_target: `${upstream.url}two` } },
    },
  });
  const put = async (document: JsonObject): Promise<void> => {
    await gateway.settled(gateway.feed.put('orders', document, 'classic'));
    expect(gateway.gateway.applied().rejected).to.deep.equal([]);
  };
  const asked = async (path: string, headers: Record<string, string>): Promise<{ status: number; code?: string }> => {
    const answer = await fetch(`${gateway.url}${path}`, { headers });
    return { status: answer.status, ...((await answer.json()) as object) };
  };
  const convert = async (): Promise<void> => {
    const { document, versions } = splitVersions(classic(), (name) => `orders-${name}`);
    for (const one of versions) await gateway.settled(gateway.feed.put(one.id, one.document, 'oas'));
    await gateway.settled(gateway.feed.put('orders', document, 'oas'));
    expect(gateway.gateway.applied().rejected).to.deep.equal([]);
  };
  const reached = async (rights: JsonObject): Promise<readonly (string | undefined)[]> => {
    await gateway.settled(gateway.feed.putKey('the-key', rights));
    const asks = [version('v1'), version('v2'), {}].map(async (one) => {
      const { status, code } = await asked('/orders/a', { ...one, 'x-key': 'the-key' });
      return status === 200 ? 'served' : code;
    });
    return Promise.all(asks);
  };
  const entry = (members: JsonObject) => ({ access_rights: { orders: members } });
  const [yes, no] = ['served', 'auth_no_right'];
  const rows: readonly (readonly [what: string, rights: JsonObject, expected: readonly (string | undefined)[]])[] = [
    ['one version', entry({ versions: ['v1'] }), [yes, no, no]],
    ['the version that is the default', entry({ versions: ['v2'] }), [no, yes, yes]],
    ['a name that none of them has', entry({ versions: ['Default'] }), [no, no, no]],
    ['all of them', entry({ versions: [] }), [yes, yes, yes]],
    ['every API', { allow_all_apis: true }, [yes, yes, yes]],
    ['every API, and one version of this', { allow_all_apis: true, ...entry({ versions: ['v1'] }) }, [yes, no, no]],
    ['another API', { access_rights: { other: { versions: [] } } }, [no, no, no]],
    ['a path, whole', entry({ allowed_urls: [{ url: '/orders/a', methods: ['GET'] }] }), [yes, yes, yes]],
    ['a path, below the listen path', entry({ allowed_urls: [{ url: '/a', methods: ['GET'] }] }), [yes, yes, yes]],
    [
      'another path',
      entry({ allowed_urls: [{ url: '/b', methods: ['GET'] }] }),
      ['path_not_granted', 'path_not_granted', 'path_not_granted'],
    ],
  ];
  for (const [what, rights, expected] of rows) {
    it(`are reached by keys that were granted ${what}, as before`, async () => {
      await put(classic());
      expect(await reached(rights), 'before').to.deep.equal(expected);
      await convert();
      expect(await reached(rights), 'after').to.deep.equal(expected);
    });
  }

  it('share the limit of a key as before, and have one of their own where a key names them', async () => {
    await put(classic());
    await convert();
    const limit = { rate: 2, per: 3_600 };
    const statuses = async (rights: JsonObject): Promise<readonly number[]> => {
      await gateway.settled(gateway.feed.putKey(`key-${Object.keys(rights).length}`, { access_rights: rights }));
      const found: number[] = [];
      for (const name of ['v1', 'v2', 'v1', 'v1']) {
        const headers = { ...version(name), 'x-key': `key-${Object.keys(rights).length}` };
        found.push((await asked('/orders/a', headers)).status);
      }
      return found;
    };
    expect(await statuses({ orders: { limit } })).to.deep.equal([200, 200, 429, 429]);
    expect(await statuses({ orders: { limit }, 'orders-v1': { limit } })).to.deep.equal([200, 200, 200, 429]);
  });
});
