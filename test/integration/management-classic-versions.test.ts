/** Versions inside a Classic definition over the management API: what is refused, what is shown, and what they are converted to. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { at } from '../../domain/json.ts';
import { classicDefinition, laidOver } from '../support/classic-definitions.ts';
import { type Answer, startTestManagement, type TestManagement } from '../support/management-server.ts';

const json = { 'content-type': 'application/json' };
const problem = { accept: 'application/problem+json' };
const target = 'http://user:clear@127.0.0.1:9001/base';

/** Named by a header, and nothing besides. */
const inVersions = (id: string, versions: JsonObject, members: JsonObject = {}): JsonObject => ({
  ...laidOver(classicDefinition(id, target, { definition: { location: 'header', key: 'x-v' } }), members),
  version_data: { not_versioned: false, versions, ...(members['version_data'] as JsonObject | undefined) },
});

describe('versions inside a Classic definition, at the management API', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    management.call(method, path, body === undefined ? undefined : JSON.stringify(body), { ...json, ...headers });
  const create = async (body: JsonObject): Promise<void> => {
    const answer = await send('POST', '/api/apis', body);
    expect(answer.status, answer.text).to.equal(200);
  };

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
  });

  describe('are converted', () => {
    const versions = {
      v1: { global_headers: { 'x-a': 'one' }, expires: '2999-01-01 00:00' },
      v2: { override_target: 'http://other:clear2@127.0.0.1:9002/two', global_size_limit: 9 },
      'v3/beta': { global_response_headers: { 'x-b': 'three' } },
    };
    const members: JsonObject = {
      ...{ use_keyless: false, domain: 'api.example.org', slug: 'whole', global_rate_limit: { rate: 5, per: 60 } },
      version_data: { default_version: 'v2' },
    };
    const convert = (id: string, body: JsonObject = {}, query = '', headers: Record<string, string> = {}) =>
      send('POST', `/api/apis/${id}/convert${query}`, { to: 'oas', ...body }, headers);
    const extension = (document: JsonObject) => document['x-svc-api-gateway'] as JsonObject;

    it('to a base that keeps the default and an internal API for each other version, in one change', async () => {
      await create(inVersions('split', versions, members));
      const dry = await convert('split', {}, '?dryRun=true');
      expect(at(dry.json, 'Meta', 'versions')).to.have.length(2);
      expect((await send('GET', '/api/apis/split')).headers.get('x-svc-api-kind')).to.equal('classic');
      const answer = await convert('split', { versions: { v1: 'split-v1' } });
      expect(answer.status, answer.text).to.equal(200);
      const [first, second] = at(answer.json, 'Meta', 'versions') as readonly { name: string; id: string }[];
      expect(first).to.deep.equal({ name: 'v1', id: 'split-v1' });
      expect(second).to.include({ name: 'v3/beta' });
      expect(second?.id).to.match(/^[0-9a-f]{32}$/);
      expect(at(dry.json, 'Meta', 'versions')).to.deep.include(second);

      const base = (await send('GET', '/api/apis/oas/split')).json;
      expect(at(extension(base), 'info', 'versioning')).to.deep.equal({
        ...{ enabled: true, name: 'v2', default: 'v2', location: 'header', key: 'x-v' },
        versions: [first, second],
      });
      expect(at(extension(base), 'upstream', 'url')).to.equal('http://***@127.0.0.1:9002/two');
      expect(at(extension(base), 'server', 'customDomain', 'name')).to.equal('api.example.org');
      const child = await send('GET', '/api/apis/oas/split-v1');
      expect(child.headers.get('x-svc-base-api-id')).to.equal('split');
      const own = extension(child.json);
      expect(own['info']).to.deep.include({ id: 'split-v1', expiration: '2999-01-01 00:00' });
      expect(own['info']).to.have.property('state').that.includes({ internal: true });
      expect(own['info'])
        .to.have.property('dbId')
        .that.matches(/^[0-9a-f]{24}$/);
      expect(own['server']).to.not.have.any.keys('customDomain', 'slug');
      expect(at(own, 'middleware', 'global', 'transformRequestHeaders', 'add')).to.deep.equal([
        { name: 'x-a', value: 'one' },
      ]);
      const listed = (await send('GET', '/api/apis/split/versions')).json;
      expect((listed['apis'] as JsonObject[]).map((one) => one['versionName'])).to.deep.equal(['v2', 'v1', 'v3/beta']);
    });

    it('with the secrets that they had', async () => {
      await create(inVersions('sealed', versions, { ...members, domain: 'sealed.example.org', slug: 'sealed' }));
      expect((await convert('sealed', { versions: { v1: 'sealed-v1' } })).status).to.equal(200);
      const read = (await send('GET', '/api/apis/oas/sealed-v1')).json;
      expect(at(extension(read), 'upstream', 'url')).to.equal('http://***@127.0.0.1:9001/base');
      const put = await send('PUT', '/api/apis/oas/sealed-v1', read);
      expect(put.status, put.text).to.equal(200);
      const stored = await management.store.readStream('api-sealed-v1', { limit: 10 });
      expect(stored.map((one) => Buffer.from(one.data).toString()).join()).to.not.contain('clear');
    });

    it('with what becomes of it told, and shown before by a read', async () => {
      const told = { ...members, domain: 'told.example.org', slug: 'told', CORS: { enable: true } };
      await create(
        inVersions(
          'told',
          versions,
          laidOver(told, { proxy: { strip_listen_path: false }, version_data: { default_version: '' } }),
        ),
      );
      const read = await send('GET', '/api/apis/told?format=oas', undefined, { prefer: 'return=representation' });
      const shown = read.json as { document: JsonObject; versions: JsonObject[]; warnings: JsonObject[] };
      expect(shown.versions.map(({ name }) => name)).to.deep.equal(['v2', 'v3/beta']);
      expect(at(extension(shown.document), 'info', 'versioning'))
        .to.include({ name: 'v1' })
        .and.not.have.property('default');
      expect(at(extension(shown.versions[0]?.['document'] as JsonObject), 'upstream', 'url')).to.equal(
        'http://***@127.0.0.1:9002/two/told',
      );
      const codes = Object.fromEntries(shown.warnings.map(({ pointer, code }) => [pointer, code]));
      expect(codes).to.include({
        '/version_data': 'classic_info',
        '/version_data/versions/v2': 'classic_narrowed',
        '/version_data/versions/v3~1beta': 'classic_narrowed',
        '/global_rate_limit': 'classic_widened',
        '/CORS': 'classic_narrowed',
        '/proxy/strip_listen_path': 'classic_info',
        '/version_data/versions/v1/expires': 'classic_info',
      });
      expect(read.text).to.not.contain('clear');
      const done = await convert('told', {}, '', { prefer: 'return=representation' });
      expect(at(done.json, 'Meta', 'versions')).to.deep.equal(shown.versions.map(({ name, id }) => ({ name, id })));
    });

    it('not at all when one of them cannot be', async () => {
      await create(inVersions('half', versions, { ...members, domain: 'half.example.org', slug: 'half' }));
      await create(classicDefinition('taken', target));
      const cases: readonly (readonly [JsonObject, number, string])[] = [
        [{ versions: { v1: 'taken' } }, 409, 'api_exists'],
        [{ versions: { v1: 'half' } }, 400, 'definition_refused'],
        [{ versions: { v1: 'same', 'v3/beta': 'same' } }, 400, 'definition_refused'],
        [{ versions: { v2: 'the-base' } }, 400, 'definition_refused'],
        [{ versions: { v1: 'a/b' } }, 400, 'id_invalid'],
        [{ versions: ['v1'] }, 400, 'body_malformed'],
      ];
      for (const [body, status, code] of cases) {
        const answer = await convert('half', body, '', problem);
        expect([answer.status, answer.json['code']], answer.text).to.deep.equal([status, code]);
      }
      expect((await send('GET', '/api/apis/half')).headers.get('x-svc-api-kind')).to.equal('classic');
      expect((await send('GET', '/api/apis/same')).status).to.equal(404);
    });

    it('and come back as they were by a restore', async () => {
      await create(inVersions('back', versions, { ...members, domain: 'back.example.org', slug: 'back' }));
      const before = await send('GET', '/api/apis/back');
      await convert('back', { versions: { v1: 'back-v1' } });
      const restored = await send('POST', '/api/config/restore', {
        at: before.headers.get('x-svc-revision'),
        comment: 'as it was',
      });
      expect(restored.status, restored.text).to.equal(200);
      expect((await send('GET', '/api/apis/back')).json).to.deep.equal(before.json);
      expect((await send('GET', '/api/apis/back-v1')).status).to.equal(404);
      expect((await convert('back', { versions: { v1: 'back-v1' } })).status).to.equal(200);
    });
  });
});
