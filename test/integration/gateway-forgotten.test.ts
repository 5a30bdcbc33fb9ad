/** Gateways that somebody forgets: who asked, what goes with them, and how they come back. */
import { expect } from 'chai';
import { decodeEvent } from '../../domain/events.ts';
import { nodeStream, toNodeId } from '../../domain/ids.ts';
import type { GatewayReport } from '../../gateway/feed/feed.ts';
import { listOf } from '../support/configuration.ts';
import { eventually } from '../support/eventually.ts';
import { gatewayReport } from '../support/gateway-report.ts';
import { appendEvents } from '../support/given.ts';
import { json } from '../support/management-refusals.ts';
import { orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { webhookDelivery } from '../support/webhook-delivery.ts';

describe('a gateway', () => {
  let management: TestManagement;
  beforeEach(async () => {
    management = await startTestManagement();
  });
  afterEach(() => management[Symbol.asyncDispose]());

  const taken = async (parts: Partial<Omit<GatewayReport, 'node'>> = {}): Promise<void> => {
    const answer = await management.call('POST', '/api/gateways/edge-1/reports', gatewayReport(parts), json);
    expect(answer.status, answer.text).to.equal(200);
  };
  const eventsOf = async () => {
    const stored = await management.store.readStream(nodeStream(toNodeId('edge-1')), { limit: 1_000 });
    return stored.map((one) => decodeEvent(one));
  };
  const types = async () => (await eventsOf()).map(({ event }) => event.type);
  const known = (count: number): Promise<boolean> =>
    eventually(async () => listOf(await management.call('GET', '/api/gateways'), 'gateways').length === count);

  it('is forgotten by somebody, for a reason, and once', async () => {
    await taken();
    await known(1);
    const forget = (query: string, headers = {}) =>
      management.call('DELETE', `/api/gateways/edge-1${query}`, undefined, headers);
    expect((await forget('?dryRun=true')).headers.get('x-svc-dry-run')).to.equal('true');
    expect((await management.call('GET', '/api/gateways/edge-1')).json).to.have.property('lastSeen');
    const asked = { 'x-svc-comment': 'scrapped', 'x-request-id': 'r-forget', 'idempotency-key': 'forget-1' };
    const answer = await forget('', asked);
    expect([answer.status, answer.json]).to.deep.equal([200, { status: 'ok' }]);
    const meta = (await eventsOf()).at(-1)?.meta;
    expect(meta).to.include({ actorType: 'token', commandType: 'DeregisterGateway', comment: 'scrapped' });
    expect(meta).to.include({ requestId: answer.headers.get('x-request-id') });
    expect(meta).to.include.keys('requestHash', 'correlationId', 'causationId', 'idempotencyKey', 'ip');
    expect((await forget('', asked)).headers.get('idempotency-replayed')).to.equal('true');
  });

  it('registers again with its next report', async () => {
    await taken();
    await known(1);
    expect((await management.call('DELETE', '/api/gateways/edge-1')).status).to.equal(200);
    await known(0);
    expect((await management.call('DELETE', '/api/gateways/edge-1')).json).to.include({ code: 'gateway_unknown' });
    await taken();
    await known(1);
    expect(await types()).to.deep.equal([
      ...['GatewayRegistered', 'GatewayConfigApplied', 'GatewayDeregistered', 'GatewayRegistered'],
      'GatewayConfigApplied',
    ]);
  });

  it('registers again after it was forgotten by halves, once somebody asks anew', async () => {
    await taken();
    await known(1);
    // As a management node leaves it that dies between the event and the sign of life.
    await appendEvents(management.store, {
      ...{ type: 'GatewayDeregistered', orgId, nodeId: toNodeId('edge-1'), reason: 'asked' },
    });
    await known(0);
    expect((await management.call('DELETE', '/api/gateways/edge-1')).json).to.include({ code: 'gateway_unknown' });
    await taken();
    expect((await types()).slice(2)).to.deep.equal([
      'GatewayDeregistered',
      'GatewayRegistered',
      'GatewayConfigApplied',
    ]);
  });

  it('that came back keeps what it said since when the request is repeated', async () => {
    await management.call(
      'POST',
      '/api/webhooks',
      JSON.stringify({ id: 'alarms', url: 'https://hooks.example/' }),
      json,
    );
    const deliveries = async () =>
      listOf(await management.call('GET', '/api/webhooks/alarms/deliveries'), 'deliveries');
    const forget = () => management.call('DELETE', '/api/gateways/edge-1', undefined, { 'idempotency-key': 'once' });
    await taken({ deliveries: [webhookDelivery(1, { orgId })] });
    expect((await forget()).status).to.equal(200);
    expect(await deliveries()).to.have.length(0);
    await taken({ deliveries: [webhookDelivery(2, { orgId })] });
    expect((await forget()).headers.get('idempotency-replayed')).to.equal('true');
    expect(await deliveries()).to.have.length(1);
  });
});
