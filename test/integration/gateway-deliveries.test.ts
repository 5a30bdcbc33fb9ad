/** Deliveries of a gateway: tried again, given up, sent again, and nothing lost by receivers that are away, restarts and full queues. */
import { readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { outboxOpener } from '../../src/compose/outbox.ts';
import {
  type EventGateway,
  guardedApi,
  handler,
  quickRetries,
  type Receiver,
  startEventGateway,
  startReceiver,
} from '../support/event-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { MemoryFeed } from '../support/gateway-feed.ts';
import { freePort, temporaryFolder } from '../support/temporary.ts';

const all = async (receiver: Receiver, count: number): Promise<readonly string[]> => {
  await eventually(() => new Set(receiver.ids()).size >= count, 30_000);
  return [...new Set(receiver.ids())];
};

const countsOf = async (gateway: EventGateway, target: string): Promise<JsonObject> => {
  const answer = (await (await fetch(`${gateway.control}/svc/config`)).json()) as {
    events: Record<string, JsonObject>;
  };
  return answer.events[target] ?? {};
};

/** A gateway whose API `guarded` tells the stored webhook `alarms`. */
async function withAlarms(url: string, options: Parameters<typeof startEventGateway>[0] = {}): Promise<EventGateway> {
  const gateway = await startEventGateway(options);
  gateway.feed.putWebhook('alarms', { url, method: 'POST', headers: [] });
  await gateway.put('guarded', guardedApi('guarded', [handler({ id: 'alarms' })]));
  return gateway;
}

describe('deliveries of a gateway', function () {
  this.timeout(60_000);
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver[Symbol.asyncDispose]());

  it('are tried until they arrive, with one event id and the number of the attempt', async () => {
    await using gateway = await withAlarms(receiver.url);
    const answers = [500, 302, 429, 204];
    receiver.answer = () => [answers[receiver.received.length - 1] ?? 204, { location: `${receiver.url}moved` }];
    await gateway.refuse();
    const delivery = await eventually(() =>
      gateway.gateway.events.deliveries.find(({ state }) => state === 'delivered'),
    );
    expect(receiver.received.map(({ url, headers }) => [url, headers['x-svc-attempt']])).to.deep.equal([
      ...[['/', '1'] as const, ['/', '2'] as const, ['/', '3'] as const, ['/', '4'] as const],
    ]);
    expect(new Set(receiver.ids()).size).to.equal(1);
    expect(new Set(receiver.received.map(({ body }) => body)).size).to.equal(1);
    expect(delivery).to.include({ attempts: 4, lastStatus: 204, error: null });
    expect(await countsOf(gateway, 'webhook:alarms')).to.include({ delivered: 1, retried: 3, dead: 0 });
  });

  it('wait as long as the receiver asks for', async () => {
    await using gateway = await withAlarms(receiver.url);
    receiver.answer = () => [503, { 'retry-after': '1200' }];
    await gateway.refuse();
    const delivery = await eventually(() =>
      gateway.gateway.events.deliveries.find(({ state }) => state === 'retrying'),
    );
    expect(delivery).to.include({ attempts: 1, lastStatus: 503 });
    expect(Date.parse(delivery.nextAt ?? '') - Date.parse(delivery.at)).to.be.at.least(1_199_000);
  });

  it('that a receiver refuses are dead after three attempts, and can be sent again', async () => {
    await using gateway = await withAlarms(receiver.url);
    receiver.answer = () => [410];
    await gateway.refuse(2);
    await eventually(() => gateway.gateway.events.deliveries.filter(({ state }) => state === 'dead').length === 2);
    expect(receiver.received).to.have.length(6);
    const [one, other] = gateway.gateway.events.deliveries;
    expect(one).to.include({ state: 'dead', attempts: 3, lastStatus: 410, nextAt: null });
    receiver.answer = () => [204];
    expect(await gateway.gateway.events.redeliver({ webhookId: 'other', ids: 'all' })).to.equal(0);
    expect(await gateway.gateway.events.redeliver({ webhookId: 'alarms', ids: [other?.id ?? ''] })).to.equal(1);
    await eventually(() => receiver.received[6]);
    expect(receiver.ids()[6]).to.equal(other?.eventId);
    await eventually(() => gateway.gateway.events.deliveries[1]?.state === 'delivered');
    expect(gateway.gateway.events.deliveries[0]?.state).to.equal('dead');
    expect(await gateway.gateway.events.redeliver({ webhookId: 'alarms', ids: 'all' })).to.equal(1);
    await eventually(() => gateway.gateway.events.deliveries[0]?.state === 'delivered');
    expect(await gateway.gateway.events.redeliver({ webhookId: 'alarms', ids: 'all' })).to.equal(0);
    expect(receiver.received).to.have.length(8);
  });

  it('that died are there after a restart, also without a handler that names their webhook', async () => {
    using folder = temporaryFolder('svc-events-');
    const directory = folder.path;
    receiver.answer = () => [404];
    {
      await using gateway = await withAlarms(receiver.url, { directory });
      await gateway.refuse();
      await eventually(() => gateway.gateway.events.deliveries[0]?.state === 'dead');
    }
    receiver.answer = () => [204];
    await using gateway = await startEventGateway({ directory });
    await gateway.settled(gateway.feed.putWebhook('alarms', { url: receiver.url, method: 'POST', headers: [] }));
    expect(await gateway.gateway.events.redeliver({ webhookId: 'alarms', ids: 'all' })).to.equal(1);
    await eventually(() => gateway.gateway.events.deliveries[0]?.state === 'delivered');
    expect(new Set(receiver.ids()).size).to.equal(1);
  });

  it('go on after a restart where they stood: what arrived is not sent again, the others are', async () => {
    using folder = temporaryFolder('svc-events-');
    const directory = folder.path;
    const feed = new MemoryFeed();
    receiver.answer = ({ json }) => (String(json['path']).startsWith('/guarded') ? [204] : [503]);
    {
      await using gateway = await withAlarms(receiver.url, { directory, feed });
      await gateway.put('sick', guardedApi('sick', [handler({ id: 'alarms' })]));
      await gateway.refuse(3, 'sick');
      await gateway.refuse(20);
      await eventually(async () => (await countsOf(gateway, 'webhook:alarms'))['delivered'] === 20);
      await eventually(async () => Number((await countsOf(gateway, 'webhook:alarms'))['retried']) >= 3);
    }
    const before = [...receiver.received];
    receiver.received.length = 0;
    receiver.answer = () => [204];
    await using _ = await startEventGateway({ directory, feed });
    const ids = await all(receiver, 3);
    const sick = before.filter(({ json }) => String(json['path']).startsWith('/sick'));
    expect(ids).to.have.members([...new Set(sick.map(({ headers }) => headers['x-svc-event-id']))]);
    expect(receiver.received).to.have.length(3);
    for (const { headers } of receiver.received) expect(Number(headers['x-svc-attempt'])).to.be.at.least(2);
  });

  it('are not lost by a stop right behind their request', async () => {
    using folder = temporaryFolder('svc-events-');
    const directory = folder.path;
    const feed = new MemoryFeed();
    {
      await using gateway = await withAlarms(receiver.url, { directory, feed });
      await gateway.refuse(25);
      // A slow machine must not reach the end of the time that a stop has.
      await gateway.gateway.stop(10_000);
    }
    await using _ = await startEventGateway({ directory, feed });
    expect(await all(receiver, 25)).to.have.length(25);
  });

  it('wait in memory while the disk is not there, which the health of the gateway says', async () => {
    using folder = temporaryFolder('svc-events-');
    const place = { directory: join(folder.path, 'outbox'), node: 'node-1', allowLinkLocal: false };
    const opener = outboxOpener({ ...place, log: { warn: () => {} } });
    let isThere = false;
    const openOutbox = () => (isThere ? opener() : Promise.reject(new Error('no such disk')));
    await using gateway = await withAlarms(receiver.url, { openOutbox });
    const part = async () => {
      const health = (await (await fetch(`${gateway.control}/healthz`)).json()) as { details: { events?: JsonObject } };
      return health.details.events;
    };
    await gateway.refuse();
    await eventually(async () => (await part())?.['status'] === 'warn');
    expect(await part()).to.include({ output: 'the outbox does not open' });
    isThere = true;
    await eventually(() => receiver.received[0]);
    await eventually(async () => expect(await part()).to.have.nested.property('output.delivered', 1));
    expect(await part()).to.include({ status: 'pass' });
  });

  it('keep no gateway from its end while the disk is not there', async function () {
    this.timeout(10_000);
    const openOutbox = () => Promise.reject(new Error('no such disk'));
    await using gateway = await withAlarms(receiver.url, { openOutbox });
    await eventually(() => gateway.gateway.events.standing.isOpen === false);
    await gateway.refuse();
    // Far beyond the time that the test has.
    await gateway.gateway.stop(3_600_000);
    expect(gateway.gateway.events.standing.counts).to.include({ undeliverable: 1 });
  });

  it('keep no line of the log waiting for the disk', async () => {
    const openOutbox = () => Promise.reject(new Error('no such disk'));
    await using gateway = await withAlarms(receiver.url, { openOutbox });
    await gateway.put('log', guardedApi('log', [handler({ type: 'log', logPrefix: 'seen' })]));
    await gateway.refuse();
    await gateway.refuse(2, 'log');
    const lines = () => gateway.log.lines.filter(({ message }) => message.startsWith('seen:'));
    await eventually(() => lines().length === 2);
  });

  it('wait on the disk for a receiver that is away longer than the queue is long', async () => {
    const port = await freePort();
    const total = 2_600;
    await using gateway = await withAlarms(`http://127.0.0.1:${port}/`);
    await Promise.all(Array.from({ length: 20 }, () => gateway.refuse(total / 20)));
    await eventually(async () => Number((await countsOf(gateway, 'webhook:alarms'))['retried']) >= 1_000);
    const ids = new Set<string>();
    const late = createServer((request, response) => {
      ids.add(String(request.headers['x-svc-event-id']));
      response.writeHead(204).end();
    });
    try {
      await new Promise<void>((resolve) => late.listen(port, '127.0.0.1', resolve));
      await eventually(() => ids.size === total, 40_000);
      await eventually(async () => Number((await countsOf(gateway, 'webhook:alarms'))['delivered']) === total);
      expect(await countsOf(gateway, 'webhook:alarms')).to.include({ dropped: 0, dead: 0, suppressed: 0 });
    } finally {
      late.closeAllConnections();
      await new Promise((resolve) => late.close(resolve));
    }
  });

  it('lose the oldest events of an API, counted, when the disk does not take them', async () => {
    using folder = temporaryFolder('svc-events-');
    const open = Promise.withResolvers<void>();
    const place = { directory: join(folder.path, 'outbox'), node: 'node-1', allowLinkLocal: false };
    const opener = outboxOpener({ ...place, log: { warn: () => {} } });
    const openOutbox = () => open.promise.then(opener);
    await using gateway = await withAlarms(receiver.url, { openOutbox });
    await gateway.put('other', guardedApi('other', [handler({ id: 'alarms' })]));
    await gateway.refuse(1, 'other');
    await Promise.all(Array.from({ length: 10 }, () => gateway.refuse(101)));
    expect(await countsOf(gateway, 'webhook:alarms')).to.include({ dropped: 10, delivered: 0 });
    open.resolve();
    expect(await all(receiver, 1_001)).to.have.length(1_001);
    await eventually(async () => (await countsOf(gateway, 'webhook:alarms'))['delivered'] === 1_001);
    expect(receiver.received.filter(({ json }) => json['path'] === '/other/some/path')).to.have.length(1);
  });

  const slowRetries = { ...quickRetries, firstMs: 3_600_000, longestMs: 3_600_000 };
  const states = ({ gateway }: EventGateway) => gateway.events.deliveries.map(({ state }) => state);

  it('to a webhook that is gone are dead at once, and can be sent again when it is back', async () => {
    await using gateway = await withAlarms(receiver.url, { webhookRetries: slowRetries });
    receiver.answer = () => [500];
    await gateway.refuse(2);
    await eventually(() => states(gateway).join() === 'retrying,retrying');
    await gateway.settled(gateway.feed.removeWebhook('alarms'));
    await eventually(() => states(gateway).join() === 'dead,dead');
    const [delivery] = gateway.gateway.events.deliveries;
    expect(delivery).to.include({ attempts: 1, lastStatus: 500, error: 'the handler is gone', nextAt: null });
    expect(await countsOf(gateway, 'webhook:alarms')).to.include({ dead: 2, dropped: 0 });
    receiver.answer = () => [204];
    await gateway.settled(gateway.feed.putWebhook('alarms', { url: receiver.url, method: 'POST', headers: [] }));
    expect(await gateway.gateway.events.redeliver({ webhookId: 'alarms', ids: 'all' })).to.equal(2);
    await eventually(() => states(gateway).join() === 'delivered,delivered');
  });

  for (const hasConfiguration of [true, false]) {
    const from = hasConfiguration ? 'the last good configuration' : 'no configuration, in which nobody needs an outbox';
    it(`to a webhook that went while the gateway was down are dead when it is back with ${from}`, async () => {
      using folder = temporaryFolder('svc-events-');
      const directory = folder.path;
      const feed = new MemoryFeed();
      receiver.answer = () => [500];
      {
        await using gateway = await withAlarms(receiver.url, { directory, feed, webhookRetries: slowRetries });
        await gateway.refuse();
        await eventually(() => states(gateway).join() === 'retrying');
      }
      feed.removeWebhook('alarms');
      feed.put('guarded', guardedApi('guarded', []));
      const others = readdirSync(directory).filter((name) => name !== 'outbox');
      if (!hasConfiguration) for (const name of others) rmSync(join(directory, name), { recursive: true });
      await using gateway = await startEventGateway({ directory, feed });
      await eventually(() => states(gateway).join() === 'dead');
      expect(gateway.gateway.events.deliveries[0]).to.include({ attempts: 1, error: 'the handler is gone' });
      expect(receiver.received).to.have.length(1);
    });
  }

  it('to a handler that stood in a definition are dead at once when that is another one', async () => {
    await using gateway = await startEventGateway({ webhookRetries: slowRetries });
    const inline = handler({ name: 'own', url: receiver.url, method: 'POST', cooldownPeriod: '0s' });
    await gateway.put('guarded', guardedApi('guarded', [inline]));
    receiver.answer = () => [500];
    await gateway.refuse();
    await eventually(() => states(gateway).join() === 'retrying');
    await gateway.put('guarded', guardedApi('guarded', []));
    await eventually(() => states(gateway).join() === 'dead');
  });

  it('to a webhook that is off are dead when they are due', async () => {
    await using gateway = await withAlarms(receiver.url, {
      webhookRetries: { ...quickRetries, firstMs: 300, longestMs: 300 },
    });
    receiver.answer = () => [500];
    await gateway.refuse();
    await eventually(() => states(gateway).join() === 'retrying');
    const off = { url: receiver.url, method: 'POST', headers: [], enabled: false };
    await gateway.settled(gateway.feed.putWebhook('alarms', off));
    await eventually(() => states(gateway).join() === 'dead');
    expect(gateway.gateway.events.deliveries[0]).to.include({ error: 'the handler is switched off' });
    expect(receiver.received).to.have.length(1);
  });

  it('end when nobody answers in time, and are tried again', async () => {
    await using gateway = await withAlarms(receiver.url, { timeoutMs: 30 });
    receiver.answer = () => (receiver.received.length === 1 ? 'silence' : [204]);
    await gateway.refuse();
    await eventually(() => gateway.gateway.events.deliveries[0]?.state === 'delivered');
    expect(receiver.received).to.have.length(2);
  });
});
