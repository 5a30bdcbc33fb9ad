/** Two management nodes on one log in PostgreSQL: one of them tells webhooks, both show the same deliveries, and one goes on alone. */
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { apiDocument } from '../support/documents.ts';
import { handler, startReceiver } from '../support/event-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { streamsType } from '../support/management-server.ts';
import { withNewSchema } from '../support/postgres-log.ts';
import { needsPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { temporaryFolder } from '../support/temporary.ts';

const json = 'application/json';

async function post(svc: SvcProcess, path: string, body: JsonObject, type = json): Promise<void> {
  const headers = { 'content-type': type };
  const answer = await svc.call(path, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(answer.status, await answer.text()).to.be.within(200, 299);
}

const addKey = (svc: SvcProcess, alias: string): Promise<void> =>
  post(svc, '/api/keys', { alias, access_rights: { orders: { api_id: 'orders', versions: ['Default'] } } });

/** Asked for often: undefined when it is too often. */
async function deliveries(svc: SvcProcess): Promise<readonly JsonObject[] | undefined> {
  const answer = await svc.call('/api/webhooks/alarms/deliveries');
  return answer.status === 200 ? ((await answer.json()) as { deliveries: JsonObject[] }).deliveries : undefined;
}

describe('webhooks of two management nodes', function () {
  this.timeout(90_000);
  let server: PostgresServer;
  before(async function () {
    needsPostgres(this);
    server = await startPostgres();
  });
  after(() => server?.dispose());

  it('hear of each event once, as both nodes show, and of the next ones when one is killed', async () => {
    using folder = temporaryFolder('svc-two-nodes-');
    await using receiver = await startReceiver();
    const env = { SVC_STORE_URL: withNewSchema(server.url).url };
    const args = ['--role', 'management'];
    const one = await startSvc({ data: folder.file('one'), env, args });
    mkdirSync(folder.file('two'));
    for (const name of ['master.key', 'admin-token'].filter((name) => existsSync(folder.file('one', name)))) {
      copyFileSync(folder.file('one', name), folder.file('two', name));
    }
    const two = await startSvc({ data: folder.file('two'), env, args });
    try {
      await post(one, '/api/webhooks', { id: 'alarms', url: receiver.url, secret: 'Own-61' });
      const server = {
        listenPath: { value: '/orders/', strip: true },
        eventHandlers: [handler({ id: 'alarms', trigger: 'TokenCreated' })],
      };
      const info = { id: 'orders', name: 'orders' };
      await post(two, '/api/apis/streams', apiDocument({ info, server }), streamsType);
      for (let index = 0; index < 3; index++) {
        await addKey(one, `one ${index}`);
        await addKey(two, `two ${index}`);
      }
      await eventually(() => receiver.received.length === 6, 20_000);
      expect(receiver.received.every(({ headers }) => headers['x-svc-signature'] !== undefined)).to.equal(true);
      await eventually(async () => {
        const [here, there] = [await deliveries(one), await deliveries(two)];
        expect(here?.map(({ state, node }) => [state, node])).to.deep.equal(
          Array.from({ length: 6 }, () => ['delivered', 'management']),
        );
        expect(here).to.deep.equal(there);
        return true;
      }, 20_000);
      // It started first, and reads for both.
      await one.kill();
      await addKey(two, 'later');
      await eventually(() => receiver.received.length === 7, 40_000);
      expect(new Set(receiver.ids()).size).to.equal(7);
    } finally {
      await one.kill();
      await two.kill();
    }
  });
});
