/** A restore of the configuration over the management API: what it changes, shows, keeps and refuses. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { shortPosition } from '../../domain/event-store.ts';
import { decodeEvent } from '../../domain/events.ts';
import { orgStream } from '../../domain/ids.ts';
import { configurationOf, listOf } from '../support/configuration.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { gatewayReport } from '../support/gateway-report.ts';
import { apiCreated, apiDeleted } from '../support/given.ts';
import { json, listenAt, named, streams } from '../support/management-refusals.ts';
import { orgId, startTestManagement, streamsType, type TestManagement } from '../support/management-server.ts';
import { selfSigned } from '../support/test-ca.ts';
import { block } from '../support/versioned-management.ts';

describe('a restore', () => {
  let management: TestManagement;
  beforeEach(async () => {
    management = await startTestManagement();
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const configuration = configurationOf(() => management);
  const { append, call, create, move, remove, restore, upload, write, listenPathOf, certificates } = configuration;

  it('brings everything back with new events, says so in the log, and does nothing the second time', async () => {
    await create('orders');
    const at = await create('gone');
    await move('orders', '/moved/');
    await remove('gone');
    await create('new');
    const head = await management.store.head();
    const answer = await restore({ at, comment: 'the deployment of noon' });
    expect(answer.status, answer.text).to.equal(200);
    expect(
      listOf(answer, 'changed').map(({ id, change, toRevision }) => [id, change, toRevision]),
    ).to.have.deep.members([
      ['orders', 'changed', 1],
      ['gone', 'created', 1],
      ['new', 'deleted', null],
    ]);
    expect(await listenPathOf('orders')).to.equal('/orders');
    expect(await listenPathOf('gone')).to.equal('/gone');
    expect((await call('GET', '/api/apis/new')).status).to.equal(404);
    const { events } = await management.store.readAll({ after: head, limit: 100 });
    expect(new Set(events.map(({ meta }) => meta['commandId'])).size).to.equal(1);
    const closing = decodeEvent(events.at(-1)!);
    expect(closing.stream).to.equal(orgStream(orgId));
    expect(closing.event).to.include({ type: 'ConfigRestored', comment: 'the deployment of noon' });
    expect(closing.event).to.have.property('changed').with.length(3);
    expect(answer.headers.get('x-svc-revision')).to.equal(shortPosition(closing.position));

    const again = await restore({ at });
    expect(again.json).to.deep.include({ changed: [], kept: [], conflicts: [] });
    expect(again.headers.get('x-svc-unchanged')).to.equal('true');
    expect(await management.store.head()).to.equal(closing.position);
    const [told] = listOf(await call('GET', '/api/audit?type=ConfigRestored'), 'events');
    expect(told).to.include({ comment: 'the deployment of noon' });
    expect(told).to.have.nested.property('summary[0]', `configuration restored to position ${at}`);
  });

  it('gives routes back, also when two APIs changed places', async () => {
    await create('a');
    const at = await create('b');
    await move('a', '/c/');
    await move('b', '/a/');
    await move('a', '/b/');
    expect((await restore({ at })).status).to.equal(200);
    expect([await listenPathOf('a'), await listenPathOf('b')]).to.deep.equal(['/a', '/b']);
    const taken = await call('POST', streams, named('thief', listenAt('/a/')));
    expect([taken.status, taken.json['Message']]).to.deep.equal([
      409,
      'Found API with same url. Listen path "/a" belongs to API a (a).',
    ]);
    expect((await call('POST', streams, named('other', listenAt('/c/')))).status).to.equal(200);
  });

  it('shows what it would do, and does nothing, in a dry run', async () => {
    const at = await create('orders');
    await move('orders', '/moved/');
    await call('POST', '/api/gateways/node-1/reports', gatewayReport(), json);
    await eventually(async () => listOf(await call('GET', '/api/gateways'), 'gateways').length === 1);
    const head = await management.store.head();
    const dry = await restore({ at }, '?dryRun=true');
    expect(dry.headers.get('x-svc-dry-run')).to.equal('true');
    const [changed] = listOf(dry, 'changed');
    expect(changed).to.have.nested.property('diff[0].value', '/orders/');
    expect(changed).to.have.nested.property('summary.routes[0]', 'listen path changed to "/orders/"');
    expect(dry.json['affects']).to.deep.equal({
      routes: [{ was: '/moved', becomes: '/orders', owner: 'orders' }],
      apis: ['orders'],
      certificates: [],
      gateways: [{ node: 'node-1' }],
    });
    expect(await management.store.head()).to.equal(head);
  });

  it('keeps what was made later when asked to', async () => {
    await create('orders');
    const at = await move('orders', '/first/');
    await create('new');
    await move('orders', '/second/');
    const answer = await restore({ at, keepNew: true });
    expect(listOf(answer, 'kept').map(({ id }) => id)).to.deep.equal(['new']);
    expect(await listenPathOf('orders')).to.equal('/first');
    expect(await listenPathOf('new')).to.equal('/new');
  });

  it('is refused as a whole while a kept API has a route that is needed', async () => {
    const at = await create('orders');
    await move('orders', '/moved/');
    await create('new', listenAt('/orders/'));
    const head = await management.store.head();
    const answer = await restore({ at, keepNew: true });
    expect([answer.status, answer.json['code']]).to.deep.equal([409, 'restore_conflicts']);
    expect(answer.json).to.have.nested.property('conflicts[0].id', 'orders');
    expect(answer.json['detail']).to.contain('belongs to API new (new)');
    expect(listOf(await restore({ at, keepNew: true }, '?dryRun=true'), 'conflicts')).to.have.length(1);
    expect(await management.store.head()).to.equal(head);
  });

  it('is refused as a whole while a kept API has the version of one that comes back', async () => {
    const listing = { info: { versioning: block({ versions: [{ id: 'child', name: 'v2' }] }) } };
    await create('child');
    const at = await create('one', listing);
    await write('PUT', `${streams}/one`, named('one'));
    await create('two', listing);
    const answer = await restore({ at, keepNew: true });
    expect([answer.status, answer.json['code']]).to.deep.equal([422, 'restore_refused']);
    expect(answer.json['detail']).to.contain('this API is a version of two already');
    expect((await restore({ at })).status).to.equal(200);
  });

  it('touches only the kinds that are named', async () => {
    const at = await create('orders');
    await move('orders', '/moved/');
    await upload(selfSigned('later.example'));
    expect((await restore({ at, kinds: ['api'] })).status).to.equal(200);
    expect(await certificates()).to.have.length(1);
    expect((await restore({ at, kinds: ['cert'] })).status).to.equal(200);
    expect(await certificates()).to.have.length(0);
  });

  it('makes an activity of then the activity of now', async () => {
    const at = await create('orders', { info: { state: { active: false, internal: false } } });
    await write('PUT', `${streams}/orders`, named('orders', { info: { state: { active: true, internal: false } } }));
    await restore({ at });
    expect((await call('GET', '/api/apis/orders')).json).to.have.nested.property(
      'x-svc-api-gateway.info.state.active',
      false,
    );
    const types = listOf(await call('GET', '/api/apis/orders/revisions'), 'revisions').map(({ type }) => type);
    expect(types.slice(0, 2)).to.deep.equal(['ApiDeactivated', 'ApiDefinitionRolledBack']);
  });

  it('says that a key is switched off by it, as a write that does so', async () => {
    const made = await call('POST', '/api/keys', { alias: 'till', is_inactive: true }, json);
    const hash = String(made.json['key_hash']);
    await write('PATCH', `/api/keys/${hash}`, { is_inactive: false }, json);
    const answer = await restore({ at: made.headers.get('x-svc-revision') ?? '', kinds: ['key'] });
    expect(answer.status, answer.text).to.equal(200);
    const events = listOf(await call('GET', `/api/audit?aggregate=key-${hash}`), 'events');
    expect(events.map(({ type }) => type)).to.deep.equal(['KeyDisabled', 'KeyUpdated', 'KeyCreated']);
  });

  it('answers a repeat with the same key from the record', async () => {
    const at = await create('orders');
    await move('orders', '/moved/');
    const key = { 'idempotency-key': 'restore-1' };
    const first = await restore({ at }, '', key);
    const second = await restore({ at }, '', key);
    expect(second.headers.get('idempotency-replayed')).to.equal('true');
    expect(second.json).to.deep.equal(first.json);
  });

  it('refuses what does not read', async () => {
    const cases: readonly (readonly [JsonObject, string, RegExp, pointer?: string])[] = [
      [{}, 'body_malformed', /at must be/, '/at'],
      [{ at: 'yesterday' }, 'at_invalid', /RFC 3339/],
      [{ at: '99999' }, 'at_invalid', /future/],
      [{ at: 0, kinds: ['apis'] }, 'body_malformed', /no kind "apis", known are cert, api/, '/kinds/0'],
      [{ at: 0, kinds: [] }, 'body_malformed', /kinds/, '/kinds'],
      [{ at: 0, keepNew: 'yes' }, 'body_malformed', /keepNew/, '/keepNew'],
      [{ at: 0, comment: 1 }, 'body_malformed', /comment/, '/comment'],
      [{ at: 0, dryRun: true }, 'body_malformed', /no member "dryRun"/, '/dryRun'],
      [{ at: 0, kind: ['api'] }, 'body_malformed', /no member "kind", did you mean "kinds"/, '/kind'],
    ];
    for (const [body, code, text, pointer] of cases) {
      const answer = await restore(body);
      expect([answer.status, answer.json['code']]).to.deep.equal([400, code]);
      expect(answer.json['detail']).to.match(text);
      if (pointer !== undefined) expect(listOf(answer, 'errors')[0]?.['pointer']).to.equal(pointer);
    }
  });

  it('is refused when a document of then breaks the rules of today, with the reasons and nothing applied', async () => {
    await create('orders');
    const document = apiDocument({ info: { id: 'old' }, server: { listenPath: { value: 'no slash', strip: 7 } } });
    const at = await append(apiCreated({ id: 'old', document, orgId }));
    await append({ ...apiDeleted('old'), orgId });
    const before = await move('orders', '/moved/');
    const answer = await restore({ at });
    expect([answer.status, answer.json['code']]).to.deep.equal([422, 'restore_refused']);
    expect(answer.json)
      .to.have.nested.property('errors[0].pointer')
      .that.matches(/^\/api\/old\/x-svc-api-gateway\//);
    expect(await configuration.head()).to.equal(before);
    expect(listOf(await restore({ at }, '?dryRun=true'), 'refused').map(({ id }) => id)).to.deep.equal(['old']);
  });

  it('is refused as a whole while another organisation has the id of what comes back', async () => {
    const acme = { ...json, 'x-svc-org': 'ac'.repeat(12) };
    await write('POST', '/api/organisations', JSON.stringify({ id: 'ac'.repeat(12), name: 'Acme' }), json);
    await create('orders');
    await write('POST', '/api/policies', JSON.stringify({ id: 'gold', name: 'Gold' }), json);
    const at = await create('other');
    await remove('orders');
    await write('DELETE', '/api/policies/gold');
    await move('other', '/moved/');
    await write('POST', streams, named('orders', listenAt('/theirs/')), { ...acme, 'content-type': streamsType });
    const head = await write('POST', '/api/policies', JSON.stringify({ id: 'gold', name: 'Theirs' }), acme);

    const message = 'the id belongs to another organisation now';
    const conflicts = [
      { kind: 'api', id: 'orders', route: null, message },
      { kind: 'policy', id: 'gold', route: null, message },
    ];
    const shown = await restore({ at }, '?dryRun=true');
    expect([shown.status, shown.json['conflicts']]).to.deep.equal([200, conflicts]);
    const refused = await restore({ at });
    expect([refused.status, refused.json['code'], refused.json['conflicts']]).to.deep.equal([
      ...[409, 'restore_conflicts', conflicts],
    ]);
    expect(refused.json['detail']).to.include(`orders: ${message}`);
    expect(await configuration.head()).to.equal(head);

    const known = listOf(await call('GET', `/api/apis?at=${at}`), 'apis').map(({ id }) => id);
    expect(known).to.have.members(['orders', 'other']);
    expect((await restore({ at }, '', { 'x-svc-org': 'ac'.repeat(12) })).json['conflicts']).to.deep.equal([]);
  });
});
