/** Webhooks over the management API: sealed, masked, kept, restored, and tried with a real request. */
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { toWebhookId } from '../../domain/ids.ts';
import { webhookTriggers } from '../../domain/webhook-body.ts';
import { createSendWebhook, signatureOf } from '../../gateway/events/webhook-sender.ts';
import { openDocument } from '../../src/management/definitions/definition-secrets.ts';
import { loadWebhook } from '../../src/management/load.ts';
import { eventually } from '../support/eventually.ts';
import { named } from '../support/management-refusals.ts';
import { type Answer, bearer, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { selfSigned } from '../support/test-ca.ts';
import { type Echo, echoUpstream, httpUpstream } from '../support/upstream.ts';

const json = { 'content-type': 'application/json' };

describe('webhooks', () => {
  let management: TestManagement;
  const answers: string[] = [];
  before(async () => {
    management = await startTestManagement();
  });
  after(() => management[Symbol.asyncDispose]());

  const call = async (method: string, path: string, body?: JsonObject, headers = {}): Promise<Answer> => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const answer = await management.call(method, path, text, { ...(body ? json : {}), ...headers });
    answers.push(answer.text);
    return answer;
  };
  const done = async (...args: Parameters<typeof call>): Promise<Answer> => {
    const answer = await call(...args);
    expect(answer.status, answer.text).to.equal(200);
    return answer;
  };
  const create = (id: string, members: JsonObject = {}) =>
    done('POST', '/api/webhooks', { id, name: id, url: 'https://hooks.example/in', secret: 'Own-61', ...members });
  const read = async (id: string) => (await done('GET', `/api/webhooks/${id}`)).json;
  const stored = async (id: string) => {
    const { state } = await loadWebhook(management.store, toWebhookId(id));
    if (!state.exists) return undefined;
    const { secrets } = await openDocument(management.keyRing, `webhook-${id}`, state);
    return Object.fromEntries(secrets.map(({ pointer, clear }) => [pointer, clear]));
  };

  it('are created with an id and a secret of their own, which is told once', async () => {
    const body = { name: 'made', url: 'https://hooks.example/in' };
    const headers = { 'idempotency-key': 'webhook-1' };
    const preview = await done('POST', '/api/webhooks?dryRun=true', body);
    expect(preview.json['secret']).to.equal(null);
    // Not `done`: this is the one answer that may hold it.
    const made = await management.call('POST', '/api/webhooks', JSON.stringify(body), { ...json, ...headers });
    expect(made.json).to.include({ Message: 'Webhook created', Meta: null, Status: 'OK' });
    const id = String(made.json['ID']);
    expect(made.headers.get('location')).to.equal(`/api/webhooks/${id}`);
    const secret = String(made.json['secret']);
    expect(secret).to.match(/^[\w-]{43}$/);
    expect(await stored(id)).to.deep.equal({ '/secret': secret });
    expect((await done('POST', '/api/webhooks', body, headers)).json).to.include({ ID: id, secret: null });
    expect(await read(id)).to.include({ ...body, id, method: 'POST', enabled: true, secret: '***' });
    expect(answers.filter((text) => text.includes(secret))).to.deep.equal([]);
  });

  it('take the older names, keep masks, and are sealed in the log', async () => {
    await done('POST', '/api/webhooks', {
      ...{ id: 'older', target_path: 'http://user:Pass-62@hooks.example/in', header_map: { 'X-Key': 'Header-63' } },
      ...{ template_path: 'alarm', event_timeout: 90, secret: 'Own-61' },
    });
    const shown = await read('older');
    expect(shown).to.deep.include({
      ...{ url: 'http://***@hooks.example/in', headers: [{ name: 'X-Key', value: '***' }], cooldownPeriod: '90s' },
      ...{ bodyTemplate: 'alarm', secret: '***' },
    });
    const unchanged = await done('PUT', '/api/webhooks/older', shown);
    expect(unchanged.headers.get('x-svc-unchanged')).to.equal('true');
    const elsewhere = await call('PATCH', '/api/webhooks/older', { target_path: 'http://***@other.example/in' });
    expect(elsewhere.status).to.equal(400);
    for (const place of ['/url', '/headers/0/value', '/secret']) {
      expect(elsewhere.text).to.contain(`${place}: the stored secret stays with http://hooks.example; send`);
    }
    await done('PATCH', '/api/webhooks/older', { target_path: 'http://***@hooks.example/other', name: 'moved' });
    const all = { '/url': 'user:Pass-62', '/headers/0/value': 'Header-63', '/secret': 'Own-61' };
    expect(await stored('older')).to.deep.equal(all);
    await done('PUT', '/api/webhooks/older', { url: 'http://hooks.example/in' });
    expect(await stored('older'), 'a secret that is left out stays').to.deep.equal({ '/secret': 'Own-61' });
    await done('PATCH', '/api/webhooks/older', { secret: null });
    expect(await stored('older')).to.deep.equal({});
    const { events } = await management.store.readAll({ after: '', limit: 1_000 });
    const log = events.map(({ data }) => new TextDecoder().decode(data)).join('\n');
    for (const secret of ['Pass-62', 'Header-63', 'Own-61']) {
      expect(log).not.to.contain(secret);
      expect(answers.join('\n')).not.to.contain(secret);
    }
  });

  it('are changed by operations, which all count or none, and keep their secrets', async () => {
    const operations = { 'content-type': 'application/json-patch+json' };
    await done('POST', '/api/webhooks', {
      ...{ id: 'steps', url: 'http://hooks.example/in', secret: 'Own-71' },
      headers: [
        { name: 'X-Key', value: 'Header-72' },
        { name: 'X-Team', value: 'Header-73' },
      ],
    });
    const patch = (...body: readonly object[]) =>
      call('PATCH', '/api/webhooks/steps', body as unknown as JsonObject, operations);
    const renamed = await patch(
      { op: 'test', path: '/enabled', value: true },
      { op: 'replace', path: '/enabled', value: false },
      { op: 'remove', path: '/headers/0' },
    );
    expect(renamed.status, renamed.text).to.equal(200);
    expect(await read('steps')).to.deep.include({ enabled: false, headers: [{ name: 'X-Team', value: '***' }] });
    expect(await stored('steps')).to.deep.equal({ '/headers/0/value': 'Header-73', '/secret': 'Own-71' });
    const failed = await patch({ op: 'add', path: '/name', value: 'x' }, { op: 'test', path: '/enabled', value: true });
    expect([failed.status, failed.headers.get('x-svc-error-code')]).to.deep.equal([409, 'patch_test_failed']);
    expect((await patch({ op: 'replace', path: '/url', value: 'nowhere' })).status).to.equal(400);
    expect(await read('steps')).to.include({ name: '', url: 'http://hooks.example/in' });
    expect((await patch({ op: 'remove', path: '/secret' })).status).to.equal(200);
    expect(await stored('steps')).to.deep.equal({ '/headers/0/value': 'Header-73' });
  });

  it('are stored under the organisation of the caller, which is said where the body names another one', async () => {
    const body = { url: 'https://hooks.example/in', org_id: 'ac'.repeat(12) };
    const made = await done('POST', '/api/webhooks', { id: 'foreign', ...body });
    const warning = "/org_id: stored under the caller's organisation";
    expect(made.headers.get('x-svc-warning')).to.equal(warning);
    const { headers } = await done('PUT', '/api/webhooks/foreign', body);
    expect([headers.get('x-svc-warnings'), headers.get('x-svc-unchanged')]).to.deep.equal(['1', 'true']);
    const own = await done('PATCH', '/api/webhooks/foreign', { org_id: (await read('foreign'))['org_id'] ?? '' });
    expect(own.headers.get('x-svc-warnings')).to.equal(null);
    await done('DELETE', '/api/webhooks/foreign');
  });

  it('are listed in the order of their making, by pages, now and at a time', async () => {
    for (const id of ['one', 'two', 'three']) await create(id, { name: `listed ${id}` });
    const position = String(Number(await management.store.head()));
    await done('DELETE', '/api/webhooks/two');
    const first = await done('GET', '/api/webhooks?q=listed&limit=1');
    expect(first.json).to.have.nested.property('hooks[0].id', 'one');
    expect(first.json['total']).to.equal(2);
    const second = await done('GET', `/api/webhooks?q=listed&limit=1&after=${first.json['next']}`);
    expect(second.json).to.have.nested.property('hooks[0].id', 'three');
    expect((await done('GET', `/api/webhooks?q=listed&at=${position}`)).json['total']).to.equal(3);
    expect((await done('GET', `/api/webhooks/two?at=${position}`)).json).to.include({ id: 'two', secret: '***' });
    expect((await call('GET', '/api/webhooks/two')).headers.get('x-svc-error-code')).to.equal('webhook_unknown');
  });

  it('are not deleted while an API names them, unless that is forced', async () => {
    await create('named');
    const handler = { enabled: true, trigger: 'AuthFailure', type: 'webhook', id: 'named' };
    const api = named('naming');
    const extension = api['x-svc-api-gateway'] as JsonObject;
    const handlers = [handler, { ...handler, id: 'nobody' }, { ...handler, enabled: false, id: 'nobody' }];
    const server = { ...(extension['server'] as JsonObject), eventHandlers: handlers };
    const made = await management.call('POST', '/api/apis/streams', {
      ...api,
      'x-svc-api-gateway': { ...extension, server },
    });
    expect(made.status, made.text).to.equal(200);
    expect(made.headers.get('x-svc-warnings')).to.equal('1');
    const refused = await call('DELETE', '/api/webhooks/named');
    expect([refused.status, refused.headers.get('x-svc-error-code')]).to.deep.equal([409, 'webhook_in_use']);
    expect(refused.text).to.contain('naming');
    await done('DELETE', '/api/webhooks/named?force=true');
  });

  const refusals: readonly (readonly [name: string, body: JsonObject, pointer: string])[] = [
    ['no address', {}, '/url'],
    ['an address of another scheme', { url: 'ftp://a/' }, '/url'],
    ['a relative address', { url: '/in' }, '/url'],
    ['a method of its own', { url: 'http://a/', method: 'HEAD' }, '/method'],
    ['a member that nobody knows', { url: 'http://a/', hedaers: {} }, '/hedaers'],
    ['two names of one member', { url: 'http://a/', target_path: 'http://b/' }, '/target_path'],
    ['a header with a line break', { url: 'http://a/', headers: { a: 'b\r\nc: d' } }, '/headers/0/value'],
    ['a header that is no name', { url: 'http://a/', headers: { 'a b': 'c' } }, '/headers/0/name'],
    ['a header of the sender', { url: 'http://a/', headers: { 'X-Svc-Signature': 'c' } }, '/headers/0/name'],
    ['a pause of months', { url: 'http://a/', cooldownPeriod: 'P1M' }, '/cooldownPeriod'],
    ['a mask where nothing is stored', { url: 'http://a/', secret: '***' }, '/secret'],
  ];
  for (const [name, body, pointer] of refusals) {
    it(`are refused with ${name}`, async () => {
      const answer = await call('POST', '/api/webhooks', { id: 'refused', ...body });
      expect([answer.status, answer.headers.get('x-svc-error-code')]).to.deep.equal([400, 'webhook_invalid']);
      expect(answer.json['Message'])
        .to.match(/^Webhook object validation failed\. /)
        .and.to.contain(`${pointer}: `);
    });
  }

  it('exist once, for their organisation, and tell who came between', async () => {
    await create('once');
    const twice = await call('POST', '/api/webhooks', { id: 'once', url: 'http://a/' });
    expect([twice.status, twice.json['Message']]).to.deep.equal([409, 'Duplicate webhook_id.']);
    await done('PATCH', '/api/webhooks/once', { secret: 'Other-64' });
    const late = await call(
      'PATCH',
      '/api/webhooks/once',
      { name: 'late' },
      { 'if-match': '"0"', accept: 'application/problem+json' },
    );
    expect(late.status).to.equal(412);
    expect(late.json['diff']).to.deep.equal([{ op: 'replace', path: '/secret', value: '***' }]);
  });

  it('come back with a restore, secrets included, and are in history and configuration', async () => {
    await create('back', { headers: { a: 'Header-65' } });
    const at = String(Number(await management.store.head()));
    await done('PATCH', '/api/webhooks/back', { secret: 'Later-66', name: 'later' });
    await done('DELETE', '/api/webhooks/back');
    await done('POST', '/api/config/restore', { at, keepNew: true, kinds: ['webhook'] });
    expect(await stored('back')).to.deep.equal({ '/headers/0/value': 'Header-65', '/secret': 'Own-61' });
    const audit = await done('GET', '/api/audit?aggregate=webhook-back');
    const events = audit.json['events'] as readonly JsonObject[];
    expect(events.map(({ type }) => type)).to.deep.equal([
      ...['WebhookCreated', 'WebhookDeleted', 'WebhookUpdated', 'WebhookCreated'],
    ]);
    const config = await done('GET', '/api/config');
    const objects = config.json['objects'] as readonly JsonObject[];
    const found = objects.find(({ kind, id }) => kind === 'webhook' && id === 'back');
    expect(found).to.have.nested.property('document.secret', '***');
  });

  it('are tried with a signed sample of every trigger', async () => {
    await using target = await echoUpstream();
    const seen: Echo[] = [];
    await using hook = await httpUpstream((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url = '', rawHeaders, headers } = request;
        seen.push({ method, url, rawHeaders, headers, body: Buffer.concat(chunks).toString() });
        const isMoved = url.includes('/moved');
        response.writeHead(isMoved ? 302 : 204, isMoved ? { location: target.url } : {}).end();
      });
    });
    await create('tried', {
      ...{ url: hook.url.replace('//', '//user:Pass-67@'), headers: { 'X-Team': 'payments' }, method: 'PUT' },
    });
    for (const trigger of webhookTriggers) {
      const { json: told } = await done('POST', '/api/webhooks/tried/test', { trigger });
      expect(told).to.include({ trigger, isDelivered: true, status: 204, error: null });
      const last = seen.at(-1);
      const body = JSON.parse(last?.body ?? '{}') as JsonObject;
      expect(body).to.include({ event: trigger });
      expect(body['message']).to.be.a('string');
      expect(last?.headers).to.include({
        ...{ 'content-type': 'application/json', 'user-agent': 'Svc-Hookshot', 'x-team': 'payments' },
        ...{ 'x-svc-event-id': told['eventId'], 'x-svc-attempt': '1' },
        authorization: `Basic ${Buffer.from('user:Pass-67').toString('base64')}`,
      });
      const signature = String(last?.headers['x-svc-signature']);
      const time = Number(/^t=(\d+),/.exec(signature)?.[1]);
      expect(signature).to.equal(signatureOf('Own-61', time, last?.body ?? ''));
      expect(last?.method).to.equal('PUT');
    }
    await done('PATCH', '/api/webhooks/tried', { url: `${hook.url}/moved`, bodyTemplate: '{"a": "{{.Type}}"}' });
    const moved = await done('POST', '/api/webhooks/tried/test', { trigger: 'AuthFailure' });
    expect(moved.json).to.include({ isDelivered: false, status: 302 });
    expect(moved.json['warnings']).to.deep.equal([]);
    expect(seen.at(-1)?.body).to.equal('{"a": "AuthFailure"}');
    expect(target.connections().accepted).to.equal(0);
    const unknown = await call('POST', '/api/webhooks/tried/test', { trigger: 'AuthFailures' });
    expect([unknown.status, unknown.json['Message']]).to.satisfy(
      ([status, text]: [number, string]) => status === 400 && text.includes('did you mean "AuthFailure"?'),
    );
  });

  it('are tried at link-local addresses where the setting for deliveries allows these', async function () {
    // Where such an address leads nowhere, the connection takes its time to fail.
    this.timeout(40_000);
    await using allowing = await startTestManagement({ settings: { webhookAllowLinkLocal: true } });
    const body = JSON.stringify({ id: 'link', name: 'link', url: 'http://169.254.1.2:9/in' });
    expect((await allowing.call('POST', '/api/webhooks', body, json)).status).to.equal(200);
    const trigger = JSON.stringify({ trigger: 'HostDown' });
    const { status, json: told } = await allowing.call('POST', '/api/webhooks/link/test', trigger, json);
    expect([status, told['error']]).to.satisfy(
      ([code, error]: [number, string | null]) => code === 200 && error !== 'link-local addresses are refused',
    );
  });

  it('are not sent to link-local addresses, nor to who cannot prove its name', async () => {
    const hosts = [
      '169.254.169.254',
      '[fe80::1]',
      '[::ffff:169.254.169.254]',
      '[64:ff9b::a9fe:a9fe]',
      '[fd00:ec2::254]',
    ];
    for (const host of hosts) {
      const id = `link-${host.replaceAll(/\W/g, '')}`;
      await create(id, { url: `http://${host}/latest` });
      const { json: told } = await done('POST', `/api/webhooks/${id}/test`, { trigger: 'HostDown' });
      expect(told).to.include({ isDelivered: false, status: null, error: 'link-local addresses are refused' });
    }
    const { certificate, privateKey } = selfSigned('localhost');
    const server = createTlsServer({ cert: certificate, key: privateKey }, (_, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `https://localhost:${(server.address() as AddressInfo).port}/`;
    try {
      const event = { id: 'e', attempt: 1, body: {} };
      const now = () => new Date();
      const stranger = await createSendWebhook({ now })({ url }, event);
      expect(stranger.status).to.equal(null);
      expect(stranger.error).to.match(/self.signed/i);
      expect(await createSendWebhook({ now, ca: certificate })({ url }, event)).to.include({
        status: 200,
        error: null,
      });
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('end a try that nobody answers', async () => {
    await using silent = await httpUpstream(() => {});
    const send = createSendWebhook({ now: () => new Date(), timeoutMs: 50 });
    const sent = await send({ url: silent.url }, { id: 'e', attempt: 1, body: {} });
    expect(sent).to.include({ status: null, error: 'no answer in time' });
  });

  it('end a try when the client goes away, and when the server stops', async () => {
    const asked: Socket[] = [];
    await using silent = await httpUpstream(({ socket }) => void asked.push(socket));
    await using running = new AsyncDisposableStack();
    const other = running.use(await startTestManagement());
    const webhook = JSON.stringify({ id: 'silent', url: silent.url });
    expect((await other.call('POST', '/api/webhooks', webhook, json)).status).to.equal(200);
    const attempt = (signal: AbortSignal) =>
      fetch(`${other.url}/api/webhooks/silent/test`, {
        ...{ method: 'POST', body: '{"trigger":"QuotaExceeded"}', signal },
        headers: { ...json, ...bearer(other.token) },
      }).catch(() => undefined);
    const closed = (at: number) => eventually(() => asked[at]?.destroyed);
    const leaving = new AbortController();
    const gone = attempt(leaving.signal);
    await eventually(() => asked.length === 1);
    leaving.abort();
    await Promise.all([gone, closed(0)]);
    const waiting = attempt(new AbortController().signal);
    await eventually(() => asked.length === 2);
    await running.disposeAsync();
    await Promise.all([waiting, closed(1)]);
  });
});
