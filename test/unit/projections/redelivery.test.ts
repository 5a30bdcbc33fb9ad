/** Requests to send dead letters again: an object beside the webhook, which stays what it was. */
import { expect } from 'chai';
import type { DomainEvent } from '../../../domain/events.ts';
import { toWebhookId } from '../../../domain/ids.ts';
import { webhook } from '../../../domain/webhook.ts';
import { gatewayConfig, objectFrom, readSnapshot } from '../../../projections/gateway-config.ts';
import { findWebhook, webhooksProjection } from '../../../projections/webhooks.ts';
import { folded, org } from '../../support/given.ts';

const webhookId = toWebhookId('alarms');
const stated = { orgId: org, webhookId, document: { name: 'Alarms' }, docSha256: 'sha' };
const created: DomainEvent = { type: 'WebhookCreated', ...stated };
const asked = (redeliveryId: string, ids: readonly string[] | 'all' = [redeliveryId]): DomainEvent => ({
  ...{ type: 'WebhookRedeliveryRequested', orgId: org, webhookId, redeliveryId, ids },
});
const objectsAfter = (...events: readonly DomainEvent[]) =>
  readSnapshot(folded(gatewayConfig, ...events), { logId: 'log', era: 0, position: '' }).objects;
const requestsAfter = (...events: readonly DomainEvent[]) => {
  const object = objectsAfter(...events)['redelivery:alarms'];
  return object?.kind === 'redelivery' ? object.body.requests : [];
};
const names = (...events: readonly DomainEvent[]) => requestsAfter(...events).map(({ redeliveryId }) => redeliveryId);

describe('requests to deliver again', () => {
  it('reach gateways in their order, each with its position', () => {
    const requests = requestsAfter(created, asked('one'), asked('two', ['x', 'y']));
    expect(requests.map(({ redeliveryId, ids }) => [redeliveryId, ids])).to.deep.equal([
      ['one', ['one']],
      ['two', ['x', 'y']],
    ]);
    expect(requests[0]!.position < requests[1]!.position).to.equal(true);
  });

  it('leave the object of the webhook alone, also where it is read from its stream', () => {
    expect(objectsAfter(created, asked('one'))['webhook:alarms']).to.deep.equal(
      objectsAfter(created)['webhook:alarms'],
    );
    const recorded = [created, asked('one')].map((event, index) => ({
      ...{ event, id: `e${index}`, stream: 'webhook-alarms', revision: BigInt(index), position: String(index) },
      ...{ at: new Date(index), meta: {} },
    }));
    expect(objectFrom(recorded)).to.include({ kind: 'webhook', revision: '0' });
  });

  it('are the last ones only, and none before one for all', () => {
    const many = Array.from({ length: 25 }, (_, index) => asked(`r${index}`));
    expect(names(created, ...many)).to.deep.equal(many.slice(5).map((_, index) => `r${index + 5}`));
    expect(names(created, ...many, asked('all', 'all'), asked('after'))).to.deep.equal(['all', 'after']);
  });

  it('move the tag of the webhook on, and change nothing of it', () => {
    const before = findWebhook(folded(webhooksProjection, created), org, 'alarms');
    const after = findWebhook(folded(webhooksProjection, created, asked('one')), org, 'alarms');
    expect(after).to.deep.include({
      revision: '1',
      document: before?.document,
      createdPosition: before?.createdPosition,
    });
    const state = webhook.evolve(webhook.initial, created as never);
    expect(webhook.evolve(state, asked('one') as never)).to.equal(state);
  });

  it("are refused for a webhook that is not there, or is another organisation's", () => {
    const command = { type: 'RequestRedelivery', orgId: org, webhookId, redeliveryId: 'one', ids: 'all' } as const;
    expect(() => webhook.decide(command, webhook.initial))
      .to.throw()
      .with.property('code', 'webhook_unknown');
    const state = webhook.evolve(webhook.initial, { ...created, orgId: 'another' } as never);
    expect(() => webhook.decide(command, state))
      .to.throw()
      .with.property('code', 'webhook_unknown');
    const own = webhook.evolve(webhook.initial, created as never);
    expect(webhook.decide(command, own)).to.deep.equal([asked('one', 'all')]);
  });
});
