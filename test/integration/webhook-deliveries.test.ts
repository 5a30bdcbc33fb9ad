/** Deliveries to webhooks over the management API: listed by pages, by state, for their organisation. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import type { WebhookDelivery } from '../../domain/webhook-delivery.ts';
import { createDeliveries } from '../../src/management/fleet/deliveries.ts';
import { orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { webhookDelivery } from '../support/webhook-delivery.ts';

const json = { 'content-type': 'application/json' };

const delivery = (number: number, members: Partial<WebhookDelivery> = {}) =>
  webhookDelivery(number, { orgId, ...members });

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
    const { status, text, headers, json: body } = await get();
    expect(status, text).to.equal(200);
    expect(ids(body)).to.deep.equal(['d4', 'd3', 'd2', 'd1']);
    expect(body).to.include({ next: null, total: 4 });
    // It is a page like others.
    expect(headers.get('ratelimit-policy')).to.match(/^"token";q=\d+;w=\d+$/);
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

  const redeliver = (body: JsonObject, id = 'alarms', headers = {}) =>
    management.call('POST', `/api/webhooks/${id}/redeliver`, JSON.stringify(body), { ...json, ...headers });

  it('are asked for again by an event of the webhook, once for one Idempotency-Key', async () => {
    const tag = (await management.call('GET', '/api/webhooks/alarms')).headers.get('etag');
    const headers = { 'idempotency-key': 'again' };
    const first = await redeliver({ ids: ['d2', 'd2'] }, 'alarms', headers);
    expect([first.status, first.json['Message']]).to.deep.equal([202, 'Redelivery requested']);
    const again = await redeliver({ ids: ['d2', 'd2'] }, 'alarms', headers);
    expect([again.status, again.json['redeliveryId']]).to.deep.equal([202, first.json['redeliveryId']]);
    expect((await redeliver({ all: true })).status).to.equal(202);
    expect((await redeliver({ all: true }, 'alarms', { 'x-svc-comment': 'why' })).status).to.equal(202);
    const events = await management.store.readStream('webhook-alarms', { from: 1n, limit: 10 });
    const told = events.map(({ type, data }) => [type, JSON.parse(new TextDecoder().decode(data)).ids]);
    expect(told).to.deep.equal([
      ['WebhookRedeliveryRequested', ['d2']],
      ...[1, 2].map(() => ['WebhookRedeliveryRequested', 'all']),
    ]);
    const shown = await management.call('GET', '/api/webhooks/alarms');
    expect(shown.headers.get('etag')).to.not.equal(tag);
    const audit = await management.call('GET', '/api/audit?aggregate=webhook-alarms&limit=1');
    expect(audit.text).to.contain('all dead letters asked to be sent again');
    const changed = await management.call('PATCH', '/api/webhooks/alarms', '{"name":"still"}', {
      ...json,
      'if-match': shown.headers.get('etag') ?? '',
    });
    expect(changed.status, changed.text).to.equal(200);
  });

  it('asked for again change nothing of the webhook, of its past, or of a restore', async () => {
    const read = async (query: string) => (await management.call('GET', `/api/webhooks/alarms${query}`)).json;
    const { updatedAt: _, ...before } = await read('');
    const at = String(Number(await management.store.head()));
    expect((await redeliver({ all: true })).status).to.equal(202);
    const { updatedAt: __, ...after } = await read('');
    expect(after).to.deep.equal(before);
    const head = String(Number(await management.store.head()));
    for (const moment of [at, head]) expect(await read(`?at=${moment}`)).to.deep.include(before);
    const listed = await management.call('GET', `/api/webhooks?at=${head}`);
    expect(listed.json).to.have.nested.property('hooks[0].id', 'alarms');
    const config = await management.call('GET', `/api/config?at=${head}`);
    expect(config.text).to.contain('"alarms"');
    const asked = JSON.stringify({ at, kinds: ['webhook'], keepNew: true });
    const restored = await management.call('POST', '/api/config/restore?dryRun=true', asked, json);
    expect(restored.status, restored.text).to.equal(200);
    expect(restored.json['changed']).to.deep.equal([]);
    const difference = await management.call('GET', `/api/config/diff?from=${at}&to=${head}`);
    expect(difference.json['objects']).to.deep.equal([]);
    const [entry] = (await management.call('GET', '/api/audit?aggregate=webhook-alarms&limit=1')).json[
      'events'
    ] as readonly JsonObject[];
    expect(entry).to.include({ type: 'WebhookRedeliveryRequested' });
    const shown = await management.call('GET', `/api/audit/${entry?.['position']}`);
    expect(shown.status, shown.text).to.equal(200);
  });

  it('are not asked for on another condition than the one that holds', async () => {
    const ask = (tag: string) =>
      management.call('POST', '/api/webhooks/alarms/redeliver', '{"all":true}', { ...json, 'if-match': tag });
    const { headers } = await management.call('GET', '/api/webhooks/alarms');
    const refused = await ask('"99"');
    expect([refused.status, refused.headers.get('etag')]).to.deep.equal([412, headers.get('etag')]);
    expect((await ask(headers.get('etag') ?? '')).status).to.equal(202);
  });

  it('are only asked for in a dry run', async () => {
    const head = await management.store.head();
    const answer = await management.call('POST', '/api/webhooks/alarms/redeliver?dryRun=true', '{"all":true}', json);
    expect([answer.status, await management.store.head()]).to.deep.equal([200, head]);
  });

  for (const [name, body, pointer] of [
    ['nothing', {}, ''],
    ['both', { ids: ['d1'], all: true }, ''],
    ['no ids at all', { ids: [] }, '/ids'],
    ['all but not', { all: false }, '/all'],
    ['an id that is none', { ids: [1] }, '/ids/0'],
    ['too many', { ids: Array.from({ length: 101 }, (_, index) => `d${index}`) }, '/ids'],
    ['a member that nobody knows', { id: 'd1' }, '/id'],
  ] as const) {
    it(`are not asked for with ${name}`, async () => {
      const answer = await redeliver(body as JsonObject, 'alarms', { accept: 'application/problem+json' });
      expect([answer.status, answer.json['code']]).to.deep.equal([400, 'webhook_invalid']);
      expect(answer.json).to.have.nested.property('errors[0].pointer', pointer);
    });
  }

  it('are not asked for of a webhook that is not there', async () => {
    expect((await redeliver({ all: true }, 'another')).status).to.equal(404);
  });
});
