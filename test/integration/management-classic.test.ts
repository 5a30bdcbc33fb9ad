/** Classic definitions over the management API and through a gateway: stored as they come, told what is lost, served, converted. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { decodeEvent } from '../../domain/events.ts';
import { at } from '../../domain/json.ts';
import { classicDefinition, laidOver, withPaths } from '../support/classic-definitions.ts';
import { classicClient, classicTarget as target } from '../support/classic-management.ts';
import { startWithEcho } from '../support/gateway-start.ts';
import { problem } from '../support/management-refusals.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';

const representation = { prefer: 'return=representation' };

describe('Classic definitions', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  const { send, create: createFrom } = classicClient(() => management);
  const create = (id: string, members?: JsonObject): Promise<JsonObject> =>
    createFrom(classicDefinition(id, target, members));

  it('are stored as they come, with the ids of the server and without the secrets', async () => {
    const body = await create('stored', { proxy: { transport: null }, config_data: { b: 1, a: 2 } });
    const answer = await send('GET', '/api/apis/stored');
    expect(answer.headers.get('x-svc-api-kind')).to.equal('classic');
    expect(answer.json).to.deep.equal({
      ...laidOver(body, { proxy: { target_url: 'http://***@127.0.0.1:9001/base' } }),
      id: answer.json['id'],
      org_id: answer.json['org_id'],
    });
    expect(answer.json['id']).to.match(/^[0-9a-f]{24}$/);
  });

  it('may have every member of an export that nobody has set', async () => {
    const signature = { algorithm: '', secret: '', allowed_clock_skew: 0, error_code: 0, error_message: '' };
    await create('unset', {
      hmac_allowed_clock_skew: -1,
      hmac_allowed_algorithms: [],
      auth_configs: { authToken: { auth_header_name: 'Authorization', validate_signature: false, signature } },
      analytics_plugin: { enable: false, plugin_path: '', func_name: '' },
      global_rate_limit: { rate: 0, per: 0 },
    });
  });

  it('may come wrapped, as YAML, and without an id', async () => {
    const wrapped = await send('POST', '/api/apis', { api_definition: classicDefinition('wrapped', target) });
    expect(wrapped.json).to.include({ ID: 'wrapped', Message: 'API created', Status: 'OK' });
    const text =
      'name: As text\nuse_keyless: true\nproxy:\n  listen_path: /yaml/\n  target_url: http://127.0.0.1:9001\n';
    const yaml = await management.call('POST', '/api/apis', text, { 'content-type': 'application/yaml' });
    expect(yaml.status, yaml.text).to.equal(200);
    expect(yaml.json['ID']).to.match(/^[0-9a-f]{32}$/);
  });

  it('stand in the catalogue, hold their path, and have a history', async () => {
    await create('listed', { active: false });
    const listed = await send('GET', '/api/apis?kind=classic&q=listed');
    expect(at(listed.json, 'apis')).to.have.nested.property('[0].name', 'listed');
    expect(at(listed.json, 'apis')).to.have.nested.property('[0].listenPath', '/listed');
    expect(at(listed.json, 'apis')).to.have.nested.property('[0].active', false);
    const second = await send(
      'POST',
      '/api/apis',
      classicDefinition('other', target, { proxy: { listen_path: '/listed' } }),
    );
    expect(second.status).to.equal(409);
    expect(second.text).to.contain('belongs to API listed (listed)');
    const history = await send('GET', '/api/apis/listed/revisions');
    expect(at(history.json, 'revisions')).to.have.nested.property('[0].summary[0]', 'API "listed" created');
  });

  it('are replaced, patched, rolled back and deleted', async () => {
    const body = await create('changed');
    expect((await send('PUT', '/api/apis/changed', { ...body, name: 'Second' })).json['Message']).to.equal(
      'API updated.',
    );
    const merge = { 'content-type': 'application/merge-patch+json' };
    expect((await send('PATCH', '/api/apis/changed', { active: false }, merge)).json['Message']).to.equal(
      'API updated',
    );
    const steps = { 'content-type': 'application/json-patch+json' };
    const patched = await send('PATCH', '/api/apis/changed', [{ op: 'replace', path: '/name', value: 'Third' }], steps);
    expect(patched.status, patched.text).to.equal(200);
    expect((await send('GET', '/api/apis/changed')).json).to.include({ name: 'Third', active: false });
    const history = await send('GET', '/api/apis/changed/revisions');
    expect(at(history.json, 'revisions'))
      .to.have.nested.property('[0].summary[0]')
      .that.contains('name changed to "Third"');
    const back = await send('POST', '/api/apis/changed/rollback', { revision: 0, comment: 'as it was' });
    expect(back.status, back.text).to.equal(200);
    expect((await send('GET', '/api/apis/changed')).json).to.include({ name: 'changed' });
    expect((await send('DELETE', '/api/apis/changed')).json['Message']).to.equal('API deleted.');
    expect((await send('GET', '/api/apis/changed')).status).to.equal(404);
  });

  it('append the events of a change of state', async () => {
    await create('events');
    await send('PUT', '/api/apis/events', classicDefinition('events', target, { active: false, internal: true }));
    const stored = await management.store.readStream('api-events', { limit: 100 });
    const types = stored.map((one) => decodeEvent(one).event.type);
    expect(types).to.deep.equal([
      ...['ApiDefinitionCreated', 'ApiActivated', 'ApiDefinitionReplaced', 'ApiDeactivated', 'ApiInternalChanged'],
    ]);
  });

  describe('are refused', () => {
    const cases: readonly (readonly [string, JsonObject, string, string])[] = [
      ['a wrong type in the second of a list', { tags: ['a', 5] }, 'definition_invalid', '/tags/1'],
      ['no listen path', { proxy: { listen_path: '' } }, 'definition_invalid', '/proxy/listen_path'],
      ['what no version offers', { use_oauth2: true }, 'classic_unsupported', '/use_oauth2'],
      [
        'several versions that no request can name',
        { version_data: { not_versioned: false, versions: { v2: {} } } },
        'definition_invalid',
        '/definition/location',
      ],
      ['a gateway that cannot run a block', { listen_port: 8443 }, 'definition_refused', '/listen_port'],
      [
        'a block of a path that it cannot run',
        withPaths({ black_list: [{ path: '/admin', method: 'GET' }] }),
        'definition_refused',
        '/version_data/versions/Default/extended_paths/black_list/0',
      ],
      [
        'a handler of an event that there is not',
        {
          event_handlers: {
            events: {
              AuthFailure: [{ handler_name: 'eh_log_handler', handler_meta: { prefix: 'a' } }],
              Nothing: [{ handler_name: 'eh_log_handler', handler_meta: { prefix: 'a' } }],
            },
          },
        },
        'definition_refused',
        '/event_handlers/events/Nothing/0',
      ],
      [
        'a header of a map that belongs to the connection',
        { version_data: { not_versioned: true, versions: { Default: { global_headers: { a: 'b', te: 'c' } } } } },
        'definition_refused',
        '/version_data/versions/Default/global_headers/te',
      ],
      [
        'lists of paths of the oldest form',
        { version_data: { not_versioned: true, versions: { Default: { paths: { black_list: ['/admin'] } } } } },
        'classic_unsupported',
        '/version_data/versions/Default/paths',
      ],
      [
        'a limit in parts',
        { global_rate_limit: { rate: 1.5, per: 60 } },
        'definition_invalid',
        '/global_rate_limit/rate',
      ],
      ['a document of the other form', { openapi: '3.0.3' }, 'definition_invalid', '/openapi'],
    ];
    for (const [name, members, code, pointer] of cases) {
      it(`for ${name}, at the place in the definition`, async () => {
        const answer = await send('POST', '/api/apis', classicDefinition('refused', target, members), problem);
        expect(answer.status, answer.text).to.equal(400);
        expect(answer.json['code'], answer.text).to.equal(code);
        expect(at(answer.json, 'errors')).to.have.nested.property('[0].pointer', pointer);
        expect((await send('GET', '/api/apis/refused')).status).to.equal(404);
      });
    }

    it('for another id than that of the path, and for an API of another kind', async () => {
      await create('mine');
      const other = await send('PUT', '/api/apis/mine', classicDefinition('yours', target), problem);
      expect(other.json['code']).to.equal('api_id_mismatch');
      const kind = await send('GET', '/api/apis/oas/mine', undefined, problem);
      expect(kind.json['code']).to.equal('kind_mismatch');
    });

    it('unless the loss is accepted, which is told', async () => {
      const body = classicDefinition('lossy', target, { graphql: { enabled: true }, notifications: {} });
      const answer = await send('POST', '/api/apis?acceptLoss=true', body, representation);
      expect(answer.status, answer.text).to.equal(200);
      expect(answer.headers.get('x-svc-warnings')).to.equal('2');
      expect(at(answer.json, 'Meta', 'warnings')).to.deep.equal([
        { pointer: '/graphql', code: 'classic_unsupported', text: 'is not offered by this gateway' },
        { pointer: '/notifications', code: 'classic_info', text: 'is not offered by this gateway; it is off' },
      ]);
    });
  });

  describe('are read in the other form', () => {
    it('with what it leaves out, and the other way round', async () => {
      await create('shown', { bogus: 1 });
      const plain = await send('GET', '/api/apis/shown?format=oas');
      expect(plain.headers.get('x-svc-warnings')).to.equal('1');
      expect(plain.json).to.have.property('openapi');
      const full = await send('GET', '/api/apis/shown?format=oas', undefined, representation);
      expect(at(full.json, 'warnings')).to.have.nested.property('[0].pointer', '/bogus');
      expect(at(full.json, 'document', 'x-svc-api-gateway', 'upstream', 'url')).to.equal(
        'http://***@127.0.0.1:9001/base',
      );
      expect((await send('GET', '/api/apis/shown?format=classic')).json).to.include({ bogus: 1 });
      expect((await send('GET', '/api/apis/shown?format=xml')).status).to.equal(400);
    });

    it('and show the chain that they come to', async () => {
      await create('chained', { CORS: { enable: true } });
      const chain = await send('GET', '/api/apis/chained/chain');
      expect(chain.json['problems']).to.deep.equal([]);
      expect(at(chain.json, 'chain')).to.have.nested.property('[0].source', 'global');
    });
  });

  describe('are converted', () => {
    it('for good: same id, new kind, a new revision, the secret still there', async () => {
      await create('converted');
      const dry = await send('POST', '/api/apis/converted/convert?dryRun=true', { to: 'oas' });
      expect(at(dry.json, 'Meta', 'document')).to.have.property('openapi');
      expect((await send('GET', '/api/apis/converted')).headers.get('x-svc-api-kind')).to.equal('classic');
      const before = (await send('GET', '/api/apis/converted')).headers.get('etag') ?? '';
      const answer = await send('POST', '/api/apis/converted/convert', { to: 'oas' }, { 'if-match': before });
      expect(answer.json['Message'], answer.text).to.equal('API converted');
      const read = await send('GET', '/api/apis/oas/converted');
      expect(read.status, read.text).to.equal(200);
      expect(read.headers.get('etag')).to.not.equal(before);
      const { revisions } = (await send('GET', '/api/apis/converted/revisions')).json as { revisions: JsonObject[] };
      expect(String(revisions[0]?.['summary'])).to.contain('converted from Classic to OAS');
      const put = await send('PUT', '/api/apis/oas/converted', read.json);
      expect(put.status, put.text).to.equal(200);
      expect((await send('POST', '/api/apis/converted/convert', { to: 'oas' }, problem)).json['code']).to.equal(
        'kind_mismatch',
      );
    });

    it('to nothing else, and not with a loss that nobody accepted', async () => {
      await create('kept');
      expect((await send('POST', '/api/apis/kept/convert', { to: 'streams' })).status).to.equal(400);
      const lossy = { ...classicDefinition('kept', target), graphql: { enabled: true } };
      await send('PUT', '/api/apis/kept?acceptLoss=true', lossy);
      const refused = await send('POST', '/api/apis/kept/convert', { to: 'oas' }, problem);
      expect(refused.json['code']).to.equal('classic_unsupported');
      expect((await send('POST', '/api/apis/kept/convert?acceptLoss=true', { to: 'oas' })).status).to.equal(200);
    });
  });

  it('come back by a restore, deleted or converted since, with their secrets', async () => {
    await create('restored');
    const before = (await send('GET', '/api/apis/restored')).headers.get('x-svc-revision');
    const was = (await send('GET', '/api/apis/restored')).json;
    const restore = () => send('POST', '/api/config/restore', { at: before, comment: 'as it was' });
    await send('POST', '/api/apis/restored/convert', { to: 'oas' });
    expect((await restore()).status).to.equal(200);
    const read = await send('GET', '/api/apis/restored');
    expect(read.json, 'after the conversion').to.deep.equal(was);
    expect(read.headers.get('x-svc-api-kind')).to.equal('classic');
    await send('DELETE', '/api/apis/restored');
    expect((await restore()).status).to.equal(200);
    expect((await send('GET', '/api/apis/restored')).json, 'after the deletion').to.deep.equal(was);
  });

  it('leave a list of versions when one of them is deleted', async () => {
    await create('version-two', { internal: true });
    const definition = {
      enabled: true,
      name: 'v1',
      default: 'v2',
      location: 'header',
      key: 'x-v',
      versions: { v2: 'version-two' },
    };
    await create('with-versions', { definition });
    const deleted = await send('DELETE', '/api/apis/version-two');
    expect(deleted.status, deleted.text).to.equal(200);
    const read = await send('GET', '/api/apis/with-versions');
    expect(read.json['definition']).to.deep.equal({
      enabled: true,
      name: 'v1',
      location: 'header',
      key: 'x-v',
      versions: {},
    });
    expect(read.json).to.not.have.property('x-svc-api-gateway');
  });

  it('are judged without being stored', async () => {
    const good = await send('POST', '/api/validate', classicDefinition('judged', target));
    expect(good.json).to.deep.equal({ errors: [], warnings: [] });
    const lossy = await send('POST', '/api/validate', { ...classicDefinition('judged', target), use_oauth2: true });
    expect(at(lossy.json, 'errors')).to.have.nested.property('[0].code', 'classic_unsupported');
  });

  it('have a published schema', async () => {
    const answer = await send('GET', '/api/schemas/apidefs/classic');
    expect(answer.json).to.include({ $id: 'urn:svc:classic' });
    expect(at(answer.json, 'properties')).to.include.keys('use_keyless', 'proxy', 'version_data');
  });
});

describe('a Classic definition at a gateway', () => {
  let gateway: Awaited<ReturnType<typeof startWithEcho>>;
  before(async () => {
    gateway = await startWithEcho();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const put = async (id: string, document: JsonObject): Promise<void> =>
    gateway.settled(gateway.feed.put(id, document, 'classic'));

  it('is served: listen path, headers, size, limit, and the head that it sets', async () => {
    const members = {
      CORS: { enable: true, allowed_origins: ['https://a.example'] },
      ...withPaths({}),
      global_rate_limit: { rate: 2, per: 3600 },
    };
    const body = laidOver(classicDefinition('served', gateway.echo.url, members), {
      version_data: { versions: { Default: { global_headers: { 'x-set': 'here' }, global_size_limit: 4 } } },
    });
    await put('served', body);
    const first = await fetch(`${gateway.url}/served/x?y=1`, { headers: { origin: 'https://a.example' } });
    expect(first.status).to.equal(200);
    expect(first.headers.get('access-control-allow-origin')).to.equal('https://a.example');
    const seen = await first.text();
    expect(seen).to.contain('/x?y=1').and.to.contain('x-set');
    expect((await fetch(`${gateway.url}/served/x`, { method: 'POST', body: '12345' })).status).to.equal(400);
    expect((await fetch(`${gateway.url}/served/x`)).status).to.equal(200);
    expect((await fetch(`${gateway.url}/served/x`)).status).to.equal(429);
  });

  it('asks for a token unless it is keyless, and is not there when it is inactive', async () => {
    await put(
      'guarded',
      classicDefinition('guarded', gateway.echo.url, { use_keyless: false, auth: { auth_header_name: 'X-Key' } }),
    );
    expect((await fetch(`${gateway.url}/guarded/`)).status).to.equal(401);
    expect((await fetch(`${gateway.url}/guarded/`, { headers: { 'x-key': 'unknown' } })).status).to.equal(403);
    await put('quiet', classicDefinition('quiet', gateway.echo.url, { active: false }));
    expect((await fetch(`${gateway.url}/quiet/`)).status).to.equal(404);
  });
});
