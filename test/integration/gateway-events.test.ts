/** Events at the gateway: raised by refusals, matched to handlers, delivered to receivers on sockets. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { signatureOf } from '../../gateway/events/webhook-sender.ts';
import type { OpenSecrets } from '../../gateway/feed/vault.ts';
import {
  type EventGateway,
  guardedApi,
  handler,
  type Received,
  type Receiver,
  startEventGateway,
  startReceiver,
} from '../support/event-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { keyId } from '../support/gateway-feed.ts';
import { versioning } from '../support/versioned-gateway.ts';

describe('events at the gateway', () => {
  let receiver: Receiver;
  let gateway: EventGateway;
  beforeEach(async () => {
    receiver = await startReceiver();
    gateway = await startEventGateway();
  });
  afterEach(async () => {
    await gateway[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
  });

  const first = (): Promise<Received> => eventually(() => receiver.received[0]);
  const inline = (members: JsonObject = {}): JsonObject => handler({ url: receiver.url, ...members });
  const counts = async (): Promise<JsonObject> => {
    const { events } = (await (await fetch(`${gateway.control}/svc/config`)).json()) as { readonly events: JsonObject };
    return events;
  };
  const countsOf = async (target: string): Promise<JsonObject> => ((await counts())[target] ?? {}) as JsonObject;

  it('are sent as the design has it: body, headers, signature', async () => {
    const headers = [{ name: 'X-Team', value: 'payments' }];
    const url = `${receiver.url.replace('//', '//user:Pass-67@')}in?a=1`;
    await gateway.put('guarded', guardedApi('guarded', [inline({ name: 'alarm', url, headers, secret: 'Own-61' })]));
    await gateway.refuse();
    const one = await first();
    expect(one).to.include({ method: 'POST', url: '/in?a=1' });
    const { key, ...rest } = one.json;
    expect(rest).to.deep.equal({
      ...{ event: 'AuthFailure', message: 'Auth Failure', path: '/guarded/some/path', origin: '127.0.0.1' },
    });
    expect(key).to.match(/^[0-9a-f]{64}$/);
    expect(one.headers).to.include({
      ...{ 'content-type': 'application/json', 'user-agent': 'Svc-Hookshot', 'x-team': 'payments' },
      ...{ 'x-svc-attempt': '1', authorization: `Basic ${Buffer.from('user:Pass-67').toString('base64')}` },
    });
    expect(one.headers['x-svc-event-id']).to.match(/^[0-9a-f-]{36}$/);
    const signature = String(one.headers['x-svc-signature']);
    const time = Number(/^t=(\d+),/.exec(signature)?.[1]);
    expect(signature).to.equal(signatureOf('Own-61', time, one.body));
    await eventually(async () => (await countsOf('handler:guarded:AuthFailure alarm'))['delivered'] === 1);
    const outbox = join(gateway.directory, 'outbox');
    const files = readdirSync(outbox, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const stored = files.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1')).join();
    expect(stored).to.include('handler:guarded');
    for (const secret of ['Own-61', 'Pass-67', 'payments']) expect(stored).not.to.include(secret);
  });

  const raising: readonly (readonly [what: string, api: JsonObject, path: string, expected: JsonObject])[] = [
    [
      'the rate limit of an API',
      { upstream: { rateLimit: { enabled: true, rate: 1, per: '1h' } } },
      '/open/x',
      { event: 'RatelimitExceeded', message: 'API Rate Limit Exceeded', path: '/open/x', key: '' },
    ],
    [
      'the end of an API',
      { info: { expiration: '2020-01-01 00:00' } },
      '/open/x',
      {
        ...{
          event: 'VersionFailure',
          message: 'Attempted access to disallowed version / path.',
          path: '/open/x',
          key: '',
        },
        reason: 'API has expired, please check documentation or contact administrator',
      },
    ],
    [
      'a version that is not there',
      { info: { versioning: versioning() } },
      '/open/x',
      {
        ...{
          event: 'VersionFailure',
          message: 'Attempted access to disallowed version / path.',
          path: '/open/x',
          key: '',
        },
        reason: 'Version information not found',
      },
    ],
  ];
  for (const [what, parts, path, expected] of raising) {
    it(`are raised by ${what}`, async () => {
      const handlers = ['RatelimitExceeded', 'VersionFailure'].map((trigger) => inline({ trigger }));
      const server = { authentication: { enabled: false } };
      await gateway.put('open', guardedApi('open', handlers, { ...parts, server }));
      for (let i = 0; i < 2; i++) await (await fetch(gateway.url + path)).arrayBuffer();
      expect((await first()).json).to.deep.equal({ ...expected, origin: '127.0.0.1' });
    });
  }

  const keys: readonly (readonly [what: string, key: JsonObject, event: string, message: string])[] = [
    ['has ended', { access_rights: {}, expires: 1_000 }, 'KeyExpired', 'Attempted access from expired key.'],
    ['is inactive', { access_rights: {}, is_inactive: true }, 'KeyExpired', 'Attempted access from inactive key.'],
    ['has no right', { access_rights: { other: { api_id: 'other' } } }, 'AuthFailure', 'Auth Failure'],
    [
      'has no right for the path',
      { access_rights: { keyed: { api_id: 'keyed', allowed_urls: [{ url: '/no', methods: ['GET'] }] } } },
      ...(['AuthFailure', 'Auth Failure'] as const),
    ],
  ];
  for (const [what, key, event, message] of keys) {
    it(`are raised by a key that ${what}`, async () => {
      const handlers = ['KeyExpired', 'AuthFailure'].map((trigger) => inline({ trigger }));
      await gateway.put('keyed', guardedApi('keyed', handlers));
      await gateway.settled(gateway.feed.putKey('the-key', key));
      const answer = await fetch(`${gateway.url}/keyed/x`, { headers: { authorization: 'the-key' } });
      await answer.arrayBuffer();
      expect((await first()).json).to.deep.equal({
        ...{ event, message, path: '/keyed/x', origin: '127.0.0.1', key: keyId('the-key') },
      });
    });
  }

  it('open no outbox where nobody listens, or listens to something else', async () => {
    await gateway.put('guarded', guardedApi('guarded', []));
    await gateway.put('log', guardedApi('log', [handler({ type: 'log', logPrefix: 'seen' })]));
    await gateway.refuse();
    await gateway.refuse(1, 'log');
    await eventually(() => gateway.log.lines.some(({ message }) => message.startsWith('seen:')));
    expect(readdirSync(gateway.directory)).not.to.include('outbox');
    await gateway.put(
      'guarded',
      guardedApi('guarded', [inline({ trigger: 'VersionFailure' }), inline({ enabled: false })]),
    );
    await gateway.refuse();
    await gateway.put('guarded', guardedApi('guarded', [inline({ name: 'now' })]));
    await gateway.refuse();
    await first();
    expect(receiver.received).to.have.length(1);
  });

  it('are logged as one line with the event, its credentials masked', async () => {
    await gateway.put('guarded', guardedApi('guarded', [handler({ type: 'log', logPrefix: 'seen' })]));
    await gateway.refuse();
    const { level, message, fields } = await eventually(() =>
      gateway.log.lines.find((line) => line.message.startsWith('seen:')),
    );
    expect(level).to.equal('warn');
    expect(message).to.match(/^seen:[0-9a-f]{64}:127\.0\.0\.1:\/guarded\/some\/path$/);
    const event = fields['event'] as JsonObject;
    expect(event).to.have.property('Type', 'AuthFailure');
    const meta = event['Meta'] as JsonObject;
    expect(meta).to.include({ Message: 'Auth Failure', Path: '/guarded/some/path', Origin: '127.0.0.1' });
    const request = Buffer.from(String(meta['OriginatingRequest']), 'base64').toString();
    expect(request).to.match(/^GET \/guarded\/some\/path\?part=1 HTTP\/1\.1\r\n/);
    expect(request).to.match(/\r\nauthorization: \*\*\*\r\n/i);
    expect(JSON.stringify(gateway.log.lines)).not.to.include('nobody-has-this');
  });

  it('show no credential wherever it stands, and of a body that a step has read the beginning', async () => {
    const authentication = {
      enabled: true,
      securitySchemes: {
        key: { enabled: true, header: { enabled: true, name: 'X-Door' }, query: { enabled: true, name: 'k y' } },
      },
    };
    const schemes = { key: { type: 'apiKey', in: 'header', name: 'X-Door' } };
    const add = [{ name: 'X-Field', value: '$svc_context.request_data_field' }];
    const api = guardedApi('guarded', [handler({ type: 'log', logPrefix: 'seen' })], {
      server: { authentication },
      global: { contextVariables: { enabled: true }, transformRequestHeaders: { enabled: true, add } },
    });
    await gateway.put('guarded', { ...api, components: { securitySchemes: schemes }, security: [{ key: [] }] });
    const body = `field=${'x'.repeat(20_000)}`;
    const headers = { 'X-Door': 'Door-11', Cookie: 'a=Cookie-12', 'X-Api-Key': 'Key-13', 'X-Plain': 'shown' };
    const answer = await fetch(`${gateway.url}/guarded/x?a=1&k+y=Query-14&b=2`, {
      ...{ method: 'POST', body, headers: { ...headers, 'Content-Type': 'application/x-www-form-urlencoded' } },
    });
    expect(answer.status).to.equal(403);
    const { fields } = await eventually(() => gateway.log.lines.find((line) => line.message.startsWith('seen:')));
    const { OriginatingRequest } = (fields['event'] as JsonObject)['Meta'] as JsonObject;
    const [head = '', shown = ''] = Buffer.from(String(OriginatingRequest), 'base64').toString().split('\r\n\r\n');
    expect(head).to.match(/^POST \/guarded\/x\?a=1&k\+y=\*\*\*&b=2 HTTP\/1\.1\r\n/);
    for (const name of ['X-Door', 'Cookie', 'X-Api-Key']) expect(head).to.match(new RegExp(`\r\n${name}: \\*{3}`, 'i'));
    expect(head).to.match(/\r\nX-Plain: shown/i);
    expect(shown).to.equal(body.slice(0, 16_384));
    expect(JSON.stringify(gateway.log.lines)).not.to.match(/Door-11|Cookie-12|Key-13|Query-14/);
  });

  it('show no access key that was sent where nobody looks for one', async () => {
    const add = [{ name: 'X-Field', value: '$svc_context.request_data_field' }];
    const handlers = [handler({ type: 'log', logPrefix: 'seen' }), inline({ name: 'alarm' })];
    await gateway.put(
      'guarded',
      guardedApi('guarded', handlers, {
        global: { contextVariables: { enabled: true }, transformRequestHeaders: { enabled: true, add } },
      }),
    );
    const key = `svck_${'aB3-_'.repeat(8)}xyz`;
    const answer = await fetch(`${gateway.url}/guarded/${key}/b?where=${key}&c=d`, {
      ...{ method: 'POST', body: `field=${key}` },
      headers: {
        Authorization: 'nobody-has-this',
        'X-Where': `here: ${key}`,
        'Content-Type': 'application/x-www-form-urlencoded',
      },
    });
    expect(answer.status).to.equal(403);
    const { message, fields } = await eventually(() =>
      gateway.log.lines.find((line) => line.message.startsWith('seen:')),
    );
    expect(message).to.match(/:\/guarded\/svck_\*\*\*\/b$/);
    const { OriginatingRequest } = (fields['event'] as JsonObject)['Meta'] as JsonObject;
    const request = Buffer.from(String(OriginatingRequest), 'base64').toString();
    expect(request).to.match(/^POST \/guarded\/svck_\*{3}\/b\?where=svck_\*{3}&c=d HTTP\/1\.1\r\n/);
    expect(request).to.match(/\r\nX-Where: here: svck_\*{3}\r\n/i);
    expect(request).to.match(/\r\n\r\nfield=svck_\*{3}$/);
    const { body, json } = await first();
    expect(json['path']).to.equal('/guarded/svck_***/b');
    for (const shown of [request, body, JSON.stringify(gateway.log.lines)]) expect(shown).not.to.include(key);
  });

  it('go to a stored webhook of the organisation, once for two handlers that name it', async () => {
    const hook = { url: `${receiver.url}stored`, method: 'PUT', headers: [{ name: 'A', value: 'b' }] };
    gateway.feed.putWebhook('alarms', hook);
    await gateway.put(
      'guarded',
      guardedApi('guarded', [handler({ id: 'alarms' }), handler({ id: 'alarms', name: 'x' })]),
    );
    await gateway.refuse();
    expect(await first()).to.deep.include({ method: 'PUT', url: '/stored' });
    await eventually(async () => (await countsOf('webhook:alarms'))['delivered'] === 1);
    const [delivery] = gateway.gateway.events.deliveries;
    expect(delivery).to.include({ webhookId: 'alarms', orgId: 'acme', apiId: 'guarded', trigger: 'AuthFailure' });
    expect(delivery).to.include({ state: 'delivered', attempts: 1, lastStatus: 204, error: null, nextAt: null });
    expect(delivery?.eventId).to.equal(receiver.ids()[0]);
  });

  it('are not sent to who is not there, belongs to others, is off, or lacks its secrets; all but the third are counted', async () => {
    const hook = { url: receiver.url, method: 'POST', headers: [] };
    gateway.feed.putWebhook('theirs', hook, { orgId: 'other' });
    gateway.feed.putWebhook('off', { ...hook, enabled: false });
    const secrets = [{ pointer: '/secret', secret: { kid: '00000000-0000-4000-8000-000000000000' } as never }];
    const sealed = { type: 'WebhookCreated' as const, secrets };
    gateway.feed.putWebhook('closed', { ...hook, secret: '***' }, { sealed });
    const ids = ['none', 'theirs', 'off', 'closed'].map((id) => handler({ id }));
    const masked = inline({ name: 'masked', headers: [{ name: 'X-Key', value: '***' }] });
    await gateway.put('guarded', guardedApi('guarded', [...ids, masked, inline({ name: 'good' })]));
    await gateway.refuse();
    await first();
    expect(receiver.received).to.have.length(1);
    const lost = ['webhook:none', 'webhook:theirs', 'webhook:closed', 'handler:guarded:AuthFailure masked'];
    const { 'handler:guarded:AuthFailure good': _, ...others } = await counts();
    expect(Object.keys(others)).to.have.members(lost);
    for (const target of lost) expect(await countsOf(target)).to.include({ undeliverable: 1, delivered: 0 });
  });

  it('go to a handler whose secret came after its API', async () => {
    await gateway[Symbol.asyncDispose]();
    const kid = '00000000-0000-4000-8000-000000000001';
    let isThere = false;
    const openSecrets: OpenSecrets = async (_, { secrets }) =>
      secrets.map(({ pointer }) => ({ pointer, kid, ...(isThere ? { clear: 'Own-61' } : {}) }));
    gateway = await startEventGateway({ openSecrets });
    const api = guardedApi('guarded', [inline({ name: 'late', secret: '***' })]);
    const pointer = '/x-svc-api-gateway/server/eventHandlers/0/secret';
    const sealed = { type: 'ApiDefinitionCreated' as const, secrets: [{ pointer, secret: { kid } as never }] };
    await gateway.settled(gateway.feed.put('guarded', api, 'oas', 'acme', sealed));
    await gateway.refuse();
    await eventually(async () => (await countsOf('handler:guarded:AuthFailure late'))['undeliverable'] === 1);
    isThere = true;
    await gateway.settled(gateway.feed.put('guarded', api, 'oas', 'acme', sealed));
    await gateway.refuse();
    const one = await first();
    const signature = String(one.headers['x-svc-signature']);
    expect(signature).to.equal(signatureOf('Own-61', Number(/^t=(\d+),/.exec(signature)?.[1]), one.body));
  });

  it('of every API go to handlers of the node', async () => {
    await gateway[Symbol.asyncDispose]();
    const target = { url: receiver.url, method: 'POST', headers: [], secret: '' };
    const ofNode = { type: 'inline', trigger: 'AuthFailure', key: 'node', target } as const;
    gateway = await startEventGateway({ settings: { eventHandlers: [ofNode] } });
    await gateway.put('guarded', guardedApi('guarded', []));
    await gateway.settled(gateway.feed.put('other', guardedApi('other', []), 'oas', 'other'));
    await gateway.refuse();
    await gateway.refuse(1, 'other');
    await eventually(() => receiver.received.length === 2);
    const paths = receiver.received.map(({ json }) => json['path']);
    expect(paths).to.have.members(['/guarded/some/path', '/other/some/path']);
  });

  it('that are equal to one that arrived a moment ago are left out', async () => {
    await gateway.put('guarded', guardedApi('guarded', [inline({ name: 'calm', cooldownPeriod: '1h' })]));
    await gateway.put('other', guardedApi('other', [inline({ name: 'calm', cooldownPeriod: '1h' })]));
    receiver.answer = () => (receiver.received.length === 1 ? [500] : [204]);
    await gateway.refuse(5);
    await eventually(async () => (await countsOf('handler:guarded:AuthFailure calm'))['suppressed'] === 4);
    await gateway.refuse();
    await eventually(async () => (await countsOf('handler:guarded:AuthFailure calm'))['suppressed'] === 5);
    await gateway.refuse(1, 'other');
    await eventually(async () => (await countsOf('handler:other:AuthFailure calm'))['delivered'] === 1);
    const delivered = receiver.received.slice(1).map(({ json }) => json['path']);
    expect(delivered).to.have.members(['/guarded/some/path', '/other/some/path']);
  });

  it('cost no request anything, however slow the receiver is', async () => {
    receiver.answer = () => 'silence';
    await gateway.put('guarded', guardedApi('guarded', [inline()]));
    await gateway.refuse(40);
    expect(gateway.lane.records.length).to.be.at.least(1);
    await eventually(() => receiver.received.length === 4);
    // As many at once as there may be; the others wait, and no request has waited for any of them.
    expect(gateway.gateway.events.deliveries).to.deep.equal([]);
    await gateway.refuse(10);
  });
});
