/** Reports of gateways: what becomes an event, what only a sign of life, and what the fleet looks like then. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { forwardedStore, padPosition } from '../../domain/event-store.ts';
import { decodeEvent } from '../../domain/events.ts';
import { nodeStream, toNodeId } from '../../domain/ids.ts';
import type { GatewayReport } from '../../gateway/feed/feed.ts';
import { svc } from '../support/cli.ts';
import { listOf } from '../support/configuration.ts';
import { eventually } from '../support/eventually.ts';
import { gatewayReport } from '../support/gateway-report.ts';
import { appendEvents } from '../support/given.ts';
import { json, named, streams } from '../support/management-refusals.ts';
import { type Answer, orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { webhookDelivery } from '../support/webhook-delivery.ts';

const rejected = [
  { kind: 'api', id: 'orders', code: 'pattern', message: '/x: no', pointer: '/x', position: '2', keptRevision: '0' },
] as const;

describe('reports of gateways', () => {
  let management: TestManagement;
  let clockMs: number;
  beforeEach(async () => {
    clockMs = Date.parse('2026-03-01T00:00:00Z');
    management = await startTestManagement({ now: () => new Date(clockMs) });
  });
  afterEach(() => management[Symbol.asyncDispose]());

  type Parts = Partial<Omit<GatewayReport, 'node'>>;
  const report = (parts: Parts = {}, node = 'edge-1'): Promise<Answer> =>
    management.call('POST', `/api/gateways/${node}/reports`, gatewayReport(parts), json);
  const taken = async (parts: Parts = {}, node?: string): Promise<void> => {
    const answer = await report(parts, node);
    expect(answer.status, answer.text).to.equal(200);
  };
  const eventsOf = async (node = 'edge-1') => {
    const stored = await management.store.readStream(nodeStream(toNodeId(node)), { limit: 1_000 });
    return stored.map((one) => decodeEvent(one));
  };
  const types = async () => (await eventsOf()).map(({ event }) => event.type);
  const fleet = () => management.call('GET', '/api/gateways');
  const known = (count: number): Promise<readonly JsonObject[]> =>
    eventually(async () => {
      const found = listOf(await fleet(), 'gateways');
      return found.length === count ? found : undefined;
    });

  it('are events when a node is new or runs something else, and nothing but signs of life otherwise', async () => {
    await taken();
    expect(await types()).to.deep.equal(['GatewayRegistered', 'GatewayConfigApplied']);
    const head = await management.store.head();
    for (let beat = 0; beat < 5; beat++) await taken({ position: String(20 + beat) });
    expect(await management.store.head()).to.equal(head);
    await taken({ revision: '19', position: '30' });
    await taken({ revision: '19', rejected });
    await taken({ revision: '19' });
    expect(await types()).to.deep.equal([
      'GatewayRegistered',
      ...Array.from({ length: 4 }, () => 'GatewayConfigApplied'),
    ]);
    const [, applied] = await eventsOf();
    expect(applied?.meta).to.include({ actorType: 'gateway', actorId: 'edge-1' });
    expect(applied?.meta).not.to.have.property('hash');
  });

  it('make the fleet: revision, position, errors, source, last seen', async () => {
    await taken({ rejected, tags: ['eu'] });
    await taken({ source: 'none', position: '', revision: '', apis: 0 }, 'edge-2');
    clockMs += 5_000;
    await taken({ rejected, tags: ['eu'], position: '14' });
    const [first, second] = await known(2);
    expect(first).to.deep.include({
      ...{ node: 'edge-1', group: 'default', tags: ['eu'], version: '1.0.0', source: 'feed', apis: 1 },
      ...{ lastSeen: '2026-03-01T00:00:05.000Z', position: '14', revision: '9', health: 'warn', rejected },
    });
    expect(second).to.deep.include({ node: 'edge-2', source: 'none', position: '0', health: 'warn' });
    clockMs += 31_000;
    expect(listOf(await fleet(), 'gateways').map(({ health }) => health)).to.deep.equal(['fail', 'fail']);
    const one = await management.call('GET', '/api/gateways/edge-2');
    expect(one.json).to.include({ node: 'edge-2' });
    expect((await management.call('GET', '/api/gateways/nobody')).json).to.include({ code: 'gateway_unknown' });
  });

  it('show how far behind a node is', async () => {
    await management.call('POST', streams, named('orders'));
    const head = Number(await management.store.head());
    clockMs = Date.now() + 3_600_000;
    await taken({ position: '0', revision: '0' });
    const [node] = await known(1);
    const lag = node?.['lag'] as { events: number; seconds: number };
    expect(lag.events).to.be.at.least(head);
    expect(lag.seconds).to.be.within(3_600, 3_660);
    await taken({ position: String(await management.store.head()), revision: '1' });
    await taken({ position: String(await management.store.head()), revision: '1' });
    expect((await known(1))[0]?.['lag']).to.deep.equal({ events: 0, seconds: 0 });
  });

  it('count as signs of life however long their texts are', async () => {
    const long = '"'.repeat(4_000);
    const errors = Array.from({ length: 20 }, (_, index) => ({
      kind: 'api',
      id: `a${index}`,
      code: 'x',
      message: long,
    }));
    const counts = { reloadId: 'r', position: '1', loaded: 1, unchanged: 0, rejected: 20 };
    await taken({ trouble: { code: 'x', message: long }, reload: { ...counts, errors, message: long } });
    const [shown] = await known(1);
    const message = 'too long to be shown';
    expect(shown?.['trouble']).to.deep.equal({ code: 'x', message });
    expect(shown?.['reload']).to.deep.equal({ ...counts, message });
    await taken({ trouble: { code: 'x', message: 'y' } });
    expect((await known(1))[0]?.['trouble']).to.deep.equal({ code: 'x', message: 'y' });
  });

  it('ask the log once for all nodes that stand at one place', async () => {
    const counted = new Map<string, number>();
    await using other = await startTestManagement({
      wrap: (store) => ({
        ...forwardedStore(store),
        readAll: (query) => {
          counted.set(query.after, (counted.get(query.after) ?? 0) + 1);
          return store.readAll(query);
        },
      }),
    });
    const behind = gatewayReport({ position: '1', revision: '1' });
    for (const node of ['a', 'b', 'c']) await other.call('POST', `/api/gateways/${node}/reports`, behind, json);
    await other.call('POST', streams, named('orders'));
    await eventually(async () => listOf(await other.call('GET', '/api/gateways'), 'gateways').length === 3);
    counted.clear();
    const shown = listOf(await other.call('GET', '/api/gateways'), 'gateways');
    expect(shown.map(({ lag }) => (lag as JsonObject)['events'])).to.satisfy((lags: number[]) => lags.every(Boolean));
    expect(counted.get(padPosition('1'))).to.equal(1);
  });

  it('of two processes with one name count for the newer one', async () => {
    await taken({ run: 'first' });
    await taken({ run: 'second', revision: '10' });
    const lost = await report({ run: 'first', revision: '11' });
    expect([lost.status, lost.headers.get('x-svc-error-code')]).to.deep.equal([409, 'node_superseded']);
    await taken({ run: 'second', revision: '10' });
    expect((await eventsOf()).at(-1)?.event).to.include({ revision: '00000000000000000010' });
  });

  it('bring deliveries to webhooks, which go with their node', async () => {
    const body = JSON.stringify({ id: 'alarms', url: 'https://hooks.example/in' });
    await management.call('POST', '/api/webhooks', body, json);
    const list = async () => {
      const { json: page } = await management.call('GET', '/api/webhooks/alarms/deliveries');
      return listOf({ json: page } as Answer, 'deliveries').map(({ node, id, state }) => [node, id, state]);
    };
    const delivery = (number: number, members = {}) => webhookDelivery(number, { orgId, ...members });
    await taken({ deliveries: [delivery(1, { state: 'retrying' }), delivery(2)] });
    await taken({ deliveries: [delivery(1, { state: 'dead' })] });
    await taken({ deliveries: [delivery(3)] }, 'edge-2');
    expect(await list()).to.deep.equal([
      ['edge-2', 'd3', 'delivered'],
      ['edge-1', 'd2', 'delivered'],
      ['edge-1', 'd1', 'dead'],
    ]);
    await known(2);
    await management.call('DELETE', '/api/gateways/edge-1');
    expect(await list()).to.have.length(1);
    const bad = await report({ deliveries: [delivery(1, { state: 'lost' as never })] });
    expect(bad.status).to.equal(400);
  });

  it('lose nothing when they come at once', async () => {
    await Promise.all(Array.from({ length: 20 }, (_, index) => taken({ revision: String(index + 1) })));
    const revisions = (await eventsOf()).map(({ revision }) => Number(revision));
    expect(revisions).to.deep.equal(Array.from({ length: revisions.length }, (_, index) => index));
    expect(new Set(await types())).to.deep.equal(new Set(['GatewayRegistered', 'GatewayConfigApplied']));
  });

  it('leave the last 1,000 events of a node, with its registration among them', async () => {
    await taken();
    const { event: registered } = (await eventsOf())[0] ?? {};
    const applied = (await eventsOf())[1]?.event;
    if (!registered || !applied) throw new Error('nothing was said');
    await appendEvents(management.store, ...Array.from({ length: 1_100 }, () => applied));
    // Another process wrote these: the next report is decided on what is there.
    for (let index = 0; index < 110; index++) await taken({ revision: String(100 + index) });
    const stored = await eventsOf();
    expect(Number(stored[0]?.revision)).to.be.greaterThan(100);
    expect(stored.map(({ event }) => event.type)).to.include('GatewayRegistered');
    expect(stored.length).to.be.within(990, 1_000);
  });

  describe('make the rollout of an API', () => {
    const rollout = async (query = '') => {
      const answer = await management.call('GET', `/api/apis/orders/rollout${query}`);
      expect(answer.status, answer.text).to.equal(200);
      return answer.json;
    };
    const states = async (query?: string) =>
      Object.fromEntries(((await rollout(query))['nodes'] as JsonObject[]).map(({ node, state }) => [node, state]));
    let position: string;
    beforeEach(async () => {
      position = (await management.call('POST', streams, named('orders'))).headers.get('x-svc-revision') ?? '';
    });

    it('says of every node how it stands', async () => {
      await taken({ position });
      await taken({ position: '0', revision: '' }, 'slow');
      await taken({ position, rejected: [{ ...rejected[0], position }] }, 'odd');
      await taken({ position, rejected: [{ ...rejected[0], position: '1' }] }, 'odd-before');
      await taken({ position, tags: ['eu'] }, 'elsewhere');
      await known(5);
      expect(await states()).to.deep.equal({
        ...{ 'edge-1': 'applied', slow: 'behind', odd: 'rejected', 'odd-before': 'applied', elsewhere: 'not_selected' },
      });
      expect(await rollout()).to.deep.include({ revision: 1, position, applied: 2, total: 4 });
      const odd = ((await rollout())['nodes'] as JsonObject[]).find(({ node }) => node === 'odd');
      expect(odd).to.deep.include({ error: { code: 'pattern', message: '/x: no', pointer: '/x' }, keptRevision: '0' });
      clockMs += 31_000;
      expect(await states()).to.include({ 'edge-1': 'unreachable', elsewhere: 'not_selected' });
    });

    it('waits until nobody is behind', async () => {
      await taken({ position: '0', revision: '' });
      await known(1);
      expect(await states('?wait=1')).to.deep.equal({ 'edge-1': 'behind' });
      const waiting = states('?wait=20000');
      await taken({ position });
      expect(await waiting).to.deep.equal({ 'edge-1': 'applied' });
    });

    it('knows no API that is not there', async () => {
      expect((await management.call('GET', '/api/apis/nothing/rollout')).json).to.include({
        Message: 'API not found.',
      });
    });
  });

  const bad: readonly [name: string, body: unknown, node?: string][] = [
    ['is empty', {}],
    ['has a position that is none', gatewayReport({ position: 'x' })],
    ['comes from nowhere', { ...gatewayReport(), source: 'heaven' }],
    ['names too much', gatewayReport({ tags: Array.from({ length: 101 }, () => 'x') })],
    ['is of a node without a name', gatewayReport(), '%20'],
  ];
  for (const [name, body, node = 'edge-1'] of bad) {
    it(`are refused when one ${name}, and leave nothing`, async () => {
      const answer = await management.call('POST', `/api/gateways/${node}/reports`, body, json);
      expect(answer.status).to.equal(400);
      expect(await management.store.head()).to.equal('');
    });
  }

  describe('at the command line', () => {
    const ask = (...args: readonly string[]) =>
      svc([...args, '--url', management.url], { env: { SVC_TOKEN: management.token } });

    it('are a table', async () => {
      await taken({ rejected });
      await known(1);
      const { out, code } = await ask('nodes');
      expect(code).to.equal(0);
      expect(out.trim().split('\t')).to.deep.equal([
        ...['edge-1', 'warn', '9', '12', '', 'feed', '1', '1.0.0', '', '2026-03-01T00:00:00.000Z'],
        'api orders: pattern',
      ]);
    });

    it('end a wait when every node has taken the revision', async () => {
      await taken({ position: '12' });
      await taken({ position: '11' }, 'edge-2');
      await known(2);
      const early = await ask('wait', '--revision', '12', '--timeout', '0s');
      expect(early).to.include({ code: 1, out: '' });
      expect(early.err).to.contain('edge-2 is at 11').and.not.to.contain('edge-1');
      const waiting = ask('wait', '--revision', '12', '--timeout', '20s');
      await taken({ position: '12' }, 'edge-2');
      expect(await waiting).to.deep.equal({ code: 0, out: '2 gateways run revision 12\n', err: '' });
    });

    it('end a wait with what was refused', async () => {
      await taken({ position: '12', rejected });
      await known(1);
      const refused = await ask('wait', '--revision', '12');
      expect(refused.code).to.equal(1);
      expect(refused.err).to.contain('edge-1: api orders: pattern: /x: no');
      // What was refused came later.
      expect((await ask('wait', '--revision', '1')).code).to.equal(0);
    });

    it('wait for somebody', async () => {
      const { code, err } = await ask('wait', '--revision', '1', '--timeout', '0s');
      expect(code).to.equal(1);
      expect(err).to.contain('no gateway has registered');
    });

    it('are not waited for without sense', async () => {
      expect((await ask('wait', '--revision', 'x')).code).to.equal(2);
      expect((await ask('wait')).code).to.equal(2);
      expect((await ask('wait', '--revision', '1', '--timeout', 'long')).code).to.equal(2);
      expect((await svc(['wait', '--revision', '1', '--url', 'http://127.0.0.1:1'])).code).to.equal(4);
    });
  });
});
