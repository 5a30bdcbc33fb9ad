/** The feed over HTTP, at the management plane: what it gives, to whom, and what it refuses. */
import { expect } from 'chai';
import { padPosition } from '../../domain/event-store.ts';
import {
  areSignedChanges,
  isSignedSnapshot,
  type SignedChanges,
  type SignedSnapshot,
} from '../../gateway/feed/signed.ts';
import { tokenSha256 } from '../../src/management/authenticate.ts';
import { eventually } from '../support/eventually.ts';
import { gatewayReport } from '../support/gateway-report.ts';
import { json, named, pem, streams } from '../support/management-refusals.ts';
import { bearer, orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { selfSigned } from '../support/test-ca.ts';

const nodeToken = 'svct_node_0123456789abcdef0123456789abcdef';
const tagged = (id: string, tags: readonly string[]) =>
  named(id, { server: { gatewayTags: { enabled: true, tags: [...tags] }, listenPath: { value: `/${id}/` } } });

describe('the feed over HTTP', () => {
  let management: TestManagement;
  beforeEach(async () => {
    management = await startTestManagement({
      credentials: [
        {
          actor: { type: 'token', id: 'node' },
          orgId,
          scopes: new Set(['feed:read', 'gateways:report']),
          sha256: tokenSha256(nodeToken),
        },
      ],
    });
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const create = async (document: ReturnType<typeof named>): Promise<string> => {
    const answer = await management.call('POST', streams, document);
    expect(answer.status, answer.text).to.equal(200);
    return answer.headers.get('x-svc-revision') ?? '';
  };
  const asNode = (path: string, headers = {}) =>
    management.call('GET', path, undefined, { ...bearer(nodeToken), ...headers });
  const snapshot = async (query = ''): Promise<SignedSnapshot> => {
    const answer = await asNode(`/api/feed/snapshot${query}`);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json as unknown as SignedSnapshot;
  };
  const changes = async (query: string): Promise<SignedChanges> => {
    const answer = await asNode(`/api/feed/changes${query}`);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json as unknown as SignedChanges;
  };
  /** The projection of gateways may be a moment behind the answer to a write. */
  const reached = async (revision: string): Promise<SignedSnapshot> =>
    eventually(async () => {
      const found = await snapshot();
      return found.position >= padPosition(revision) ? found : undefined;
    });

  it('signs a snapshot once for all who ask for it together', async () => {
    await reached(await create(named('orders', { server: { listenPath: { value: '/orders/' } } })));
    const found = await Promise.all([snapshot(), snapshot(), snapshot()]);
    const byPosition = Map.groupBy(found, ({ position }) => position);
    for (const same of byPosition.values()) expect(new Set(same.map(({ createdAt }) => createdAt)).size).to.equal(1);
  });

  it('gives the whole configuration, signed', async () => {
    const revision = await create(named('orders'));
    const found = await reached(revision);
    expect(found).to.deep.include({ ...management.store.identity, format: 2, group: 'default', tags: [] });
    expect(Object.keys(found.objects)).to.deep.equal(['api:orders']);
    expect(isSignedSnapshot(found, found.publicKey)).to.equal(true);
    expect(isSignedSnapshot({ ...found, objects: {} }, found.publicKey)).to.equal(false);
  });

  it('answers a long poll with what changed, signed, and at once', async () => {
    const { position, publicKey } = await reached(await create(named('orders')));
    const waiting = changes(`?after=${Number(position)}`);
    const revision = await create(named('more'));
    const answer = await waiting;
    expect(answer).to.include({ after: position });
    expect(Number(answer.next)).to.be.at.most(Number(revision));
    expect(answer.changes.map(({ op }) => op)).to.deep.equal(['upsert']);
    expect(areSignedChanges(answer, publicKey)).to.equal(true);
    expect(areSignedChanges({ ...answer, next: padPosition('999') }, publicKey)).to.equal(false);
  });

  it('moves on when the log moves without a change for gateways', async () => {
    const { position } = await reached(await create(named('orders')));
    const waiting = changes(`?after=${Number(position)}`);
    expect((await management.call('POST', '/api/certs', selfSigned('a.example').certificate, pem)).status).to.equal(
      200,
    );
    const answer = await waiting;
    expect(answer.changes).to.deep.equal([]);
    expect(answer.next > position).to.equal(true);
  });

  it('gives to a node with labels what shares one, and says when that goes', async () => {
    await create(tagged('here', ['eu']));
    await create(tagged('there', ['us']));
    await reached(await create(named('everywhere')));
    const found = await snapshot('?tags=eu,edge');
    expect(Object.keys(found.objects)).to.deep.equal(['api:here']);
    expect(found.tags).to.deep.equal(['edge', 'eu']);
    expect(isSignedSnapshot(found, found.publicKey)).to.equal(true);
    expect(Object.keys((await snapshot()).objects)).to.have.length(3);
    const waiting = changes(`?after=${Number(found.position)}&tags=eu,edge`);
    await management.call('PATCH', `${streams}/here`, tagged('here', ['us']));
    expect((await waiting).changes.map(({ op }) => op)).to.deep.equal(['remove']);
  });

  const refusals: readonly [name: string, query: string, status: number, code: string][] = [
    ['a place that the log has not reached', '?after=999', 409, 'position_ahead'],
    ['an era that the log has not reached', '?after=1&era=5', 409, 'position_ahead'],
    ['another log', '?after=1&log=other', 409, 'other_log'],
    ['a place that is none', '?after=x', 400, 'query_invalid'],
    ['an era that is none', '?after=1&era=x', 400, 'query_invalid'],
  ];
  for (const [name, query, status, code] of refusals) {
    it(`refuses ${name}, as a poll and as a stream`, async () => {
      await reached(await create(named('orders')));
      for (const accept of ['application/json', 'text/event-stream']) {
        const answer = await asNode(`/api/feed/changes${query}`, { accept });
        expect([answer.status, answer.json['code']]).to.deep.equal([status, code]);
      }
    });
  }

  const scopes: readonly [name: string, method: string, path: string, body?: unknown][] = [
    ['the snapshot', 'GET', '/api/feed/snapshot'],
    ['the changes', 'GET', '/api/feed/changes'],
    ['reports', 'POST', '/api/gateways/edge-1/reports', gatewayReport()],
  ];
  for (const [name, method, path, body] of scopes) {
    it(`gives ${name} to nobody without the scope`, async () => {
      const stranger = await management.call(method, path, body, { ...json, authorization: '' });
      expect(stranger.status).to.equal(401);
    });
  }
  it('gives a node token nothing else', async () => {
    expect((await asNode('/api/apis')).status).to.equal(403);
    expect((await asNode('/api/gateways')).status).to.equal(403);
  });

  describe('as a stream of events', () => {
    /** Reads until the text has what is looked for. */
    async function streamed(
      query: string,
      headers: Record<string, string>,
      until: RegExp,
      act: () => Promise<unknown>,
    ) {
      const stop = new AbortController();
      const response = await fetch(`${management.url}/api/feed/changes${query}`, {
        headers: { ...bearer(nodeToken), accept: 'text/event-stream', ...headers },
        signal: stop.signal,
      });
      expect(response.headers.get('content-type')).to.contain('text/event-stream');
      let text = '';
      let isTold = false;
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) {
        text += decoder.decode(chunk, { stream: true });
        if (!isTold) await act();
        isTold = true;
        if (until.test(text)) break;
      }
      stop.abort();
      return text;
    }

    it('gives each change with its position as the id', async () => {
      const { position } = await reached(await create(named('orders')));
      const text = await streamed(`?after=${Number(position)}`, {}, /event: changes\n.*"more".*\n\n/, () =>
        create(named('more')),
      );
      const [, id, data] = /id: (\d+)\nevent: changes\ndata: (.*"more".*)\n\n/.exec(text) ?? [];
      const change = JSON.parse(data ?? '') as SignedChanges;
      expect(id).to.equal(String(Number(change.next)));
      expect(areSignedChanges(change, (await snapshot()).publicKey)).to.equal(true);
    });

    it('goes on after the last event that the client has', async () => {
      const { position } = await reached(await create(named('orders')));
      await reached(await create(named('more')));
      const seen = { 'last-event-id': String(Number(position)) };
      const text = await streamed('?after=0', seen, /event: changes/, async () => {});
      expect(text).to.contain('"more"').and.not.to.contain('"id":"orders"');
    });
  });

  it('lets the server stop although nodes wait, and tells them', async () => {
    const { position } = await reached(await create(named('orders')));
    const poll = `/api/feed/changes?after=${Number(position)}`;
    const waiting = asNode(poll);
    const stream = await fetch(`${management.url}${poll}`, {
      headers: { ...bearer(nodeToken), accept: 'text/event-stream' },
    });
    await management[Symbol.asyncDispose]();
    expect((await waiting).json).to.include({ code: 'stopping', status: 503 });
    expect(await stream.text()).to.contain('retry:');
    management = await startTestManagement();
  });
});
