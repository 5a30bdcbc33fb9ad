/** The whole product on a PostgreSQL log: start, change, serve, lose the server, kill, start again; and a log that moves there and back. */
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { expect } from 'chai';
import { svc as command } from '../support/cli.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { withNewSchema } from '../support/postgres-log.ts';
import { needsPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { httpUpstream } from '../support/upstream.ts';

const create = (svc: SvcProcess, name: string, upstream = 'http://127.0.0.1:9/'): Promise<Response> =>
  svc.call('/api/apis/streams', {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.svc.streams.oas' },
    body: JSON.stringify(
      apiDocument({
        info: { name },
        server: { listenPath: { value: `/${name}/`, strip: true } },
        upstream: { url: upstream },
      }),
    ),
  });

const names = async (svc: SvcProcess): Promise<readonly string[]> => {
  const { apis } = (await (await svc.call('/api/apis')).json()) as { apis: readonly { name: string }[] };
  return apis.map(({ name }) => name).toSorted();
};

describe('the product on PostgreSQL', function () {
  this.timeout(60_000);
  let server: PostgresServer;
  before(async function () {
    needsPostgres(this);
    server = await startPostgres();
  });
  after(() => server?.dispose());

  it('serves through a restart of the server and keeps what it acknowledged through a kill', async () => {
    using folder = temporaryFolder('svc-pg-');
    await using upstream = await httpUpstream((_, response) => void response.end('hello'));
    const { url } = withNewSchema(server.url);
    const start = (data: string) => startSvc({ data: folder.file(data), env: { SVC_STORE_URL: url } });
    let svc = await start('one');
    try {
      expect((await create(svc, 'orders', upstream.url)).status).to.equal(200);
      const served = async (): Promise<string> => (await fetch(`${svc.gateway}/orders/`)).text();
      expect(await eventually(async () => (await served()) === 'hello')).to.equal(true);

      server.stop('immediate');
      expect(await served()).to.equal('hello');
      const away = await create(svc, 'lost');
      expect(away.status).to.equal(503);
      expect(away.headers.get('x-svc-error-code')).to.match(/^store_|unknown/);
      expect(await names(svc)).to.deep.equal(['orders']);
      server.start();
      expect(await eventually(async () => (await create(svc, 'users')).status === 200, 20_000)).to.equal(true);
      expect(svc.stderr.join('\n')).to.not.contain(server.password);

      await svc.kill();
      // Another data folder: everything but the keys comes from the log.
      mkdirSync(folder.file('two'));
      for (const name of ['keyring.db', 'master.key'].filter((name) => existsSync(folder.file('one', name)))) {
        copyFileSync(folder.file('one', name), folder.file('two', name));
      }
      svc = await start('two');
      expect(await names(svc)).to.include.members(['orders', 'users']);
      expect(await eventually(async () => (await served()) === 'hello')).to.equal(true);
    } finally {
      await svc.kill();
    }
  });

  it('a log moves from SQLite to PostgreSQL and back, and each time the product goes on with it', async () => {
    using folder = temporaryFolder('svc-pg-');
    const { url } = withNewSchema(server.url);
    const data = folder.file('data');
    let svc = await startSvc({ data });
    const etags: (string | null)[] = [];
    try {
      const { id } = (await (await create(svc, 'orders')).json()) as { id: string };
      const etag = async (): Promise<string | null> => (await svc.call(`/api/apis/streams/${id}`)).headers.get('etag');
      etags.push(await etag());
      await svc.stop();
      expect((await command(['store', 'migrate', `sqlite:${data}/events.db`, url, '--data', data])).code).to.equal(0);
      svc = await startSvc({ data, env: { SVC_STORE_URL: url } });
      etags.push(await etag());
      expect((await create(svc, 'users')).status).to.equal(200);
      await svc.stop();
      const back = `sqlite:${folder.file('back.db')}`;
      // The way back finds its keys where they were; a new data folder would need them copied.
      const fresh = folder.file('fresh');
      mkdirSync(fresh);
      copyFileSync(`${data}/master.key`, `${fresh}/master.key`);
      expect((await command(['store', 'migrate', url, back, '--data', fresh])).code).to.equal(0);
      svc = await startSvc({ data: fresh, env: { SVC_STORE_URL: back } });
      etags.push(await etag());
      expect(await names(svc)).to.deep.equal(['orders', 'users']);
      expect(new Set(etags).size).to.equal(1);
    } finally {
      await svc.kill();
    }
  });
});
