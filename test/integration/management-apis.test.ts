/** Definitions over the management API: what clients send and get, and what stands in the log afterwards. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { decodeEvent } from '../../domain/events.ts';
import { apiDocument, openApi } from '../support/documents.ts';
import { named } from '../support/management-refusals.ts';
import { type Answer, startTestManagement, streamsType, type TestManagement } from '../support/management-server.ts';

describe('the management API of definitions', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  const call: TestManagement['call'] = (...args) => management.call(...args);
  const create = async (id: string, members?: Parameters<typeof apiDocument>[0]): Promise<Answer> => {
    const answer = await call('POST', '/api/apis/streams', named(id, members));
    expect(answer.status, answer.text).to.equal(200);
    return answer;
  };
  const eventsOf = async (stream: string) =>
    (await management.store.readStream(stream, { limit: 100 })).map((stored) => decodeEvent(stored));

  describe('POST', () => {
    it('creates an API and says its id, storage id, place and revision', async () => {
      const answer = await create('first');
      expect(answer.json).to.deep.include({ ID: 'first', Message: 'API created', Status: 'OK' });
      expect(answer.json['Meta']).to.match(/^[0-9a-f]{24}$/);
      expect(answer.headers.get('location')).to.equal('/api/apis/streams/first');
      expect(answer.headers.get('etag')).to.equal('"1"');
      expect(answer.headers.get('x-svc-revision')).to.match(/^[1-9]\d*$/);
    });

    it('makes an id when the body has none', async () => {
      const answer = await call(
        'POST',
        '/api/apis/streams',
        apiDocument({ server: { listenPath: { value: '/made/' } } }),
      );
      expect(answer.json['ID']).to.match(/^[0-9a-f]{32}$/);
    });

    it('keeps who, why and which request in the event', async () => {
      await call('POST', '/api/apis/streams', named('why'), {
        'x-svc-comment': 'a reason',
        'x-request-id': 'request-1',
      });
      const [created] = await eventsOf('api-why');
      expect(created?.meta).to.include({
        actorType: 'token',
        actorId: 'bootstrap',
        comment: 'a reason',
        requestId: 'request-1',
        commandType: 'CreateApi',
      });
      expect(created?.event)
        .to.have.property('docSha256')
        .that.matches(/^[0-9a-f]{64}$/);
    });

    it('creates OAS APIs of JSON', async () => {
      const json = { 'content-type': 'application/json' };
      const answer = await call('POST', '/api/apis/oas', named('plain'), json);
      expect(answer.status, answer.text).to.equal(200);
      expect((await call('GET', '/api/apis/oas/plain')).headers.get('content-type')).to.match(/^application\/json/);
      expect((await call('GET', '/api/apis/plain')).headers.get('x-svc-api-kind')).to.equal('oas');
      expect(
        (await call('PATCH', '/api/apis/oas/plain?upstreamURL=http://u.example/', openApi(), json)).json,
      ).to.deep.equal({
        Message: 'API updated',
        Meta: null,
        Status: 'OK',
      });
    });
  });

  describe('GET', () => {
    it('answers the document with its ETag, and 304 to who has it', async () => {
      await create('read');
      const answer = await call('GET', '/api/apis/streams/read');
      expect(answer.headers.get('content-type')).to.contain(streamsType);
      expect(answer.headers.get('cache-control')).to.equal('private, no-cache');
      expect(answer.json).to.have.nested.property('x-svc-api-gateway.info.id', 'read');
      const again = await call('GET', '/api/apis/streams/read', undefined, { 'if-none-match': '"1"' });
      expect(again.status).to.equal(304);
    });

    it('answers plain JSON to who asks for it, and 406 to who wants neither', async () => {
      await create('typed');
      const json = await call('GET', '/api/apis/streams/typed', undefined, { accept: 'application/json' });
      expect(json.headers.get('content-type')).to.match(/^application\/json/);
      const none = await call('GET', '/api/apis/streams/typed', undefined, { accept: 'text/html' });
      expect(none.status).to.equal(406);
    });

    it('answers the past at a position and at a time', async () => {
      const first = await create('past');
      const between = new Date().toISOString();
      await new Promise((resolve) => setTimeout(resolve, 2));
      await call('PATCH', '/api/apis/streams/past?listenPath=/later/', openApi());
      for (const at of [first.headers.get('x-svc-revision'), between]) {
        const past = await call('GET', `/api/apis/streams/past?at=${at}`);
        expect(past.json).to.have.nested.property('x-svc-api-gateway.server.listenPath.value', '/past/');
        expect(past.headers.get('etag')).to.equal('"1"');
      }
      expect((await call('GET', '/api/apis/past?at=1')).status).to.equal(404);
      expect((await call('GET', '/api/apis/past?at=2999-01-01T00:00:00Z')).status).to.equal(400);
    });

    it('waits for a revision, and answers 503 when it does not come', async () => {
      const { headers } = await create('waited');
      const revision = headers.get('x-svc-revision');
      expect((await call('GET', `/api/apis/waited?minRevision=${revision}`)).status).to.equal(200);
      const late = await call('GET', '/api/apis/waited?minRevision=99999999');
      expect([late.status, late.headers.get('retry-after')]).to.deep.equal([503, '1']);
    });
  });

  describe('PATCH', () => {
    it('answers the documented body, and raises ETag and revision', async () => {
      await create('patched');
      const answer = await call('PATCH', '/api/apis/streams/patched?listenPath=/patched2/', openApi());
      expect(answer.text).to.equal('{"Message":"API updated","Meta":null,"Status":"OK"}');
      expect(answer.headers.get('etag')).to.equal('"2"');
    });

    it('stores no event when nothing changes', async () => {
      await create('same');
      const { json: document } = await call('GET', '/api/apis/streams/same');
      const before = await management.store.head();
      const answer = await call('PATCH', '/api/apis/streams/same', document);
      expect([answer.status, answer.headers.get('etag')]).to.deep.equal([200, '"1"']);
      expect(await management.store.head()).to.equal(before);
    });

    it('puts intent, digests and difference into the event', async () => {
      await create('derived');
      await call('PATCH', '/api/apis/streams/derived?listenPath=/derived2/', openApi());
      const [created, , patched] = (await eventsOf('api-derived')).map(({ event }) => event as unknown as JsonObject);
      expect(patched).to.include({ type: 'ApiDefinitionPatched', prevSha256: created?.['docSha256'] });
      expect(patched).to.have.nested.property('intent.settings.listenPath', '/derived2/');
      expect(patched?.['diff']).to.deep.include({
        op: 'replace',
        path: '/x-svc-api-gateway/server/listenPath/value',
        value: '/derived2/',
      });
    });

    it('loses none of fifty at once', async () => {
      await create('busy');
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          call('PATCH', '/api/apis/streams/busy', named('busy', { info: { name: `busy ${index}` } })),
        ),
      );
      expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([200]));
      const patches = (await eventsOf('api-busy')).filter(({ event }) => event.type === 'ApiDefinitionPatched');
      expect(patches).to.have.length(50);
      const etags = answers.map(({ headers }) => headers.get('etag'));
      expect(new Set(etags).size).to.equal(50);
    });

    it('lets one of two writers with the same ETag through, and shows the other what changed', async () => {
      await create('raced');
      const headers = { 'if-match': '"1"', accept: 'application/problem+json' };
      const answers = await Promise.all(
        ['/a/', '/b/'].map((path) =>
          call('PATCH', `/api/apis/streams/raced?listenPath=/raced${path}`, openApi(), headers),
        ),
      );
      expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 412]);
      const refused = answers.find(({ status }) => status === 412);
      expect(refused?.headers.get('etag')).to.equal('"2"');
      expect(refused?.json['diff']).to.be.an('array').that.is.not.empty;
    });
  });

  describe('PUT and DELETE', () => {
    it('replaces the whole document, and names parameters without effect', async () => {
      await create('put');
      const document = named('put', { info: { name: 'new' } });
      const answer = await call('PUT', '/api/apis/streams/put?listenPath=/x/', document);
      expect(answer.json).to.deep.equal({ Message: 'API updated.', Meta: null, Status: 'OK' });
      expect(answer.headers.get('x-svc-warnings')).to.equal('1');
      const { json } = await call('GET', '/api/apis/streams/put');
      expect(json).to.have.nested.property('x-svc-api-gateway.info.name', 'new');
      expect(json).to.have.nested.property('x-svc-api-gateway.server.listenPath.value', '/put/');
    });

    it('deletes, frees the path at once, and lets the id come back with later revisions', async () => {
      await create('gone');
      expect((await call('DELETE', '/api/apis/gone')).json['Message']).to.equal('API deleted.');
      expect((await call('GET', '/api/apis/streams/gone')).status).to.equal(404);
      await create('heir', { server: { listenPath: { value: '/gone/', strip: true } } });
      const again = await create('gone', { server: { listenPath: { value: '/gone2/', strip: true } } });
      expect(again.headers.get('etag')).to.equal('"4"');
    });
  });

  it('gives a path to one of many that ask for it at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        call('POST', '/api/apis/streams', named(`rival-${index}`, { server: { listenPath: { value: '/prize/' } } })),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, ...Array(7).fill(409)]);
  });

  describe('a dry run', () => {
    it('shows document, difference, routes and the ETag to send, and stores nothing', async () => {
      await create('dry');
      const before = await management.store.head();
      const answer = await call('PATCH', '/api/apis/streams/dry?dryRun=true&listenPath=/wet/', openApi());
      expect([answer.status, answer.headers.get('x-svc-dry-run')]).to.deep.equal([200, 'true']);
      expect(answer.json['Message']).to.equal('API updated');
      const meta = answer.json['Meta'] as JsonObject;
      expect(meta).to.deep.include({
        etag: '"1"',
        affects: {
          ...{ routes: [{ was: '/dry', becomes: '/wet', owner: 'dry' }], apis: ['dry'] },
          ...{ certificates: [], plugins: [], keys: 0, gateways: [] },
        },
      });
      expect(meta['diff']).to.be.an('array').that.is.not.empty;
      expect(await management.store.head()).to.equal(before);
    });

    it('gives the error that the real call would give', async () => {
      await create('taken');
      const answer = await call(
        'POST',
        '/api/apis/streams?dryRun=1',
        named('new', { server: { listenPath: { value: '/taken' } } }),
      );
      expect(answer.status).to.equal(409);
    });

    it('is what a write shows that wants its representation', async () => {
      await create('shown');
      const answer = await call('PATCH', '/api/apis/streams/shown', named('shown', { info: { name: 'x' } }), {
        prefer: 'return=representation',
      });
      expect(answer.json).to.have.nested.property('Meta.document.x-svc-api-gateway.info.name', 'x');
      expect(answer.json).to.have.nested.property('Meta.etag', '"2"');
    });
  });

  describe('an Idempotency-Key', () => {
    const key = (text: string) => ({ 'idempotency-key': text });

    it('gets the stored answer again', async () => {
      const first = await call('POST', '/api/apis/streams', named('once'), key('k1'));
      const head = await management.store.head();
      const again = await call('POST', '/api/apis/streams', named('once'), key('k1'));
      expect(again.text).to.equal(first.text);
      expect(again.status).to.equal(200);
      expect(again.headers.get('idempotency-replayed')).to.equal('true');
      for (const name of ['etag', 'x-svc-revision', 'location']) {
        expect(again.headers.get(name), name).to.equal(first.headers.get(name));
      }
      expect(await management.store.head()).to.equal(head);
    });

    it('is refused with another body', async () => {
      await call('POST', '/api/apis/streams', named('body1'), key('k2'));
      const other = await call('POST', '/api/apis/streams', named('body2'), key('k2'));
      expect([other.status, other.headers.get('x-svc-error-code')]).to.deep.equal([422, 'idempotency_key_reused']);
    });

    it('is remembered for a change that changed nothing', async () => {
      await create('still');
      const { json: document } = await call('GET', '/api/apis/streams/still');
      await call('PATCH', '/api/apis/streams/still', document, key('k3'));
      const again = await call('PATCH', '/api/apis/streams/still', document, key('k3'));
      expect(again.headers.get('idempotency-replayed')).to.equal('true');
    });

    it('lets a refused request be mended and sent again', async () => {
      const broken = await call(
        'POST',
        '/api/apis/streams',
        named('mended', { server: { listenPath: {} } }),
        key('k4'),
      );
      expect(broken.status).to.equal(400);
      expect((await call('POST', '/api/apis/streams', named('mended'), key('k4'))).status).to.equal(200);
    });
  });
});
