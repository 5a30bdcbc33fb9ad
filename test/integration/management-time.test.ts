/** The whole configuration at a time over the management API, and what differs between two times. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { forwardedStore, shortPosition } from '../../domain/event-store.ts';
import { configurationOf, listOf } from '../support/configuration.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';
import { selfSigned } from '../support/test-ca.ts';

describe('the configuration at a time', () => {
  let management: TestManagement;
  beforeEach(async () => {
    management = await startTestManagement();
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const { call, create, move, remove, upload } = configurationOf(() => management);

  describe('the whole of it', () => {
    it('is every object with its document, revision and digest, now and then', async () => {
      await upload(selfSigned('orders.example'));
      const before = await create('orders');
      await move('orders', '/moved/');
      await create('later');
      const now = await call('GET', '/api/config');
      expect(listOf(now, 'objects').map(({ kind, name }) => [kind, name])).to.deep.equal([
        ['cert', 'orders.example'],
        ['api', 'later'],
        ['api', 'orders'],
      ]);
      const then = await call('GET', `/api/config?at=${before}`);
      expect(then.json).to.include({ position: before, total: 2 });
      expect(then.json['time']).to.match(/^\d{4}-\d\d-\d\dT/);
      const [certificate, api] = listOf(then, 'objects');
      expect(api).to.include({ kind: 'api', id: 'orders', apiKind: 'streams', revision: 1 });
      expect(api).to.have.nested.property('document.x-svc-api-gateway.server.listenPath.value', '/orders/');
      expect(certificate).to.have.nested.property('document.secret.$secret').that.is.a('string');
      expect(then.text).not.to.contain('PRIVATE KEY').and.not.contain('"ct"');
      expect(then.json['sha256'])
        .to.match(/^[0-9a-f]{64}$/)
        .and.not.equal(now.json['sha256']);
    });

    it('has the same digest for the same state', async () => {
      const before = await create('orders');
      const digest = (await call('GET', `/api/config?at=${before}`)).json['sha256'];
      await move('orders', '/moved/');
      expect((await call('GET', '/api/config')).json['sha256']).not.to.equal(digest);
      await move('orders', '/orders/');
      expect((await call('GET', '/api/config')).json['sha256']).to.equal(digest);
    });

    it('is empty before the first event, and refused in the future', async () => {
      await create('orders');
      expect((await call('GET', '/api/config?at=0')).json).to.deep.include({ position: '0', total: 0, objects: [] });
      expect((await call('GET', '/api/config?at=1970-01-01T00:00:00Z')).json).to.include({ total: 0 });
      const future = await call('GET', '/api/config?at=2999-01-01T00:00:00Z');
      expect([future.status, future.json['code']]).to.deep.equal([400, 'at_invalid']);
    });

    it('is what gateways ran from, in their own form', async () => {
      const before = await create('orders');
      await move('orders', '/moved/');
      const { json: snapshot } = await call('GET', `/api/config?at=${before}&form=snapshot`);
      expect(snapshot).to.include({ format: 2, era: 0, logId: management.store.identity.logId });
      expect(snapshot['objects']).to.have.all.keys('api:orders');
      expect(snapshot).to.have.nested.property('objects.api:orders.revision', '1');
      expect(snapshot['revision']).to.equal(snapshot['position']);
    });
  });

  describe('the difference between two times', () => {
    it('names what was created, changed and deleted, in words too', async () => {
      await create('gone');
      const from = await create('orders');
      await move('orders', '/moved/');
      await remove('gone');
      const to = await create('new');
      const { json: found } = await call('GET', `/api/config/diff?from=${from}&to=${to}`);
      const objects = found['objects'] as readonly JsonObject[];
      expect(objects.map(({ id, change }) => [id, change])).to.have.deep.members([
        ['new', 'created'],
        ['orders', 'changed'],
        ['gone', 'deleted'],
      ]);
      expect(found['counts']).to.deep.equal({ created: 1, changed: 1, deleted: 1 });
      const changed = objects.find(({ id }) => id === 'orders');
      expect(changed).to.deep.include({ from: { revision: 1 }, to: { revision: 2 } });
      expect(changed).to.have.nested.property('diff[0].path', '/x-svc-api-gateway/server/listenPath/value');
      expect(found).to.have.nested.property('summary.routes[0]', 'api orders: listen path changed to "/moved/"');
      const back = await call('GET', `/api/config/diff?from=${to}&to=${from}`);
      expect(back.json['counts']).to.deep.equal({ created: 1, changed: 1, deleted: 1 });
      expect((await call('GET', `/api/config/diff?from=${to}&to=current`)).json['objects']).to.deep.equal([]);
    });

    it('is there for one API between revisions, positions, times and now', async () => {
      const first = await create('orders');
      await move('orders', '/moved/');
      const diff = async (query: string) => (await call('GET', `/api/apis/orders/diff?${query}`)).json;
      const expected = await diff('from=1&to=2');
      expect(expected).to.have.nested.property('summary.routes[0]', 'listen path changed to "/moved/"');
      expect(expected).to.have.nested.property('from.position', first);
      expect(await diff(`from=@${first}`)).to.deep.equal(expected);
      expect(await diff('from=1&to=current')).to.deep.equal(expected);
      expect((await call('GET', '/api/apis/orders/diff?from=9')).headers.get('x-svc-error-code')).to.equal(
        'revision_unknown',
      );
      for (const [path, name] of [
        ['/api/apis/orders/diff?from=noon', 'from'],
        ['/api/apis/orders/diff?from=1&to=noon', 'to'],
        ['/api/config/diff?from=1&to=2999-01-01T00:00:00Z', 'to'],
        ['/api/audit?from=noon', 'from'],
      ] as const) {
        const refused = await call('GET', path, undefined, { accept: 'application/problem+json' });
        expect(refused.json, path).to.have.nested.property('errors[0].pointer', `/query/${name}`);
        expect(refused.json['detail'], path).to.match(new RegExp(`^${name}: `));
      }
      expect((await call('GET', '/api/apis/orders/diff')).headers.get('x-svc-error-code')).to.equal('query_invalid');
      expect((await call('GET', '/api/apis/none/diff?from=current')).status).to.equal(404);
    });
  });

  describe('a rollback', () => {
    const json = { 'content-type': 'application/json' };
    const rollback = (revision: number, query = '') =>
      call('POST', `/api/apis/orders/rollback${query}`, { revision }, json);

    it('shows in a dry run what it would do, and does it once', async () => {
      await create('orders');
      const before = await move('orders', '/moved/');
      const dry = await rollback(1, '?dryRun=true');
      expect(dry.json).to.have.nested.property('Meta.diff[0].value', '/orders/');
      expect(dry.json).to.have.deep.nested.property('Meta.affects.routes', [
        { was: '/moved', becomes: '/orders', owner: 'orders' },
      ]);
      expect(shortPosition(await management.store.head())).to.equal(before);
      const done = await rollback(1);
      expect(done.json).to.have.nested.property('Meta.revision', 3);
      const head = await management.store.head();
      const again = await rollback(1);
      expect([again.status, again.headers.get('etag')]).to.deep.equal([200, done.headers.get('etag')]);
      expect(await management.store.head()).to.equal(head);
    });
  });

  it('has tags with the era in a log that was restored from a backup', async () => {
    await using later = await startTestManagement({
      wrap: (store) => ({ ...forwardedStore(store), identity: { ...store.identity, era: 2 } }),
    });
    const { create: createLater, move: moveLater, call: callLater } = configurationOf(() => later);
    const at = await createLater('orders');
    await moveLater('orders', '/moved/');
    const [then, now] = [
      await callLater('GET', `/api/apis/orders?at=${at}`),
      await callLater('GET', '/api/apis/orders'),
    ];
    expect([then.headers.get('etag'), now.headers.get('etag')]).to.deep.equal(['"2.1"', '"2.2"']);
    const write = (tag: string) => callLater('DELETE', '/api/apis/orders', undefined, { 'if-match': tag });
    expect((await write('"2"')).status).to.equal(412);
    expect((await write('"2.1"')).status).to.equal(412);
    expect((await write('"2.2"')).status).to.equal(200);
  });
});
