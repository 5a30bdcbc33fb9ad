/** Deliveries to webhooks over the management API: listed by pages, by state, for their organisation. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import type { WebhookDelivery } from '../../domain/webhook-delivery.ts';
import { createDeliveries } from '../../src/management/deliveries.ts';
import { orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';

const json = { 'content-type': 'application/json' };

const delivery = (number: number, members: Partial<WebhookDelivery> = {}): WebhookDelivery => {
  const at = new Date(Date.parse('2026-03-01T00:00:00Z') + number * 1_000).toISOString();
  return {
    ...{ id: `d${number}`, webhookId: 'alarms', orgId, apiId: 'orders', trigger: 'AuthFailure' },
    ...{ eventId: `e${number}`, state: 'delivered', attempts: 1, lastStatus: 204, error: null },
    ...{ raisedAt: at, at, nextAt: null, ...members },
  };
};

describe('deliveries to a webhook', () => {
  let management: TestManagement;
  before(async () => {
    management = await startTestManagement();
    const body = JSON.stringify({ id: 'alarms', url: 'https://hooks.example/in' });
    expect((await management.call('POST', '/api/webhooks', body, json)).status).to.equal(200);
    const deliveries = createDeliveries(management.cells);
    const failed = { lastStatus: null, error: 'connect ECONNREFUSED', attempts: 9 } as const;
    await deliveries.take('edge-1', [delivery(1), delivery(2, { state: 'dead', ...failed }), delivery(3)]);
    await deliveries.take('edge-2', [
      delivery(4, { state: 'retrying', nextAt: '2026-03-01T01:00:00.000Z', ...failed }),
      ...[delivery(5, { webhookId: 'another' }), delivery(6, { orgId: 'another' })],
    ]);
  });
  after(() => management[Symbol.asyncDispose]());

  const get = (query = '', id = 'alarms') => management.call('GET', `/api/webhooks/${id}/deliveries${query}`);
  const ids = (body: JsonObject) => (body['deliveries'] as readonly JsonObject[]).map(({ id }) => id);

  it('are those of every node, newest first', async () => {
    const { status, text, json: body } = await get();
    expect(status, text).to.equal(200);
    expect(ids(body)).to.deep.equal(['d4', 'd3', 'd2', 'd1']);
    expect(body).to.include({ next: null, total: 4 });
    expect((body['deliveries'] as readonly JsonObject[])[0]).to.deep.equal({
      ...{ node: 'edge-2', id: 'd4', apiId: 'orders', trigger: 'AuthFailure', eventId: 'e4', state: 'retrying' },
      ...{ attempts: 9, lastStatus: null, error: 'connect ECONNREFUSED', raisedAt: '2026-03-01T00:00:04.000Z' },
      ...{ at: '2026-03-01T00:00:04.000Z', nextAt: '2026-03-01T01:00:00.000Z' },
    });
  });

  for (const [state, expected] of [
    ['delivered', ['d3', 'd1']],
    ['retrying', ['d4']],
    ['dead', ['d2']],
  ] as const) {
    it(`are narrowed to those that are ${state}`, async () => {
      expect(ids((await get(`?state=${state}`)).json)).to.deep.equal(expected);
    });
  }

  it('come by pages, each once', async () => {
    const first = await get('?limit=3');
    expect(ids(first.json)).to.deep.equal(['d4', 'd3', 'd2']);
    expect(first.headers.get('link')).to.contain('rel="next"');
    const second = await get(`?limit=3&after=${first.json['next']}`);
    expect(ids(second.json)).to.deep.equal(['d1']);
    expect(second.json).to.include({ next: null, total: 4 });
  });

  for (const [name, query, id, code] of [
    ['an unknown state', '?state=lost', 'alarms', 'query_invalid'],
    ['a cursor of another list', '?after=12', 'alarms', 'query_invalid'],
    ['a webhook that is not there', '', 'another', 'webhook_unknown'],
    ['what is no id', '', '%20', 'id_invalid'],
  ] as const) {
    it(`are refused for ${name}`, async () => {
      expect((await get(query, id)).headers.get('x-svc-error-code')).to.equal(code);
    });
  }
});
