/** Webhooks in the running product: told by gateway and management, listed with their nodes, sent again once, over a kill. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { apiDocument } from '../support/documents.ts';
import { handler, type Receiver, startReceiver } from '../support/event-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { streamsType } from '../support/management-server.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';

describe('webhooks of the running product', () => {
  let data: string;
  let svc: SvcProcess;
  let receiver: Receiver;
  before(async () => {
    data = mkdtempSync(join(tmpdir(), 'svc-webhooks-'));
    receiver = await startReceiver();
    svc = await startSvc({ data });
  });
  after(async () => {
    await svc.stop();
    await receiver[Symbol.asyncDispose]();
    rmSync(data, { recursive: true, force: true });
  });

  /** Comes back when it is told to: the list of deliveries is asked for often here. */
  const call = async (
    method: string,
    path: string,
    body?: JsonObject,
    type = 'application/json',
  ): Promise<JsonObject> => {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const answer = await svc.call(path, { ...init, headers: { 'content-type': type } });
    const text = await answer.text();
    if (answer.status === 429) {
      await delay(Number(answer.headers.get('retry-after')) * 1_000);
      return call(method, path, body, type);
    }
    expect(answer.status, text).to.be.within(200, 299);
    return JSON.parse(text) as JsonObject;
  };
  const deliveries = async (query = ''): Promise<readonly JsonObject[]> =>
    (await call('GET', `/api/webhooks/alarms/deliveries${query}`))['deliveries'] as readonly JsonObject[];
  const knock = async (): Promise<number> => {
    const answer = await fetch(`${svc.gateway}/guarded/x`, { headers: { authorization: 'nobody-has-this' } });
    await answer.arrayBuffer();
    return answer.status;
  };
  /** Who tried, what it was about, and how it ended. */
  const outcomes = async () =>
    (await deliveries()).map(
      ({ node, trigger, state }) => `${node === 'management' ? node : 'gateway'} ${trigger} ${state}`,
    );

  it('are told of refused requests and of keys, end dead where nobody takes them, and are listed with their nodes', async () => {
    receiver.answer = () => [410];
    await call('POST', '/api/webhooks', { id: 'alarms', url: receiver.url, secret: 'Own-61' });
    const handlers = ['AuthFailure', 'TokenCreated'].map((trigger) => handler({ id: 'alarms', trigger }));
    const server = {
      ...{ listenPath: { value: '/guarded/', strip: true }, eventHandlers: handlers },
      authentication: { enabled: true },
    };
    const info = { id: 'guarded', name: 'guarded' };
    await call('POST', '/api/apis/streams', apiDocument({ info, server }), streamsType);
    await eventually(async () => (await knock()) === 403, 10_000);
    const rights = { guarded: { api_id: 'guarded', versions: ['Default'] } };
    await call('POST', '/api/keys', { alias: 'a', access_rights: rights });
    const expected = ['gateway AuthFailure dead', 'management TokenCreated dead'];
    await eventually(async () => {
      expect((await outcomes()).toSorted()).to.deep.equal(expected);
      return true;
    }, 20_000);
    expect(await deliveries('?state=delivered')).to.deep.equal([]);
  }).timeout(60_000);

  it('are sent again once on each node under their event ids, whatever is killed then', async () => {
    const ids = (await deliveries()).map(({ eventId }) => eventId);
    receiver.received.length = 0;
    receiver.answer = () => [204];
    await call('POST', '/api/webhooks/alarms/redeliver', { all: true });
    await eventually(() => receiver.received.length === 2, 10_000);
    expect(receiver.ids().toSorted()).to.deep.equal(ids.toSorted());
    await eventually(async () => (await deliveries('?state=delivered')).length === 2, 10_000);
    await svc.kill();
    svc = await startSvc({ data });
    // What comes after the start shows that what was before has had its turn.
    const rights = { guarded: { api_id: 'guarded', versions: ['Default'] } };
    await call('POST', '/api/keys', { alias: 'b', access_rights: rights });
    await eventually(async () => (await knock()) === 403, 10_000);
    await eventually(async () => (await deliveries('?state=delivered')).length === 4, 20_000);
    expect(new Set(receiver.ids()).size).to.equal(4);
  }).timeout(60_000);

  it('of a gateway in a process of its own are listed and sent again over the feed, once', async () => {
    const startEdge = () =>
      startSvc({
        data: join(data, 'edge-1'),
        args: ['--role', 'gateway'],
        env: {
          ...{ SVC_GW_MANAGEMENTURL: svc.management, SVC_GW_NODEID: 'edge-1' },
          SVC_GW_NODETOKEN: `$file:${join(data, 'admin-token')}`,
        },
      });
    const list = async () =>
      (await call('GET', '/api/webhooks/plain/deliveries'))['deliveries'] as readonly JsonObject[];
    const ended = (state: string) =>
      eventually(async () => {
        expect((await list()).map((one) => [one['node'], one['state']])).to.deep.equal([['edge-1', state]]);
        return true;
      }, 20_000);
    // Without a secret: this token brings none to the gateway.
    await call('POST', '/api/webhooks', { id: 'plain', url: receiver.url, secret: '' });
    const server = {
      listenPath: { value: '/edge/', strip: true },
      eventHandlers: [handler({ id: 'plain' })],
      authentication: { enabled: true },
    };
    const info = { id: 'edge', name: 'edge' };
    await call('POST', '/api/apis/streams', apiDocument({ info, server }), streamsType);
    receiver.answer = () => [410];
    let edge = await startEdge();
    try {
      const headers = { authorization: 'nobody-has-this' };
      await eventually(async () => (await fetch(`${edge.gateway}/edge/x`, { headers })).status === 403, 20_000);
      await ended('dead');
      // Not by a kill: that may send again what was sent a moment before.
      await edge.stop();
      await call('POST', '/api/webhooks/plain/redeliver', { all: true });
      receiver.received.length = 0;
      receiver.answer = () => [204];
      edge = await startEdge();
      await ended('delivered');
      expect(receiver.ids()).to.deep.equal([(await list())[0]?.['eventId']]);
      await edge.stop();
      edge = await startEdge();
      const next = await call('POST', '/api/webhooks/plain/redeliver', { ids: ['nothing-has-this'] });
      expect(next['Status']).to.equal('OK');
      await eventually(async () => {
        const head = (await call('GET', '/api/gateways'))['position'];
        return (await call('GET', '/api/gateways/edge-1'))['position'] === head;
      }, 20_000);
      expect(receiver.received).to.have.length(1);
    } finally {
      await edge.kill();
    }
  }).timeout(90_000);
});
