/** Versions inside a Classic definition over the management API: what is refused, and what is shown. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { at } from '../../domain/json.ts';
import { classicDefinition } from '../support/classic-definitions.ts';
import { classicClient, inVersions, classicTarget as target } from '../support/classic-management.ts';
import { problem } from '../support/management-refusals.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';

describe('versions inside a Classic definition, at the management API', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  const { send, create } = classicClient(() => management);

  describe('are refused', () => {
    const filtered = { use_extended_paths: true, extended_paths: { transform_jq: [{ path: '/a', method: 'GET' }] } };
    const blocking = { use_extended_paths: true, extended_paths: { black_list: ['/admin'] } };
    const hundred = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`v${index}`, {}]));
    const place = '/version_data/versions';
    const list = Array.from({ length: 400 }, (_, index) => `/{any}/${index}`);
    const many = { use_extended_paths: true, extended_paths: { black_list: list } };
    const cases: readonly (readonly [string, JsonObject, string, string])[] = [
      [
        'without a place for their names',
        inVersions('no', { v1: {} }, { definition: { location: '' } }),
        'version_location',
        '/definition/location',
      ],
      [
        'without a name of the header',
        inVersions('no', { v1: {} }, { definition: { key: ' ' } }),
        'version_key',
        '/definition/key',
      ],
      [
        'with a header of the connection',
        inVersions('no', { v1: {} }, { definition: { key: 'Host' } }),
        'version_key',
        '/definition/key',
      ],
      [
        'with a pattern that does not compile',
        inVersions('no', { v1: {} }, { definition: { url_versioning_pattern: '(?=a)' } }),
        'pattern_invalid',
        '/definition/url_versioning_pattern',
      ],
      [
        'with a default that there is none of',
        inVersions('no', { v1: {} }, { version_data: { default_version: 'v2' } }),
        'version_default',
        '/version_data/default_version',
      ],
      [
        'with a block that is not run, in the second',
        inVersions('no', { v1: {}, v2: blocking }),
        'not_offered',
        `${place}/v2/extended_paths/black_list/0`,
      ],
      [
        'with a list that nobody offers, in the second',
        inVersions('no', { v1: {}, v2: filtered }),
        'classic_unsupported',
        `${place}/v2/extended_paths/transform_jq`,
      ],
      [
        'with an end that is no time',
        inVersions('no', { v1: {}, v2: { expires: 'soon' } }),
        'expiration_invalid',
        `${place}/v2/expires`,
      ],
      [
        'with a target of another protocol',
        inVersions('no', { v1: {}, v2: { override_target: 'ftp://a' } }),
        'not_offered',
        `${place}/v2/override_target`,
      ],
      [
        'with a wrong type in the second',
        inVersions('no', { v1: {}, v2: { global_headers: { a: 1 } } }),
        'type',
        `${place}/v2/global_headers/a`,
      ],
      ['without a name', inVersions('no', { ' ': {} }), 'version_name', place],
      ['with too many of them', inVersions('no', hundred), 'versions_too_many', place],
      [
        'with more blocks of paths than one may have',
        inVersions('no', { v1: many, v2: many }),
        'paths_too_many',
        place,
      ],
      [
        'beside versions that are APIs',
        inVersions('no', { v1: {} }, { definition: { enabled: true } }),
        'versioning_conflict',
        '/definition/enabled',
      ],
    ];
    for (const [name, body, code, pointer] of cases) {
      it(`${name}, at the place in the definition`, async () => {
        const answer = await send('POST', '/api/apis', body, problem);
        expect(answer.status, answer.text).to.equal(400);
        expect(at(answer.json, 'errors'), answer.text).to.have.nested.property('[0].pointer', pointer);
        expect(at(answer.json, 'errors')).to.have.nested.property('[0].code', code);
        expect((await send('GET', '/api/apis/no')).status).to.equal(404);
      });
    }

    it('as versions of another API, whichever of the two comes second', async () => {
      const listing = (id: string): JsonObject => ({
        definition: { enabled: true, name: 'a', location: 'header', key: 'x-v', versions: { b: id } },
      });
      await create(inVersions('inside', { v1: {}, v2: {} }));
      await create(classicDefinition('plain', target, { internal: true }));
      await create(classicDefinition('lists', target, listing('plain')));
      const query = 'base_api_id=inside&new_version_name=b&base_api_version_name=a';
      const refusals: readonly (readonly [string, string, JsonObject, string])[] = [
        ['POST', '/api/apis', classicDefinition('over', target, listing('inside')), 'version_nested'],
        ['PUT', '/api/apis/plain', inVersions('plain', { v1: {} }), 'version_nested'],
        ['POST', '/api/apis?base_api_id=lists&new_version_name=c', inVersions('c', { v1: {} }), 'version_nested'],
        ['POST', `/api/apis?${query}`, classicDefinition('b', target), 'versioning_conflict'],
      ];
      for (const [method, path, body, code] of refusals) {
        const answer = await send(method, path, body, problem);
        expect(answer.status, answer.text).to.equal(400);
        expect(at(answer.json, 'errors'), path).to.have.nested.property('[0].code', code);
      }
    });
  });

  it('are shown with the chain of each', async () => {
    const versions = {
      v1: { global_headers: { 'x-a': 'b' }, expires: '2999-01-01 00:00' },
      v2: { override_target: 'http://127.0.0.1:9002/two', global_size_limit: 9 },
    };
    const members = { CORS: { enable: true }, version_data: { default_version: 'v2' } };
    await create(inVersions('chained', versions, members));
    const { json: shown } = await send('GET', '/api/apis/chained/chain');
    expect(shown['problems']).to.deep.equal([]);
    expect(shown['chain']).to.deep.equal([
      {
        ...{ name: 'version', phase: 'request', source: 'global', pointer: '/version_data', runs: true },
        settings: {
          ...{ location: 'header', key: 'x-v', default: 'v2', strip: false, fallbackToDefault: false },
          versions: ['v1', 'v2'],
        },
      },
    ]);
    const chains = shown['versions'] as readonly { readonly name: string; readonly chain: readonly JsonObject[] }[];
    const ofVersions = ['expiry', 'cors', 'request-size', 'request-headers', 'upstream'];
    const running = (chain: readonly JsonObject[]) =>
      chain.filter(({ name, runs }) => runs && ofVersions.includes(String(name))).map(({ name }) => name);
    expect(chains.map(({ name, chain }) => [name, running(chain)])).to.deep.equal([
      ['v1', ['expiry', 'cors', 'request-headers', 'upstream']],
      ['v2', ['cors', 'request-size', 'upstream']],
    ]);
    const settingsOf = (index: number, name: string) =>
      chains[index]?.chain.find((one) => one['name'] === name)?.['settings'];
    expect(settingsOf(0, 'expiry')).to.deep.equal({ versionExpiresAt: '2999-01-01T00:00:00.000Z' });
    expect(settingsOf(1, 'upstream')).to.include({ url: 'http://127.0.0.1:9002/two' });
  });

  it('are listed by their names, under the id of the API', async () => {
    const versions = { v2: {}, v1: { expires: '2999-01-01 00:00' } };
    await create(inVersions('listed', versions, { internal: true, version_data: { default_version: 'v2' } }));
    const common = { id: 'listed', name: 'listed', internal: true };
    const rows = [
      { ...common, versionName: 'v1', expirationDate: '2999-01-01 00:00', isDefaultVersion: false },
      { ...common, versionName: 'v2', expirationDate: '', isDefaultVersion: true },
    ];
    expect((await send('GET', '/api/apis/listed/versions')).json['apis']).to.deep.equal(rows);
    expect((await send('GET', '/api/apis/listed/versions?searchText=2')).json['apis']).to.deep.equal([rows[1]]);
    const before = (await send('GET', '/api/apis/listed')).headers.get('x-svc-revision');
    const put = await send('PUT', '/api/apis/listed', inVersions('listed', { v9: {} }));
    expect(put.status, put.text).to.equal(200);
    expect((await send('GET', '/api/apis/listed/versions')).json['apis']).to.have.nested.property(
      '[0].versionName',
      'v9',
    );
    expect((await send('GET', `/api/apis/listed/versions?at=${before}`)).json['apis']).to.deep.equal(rows);
  });

  it('stand in a declarative set like any API, and a base of the set does not list them', async () => {
    const set = (...documents: readonly JsonObject[]) => ({
      objects: documents.map((document) => ({ kind: 'api', id: document['api_id'], apiKind: 'classic', document })),
    });
    const inside = inVersions('in-set', { v1: {}, v2: { override_target: 'http://127.0.0.1:9003/' } });
    expect((await send('POST', '/api/config/apply', set(inside))).json['counts']).to.include({ created: 1 });
    const listing = classicDefinition('over-set', target, {
      definition: { enabled: true, name: 'a', location: 'header', key: 'x-v', versions: { b: 'in-set' } },
    });
    const refused = await send('POST', '/api/config/apply', set(inside, listing), problem);
    expect(at(refused.json, 'errors'), refused.text).to.have.nested.property('[0].code', 'version_nested');
  });
});
