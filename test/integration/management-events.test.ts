/** Events of management on their way to webhooks: to whom, signed, once, over restarts, by one of several nodes, nothing of before. */
import { existsSync } from 'node:fs';
import { expect } from 'chai';
import type { EventHandler } from '../../domain/api/event-handlers.ts';
import type { JsonObject } from '../../domain/event.ts';
import { toWebhookId } from '../../domain/ids.ts';
import { createLease } from '../../domain/lease.ts';
import { signatureOf } from '../../gateway/events/webhook-sender.ts';
import { apiCatalog } from '../../projections/api-catalog.ts';
import { certificateList } from '../../projections/certificate-list.ts';
import { policiesProjection } from '../../projections/policies.ts';
import { startProjector } from '../../projections/runner/projector.ts';
import { webhooksProjection } from '../../projections/webhooks.ts';
import { outboxOpener } from '../../src/compose/outbox.ts';
import { createDeliveries } from '../../src/management/fleet/deliveries.ts';
import { startManagementEvents } from '../../src/management/reactors/management-events.ts';
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { apiDocument } from '../support/documents.ts';
import { handler, quickRetries, type Receiver, startReceiver } from '../support/event-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { systemClock } from '../support/gateway-start.ts';
import { appendEvents, certIdOf, certificateImported, keptLog } from '../support/given.ts';
import { orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

const json = { 'content-type': 'application/json' };
const cellOfPlace = 'reactor/management-events';

describe('events of management', () => {
  let management: TestManagement;
  let receiver: Receiver;
  let folder: TemporaryFolder;
  beforeEach(async () => {
    management = await startTestManagement();
    receiver = await startReceiver();
    folder = temporaryFolder('svc-events-of-management-');
  });
  afterEach(async () => {
    await receiver[Symbol.asyncDispose]();
    await management[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  type NodeParts = { readonly handlers?: readonly EventHandler[]; readonly lifeMs?: number };

  /** A management node with read models and an outbox of its own. */
  function startNode(name = 'one', { handlers = [], lifeMs }: NodeParts = {}) {
    const { store, cells, keyRing } = management;
    const models = openSqliteReadModels(':memory:');
    const log = keptLog();
    const projections = [apiCatalog, certificateList, policiesProjection, webhooksProjection];
    const projector = startProjector({ store, models, projections, log });
    const directory = folder.file(name);
    const events = startManagementEvents({
      ...{ cells, projector, log, clock: systemClock, policy: quickRetries, everyMs: 20, tellEveryMs: 10 },
      sources: { store, models, secrets: keyRing, handlers },
      deliveries: createDeliveries(cells),
      lease: createLease({
        ...{ cells, key: 'lease/management-events', owner: name, now: () => Date.now() },
        ...(lifeMs === undefined ? {} : { lifeMs }),
      }),
      open: outboxOpener({ directory, node: 'management', allowLinkLocal: false, log, timeoutMs: 2_000 }),
      hasOutbox: existsSync(directory),
      redeliveredFile: folder.file(`${name}.json`),
    });
    return {
      log,
      standing: events.standing,
      [Symbol.asyncDispose]: async () => {
        await events.stop();
        await projector.stop();
        models.close();
      },
    };
  }

  /** The place is there from the first start on: what is older is told to nobody. */
  const started = () => eventually(async () => (await management.cells.read(cellOfPlace)) !== undefined);

  async function running(name?: string, parts?: NodeParts) {
    const node = startNode(name, parts);
    await started();
    return node;
  }

  const call = async (method: string, path: string, body?: JsonObject): Promise<JsonObject> => {
    const answer = await management.call(method, path, body === undefined ? undefined : JSON.stringify(body), json);
    expect(answer.status, answer.text).to.be.within(200, 299);
    return answer.json;
  };
  const webhook = (members: JsonObject = {}) =>
    call('POST', '/api/webhooks', { id: 'alarms', url: receiver.url, secret: 'Own-61', ...members });
  const api = async (id: string, handlers: readonly JsonObject[], more: JsonObject = {}) => {
    const server = { listenPath: { value: `/${id}/`, strip: true }, eventHandlers: handlers, ...more };
    const answer = await management.call('POST', '/api/apis/streams', apiDocument({ info: { id, name: id }, server }));
    expect(answer.status, answer.text).to.equal(200);
  };
  const tokenHandlers = ['TokenCreated', 'TokenUpdated', 'TokenDeleted'].map((trigger) => {
    return handler({ id: 'alarms', trigger });
  });
  const access = (...ids: readonly string[]) => ({
    access_rights: Object.fromEntries(ids.map((id) => [id, { api_id: id, versions: ['Default'] }])),
  });
  const told = () => receiver.received.map((one) => `${one.json['event']} ${one.json['message']}`);
  const eventIds = async (type: string): Promise<readonly string[]> => {
    const { events } = await management.store.readAll({ after: '', limit: 1_000, filter: { types: [type] } });
    return events.map(({ id }) => id);
  };
  const firstEventId = async (type: string): Promise<string> => (await eventIds(type))[0] ?? '';
  const lastEventId = async (type: string): Promise<string> => (await eventIds(type)).at(-1) ?? '';

  it('tell handlers of the APIs that a key names of its life, signed, under the id of the event', async () => {
    await webhook();
    await api('orders', tokenHandlers);
    await api('other', [handler({ id: 'alarms', trigger: 'TokenDeleted' })]);
    await using _ = await running();
    const { key_hash: hash } = await call('POST', '/api/keys', { alias: 'a', ...access('orders') });
    await eventually(() => receiver.received.length === 1);
    await call('PATCH', `/api/keys/${hash}`, { alias: 'b' });
    await eventually(() => receiver.received.length === 2);
    await call('PATCH', `/api/keys/${hash}`, { is_inactive: true });
    await eventually(() => receiver.received.length === 3);
    await call('DELETE', `/api/keys/${hash}`);
    await eventually(() => receiver.received.length === 4);
    expect(told()).to.deep.equal([
      ...['TokenCreated Key generated.', 'TokenUpdated Key modified.', 'TokenUpdated Key modified.'],
      'TokenDeleted Key deleted.',
    ]);
    const last = receiver.received.at(-1);
    expect(last?.json).to.deep.equal({ event: 'TokenDeleted', message: 'Key deleted.', org: orgId, key: hash });
    expect(last?.headers['x-svc-event-id']).to.equal(await lastEventId('KeyDeleted'));
    const signature = String(last?.headers['x-svc-signature']);
    const time = Number(/^t=(\d+),/.exec(signature)?.[1]);
    expect(signature).to.equal(signatureOf('Own-61', time, last?.body ?? ''));
  });

  it('tell of a key that reaches the API as a version of another one', async () => {
    await webhook();
    await api('orders', []);
    const grantedAs = { id: 'orders', version: 'v2' };
    await api('apart', tokenHandlers, { authentication: { enabled: true, grantedAs } });
    const key = (alias: string, versions: readonly string[]) =>
      call('POST', '/api/keys', { alias, access_rights: { orders: { api_id: 'orders', versions } } });
    await using _ = await running();
    await key('of another version', ['v1']);
    await key('of its version', ['v1', 'v2']);
    await key('of all versions', []);
    await eventually(() => receiver.received.length === 2);
    expect(receiver.ids()).not.to.include(await firstEventId('KeyCreated'));
  });

  it('tell of a key that may do everything, and of one whose policy names the API', async () => {
    await webhook();
    await api('orders', tokenHandlers);
    await call('POST', '/api/policies', { id: 'gold', name: 'gold', state: 'active', ...access('orders') });
    await using _ = await running();
    await call('POST', '/api/keys', { alias: 'everything', allow_all_apis: true });
    await call('POST', '/api/keys', { alias: 'gold', apply_policies: ['gold'] });
    await call('POST', '/api/keys', { alias: 'nothing' });
    await call('POST', '/api/keys', { alias: 'orders', ...access('orders') });
    await eventually(() => receiver.received.length === 3);
    expect(new Set(receiver.ids()).size).to.equal(3);
  });

  it('reach handlers of the installation, and those that hold their address; a webhook that is named twice gets one', async () => {
    await webhook();
    const url = `${receiver.url}own`;
    const inline = handler({ trigger: 'TokenCreated', name: 'own', url, secret: 'Inline-62' });
    await api('orders', [
      ...tokenHandlers,
      ...tokenHandlers,
      inline,
      handler({ trigger: 'TokenCreated', type: 'log' }),
    ]);
    await api('second', tokenHandlers);
    const target = { url: `${receiver.url}all`, method: 'PUT', headers: [], secret: '' };
    const all: EventHandler = { type: 'inline', trigger: 'TokenCreated', key: 'all', target };
    await using node = await running('one', { handlers: [all] });
    await call('POST', '/api/keys', { alias: 'a', ...access('orders', 'second') });
    await eventually(() => receiver.received.length === 3);
    const seen = receiver.received.map(({ method, url: at }) => `${method} ${at}`).toSorted();
    expect(seen).to.deep.equal(['POST /', 'POST /own', 'PUT /all']);
    expect(new Set(receiver.ids()).size).to.equal(1);
    const own = receiver.received.find(({ url: at }) => at === '/own');
    expect(own?.headers['x-svc-signature']).to.be.a('string');
    expect(node.log.lines.filter(({ message }) => /^:[0-9a-f]{64}::$/.test(message))).to.have.length(1);
  });

  it('tell of the ends of certificates: handlers of the API that uses it, and of the installation where nobody does', async () => {
    await webhook();
    const triggers = ['CertificateExpiringSoon', 'CertificateExpired'];
    await api(
      'orders',
      triggers.map((trigger) => handler({ id: 'alarms', trigger })),
    );
    const target = { url: `${receiver.url}all`, method: 'POST', headers: [], secret: '' };
    const all = triggers.map((trigger) => ({ type: 'inline', trigger, key: trigger, target }) as EventHandler);
    await using _ = await running('one', { handlers: all });
    const certId = certIdOf('a.example');
    const notAfter = new Date(Date.now() + 6.5 * 86_400_000).toISOString();
    const imported = { ...certificateImported('a.example', { facts: { notAfter } }), orgId };
    const of = { orgId, certId, notAfter };
    await appendEvents(management.store, imported);
    await appendEvents(management.store, { type: 'CertificateExpiringSoon', ...of, days: 7 });
    const used = { role: 'server', apiId: 'orders' as never } as const;
    await appendEvents(management.store, { type: 'CertificateExpired', ...of, ...used });
    await eventually(() => receiver.received.length === 3);
    const soon = receiver.received.find(({ json: body }) => body['event'] === 'CertificateExpiringSoon');
    expect(soon?.json).to.deep.include({
      ...{ message: 'Certificate expires soon', cert_id: certId, cert_name: 'a.example', expires_at: notAfter },
      days_remaining: 6,
    });
    expect(soon?.json).to.not.have.any.keys('api_id', 'cert_role');
    const ended = receiver.received.filter(({ json: body }) => body['event'] === 'CertificateExpired');
    expect(ended.map(({ url }) => url).toSorted()).to.deep.equal(['/', '/all']);
    expect(ended[0]?.json).to.deep.include({ api_id: 'orders', cert_role: 'server', expired_at: notAfter });
    expect(ended[0]?.json['timestamp']).to.match(/^\d{4}-/);
  });

  it('begin with the first start: not with what was before, nor after a restore of the log, nor with fresh read models', async () => {
    await webhook();
    await api('orders', tokenHandlers);
    await call('POST', '/api/keys', { alias: 'before', ...access('orders') });
    {
      await using _ = await running();
      await call('POST', '/api/keys', { alias: 'first', ...access('orders') });
      await eventually(() => receiver.received.length === 1);
    }
    {
      // Read models that are folded anew.
      await using _ = await running('two');
      await call('POST', '/api/keys', { alias: 'second', ...access('orders') });
      await eventually(() => receiver.received.length === 2);
    }
    const cell = await management.cells.read(cellOfPlace);
    const other = { ...JSON.parse(cell?.value ?? '{}'), era: -1, position: '' };
    await management.cells.write(cellOfPlace, JSON.stringify(other), cell?.version ?? 'none');
    await using _ = startNode('three');
    await eventually(async () => JSON.parse((await management.cells.read(cellOfPlace))?.value ?? '{}').era === 0);
    await call('POST', '/api/keys', { alias: 'third', ...access('orders') });
    await eventually(() => receiver.received.length === 3);
    expect(new Set(receiver.ids()).size).to.equal(3);
  });

  it('are told by one of two nodes, and by the other one when that is gone', async () => {
    await webhook();
    await api('orders', tokenHandlers);
    await using _ = await running('two');
    {
      await using __ = startNode('one');
      for (let index = 0; index < 5; index++)
        await call('POST', '/api/keys', { alias: `a${index}`, ...access('orders') });
      await eventually(() => receiver.received.length === 5);
    }
    await call('POST', '/api/keys', { alias: 'b', ...access('orders') });
    await eventually(() => receiver.received.length === 6);
    expect(new Set(receiver.ids()).size).to.equal(6);
  });

  it('wait in the outbox over a restart while the receiver is away', async () => {
    await webhook();
    await api('orders', tokenHandlers);
    receiver.answer = () => [503];
    {
      await using _ = await running();
      await call('POST', '/api/keys', { alias: 'a', ...access('orders') });
      await eventually(() => receiver.received.length >= 2);
    }
    const [id] = receiver.ids();
    receiver.received.length = 0;
    receiver.answer = () => [204];
    await using _ = startNode();
    await eventually(() => receiver.received.length === 1);
    expect(receiver.ids()).to.deep.equal([id]);
    expect(Number(receiver.received[0]?.headers['x-svc-attempt'])).to.be.greaterThan(2);
  });

  it('stand in the list of deliveries as those of management, and are sent again once when that is asked for', async () => {
    await webhook();
    await api('orders', tokenHandlers);
    receiver.answer = () => [400];
    const list = async (): Promise<readonly JsonObject[]> =>
      (await call('GET', '/api/webhooks/alarms/deliveries'))['deliveries'] as readonly JsonObject[];
    const state = (wanted: string) => eventually(async () => (await list())[0]?.['state'] === wanted);
    {
      await using _ = await running();
      await call('POST', '/api/keys', { alias: 'a', ...access('orders') });
      await state('dead');
      expect((await list())[0]).to.include({
        node: 'management',
        trigger: 'TokenCreated',
        attempts: 3,
        lastStatus: 400,
      });
    }
    receiver.answer = () => [204];
    receiver.received.length = 0;
    await call('POST', '/api/webhooks/alarms/redeliver', { all: true });
    {
      await using _ = startNode();
      await state('delivered');
    }
    {
      await using _ = startNode();
      await call('POST', '/api/keys', { alias: 'b', ...access('orders') });
      await eventually(() => receiver.received.length === 2);
    }
    expect(new Set(receiver.ids()).size).to.equal(2);
    expect(receiver.ids()[0]).to.equal((await list())[1]?.['eventId']);
  });

  it('that wait are dead as soon as their webhook is deleted', async () => {
    await webhook();
    await api('orders', tokenHandlers);
    receiver.answer = () => [503, { 'retry-after': '3600' }];
    await using node = await running();
    await call('POST', '/api/keys', { alias: 'a', ...access('orders') });
    const states = async () =>
      (await createDeliveries(management.cells).list(orgId, toWebhookId('alarms'))).map(
        ({ state, error }) => `${state} ${error}`,
      );
    await eventually(async () => (await states()).join() === 'retrying null');
    await call('DELETE', '/api/webhooks/alarms?force=true');
    await eventually(async () => (await states()).join() === 'dead the handler is gone');
    expect(node.standing()).to.include({ waiting: 0 });
  });

  it('are not sent to a webhook that is off, is gone, or belongs to another organisation', async () => {
    await webhook();
    await call('POST', '/api/webhooks', { id: 'off', url: receiver.url, enabled: false });
    const handlers = ['off', 'gone', 'alarms'].map((id) => handler({ id, trigger: 'TokenCreated' }));
    await api('orders', handlers);
    await using node = await running();
    await call('POST', '/api/keys', { alias: 'a', ...access('orders') });
    await eventually(() => receiver.received.length === 1);
    const nowhere = node.log.lines.filter(({ message }) => message === 'an event has nowhere to go');
    expect(nowhere.map(({ fields }) => (fields as JsonObject)['target'])).to.deep.equal([`webhook/${orgId}/gone`]);
    await eventually(() => node.standing()?.counts.delivered === 1);
    expect(node.standing()).to.deep.include({ waiting: 0 });
    expect(node.standing()?.counts).to.include({ undeliverable: 1, dead: 0, retried: 0 });
  });

  it('are told in the words of a template', async () => {
    await webhook({ bodyTemplate: '{"event": "{{.Type}}", "message": "{{.Meta.Message}} {{.Meta.Key | len}}"}' });
    await api('orders', tokenHandlers);
    await using _ = await running();
    await call('POST', '/api/keys', { alias: 'a', ...access('orders') });
    expect(await eventually(() => told()[0])).to.equal('TokenCreated Key generated. 64');
  });
});
