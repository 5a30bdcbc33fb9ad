/** History over the management API: revisions, rollback, audit, catalogue, gateways, health. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { EventStoreError, forwardedStore } from '../../domain/event-store.ts';
import { decodeEvent } from '../../domain/events.ts';
import { keyless, openApi } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { named } from '../support/management-refusals.ts';
import { type Answer, startTestManagement, type TestManagement } from '../support/management-server.ts';

const mergePatch = { 'content-type': 'application/merge-patch+json' };

describe('the management API of history', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  const call: TestManagement['call'] = (...args) => management.call(...args);
  const create = async (id: string, members?: Parameters<typeof named>[1]): Promise<Answer> => {
    const answer = await call('POST', '/api/apis/streams', named(id, members));
    expect(answer.status, answer.text).to.equal(200);
    return answer;
  };
  const eventsOf = async (stream: string) =>
    (await management.store.readStream(stream, { limit: 100 })).map((stored) => decodeEvent(stored));

  describe('the history of an API', () => {
    it('lists revisions newest first, with who and why', async () => {
      await create('told');
      await call('PATCH', '/api/apis/streams/told?listenPath=/told2/', openApi(), { 'x-svc-comment': 'wärum' });
      const { json } = await call('GET', '/api/apis/told/revisions');
      const revisions = json['revisions'] as readonly JsonObject[];
      expect(revisions.map(({ type }) => type)).to.deep.equal([
        'ApiDefinitionPatched',
        'ApiActivated',
        'ApiDefinitionCreated',
      ]);
      expect(revisions[0]).to.include({ comment: 'wärum' });
      expect(revisions[2]).to.deep.include({ revision: 0, actor: { type: 'token', id: 'bootstrap' } });
    });

    it('shows one revision with its document and difference', async () => {
      await create('one');
      await call('PATCH', '/api/apis/streams/one?listenPath=/one2/', openApi(), { 'x-svc-comment': 'moved' });
      const { json } = await call('GET', '/api/apis/one/revisions/2');
      expect(json).to.deep.include({ revision: 2, type: 'ApiDefinitionPatched', comment: 'moved' });
      expect(json).to.have.nested.property('document.x-svc-api-gateway.server.listenPath.value', '/one2/');
      expect(json['diff']).to.be.an('array').that.is.not.empty;
      expect((await call('GET', '/api/apis/one/revisions/1')).json).to.have.nested.property(
        'document.x-svc-api-gateway.server.listenPath.value',
        '/one/',
      );
      expect((await call('GET', '/api/apis/one/revisions/9')).status).to.equal(404);
    });

    it('shows one revision with everything that the list says of it, deleted or not', async () => {
      await create('whole');
      await call('PATCH', '/api/apis/streams/whole', { info: { title: 'W' } }, mergePatch);
      const off = { 'x-svc-api-gateway': { info: { state: { active: false, internal: true } } } };
      await call('PATCH', '/api/apis/streams/whole', off, mergePatch);
      await call('DELETE', '/api/apis/streams/whole');
      await create('whole');
      const listed = (await call('GET', '/api/apis/whole/revisions')).json['revisions'] as readonly JsonObject[];
      expect(listed.map(({ type }) => type)).to.include.members(['ApiDefinitionDeleted', 'ApiDeactivated']);
      for (const entry of listed) {
        const one = await call('GET', `/api/apis/whole/revisions/${entry['revision']}`);
        expect(one.json, one.text).to.deep.include(entry);
      }
    });

    it('is paged by a cursor and a Link', async () => {
      await create('paged');
      const first = await call('GET', '/api/apis/paged/revisions?limit=1');
      expect(first.headers.get('link')).to.match(/^<\/api\/apis\/paged\/revisions\?limit=1&after=\d+>; rel="next"$/);
      const second = await call('GET', `/api/apis/paged/revisions?limit=1&after=${first.json['next']}`);
      expect(second.json['revisions']).to.have.length(1);
      expect(second.json['next']).to.equal(null);
    });
  });

  describe('the document of a revision or a time', () => {
    const pathAt = async (query: string) => {
      const answer = await call('GET', `/api/apis/then/at?${query}`);
      expect(answer.status, answer.text).to.equal(200);
      return [answer.headers.get('etag'), (answer.json['x-svc-api-gateway'] as JsonObject)['server']];
    };

    it('is what the API was then', async () => {
      const created = await create('then');
      await call('PATCH', '/api/apis/streams/then?listenPath=/now/', openApi());
      const listen = (value: string) => ({ listenPath: { value, strip: true }, ...keyless });
      expect(await pathAt('revision=0')).to.deep.equal(['"0"', listen('/then/')]);
      expect(await pathAt('revision=2')).to.deep.equal(['"2"', listen('/now/')]);
      expect(await pathAt(`time=${created.headers.get('x-svc-revision')}`)).to.deep.equal(['"1"', listen('/then/')]);
      expect((await call('GET', '/api/apis/then/at?revision=0')).headers.get('x-svc-api-kind')).to.equal('streams');
    });

    const refusals: readonly [query: string, status: number, code: string][] = [
      ['', 400, 'query_invalid'],
      ['revision=0&time=1', 400, 'query_invalid'],
      ['revision=x', 400, 'query_invalid'],
      ['revision=99', 404, 'revision_unknown'],
      ['time=yesterday', 400, 'at_invalid'],
      ['time=0', 404, 'api_unknown'],
    ];
    for (const [query, status, code] of refusals) {
      it(`refuses "${query}" with ${code}`, async () => {
        const answer = await call('GET', `/api/apis/then/at?${query}`);
        expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([status, code]);
      });
    }
  });

  describe('a rollback', () => {
    const json = { 'content-type': 'application/json' };

    it('brings the state of a revision back as a new one', async () => {
      await create('back');
      await call('PATCH', '/api/apis/streams/back?listenPath=/forth/', openApi());
      const answer = await call('POST', '/api/apis/back/rollback', { revision: 1, comment: 'mistake' }, json);
      expect(answer.json['Message']).to.equal('API rolled back to revision 1');
      expect(answer.json).to.have.nested.property('Meta.revision', 3);
      const [, , , event] = await eventsOf('api-back');
      expect(event?.event).to.include({ type: 'ApiDefinitionRolledBack', toRevision: '1', reason: 'mistake' });
      expect((await call('GET', '/api/apis/back')).json).to.have.nested.property(
        'x-svc-api-gateway.server.listenPath.value',
        '/back/',
      );
    });

    it('is refused while another API has the path', async () => {
      await create('left');
      await call('PATCH', '/api/apis/streams/left?listenPath=/left2/', openApi());
      await create('right', { server: { listenPath: { value: '/left/', strip: true } } });
      const answer = await call('POST', '/api/apis/left/rollback', { revision: 0 }, json);
      expect(answer.status).to.equal(409);
      expect(answer.json['Message']).to.contain('belongs to API right (right)');
    });

    it('is refused to a revision that is not there', async () => {
      await create('short');
      expect((await call('POST', '/api/apis/short/rollback', { revision: 7 }, json)).status).to.equal(404);
    });
  });

  describe('the catalogue', () => {
    it('lists APIs by filters', async () => {
      await create('quiet', { info: { state: { active: false } } });
      const { json } = await call('GET', '/api/apis?q=quiet&active=false&sort=name');
      expect(json['apis']).to.have.length(1);
      expect((json['apis'] as readonly JsonObject[])[0]).to.include({
        id: 'quiet',
        kind: 'streams',
        listenPath: '/quiet',
      });
      expect(json).to.include({ next: null, total: 1 });
    });
  });

  describe('the audit', () => {
    const typesOf = ({ json }: Answer) => (json['events'] as readonly JsonObject[]).map(({ type }) => type);

    it('shows what every change touched, by actor, aggregate, type and request', async () => {
      await call('POST', '/api/apis/streams', named('audited'), { 'x-request-id': 'audit-1' });
      expect(typesOf(await call('GET', '/api/audit?requestId=audit-1'))).to.deep.equal([
        'ApiActivated',
        'ApiDefinitionCreated',
        'NameReserved',
      ]);
      expect(typesOf(await call('GET', '/api/audit?aggregate=api-audited&type=ApiActivated'))).to.deep.equal([
        'ApiActivated',
      ]);
      expect(typesOf(await call('GET', '/api/audit?actor=nobody'))).to.deep.equal([]);
    });

    it('shows a span between two positions or times', async () => {
      const start = await create('span');
      const to = start.headers.get('x-svc-revision');
      const from = new Date().toISOString();
      await new Promise((resolve) => setTimeout(resolve, 2));
      await call('DELETE', '/api/apis/span');
      expect(typesOf(await call('GET', `/api/audit?aggregate=api-span&to=${to}`))).to.deep.equal([
        'ApiActivated',
        'ApiDefinitionCreated',
      ]);
      expect(typesOf(await call('GET', `/api/audit?aggregate=api-span&from=${from}`))).to.include(
        'ApiDefinitionDeleted',
      );
      expect(typesOf(await call('GET', '/api/audit?to=1970-01-01T00:00:00Z'))).to.deep.equal([]);
    });
  });

  describe('health', () => {
    const open = async (path: string) => fetch(`${management.url}${path}`);

    it('is open to everyone', async () => {
      for (const path of ['/livez', '/readyz', '/healthz']) {
        const answer = await open(path);
        expect(answer.status, path).to.equal(200);
        expect(((await answer.json()) as JsonObject)['status'], path).to.equal('pass');
      }
    });

    it('does not wait for the history to be folded for the first time, which says so until then', async () => {
      const folded = new Set<string>();
      await using made = await startTestManagement({ mayFold: (name) => folded.has(name) });
      const ready = async () => {
        const answer = await fetch(`${made.url}/readyz`);
        return (await answer.json()) as JsonObject;
      };
      const unready = await ready();
      expect(unready).to.include({ status: 'fail' });
      expect(unready['output'])
        .to.match(/^catching up: apis, certs, gateway_config/)
        .and.not.match(/history/);
      for (const name of ['apis', 'certs', 'gateway_config', 'nodes', 'tokens']) folded.add(name);
      for (const name of ['keys', 'policies', 'organisations', 'webhooks']) folded.add(name);
      await eventually(async () => (await ready())['status'] === 'pass');
      expect((await made.call('POST', '/api/apis/streams', named('early'))).status).to.equal(200);
      expect((await made.call('GET', '/api/apis/early')).status).to.equal(200);
      const early = await made.call('GET', '/api/apis/early/revisions');
      expect([early.status, early.headers.get('retry-after')]).to.deep.equal([503, '1']);
      expect(early.json['Message']).to.equal('The read models are folded from the log for the first time');
      folded.add('history');
      const revisions = await eventually(async () => {
        const { status, json } = await made.call('GET', '/api/apis/early/revisions');
        return status === 200 ? (json['revisions'] as readonly JsonObject[]) : undefined;
      });
      expect(revisions.map(({ type }) => type)).to.deep.equal(['ApiActivated', 'ApiDefinitionCreated']);
    });

    it('names its parts and the revision', async () => {
      const { headers } = await create('healthy');
      const health = (await (await open('/healthz')).json()) as JsonObject;
      expect(health).to.include({ version: '0.1.0-test', description: 'management plane of svc' });
      expect(health['details']).to.include.keys(
        'store',
        'keyring',
        'projections:apis',
        'projections:certs',
        'projections:history',
      );
      expect(health['revision']).to.equal(headers.get('x-svc-revision'));
    });

    it('answers HEAD and refuses other methods', async () => {
      expect((await fetch(`${management.url}/livez`, { method: 'HEAD' })).status).to.equal(200);
      const post = await call('POST', '/livez', '', { 'content-type': 'text/plain' });
      expect([post.status, post.headers.get('allow')]).to.deep.equal([405, 'HEAD, GET']);
    });

    it('refuses other methods of a stranger too, to whom everything else is 401', async () => {
      const statusOf = async (method: string, path: string) =>
        (await fetch(`${management.url}${path}`, { method })).status;
      for (const path of ['/livez', '/readyz', '/healthz', '/metrics', '/docs', '/docs/problems/internal'])
        expect(await statusOf('DELETE', path), path).to.equal(405);
      for (const path of ['/api/audit', '/api/nothing', '/livez/more'])
        expect(await statusOf('DELETE', path), path).to.equal(401);
    });

    it('fails when the store does not answer, while reads go on', async () => {
      await using broken = await startTestManagement({
        wrap: (store) => ({
          ...forwardedStore(store),
          health: () => Promise.reject(new EventStoreError('StoreUnavailable', 'gone')),
          append: () => Promise.reject(new EventStoreError('StoreUnavailable', 'gone')),
          readStream: () => Promise.reject(new EventStoreError('StoreUnavailable', 'gone')),
        }),
      });
      const statuses = await Promise.all(
        ['/livez', '/readyz', '/healthz'].map(async (path) => (await fetch(`${broken.url}${path}`)).status),
      );
      expect(statuses).to.deep.equal([200, 503, 503]);
      expect((await broken.call('GET', '/api/apis')).status).to.equal(200);
      const write = await broken.call('POST', '/api/apis/streams', named('lost'));
      expect([write.status, write.headers.get('retry-after'), write.json['Message']]).to.deep.equal([
        503,
        '1',
        'The event store is not available',
      ]);
    });
  });
});
