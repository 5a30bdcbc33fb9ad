/** What a node tells of its deliveries: each once as long as nothing happens to it, a hundred at a time, all after a start. */
import { expect } from 'chai';
import type { WebhookDelivery } from '../../../domain/webhook-delivery.ts';
import { DeliveryNews } from '../../../gateway/events/delivery-news.ts';
import { webhookDelivery } from '../../support/webhook-delivery.ts';

describe('news of deliveries', () => {
  const ids = (deliveries: readonly WebhookDelivery[]) => deliveries.map(({ id }) => id);

  it('are told until they are taken, and again when something has happened', () => {
    let all = [webhookDelivery(1, { state: 'retrying' }), webhookDelivery(2)];
    const news = new DeliveryNews(() => all);
    expect(ids(news.next())).to.deep.equal(['d1', 'd2']);
    expect(ids(news.next())).to.deep.equal(['d1', 'd2']);
    expect(news.taken(news.next())).to.equal(false);
    expect(news.next()).to.deep.equal([]);
    all = [webhookDelivery(1, { attempts: 2 }), webhookDelivery(2), webhookDelivery(3)];
    expect(ids(news.next())).to.deep.equal(['d1', 'd3']);
  });

  it('are not lost when they change while a report is on its way', () => {
    let all = [webhookDelivery(1, { state: 'retrying' })];
    const news = new DeliveryNews(() => all);
    const told = news.next();
    all = [webhookDelivery(1, { attempts: 2 })];
    expect(news.taken(told)).to.equal(true);
    expect(news.next()).to.deep.equal(all);
  });

  it('are those of webhooks alone', () => {
    const news = new DeliveryNews(() => [webhookDelivery(1, { webhookId: '' }), webhookDelivery(2)]);
    expect(ids(news.next())).to.deep.equal(['d2']);
  });

  it('come a hundred at a time, oldest first, until all are told', () => {
    const all = Array.from({ length: 250 }, (_, index) => webhookDelivery(index));
    const news = new DeliveryNews(() => all);
    const sizes: number[] = [];
    for (let isMore = true; isMore; ) {
      const told = news.next();
      sizes.push(told.length);
      isMore = news.taken(told);
    }
    expect(sizes).to.deep.equal([100, 100, 50]);
  });
});
