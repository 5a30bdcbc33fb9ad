/** A Classic definition with versions inside becomes a base and internal APIs: in one change, with its secrets, and with what differs told. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { at } from '../../domain/json.ts';
import { classicDefinition, laidOver } from '../support/classic-definitions.ts';
import { classicClient, inVersions, classicTarget as target } from '../support/classic-management.ts';
import { problem } from '../support/management-refusals.ts';
import { bearer, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { issue } from '../support/management-tokens.ts';

describe('the conversion of a Classic definition with versions inside', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  const { send, create } = classicClient(() => management);

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

  it('leaves the versions to whom the definition belongs', async () => {
    const document = inVersions('owned', versions, members);
    const set = { owner: 'shop', objects: [{ kind: 'api', id: 'owned', apiKind: 'classic', document }] };
    const applied = await send('POST', '/api/config/apply', set);
    expect(applied.status, applied.text).to.equal(200);
    expect((await convert('owned', { versions: { v1: 'owned-v1' } })).status).to.equal(200);
    const { objects } = (await send('GET', '/api/config')).json as { readonly objects: readonly JsonObject[] };
    const owners = objects.filter(({ name }) => name === 'owned').map(({ labels }) => labels);
    expect(owners).to.deep.equal([{ owner: 'shop' }, { owner: 'shop' }, { owner: 'shop' }]);
    const pruned = await send('POST', '/api/config/apply', { owner: 'shop', objects: [], prune: true });
    expect(pruned.json['counts']).to.include({ deleted: 3 });
  });

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
      '/version_data/versions/v2': 'classic_info',
      '/version_data/versions/v3~1beta': 'classic_info',
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

  it('makes no API for a token that is for this one alone', async () => {
    await create(inVersions('narrow', versions, { ...members, domain: 'narrow.example.org', slug: 'narrow' }));
    const { token } = await issue(management, { scopes: ['apis:read', 'apis:write'], apis: ['narrow'] });
    const answer = await convert('narrow', { versions: { v1: 'narrow-v1' } }, '', { ...problem, ...bearer(token) });
    expect(answer.status, answer.text).to.equal(400);
    expect(answer.text).to.contain('scope_missing');
    expect((await send('GET', '/api/apis/narrow-v1')).status).to.equal(404);
  });
});
