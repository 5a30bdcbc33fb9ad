/** Organisations over HTTP: made and changed by those who look after all of them, and the rules that each sets for itself. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { apiDocument, openApi } from '../support/documents.ts';
import {
  type Case,
  json,
  known,
  listenAt,
  refuse,
  startWithTwoApis,
  streams,
  vendor,
} from '../support/management-refusals.ts';
import { type Answer, bearer, orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { issue } from '../support/management-tokens.ts';

const acme = 'ac'.repeat(12);

describe('organisations over HTTP', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement({ isInstalled: true });
    const made = await ask('POST', '/api/organisations', { id: acme, name: 'Acme' });
    expect(made.status, made.text).to.equal(200);
  });
  after(() => management[Symbol.asyncDispose]());

  const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> =>
    management.call(method, path, body && JSON.stringify(body), { ...json, ...headers });
  const inAcme = { 'x-svc-org': acme };

  it('are made with an id of their own or a new one, read, listed page by page, and changed in part', async () => {
    const made = await ask('POST', '/api/organisations', { name: 'Beta', settings: { strictKeys: true } });
    const id = String(made.json['id']);
    expect(id).to.match(/^[0-9a-f]{24}$/);
    expect(made.headers.get('location')).to.equal(`/api/organisations/${id}`);
    const at = `/api/organisations/${id}`;
    const read = await ask('GET', at);
    expect(read.headers.get('etag')).to.equal(made.headers.get('etag'));
    expect(read.json).to.deep.include({
      ...{ id, name: 'Beta', disabled: false, detail: false },
      settings: { requireIfMatch: false, strictKeys: true, retention: 0 },
    });
    const changed = await ask('PUT', at, { name: 'Gamma' }, { 'if-match': read.headers.get('etag') ?? '' });
    expect(changed.json).to.deep.include({
      name: 'Gamma',
      settings: { requireIfMatch: false, strictKeys: true, retention: 0 },
    });
    expect((await ask('PUT', at, { name: 'Gamma' })).headers.get('x-svc-unchanged')).to.equal('true');
    expect((await ask('PUT', at, { name: 'X' }, { 'if-match': '"0"' })).status).to.equal(412);
    expect((await ask('GET', at, undefined, { 'if-none-match': changed.headers.get('etag') ?? '' })).status).to.equal(
      304,
    );
    const first = await ask('GET', '/api/organisations?limit=1');
    expect(first.json).to.include({ total: 2 }).and.have.nested.property('organisations[0].id', acme);
    const second = await ask('GET', `/api/organisations?limit=1&after=${first.json['next']}`);
    expect(second.json).to.include({ next: null }).and.have.nested.property('organisations[0].id', id);
  });

  it('say whether requests are recorded in detail, and how long records are kept, in the words they were given', async () => {
    const made = await ask('POST', '/api/organisations', {
      name: 'Seen',
      detail: true,
      settings: { retention: '720h' },
    });
    const at = `/api/organisations/${made.json['id']}`;
    const settings = { requireIfMatch: false, strictKeys: false, retention: '720h' };
    for (const { json } of [made, await ask('GET', at)]) expect(json).to.deep.include({ detail: true, settings });
    const renamed = await ask('PUT', at, { name: 'Watched' });
    expect(renamed.json).to.deep.include({ name: 'Watched', detail: true, settings });
    expect(
      (await ask('PUT', at, { settings: { retention: '720h' }, detail: true })).headers.get('x-svc-unchanged'),
    ).to.equal('true');
    const seconds = await ask('PUT', at, { detail: false, settings: { retention: 3_600 } });
    expect(seconds.json).to.deep.include({ detail: false, settings: { ...settings, retention: 3_600 } });
    const feed = await ask('GET', '/api/feed/snapshot');
    expect(feed.json)
      .to.have.nested.property(`objects.organisation:${made.json['id']}.body.terms`)
      .that.deep.include({
        ...{ detail: false, retention: 3_600 },
      });
  });

  it('have limits, of which what is left out stays', async () => {
    const limits = { rate: 100, per: 60, quota_max: 5_000, quota_renewal_rate: 86_400 };
    const made = await ask('POST', '/api/organisations', { name: 'Limited', rate: 100, per: 60 });
    expect(made.json).to.include({ ...limits, quota_max: 0, quota_renewal_rate: 0 });
    const at = `/api/organisations/${made.json['id']}`;
    expect((await ask('PUT', at, { quota_max: 5_000, quota_renewal_rate: 86_400 })).json).to.include(limits);
    expect((await ask('PUT', at, limits)).headers.get('x-svc-unchanged')).to.equal('true');
    expect((await ask('GET', at)).json).to.include(limits);
    const taken = await ask('PUT', at, { rate: -1, per: -1 });
    expect(taken.json).to.include({ ...limits, rate: 0, per: 0 });
  });

  const refused = (name: string, body: string, text: RegExp, code = 'body_malformed', status = 400): Case => ({
    ...{ name, send: ['POST', '/api/organisations', body, json], status, code, text },
  });
  describe('refuse', () =>
    refuse(
      [
        refused('one without a name', '{}', /\/name is required/),
        refused('an empty name', '{"name":" "}', /\/name must be a text/),
        refused('a member that nobody knows', '{"name":"a","nmae":"b"}', /did you mean "name"/),
        refused('a setting that nobody knows', '{"name":"a","settings":{"requireifmatch":true}}', /has no member/),
        refused(
          'a setting that is no flag',
          '{"name":"a","settings":{"strictKeys":"yes"}}',
          /\/settings\/strictKeys must/,
        ),
        refused('a rate without a period', '{"name":"a","rate":5}', /\/rate and \/per \(seconds\) go together/),
        refused('a quota in words', '{"name":"a","quota_max":"5"}', /\/quota_max must be a whole number/),
        refused('a period of years', '{"name":"a","rate":1,"per":99999999}', /\/per must be a whole number/),
        refused('detail that is no flag', '{"name":"a","detail":"yes"}', /\/detail must be true or false/),
        ...['"1y"', '1.5', '-1', '"P200000D"', 'true', '[]'].map((retention) =>
          refused(
            `to keep records for ${retention}`,
            `{"name":"a","settings":{"retention":${retention}}}`,
            /\/settings\/retention must/,
          ),
        ),
        refused('an id of another form', '{"id":"acme","name":"a"}', /Invalid `ID`/, 'id_invalid'),
        refused('an id that is taken', `{"id":"${acme}","name":"a"}`, /exists/, 'organisation_exists', 409),
        {
          ...{ name: 'one that is not there', send: ['GET', `/api/organisations/${'0'.repeat(24)}`] },
          ...{ status: 404, code: 'organisation_unknown', text: 'Organisation not found.' },
        },
        {
          ...{
            name: 'to work in one that is not there',
            send: ['GET', '/api/apis', undefined, { 'x-svc-org': '0'.repeat(24) }],
          },
          ...{ status: 404, code: 'organisation_unknown', text: 'Organisation not found.' },
        },
      ],
      () => management,
    ));

  it('are worked in by name, by those who look after them and by nobody else', async () => {
    const document = apiDocument({ info: { id: 'acme-api' }, ...listenAt('/acme/') });
    expect((await management.call('POST', streams, document, inAcme)).status).to.equal(200);
    expect((await ask('GET', '/api/apis/acme-api', undefined, inAcme)).status).to.equal(200);
    expect((await ask('GET', '/api/apis/acme-api')).status).to.equal(404);
    expect((await ask('GET', '/api/apis')).json['total']).to.equal(0);
    const admin = await issue(management, { roles: ['admin'] });
    const answer = await ask('GET', '/api/apis', undefined, { ...bearer(admin.token), ...inAcme });
    expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([403, 'scope_missing']);
    expect((await ask('GET', '/api/organisations', undefined, bearer(admin.token))).status).to.equal(403);
    const own = await ask('GET', '/api/apis', undefined, { ...bearer(admin.token), 'x-svc-org': orgId });
    expect(own.status).to.equal(200);
    const { json: audit } = await ask('GET', '/api/audit', undefined, inAcme);
    const ids = (audit['events'] as readonly JsonObject[]).map(({ aggregate }) => (aggregate as JsonObject)['id']);
    expect(ids).to.include('acme-api').and.include(acme);
  });

  it('cannot be looked after by whoever was not let to: nobody gives away more than he has', async () => {
    const admin = await issue(management, { roles: ['admin'] });
    const more = await ask('POST', '/api/tokens', { name: 'x', scopes: ['orgs:admin'] }, bearer(admin.token));
    expect([more.status, more.headers.get('x-svc-error-code')]).to.deep.equal([403, 'token_exceeds']);
    const keeper = await issue(management, { scopes: ['orgs:admin'] });
    expect((await ask('GET', '/api/organisations', undefined, bearer(keeper.token))).status).to.equal(200);
  });

  it('that are switched off refuse their tokens, until they are switched on', async () => {
    const { token } = await issue(management, { roles: ['admin'] }, inAcme);
    const status = async () => (await ask('GET', '/api/apis', undefined, bearer(token))).status;
    expect(await status()).to.equal(200);
    await ask('PUT', `/api/organisations/${acme}`, { disabled: true });
    const answer = await ask('GET', '/api/apis', undefined, bearer(token));
    expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([403, 'organisation_disabled']);
    expect(answer.json['Message']).to.equal(
      'this organisation access has been disabled, please contact your API administrator',
    );
    expect((await ask('GET', '/api/apis', undefined, inAcme)).status).to.equal(200);
    await ask('PUT', `/api/organisations/${acme}`, { disabled: false });
    expect(await status()).to.equal(200);
  });

  it('that are switched off leave gateways their feed, which is that of all organisations', async () => {
    const { token } = await issue(management, { roles: ['gateway', 'viewer'], node: 'edge-1' });
    const asGateway = async (method: string, path: string, body?: object) =>
      (await ask(method, path, body, bearer(token))).status;
    const { status } = await ask('POST', '/api/organisations', { id: orgId, name: 'Home', disabled: true });
    expect(status).to.equal(200);
    try {
      expect(await asGateway('GET', '/api/feed/snapshot')).to.equal(200);
      expect(await asGateway('GET', '/api/feed/changes?after=1')).to.equal(200);
      expect(await asGateway('POST', '/api/gateways/edge-1/reports', {}), 'no report, but asked for one').to.equal(400);
      expect(await asGateway('GET', '/api/gateways')).to.equal(403);
    } finally {
      await ask('PUT', `/api/organisations/${orgId}`, { disabled: false });
    }
  });

  it('tell a token about itself wherever it works', async () =>
    expect((await ask('GET', '/api/tokens/me', undefined, inAcme)).json).to.include({ id: 'bootstrap' }));
});

describe('an organisation that wants If-Match', () => {
  let management: TestManagement;
  let token: string;
  before(async () => {
    management = await startWithTwoApis({ isInstalled: true });
    await management.call('POST', '/api/policies', '{"id":"gold","name":"Gold"}', json);
    token = (await issue(management, { scopes: ['apis:read'] })).id;
    const body = JSON.stringify({ id: orgId, name: 'home', settings: { requireIfMatch: true } });
    expect((await management.call('POST', '/api/organisations', body, json)).status).to.equal(200);
  });
  after(() => management[Symbol.asyncDispose]());

  const rows: readonly (readonly [name: string, ...Case['send']])[] = [
    ['a PUT of an API', 'PUT', known, apiDocument({ info: { id: 'known' }, ...listenAt('/known/') }), vendor],
    ['a PATCH of an API', 'PATCH', `${known}?listenPath=/x/`, openApi(), vendor],
    ['a rollback', 'POST', '/api/apis/known/rollback', '{"revision":0}', json],
    ['a PUT of a policy', 'PUT', '/api/policies/gold', '{"name":"Gold","rate":5}', json],
    ['a DELETE of a policy', 'DELETE', '/api/policies/gold'],
    ['a DELETE of an API', 'DELETE', '/api/apis/known'],
  ];
  for (const [name, method, path, body, headers = {}] of rows) {
    it(`refuses ${name} without it, also when nothing would change, and shows the tag in a dry run`, async () => {
      const head = await management.store.head();
      const answer = await management.call(method, path, body, headers);
      expect([answer.status, answer.headers.get('x-svc-error-code')], answer.text).to.deep.equal([
        428,
        'precondition_required',
      ]);
      expect(answer.json['Message']).to.equal('If-Match is required');
      expect(await management.store.head()).to.equal(head);
      const dry = await management.call(method, `${path}${path.includes('?') ? '&' : '?'}dryRun=true`, body, headers);
      expect(dry.status, dry.text).to.equal(200);
    });
  }

  it('takes a write with it, and one that makes something', async () => {
    const etag = (await management.call('GET', '/api/policies/gold')).headers.get('etag') ?? '';
    const tagged = { ...json, 'if-match': etag };
    expect((await management.call('PATCH', '/api/policies/gold', '{"rate":7}', tagged)).status).to.equal(200);
    expect((await management.call('POST', '/api/policies', '{"name":"New"}', json)).status).to.equal(200);
    expect(
      (await management.call('POST', streams, apiDocument({ info: { id: 'n' }, ...listenAt('/n/') }))).status,
    ).to.equal(200);
  });

  it('asks for it when a token is narrowed or revoked', async () => {
    const at = `/api/tokens/${token}`;
    expect((await management.call('PUT', at, '{"name":"y"}', json)).status).to.equal(428);
    expect((await management.call('DELETE', at)).status).to.equal(428);
  });

  it('still says first that there is nothing', async () =>
    expect((await management.call('DELETE', '/api/policies/nothing')).status).to.equal(404));

  // What the reference names as exceptions: the tag of the path is not that of what they change.
  it('asks for none in a restore, nor for that of a base in which a version is entered', async () => {
    const at = String(Number(await management.store.head()));
    const query = 'base_api_id=other&new_version_name=v2&base_api_version_name=v1';
    const version = apiDocument({ info: { id: 'other-v2' }, ...listenAt('/other-v2/') });
    const entered = await management.call('POST', `${streams}?${query}`, version);
    expect(entered.status, entered.text).to.equal(200);
    const restored = await management.call('POST', '/api/config/restore', JSON.stringify({ at }), json);
    expect(restored.status, restored.text).to.equal(200);
    const changed = (restored.json['changed'] as readonly JsonObject[]).map(({ id, change }) => `${change} ${id}`);
    expect(changed).to.have.members(['changed other', 'deleted other-v2']);
  });
});

describe('a write that is out of date', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement({ isInstalled: true });
  });
  after(() => management[Symbol.asyncDispose]());

  const rows: readonly [name: string, path: string, made: JsonObject, broken: JsonObject][] = [
    ['a key', '/api/keys', { alias: 'a' }, { apply_policies: ['nothing'] }],
    ['a policy', '/api/policies', { id: 'gold', name: 'a' }, { name: 'b', access_rights: { nothing: {} } }],
    ['a webhook', '/api/webhooks', { id: 'in', url: 'https://a.example/' }, { url: 'https://a.example/', headers: [] }],
    ['a token', '/api/tokens', { name: 'a' }, { name: 'b', scopes: ['apis:write'] }],
    ['an organisation', '/api/organisations', { id: acme, name: 'a' }, { rate: 5 }],
  ];
  for (const [name, path, body, broken] of rows) {
    it(`of ${name} is told so before anything that is wrong with it`, async () => {
      const made = await management.call('POST', path, JSON.stringify(body), json);
      const id = made.json['key_hash'] ?? made.json['ID'] ?? made.json['id'];
      const put = (of: JsonObject, headers = {}) =>
        management.call('PUT', `${path}/${id}`, JSON.stringify(of), { ...json, ...headers });
      const { headers } = made;
      const wrong = name === 'a webhook' ? { ...broken, url: 'https://b.example/', secret: '***' } : broken;
      expect((await put(wrong, { 'if-match': headers.get('etag') ?? '' })).status).to.be.within(400, 403);
      const { key_hash: _, id: __, ...rest } = body;
      expect((await put({ ...rest, ...(path === '/api/keys' ? { alias: 'b' } : { name: 'b' }) })).status).to.equal(200);
      const late = await put(wrong, { 'if-match': headers.get('etag') ?? '' });
      expect([late.status, late.headers.get('x-svc-error-code')], late.text).to.deep.equal([
        412,
        'precondition_failed',
      ]);
    });
  }
});

describe('a create with If-None-Match', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement({ isInstalled: true });
  });
  after(() => management[Symbol.asyncDispose]());

  const rows: readonly [name: string, path: string, body: JsonObject][] = [
    ['a key', '/api/keys', { key: 'a-key-of-my-own-1', alias: 'a' }],
    ['a policy', '/api/policies', { id: 'silver', name: 'a' }],
    ['a webhook', '/api/webhooks', { id: 'out', url: 'https://a.example/' }],
    ['an organisation', '/api/organisations', { id: acme, name: 'a' }],
  ];
  for (const [name, path, body] of rows) {
    it(`of ${name} makes it once, and then says that and as what it is there`, async () => {
      const post = (headers = {}) =>
        management.call('POST', path, JSON.stringify(body), { ...json, 'if-none-match': '*', ...headers });
      const made = await post();
      expect(made.status, made.text).to.equal(200);
      const again = await post();
      expect([again.status, again.headers.get('x-svc-error-code')]).to.deep.equal([412, 'precondition_failed']);
      expect(again.headers.get('etag')).to.equal(made.headers.get('etag'));
      expect((await post({ 'if-none-match': '"77"' })).status).to.equal(409);
    });
  }
});

describe('an organisation with strict keys', () => {
  it('refuses what is a warning elsewhere', async () => {
    await using management = await startTestManagement();
    const document = apiDocument({ info: { id: 'odd' }, ...listenAt('/odd/'), global: { corss: { enabled: true } } });
    const dryRun = `${streams}?dryRun=true`;
    expect((await management.call('POST', dryRun, document)).status).to.equal(200);
    const body = JSON.stringify({ id: orgId, name: 'home', settings: { strictKeys: true } });
    await management.call('POST', '/api/organisations', body, json);
    const answer = await management.call('POST', dryRun, document);
    expect(answer.status).to.equal(400);
    expect(answer.text).to.contain('corss');
  });
});
