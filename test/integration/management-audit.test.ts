/** The audit over HTTP: one event with its difference for every kind of object, the filters, the table, and nothing of others. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { toOrgId } from '../../domain/ids.ts';
import { tokenSha256 } from '../../src/management/authenticate.ts';
import { openApi } from '../support/documents.ts';
import { json, named, pem, startWithTwoApis } from '../support/management-refusals.ts';
import { type Answer, bearer, type TestManagement } from '../support/management-server.ts';
import { issue } from '../support/management-tokens.ts';
import { selfSigned } from '../support/test-ca.ts';

const stranger = 'svct_stranger_0123456789abcdef0123456789abc';
const elsewhere = {
  actor: { type: 'token', id: 'stranger' },
  orgId: toOrgId('b'.repeat(24)),
  scopes: 'all',
  sha256: tokenSha256(stranger),
} as const;

describe('the audit over HTTP', () => {
  let management: TestManagement;
  before(async () => {
    management = await startWithTwoApis({ isInstalled: true, credentials: [elsewhere] });
  });
  after(() => management[Symbol.asyncDispose]());

  const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> =>
    management.call(method, path, body && JSON.stringify(body), { ...json, ...headers });
  const eventsOf = async (query: string): Promise<readonly JsonObject[]> => {
    const answer = await ask('GET', `/api/audit?${query}`);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json['events'] as readonly JsonObject[];
  };
  const newest = async (aggregate: string): Promise<JsonObject> => {
    const [entry] = await eventsOf(`aggregate=${aggregate}&limit=1`);
    return (await ask('GET', `/api/audit/${entry?.['position']}`)).json;
  };

  it('shows what a PATCH of an API changed, in words by feature too', async () => {
    await management.call('PATCH', '/api/apis/streams/known?listenPath=/moved/', openApi(), { 'x-svc-comment': 'why' });
    const event = await newest('api-known');
    expect(event).to.include({ type: 'ApiDefinitionPatched', comment: 'why', authMethod: 'token' });
    expect(event['diff']).to.deep.include({
      ...{ op: 'replace', path: '/x-svc-api-gateway/server/listenPath/value', value: '/moved/' },
    });
    expect(event).to.have.nested.property('groups.routes[0]').that.contains('/moved/');
    expect(event['data']).to.include.keys('intent', 'docSha256').and.not.have.any.keys('document', 'diff');
    expect(event['actor']).to.deep.equal({ type: 'token', id: 'bootstrap', name: 'bootstrap' });
  });

  it('shows a creation as what came and a deletion as what went', async () => {
    await management.call('POST', '/api/apis/streams', named('brief'));
    const [created] = await eventsOf('aggregate=api-brief&type=ApiDefinitionCreated');
    const opened = (await ask('GET', `/api/audit/${created?.['position']}`)).json;
    const ops = (event: JsonObject) => (event['diff'] as readonly JsonObject[]).map(({ op, path }) => `${op} ${path}`);
    expect(ops(opened)).to.include('add /openapi');
    await ask('DELETE', '/api/apis/brief');
    expect(ops(await newest('api-brief'))).to.include('remove /openapi');
  });

  it('shows policies, keys and tokens, and no hash of a token', async () => {
    await ask('POST', '/api/policies', { id: 'gold', name: 'Gold', rate: 1, per: 1 });
    await ask('PATCH', '/api/policies/gold', { rate: 2 });
    expect((await newest('policy-gold'))['diff']).to.deep.equal([{ op: 'replace', path: '/rate', value: 2 }]);
    const { json: key } = await ask('POST', '/api/keys', { alias: 'a' });
    expect((await newest(`key-${key['key_hash']}`))['diff']).to.deep.include({ op: 'add', path: '/alias', value: 'a' });
    const { id } = await issue(management, { scopes: ['apis:read'] });
    await ask('PUT', `/api/tokens/${id}`, { name: 'renamed' });
    expect((await newest(`token-${id}`))['diff']).to.deep.equal([{ op: 'replace', path: '/name', value: 'renamed' }]);
    const [issued] = await eventsOf(`aggregate=token-${id}&type=TokenIssued`);
    const shown = await ask('GET', `/api/audit/${issued?.['position']}`);
    expect(shown.json['data']).to.include({ tokenId: id }).and.not.have.any.keys('hash', 'salt');
  });

  it('masks the private key of a certificate and tells its key name', async () => {
    const { certificate, privateKey } = selfSigned('audited');
    const answer = await management.call('POST', '/api/certs', `${certificate}${privateKey}`, pem);
    expect(answer.status, answer.text).to.equal(200);
    const event = await newest(`cert-${answer.json['id']}`);
    const text = JSON.stringify(event);
    expect(text).to.not.contain('PRIVATE KEY').and.not.contain('"ct"');
    expect(event['diff']).to.satisfy((diff: readonly JsonObject[]) => diff.some(({ path }) => path === '/secret'));
  });

  it('filters by a part of the change message, page by page', async () => {
    for (const [rate, comment] of [
      [3, 'Ticket 41'],
      [4, 'ticket 42'],
      [5, 'other'],
    ] as const) {
      await ask('PATCH', '/api/policies/gold', { rate }, { 'x-svc-comment': comment });
    }
    expect((await eventsOf('comment=TICKET')).map(({ comment }) => comment)).to.deep.equal(['ticket 42', 'Ticket 41']);
    const first = await ask('GET', '/api/audit?comment=ticket&limit=1');
    expect(first.json['events']).to.have.length(1);
    const second = await eventsOf(`comment=ticket&limit=1&after=${first.json['next']}`);
    expect(second.map(({ comment }) => comment)).to.deep.equal(['Ticket 41']);
    expect(await eventsOf('comment=nothing-says-this')).to.deep.equal([]);
  });

  const filters: readonly [query: string, holds: (event: JsonObject) => boolean][] = [
    ['actor=bootstrap', ({ actor }) => (actor as JsonObject)['id'] === 'bootstrap'],
    ['aggregate=policy', ({ aggregate }) => (aggregate as JsonObject)['kind'] === 'policy'],
    ['aggregate=api-known&type=ApiDefinitionPatched', ({ type }) => type === 'ApiDefinitionPatched'],
    ['to=3', ({ position }) => Number(position) <= 3],
    ['from=3', ({ position }) => Number(position) >= 3],
  ];
  for (const [query, holds] of filters) {
    it(`filters by ${query}`, async () => {
      const found = await eventsOf(query);
      expect(found).to.not.be.empty;
      expect(found.every(holds), JSON.stringify(found)).to.equal(true);
      const all = await eventsOf('limit=500');
      if (!query.startsWith('actor')) expect(found.length).to.be.lessThan(all.length);
    });
  }

  it('gives a page as a table that no spreadsheet runs', async () => {
    await ask('PATCH', '/api/policies/gold', { rate: 6 }, { 'x-svc-comment': '=SUM(A1), "quoted"' });
    const answer = await ask('GET', '/api/audit?format=csv&aggregate=policy-gold&limit=1');
    expect(answer.headers.get('content-type')).to.match(/^text\/csv/);
    expect(answer.headers.get('link')).to.contain('rel="next"').and.contain('format=csv');
    const [titles, line, end] = answer.text.split('\r\n');
    expect(titles).to.match(/^position,at,type,kind,id,name,revision,/);
    expect(line).to.contain(',PolicyUpdated,policy,gold,Gold,').and.contain(`"'=SUM(A1), ""quoted"""`);
    expect(end).to.equal('');
  });

  it('has no event of others, none that never was, and no position that is none', async () => {
    const [entry] = await eventsOf('aggregate=policy-gold&limit=1');
    const answers = await Promise.all([
      ask('GET', `/api/audit/${entry?.['position']}`, undefined, bearer(stranger)),
      ask('GET', '/api/audit/999999'),
      ask('GET', '/api/audit/x'),
    ]);
    for (const { status, json: body } of answers) {
      expect([status, body['code']]).to.deep.equal([404, 'event_unknown']);
    }
    expect((await ask('GET', '/api/audit?format=xml')).status).to.equal(400);
  });

  it('names who made a revision', async () => {
    const { json: page } = await ask('GET', '/api/apis/known/revisions');
    expect(page).to.have.deep.nested.property('revisions[0].actor', {
      type: 'token',
      id: 'bootstrap',
      name: 'bootstrap',
    });
  });
});
