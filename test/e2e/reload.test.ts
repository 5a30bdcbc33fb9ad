/** Reload of a gateway in a process of its own: asked for on the command line, answered by the node; and another node token. */
import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { startSampleUpstream } from '../../src/compose/demo.ts';
import { svc } from '../support/cli.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

const waitMs = 20_000;

describe('svc reload, with a gateway apart', function () {
  this.timeout(90_000);
  let folder: TemporaryFolder;
  let upstream: Awaited<ReturnType<typeof startSampleUpstream>>;
  let management: SvcProcess;
  let gateway: SvcProcess;

  const post = async (path: string, body: unknown, type = 'application/json') => {
    const headers = { 'content-type': type };
    const answer = await management.call(path, { method: 'POST', headers, body: JSON.stringify(body) });
    const json = (await answer.json()) as Readonly<Record<string, string>>;
    expect(answer.status, JSON.stringify(json)).to.be.within(200, 299);
    return json;
  };
  /** A new node token in the file that the settings of the gateway name. */
  const issue = async (): Promise<void> => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { token } = await post('/api/tokens', { name: 'edge', roles: ['gateway'], node: 'edge-1', expiresAt });
    writeFileSync(folder.file('node-token'), `${token}\n`);
  };
  const put = (id: string) =>
    post(
      '/api/apis/streams',
      apiDocument({
        info: { id, name: id },
        server: { listenPath: { value: `/${id}/`, strip: true } },
        upstream: { url: upstream.url },
      }),
      'application/vnd.svc.streams.oas',
    );
  const statusOf = async (id: string): Promise<number> => (await fetch(`${gateway.gateway}/${id}/`)).status;
  const served = (id: string) => eventually(async () => (await statusOf(id)) === 200, waitMs);
  const ask = (...args: readonly string[]) =>
    svc([...args, '--url', management.management], { env: { SVC_TOKEN: management.token } });

  before(async () => {
    folder = temporaryFolder('svc-reload-');
    upstream = await startSampleUpstream(0);
    management = await startSvc({ data: folder.file('management'), args: ['--role', 'management'] });
    await issue();
    gateway = await startSvc({
      data: folder.file('edge-1'),
      args: ['--role', 'gateway'],
      env: {
        SVC_GW_MANAGEMENTURL: management.management,
        SVC_GW_NODETOKEN: `$file:${folder.file('node-token')}`,
        SVC_GW_NODEID: 'edge-1',
      },
    });
    await put('orders');
    await served('orders');
  });
  after(async () => {
    await gateway.kill();
    await management.kill();
    await upstream.stop();
    folder[Symbol.dispose]();
  });

  it('compiles every API anew and says so, without a failed request', async () => {
    const reload = ask('reload', '--reason', 'new secrets', '--wait', '20s');
    const statuses: number[] = [];
    let isDone = false;
    void reload.finally(() => {
      isDone = true;
    });
    while (!isDone) statuses.push(await statusOf('orders'));
    const { code, out, err } = await reload;
    expect([code, out], err).to.deep.equal([0, 'edge-1\tdefault\tok\t1\t0\t0\t\n']);
    expect(new Set(statuses)).to.deep.equal(new Set([200]));
  });

  it('is asked for by a node for its group, which management is told by its token', async () => {
    const answer = await fetch(`${gateway.control}/svc/reload/group?wait=true`, { method: 'POST' });
    const told = (await answer.json()) as { status: string; apis: object[]; request: { revision: string } };
    expect(told).to.deep.include({ status: 'ok', apis: [{ id: 'orders', result: 'loaded' }] });
    const { revision } = told.request;
    const event = (await (await management.call(`/api/audit/${revision}?minRevision=${revision}`)).json()) as object;
    expect(event).to.have.nested.property('actor.name', 'edge');
    expect(event).to.deep.include({ type: 'GatewayReloadRequested' });
    expect(await statusOf('orders')).to.equal(200);
  });

  it('lets a node in again whose token was replaced', async () => {
    const tokens = JSON.parse((await ask('token', 'list', '--json')).out) as readonly { id: string; name: string }[];
    await issue();
    for (const { id } of tokens.filter(({ name }) => name === 'edge')) {
      expect((await ask('token', 'revoke', id)).code).to.equal(0);
    }
    // The question that is under way was let in.
    await put('between');
    const health = async () => JSON.stringify(await (await fetch(`${gateway.control}/healthz`)).json());
    await eventually(async () => (await health()).includes('token_refused'), waitMs);
    await put('later');
    expect(await statusOf('later')).to.equal(404);
    const answer = await fetch(`${gateway.control}/svc/reload?wait=true`);
    expect(await answer.json()).to.include({ status: 'ok', message: '' });
    await served('later');
  });
});
