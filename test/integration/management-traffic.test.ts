/** What a dry run says of recorded requests: how many of them would be routed, let in, limited or validated in another way. */
import { expect } from 'chai';
import { notVersioned } from '../../domain/analytics-record.ts';
import type { JsonObject } from '../../domain/event.ts';
import type { HeadsQuery, RecordedHead } from '../../domain/recorded-heads.ts';
import { svc } from '../support/cli.ts';
import { openApi } from '../support/documents.ts';
import { json, named } from '../support/management-refusals.ts';
import { orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { block, internal } from '../support/versioned-management.ts';

const head = (target: string, changes: Partial<RecordedHead> = {}): RecordedHead => ({
  ...{ method: 'GET', target, host: 'api.example', clientAddress: '192.0.2.7' },
  ...{ keyId: '', version: notVersioned, bodyBytes: 0, ...changes },
});

const oas = '/api/apis/oas';
const none = { route: 0, auth: 0, limit: 0, validation: 0 };
const merge = { 'content-type': 'application/merge-patch+json' };

describe('traffic in dry runs', () => {
  let management: TestManagement;
  let recorded: readonly RecordedHead[];
  let newest: (query: HeadsQuery, signal: AbortSignal) => Promise<readonly RecordedHead[]>;
  const queries: HeadsQuery[] = [];
  before(async () => {
    const recordedHeads = {
      newest: (query: HeadsQuery, signal: AbortSignal) => {
        queries.push(query);
        return newest(query, signal);
      },
    };
    management = await startTestManagement({ recordedHeads });
  });
  beforeEach(() => {
    recorded = [];
    newest = async () => recorded;
    queries.length = 0;
  });
  after(() => management[Symbol.asyncDispose]());

  const metaOf = async (
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = json,
  ): Promise<JsonObject> => {
    const answer = await management.call(method, path, body && JSON.stringify(body), headers);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json['Meta'] as JsonObject;
  };
  const traffic = async (...args: Parameters<typeof metaOf>) => (await metaOf(...args))['traffic'];
  const create = (id: string, parts: Parameters<typeof named>[1] = {}, query = '') =>
    metaOf('POST', `${oas}${query}`, named(id, parts)).then(() => `${oas}/${id}?dryRun=true`);

  it('is absent when nothing is recorded, and asks for ten thousand of the last hour', async () => {
    const path = await create('silent');
    const startMs = Date.now();
    expect(await metaOf('PATCH', `${path}&listenPath=/moved/`, openApi())).not.to.have.property('traffic');
    expect(queries[0]).to.deep.include({ orgId, apiId: 'silent', versionIds: [], limit: 10_000 });
    expect(queries[0]?.sinceMs).to.be.within(startMs - 3_600_000, Date.now() - 3_600_000);
  });
  it('counts the heads, and those whose outcome differs', async () => {
    const path = await create('counted');
    recorded = [head('/counted/a'), head('/counted/b'), head('/gone/a')];
    expect(await traffic('PATCH', `${path}&listenPath=/moved/`, openApi())).to.deep.equal({
      sample: 3,
      changed: { ...none, route: 2 },
    });
    const rateLimit = { enabled: true, rate: 3, per: '1m' };
    expect(await traffic('PATCH', path, { 'x-svc-api-gateway': { upstream: { rateLimit } } }, merge)).to.deep.equal({
      sample: 3,
      changed: { ...none, limit: 2 },
    });
    expect(await traffic('PATCH', path, {}, merge)).to.deep.equal({ sample: 3, changed: none });
  });
  it('knows the keys of the gateways, with their policies', async () => {
    const path = await create('keyed');
    await metaOf('POST', '/api/policies', { id: 'gold', name: 'Gold', access_rights: { keyed: {} } });
    const made = async (body: object) =>
      String((await management.call('POST', '/api/keys', JSON.stringify(body), json)).json['key_hash']);
    const [good, other] = [await made({ apply_policies: ['gold'] }), await made({ access_rights: { counted: {} } })];
    const components = { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } };
    const guarded = (more: JsonObject = {}) => ({
      ...named('keyed', {
        server: { authentication: { enabled: true, securitySchemes: { key: { enabled: true } }, ...more } },
      }),
      components,
    });
    recorded = [good, other, ''].map((keyId) => head('/keyed/a', { keyId }));
    expect(await traffic('PUT', path, guarded())).to.deep.equal({ sample: 3, changed: { ...none, auth: 3 } });
    await metaOf('PUT', `${oas}/keyed`, guarded());
    // As a version of an API that one of the keys was granted.
    expect(await traffic('PUT', path, guarded({ grantedAs: { id: 'counted', version: 'v1' } }))).to.deep.equal({
      sample: 3,
      changed: { ...none, auth: 1 },
    });
  });
  it('sees who serves the path in place of the API', async () => {
    const listenAt = (value: string) => ({ server: { listenPath: { value, strip: true } } });
    await create('wide', { ...listenAt('/shared/'), upstream: { rateLimit: { enabled: true, rate: 1, per: '1m' } } });
    const path = await create('taken', listenAt('/shared/taken/'));
    recorded = [head('/shared/taken/a')];
    expect(await traffic('DELETE', path)).to.deep.equal({ sample: 1, changed: { ...none, route: 1, limit: 1 } });
  });
  it('tries a new API on what an earlier one of the same id has recorded', async () => {
    recorded = [head('/back/a'), head('/once/a')];
    expect(await traffic('POST', `${oas}?dryRun=true`, named('back'))).to.deep.equal({
      sample: 2,
      changed: { ...none, route: 1 },
    });
  });
  it('counts requests that came to a version by its base', async () => {
    await create('base', { info: { versioning: block({ location: 'url-param', key: 'v' }) } });
    await create('base-v2', { info: internal }, '?base_api_id=base&new_version_name=v2');
    recorded = [head('/base/a?v=v2', { version: 'v2' }), head('/base/a', { version: 'v1' })];
    const moved = await traffic('PATCH', `${oas}/base?dryRun=true&listenPath=/moved/`, openApi());
    expect(moved).to.deep.equal({ sample: 2, changed: { ...none, route: 2 } });
    expect(queries.at(-1)?.versionIds).to.deep.equal(['base-v2']);
    const off = { 'x-svc-api-gateway': { info: { state: { active: false } } } };
    expect(await traffic('PATCH', `${oas}/base-v2?dryRun=true`, off, merge)).to.deep.equal({
      sample: 2,
      changed: { ...none, route: 1 },
    });
  });
  it('takes the versions that a conversion makes for those that were inside', async () => {
    const classic = {
      ...{ name: 'Old', api_id: 'old', use_keyless: true, active: true },
      ...{ proxy: { listen_path: '/old/', target_url: 'http://127.0.0.1:9001/', strip_listen_path: true } },
      definition: { location: 'header', key: 'X-V' },
      global_rate_limit: { rate: 5, per: 60 },
      version_data: { not_versioned: false, versions: { v1: { name: 'v1' }, v2: { name: 'v2' } } },
    };
    await metaOf('POST', '/api/apis', classic);
    recorded = [head('/old/a', { version: 'v1' }), head('/old/a', { version: 'v2' })];
    const meta = await metaOf('POST', '/api/apis/old/convert?dryRun=true', { to: 'oas' });
    // The second is another API from then on, with a limit of its own; the first stays the base.
    expect(meta['traffic']).to.deep.equal({ sample: 2, changed: { ...none, route: 1, limit: 1 } });
  });
  it('is told of every kind of dry run that decides about one definition', async () => {
    await create('kinds');
    await metaOf('PATCH', `${oas}/kinds?listenPath=/kinds-moved/`, openApi());
    const route = '/kinds-classic/';
    const classic = {
      ...{ name: 'Classic', api_id: 'kinds-classic', use_keyless: true, active: true },
      proxy: { listen_path: route, target_url: 'http://127.0.0.1:9001/', strip_listen_path: true },
    };
    await metaOf('POST', '/api/apis', classic);
    recorded = [head('/kinds-moved/a'), head('/kinds-classic/a'), head('/kinds-new/a')];
    const imported = `${oas}/import?dryRun=true&apiID=kinds-new&listenPath=/kinds-new/`;
    const one = { sample: 3, changed: { ...none, route: 1 } };
    expect(await traffic('POST', '/api/apis/kinds/rollback?dryRun=true', { revision: 0 })).to.deep.equal(one);
    expect(await traffic('POST', imported, openApi())).to.deep.equal(one);
    expect(await traffic('PUT', '/api/apis/kinds-classic?dryRun=true', { ...classic, active: false })).to.deep.equal(
      one,
    );
    expect(await traffic('DELETE', '/api/apis/kinds-classic?dryRun=true')).to.deep.equal(one);
  });
  it('is a line on the standard error of the command line, unless a program reads', async () => {
    await create('said');
    recorded = [head('/said/a'), head('/said/b')];
    const env = { SVC_TOKEN: management.token, SVC_URL: management.url };
    const said = (...args: readonly string[]) => svc(['api', 'deactivate', 'said', '--dry-run', ...args], { env });
    const { code, out, err } = await said();
    expect(err).to.equal(
      'Of 2 requests of the last hour 2 would be routed, 0 let in, 0 limited, 0 validated in another way\n',
    );
    expect([code, JSON.parse(out)]).to.have.nested.property('1.Meta.traffic.sample', 2);
    expect((await said('--json')).err).to.equal('');
    recorded = [];
    expect((await said()).err).to.equal('');
  });
  it('is no part of a real write, whoever asks for a representation, nor of a refusal', async () => {
    const path = await create('written');
    recorded = [head('/written/a')];
    const prefer = { ...json, prefer: 'return=representation' };
    const meta = await metaOf('PATCH', `${oas}/written?listenPath=/elsewhere/`, openApi(), prefer);
    expect(meta).to.include.keys('affects').and.not.to.have.property('traffic');
    const refused = await management.call('PATCH', `${path}&listenPath=/counted/`, JSON.stringify(openApi()), json);
    expect([refused.status, queries.length]).to.deep.equal([409, 0]);
  });
  it('keeps no other command waiting while records are read', async () => {
    const path = await create('busy');
    const reading = Promise.withResolvers<readonly RecordedHead[]>();
    const asked = Promise.withResolvers<void>();
    newest = () => {
      asked.resolve();
      return reading.promise;
    };
    const dry = traffic('PATCH', `${path}&listenPath=/dry/`, openApi());
    await asked.promise;
    await metaOf('PATCH', `${oas}/busy?listenPath=/written-meanwhile/`, openApi());
    reading.resolve([head('/busy/a')]);
    expect(await dry).to.deep.equal({ sample: 1, changed: { ...none, route: 1 } });
  });
  it('is absent, with a line in the log, when records cannot be read', async () => {
    const path = await create('broken');
    newest = () => Promise.reject(new Error('the disk is gone'));
    expect(await metaOf('PATCH', `${path}&listenPath=/b/`, openApi())).to.include.keys('affects', 'etag');
    const [line] = management.log.lines.filter(({ message }) => message.startsWith('a dry run says nothing'));
    expect(line).to.deep.include({ level: 'warn' });
    expect(line?.fields).to.deep.include({ apiId: 'broken' });
  });
  it('holds up no stop', async () => {
    const asked = Promise.withResolvers<void>();
    const recordedHeads = {
      newest: (_: HeadsQuery, signal: AbortSignal) =>
        new Promise<never>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          asked.resolve();
        }),
    };
    const other = await startTestManagement({ recordedHeads });
    const answer = other.call('POST', `${oas}?dryRun=true`, JSON.stringify(named('late')), json);
    await asked.promise;
    await other[Symbol.asyncDispose]();
    expect((await answer).json['Meta'])
      .to.include.keys('affects')
      .and.not.to.have.property('traffic');
  });
});
