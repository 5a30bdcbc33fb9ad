/** Deliveries in the reports of a gateway, and dead letters that are sent again when management asks: once, also over restarts. */
import { expect } from 'chai';
import type { WebhookDelivery } from '../../domain/webhook-delivery.ts';
import {
  type EventGateway,
  guardedApi,
  handler,
  type Receiver,
  startEventGateway,
  startReceiver,
} from '../support/event-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { MemoryFeed } from '../support/gateway-feed.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

describe('dead letters of a gateway', () => {
  let receiver: Receiver;
  let folder: TemporaryFolder;
  let feed: MemoryFeed;
  beforeEach(async () => {
    receiver = await startReceiver();
    folder = temporaryFolder('svc-redelivery-');
    feed = new MemoryFeed();
    feed.putWebhook('alarms', { url: receiver.url, method: 'POST', headers: [] });
    feed.put('guarded', guardedApi('guarded', [handler({ id: 'alarms' })]));
  });
  afterEach(async () => {
    await receiver[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  /** What management knows by now, by id. */
  const reported = (): ReadonlyMap<string, WebhookDelivery> =>
    new Map(feed.reports.flatMap(({ deliveries = [] }) => deliveries).map((delivery) => [delivery.id, delivery]));
  const told = (state: string) => [...reported().values()].filter((delivery) => delivery.state === state);
  const deadOf = ({ gateway }: EventGateway) => gateway.events.deliveries.filter(({ state }) => state === 'dead');

  async function start() {
    const gateway = await startEventGateway({ feed, directory: folder.path });
    await gateway.settled(feed.current.position);
    return gateway;
  }

  it('are reported, sent again under the same event ids when that is asked for, and reported as delivered', async () => {
    receiver.answer = () => [400];
    await using gateway = await start();
    await gateway.refuse(2);
    await eventually(() => told('dead').length === 2);
    const events = told('dead').map(({ eventId }) => eventId);
    expect(told('dead')[0]).to.include({ webhookId: 'alarms', orgId: 'acme', apiId: 'guarded', lastStatus: 400 });
    receiver.answer = () => [204];
    receiver.received.length = 0;
    feed.redeliver('alarms', 'all');
    await eventually(() => told('delivered').length === 2);
    expect(receiver.ids().toSorted()).to.deep.equal(events.toSorted());
    expect(receiver.received.map(({ headers }) => headers['x-svc-attempt'])).to.deep.equal(['1', '1']);
  });

  it('are sent again once for each request, also after a restart, and those that are named alone', async () => {
    receiver.answer = () => [400];
    {
      await using gateway = await start();
      await gateway.refuse(2);
      await eventually(() => deadOf(gateway).length === 2);
      receiver.received.length = 0;
      const [first] = deadOf(gateway);
      feed.redeliver('alarms', [first?.id ?? '']);
      // Refused three times again: a dead letter as before.
      await eventually(() => receiver.received.length === 3);
      expect(new Set(receiver.ids())).to.deep.equal(new Set([first?.eventId]));
      await eventually(() => deadOf(gateway).length === 2);
    }
    // The configuration still holds the request; a gateway that starts from it has done it.
    receiver.received.length = 0;
    await using gateway = await start();
    feed.redeliver('other', 'all');
    await gateway.settled(feed.current.position);
    receiver.answer = () => [204];
    feed.redeliver('alarms', 'all');
    await eventually(() => receiver.received.length === 2);
    expect(new Set(receiver.ids()).size).to.equal(2);
    await eventually(() => deadOf(gateway).length === 0);
    expect(receiver.received).to.have.length(2);
  });

  it('that were asked for while the gateway was away are sent when it comes back', async () => {
    receiver.answer = () => [400];
    {
      await using gateway = await start();
      await gateway.refuse();
      await eventually(() => deadOf(gateway).length === 1);
    }
    receiver.answer = () => [204];
    receiver.received.length = 0;
    feed.redeliver('alarms', 'all');
    await using _ = await start();
    await eventually(() => receiver.received.length === 1);
  });
});
