/** Management and gateway as two processes: a change is served, an outage of management is not noticed, and is made up for. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { startSampleUpstream } from '../../src/compose/demo.ts';
import { svc } from '../support/cli.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { freePort, type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

const waitMs = 20_000;

describe('management and gateway in two processes', function () {
  this.timeout(90_000);
  let folder: TemporaryFolder;
  let upstream: Awaited<ReturnType<typeof startSampleUpstream>>;
  let port: number;
  let management: SvcProcess;
  let gateway: SvcProcess | undefined;
  let isUp = false;

  before(async () => {
    folder = temporaryFolder('svc-two-');
    upstream = await startSampleUpstream(0);
    // It comes back at the same address.
    port = await freePort();
  });
  beforeEach(async () => {
    if (!isUp) management = await startManagement();
  });
  afterEach(async () => {
    await gateway?.kill();
    gateway = undefined;
  });
  after(async () => {
    await management.kill();
    await upstream.stop();
    folder[Symbol.dispose]();
  });

  const startManagement = async (): Promise<SvcProcess> => {
    const started = await startSvc({
      data: folder.file('management'),
      args: ['--role', 'management'],
      env: { SVC_MGMT_LISTEN: `127.0.0.1:${port}` },
    });
    isUp = true;
    return started;
  };
  const killManagement = async (): Promise<void> => {
    isUp = false;
    await management.kill();
  };
  const tokenFile = (): string => folder.file('management', 'admin-token');
  const startGateway = async (name: string, env: Readonly<Record<string, string>> = {}): Promise<SvcProcess> => {
    gateway = await startSvc({
      data: folder.file(name),
      args: ['--role', 'gateway'],
      env: {
        SVC_GW_MANAGEMENTURL: `http://127.0.0.1:${port}`,
        SVC_GW_NODETOKEN: `$file:${tokenFile()}`,
        SVC_GW_NODEID: name,
        ...env,
      },
    });
    return gateway;
  };
  const put = async (id: string): Promise<string> => {
    const document = apiDocument({
      info: { id, name: id },
      server: { listenPath: { value: `/${id}/`, strip: true } },
      upstream: { url: upstream.url },
    });
    const headers = { 'content-type': 'application/vnd.svc.streams.oas' };
    const answer = await management.call('/api/apis/streams', {
      ...{ method: 'POST', headers, body: JSON.stringify(document) },
    });
    expect(answer.status, await answer.clone().text()).to.equal(200);
    return answer.headers.get('x-svc-revision') ?? '';
  };
  const statusOf = async ({ gateway: url }: SvcProcess, id: string): Promise<number> =>
    (await fetch(`${url}/${id}/`)).status;
  const served = (node: SvcProcess, id: string): Promise<boolean> =>
    eventually(async () => (await statusOf(node, id)) === 200, waitMs);
  const isOnDisk = (node: string, id: string): boolean => {
    const generations = folder.file(node, 'gateway', 'generations');
    const whole = readdirSync(generations).filter((name) => name.endsWith('.json'));
    return whole.some((name) => readFileSync(join(generations, name), 'utf8').includes(`"/${id}/"`));
  };
  const ready = async ({ control }: SvcProcess) => {
    const answer = await fetch(`${control}/readyz`);
    const body = (await answer.json()) as Readonly<Record<string, unknown>>;
    return { code: answer.status, ...body } as Readonly<Record<string, unknown>>;
  };
  const ask = (...args: readonly string[]) =>
    svc([...args, '--url', management.management], { env: { SVC_TOKEN: management.token } });

  it('serve a change, and the command line can wait for it', async () => {
    const node = await startGateway('edge-1');
    const revision = await put('orders');
    const waited = await ask('wait', '--revision', revision, '--timeout', '20s');
    expect(waited, waited.err).to.deep.include({ code: 0, out: `1 gateway runs revision ${revision}\n` });
    expect(await statusOf(node, 'orders')).to.equal(200);
    const nodes = JSON.parse((await ask('nodes', '--json')).out) as readonly Record<string, unknown>[];
    expect(nodes.find((one) => one['node'] === 'edge-1')).to.include({ health: 'pass', source: 'feed', apis: 1 });
    expect([...node.stdout, ...node.stderr].join('\n')).not.to.contain(management.token);
  });

  it('are two lives: the gateway outlives management, starts without it, and catches up', async () => {
    const before = await startGateway('edge-1');
    await put('kept');
    await served(before, 'kept');
    // What is killed sooner starts with the configuration before.
    await eventually(() => isOnDisk('edge-1', 'kept'), waitMs);
    await killManagement();
    expect(await statusOf(before, 'kept')).to.equal(200);
    expect(await ready(before)).to.include({ code: 200 });
    await before.kill();

    const alone = await startGateway('edge-1');
    expect(await statusOf(alone, 'kept')).to.equal(200);
    const standing = await ready(alone);
    expect(standing).to.include({ code: 200, source: 'disk' });
    expect(standing).to.have.property('ageSeconds');
    expect(Number(standing['position'])).to.be.greaterThan(0);

    management = await startManagement();
    const revision = await put('after');
    await served(alone, 'after');
    await eventually(async () => (await ready(alone))['source'] === 'feed', waitMs);
    expect((await ask('wait', '--revision', revision, '--timeout', '30s')).code).to.equal(0);
  });

  it('believe no other management plane, whatever answers at the address', async () => {
    const node = await startGateway('edge-2');
    await put('mine');
    await served(node, 'mine');
    await killManagement();
    const impostor = await startSvc({
      data: folder.file('impostor'),
      args: ['--role', 'management'],
      env: { SVC_MGMT_LISTEN: `127.0.0.1:${port}`, SVC_MGMT_BOOTSTRAPTOKEN: management.token },
    });
    try {
      await eventually(
        () =>
          node.stderr.some(
            (line) => line.includes('other_log') || line.includes('another log') || line.includes('this is log'),
          ),
        waitMs,
      );
      expect(await statusOf(node, 'mine')).to.equal(200);
      await node.kill();
      // Started anew it takes a snapshot first: signed with a key that it does not know.
      const again = await startGateway('edge-2');
      await eventually(() => again.stderr.some((line) => line.includes('management-key.pem')), waitMs);
      expect(await statusOf(again, 'mine')).to.equal(200);
    } finally {
      await impostor.kill();
    }
  });

  it('start from an exported snapshot while management is away', async () => {
    await put('seeded');
    const seed = folder.file('seed.json');
    await eventually(async () => {
      const answer = await management.call('/api/feed/snapshot');
      const text = await answer.text();
      writeFileSync(seed, text);
      return text.includes('"/seeded/"');
    });
    await killManagement();
    const node = await startGateway('edge-3', { SVC_GW_CONFIGSEED: seed });
    expect(await statusOf(node, 'seeded')).to.equal(200);
    expect(await ready(node)).to.include({ code: 200, source: 'seed' });
    expect(readdirSync(folder.file('edge-3', 'gateway'))).to.include('management-key.pem');
    writeFileSync(seed, '{}');
    const stranger = await startGateway('edge-4', { SVC_GW_CONFIGSEED: seed });
    expect((await fetch(`${stranger.gateway}/seeded/`)).status).to.equal(503);
    expect(await ready(stranger)).to.include({ code: 503, source: 'none' });
    await stranger.kill();
    await node.kill();
  });

  it('say what is missing', async () => {
    const failed = await startSvc({ data: folder.file('lonely'), args: ['--role', 'gateway'] }).catch(
      (error: Error) => error.message,
    );
    expect(failed).to.contain('gateway.management_url');
    const tokenless = await startSvc({
      data: folder.file('lonely'),
      args: ['--role', 'gateway'],
      env: { SVC_GW_MANAGEMENTURL: `http://127.0.0.1:${port}` },
    }).catch((error: Error) => error.message);
    expect(tokenless).to.contain('gateway.node_token');
    expect(readdirSync(join(folder.path))).to.include('lonely');
  });
});
