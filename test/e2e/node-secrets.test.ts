/** A gateway in a process of its own runs APIs with secrets: they reach it sealed for its key, stay sealed on its disk, and reach nobody else. */
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { svc as commandLine } from '../support/cli.ts';
import { handler, startReceiver } from '../support/event-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { named } from '../support/management-refusals.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { freePort, type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';
import { type Echo, echoUpstream, type Upstream } from '../support/upstream.ts';

const waitMs = 40_000;

const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile());

const basic = (credentials: string): string => `Basic ${Buffer.from(credentials).toString('base64')}`;

describe('secrets at a gateway in a process of its own', function () {
  this.timeout(180_000);
  let folder: TemporaryFolder;
  let upstream: Upstream;
  let port: number;
  let management: SvcProcess;
  let token: string;
  const printed: string[] = [];
  const secrets: string[] = [];
  const running = new Set<SvcProcess>();

  before(async () => {
    folder = temporaryFolder('svc-node-secrets-');
    upstream = await echoUpstream();
    port = await freePort();
    management = await startManagement();
    token = await issue({ roles: ['gateway'], node: 'edge-1' });
  });
  afterEach(async () => {
    for (const one of [...running]) if (one !== management) await end(one);
  });
  after(async () => {
    await end(management);
    await upstream[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const start = async (options: Parameters<typeof startSvc>[0]): Promise<SvcProcess> => {
    const started = await startSvc(options);
    running.add(started);
    return started;
  };
  const end = async (one: SvcProcess): Promise<void> => {
    running.delete(one);
    await one.stop();
    printed.push(...one.stdout, ...one.stderr);
  };
  const startManagement = () =>
    start({
      data: folder.file('management'),
      args: ['--role', 'management'],
      env: { SVC_MGMT_LISTEN: `127.0.0.1:${port}` },
    });
  const startGateway = (node: string, nodeToken = token, data = node) =>
    start({
      data: folder.file(data),
      args: ['--role', 'gateway'],
      env: { SVC_GW_MANAGEMENTURL: `http://127.0.0.1:${port}`, SVC_GW_NODETOKEN: nodeToken, SVC_GW_NODEID: node },
    });
  const issue = async (rights: object): Promise<string> => {
    const answer = await management.call('/api/tokens', {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ name: 'node', ...rights }),
    });
    expect(answer.status, await answer.clone().text()).to.equal(200);
    return ((await answer.json()) as { token: string }).token;
  };
  const put = async (id: string, password: string): Promise<string> => {
    secrets.push(password, basic(`gate:${password}`).slice('Basic '.length));
    const document = named(id, {
      upstream: { url: upstream.url.replace('//', `//gate:${password}@`) },
      server: { listenPath: { value: `/${id}/`, strip: true } },
    });
    const isThere = (await management.call(`/api/apis/streams/${id}`)).status === 200;
    const answer = await management.call(`/api/apis/streams${isThere ? `/${id}` : ''}`, {
      ...{ method: isThere ? 'PUT' : 'POST', headers: { 'content-type': 'application/vnd.svc.streams.oas' } },
      body: JSON.stringify(document),
    });
    expect(answer.status, await answer.clone().text()).to.equal(200);
    return answer.headers.get('x-svc-revision') ?? '';
  };
  /** What the upstream is told, or the status of a refusal. */
  const seen = async ({ gateway }: SvcProcess, id: string): Promise<unknown> => {
    const answer = await fetch(`${gateway}/${id}/`);
    return answer.status === 200 ? ((await answer.json()) as Echo).headers['authorization'] : answer.status;
  };
  const sees = (node: SvcProcess, id: string, what: unknown): Promise<boolean> =>
    eventually(async () => {
      expect(await seen(node, id)).to.equal(what);
      return true;
    }, waitMs);
  const gatewayAt = async (node: string) =>
    (await (await management.call(`/api/gateways/${node}`)).json()) as Readonly<Record<string, unknown>>;
  const secretsCommand = (...args: readonly string[]) =>
    commandLine(['store', 'secrets', ...args, '--data', folder.file('management')]);

  it('are run, follow a change, and are there without management', async () => {
    await put('told', 'NodePass-11');
    let node = await startGateway('edge-1');
    await sees(node, 'told', basic('gate:NodePass-11'));
    await put('told', 'NodePass-12');
    await sees(node, 'told', basic('gate:NodePass-12'));
    await end(node);
    await end(management);
    node = await startGateway('edge-1');
    await sees(node, 'told', basic('gate:NodePass-12'));
    management = await startManagement();
    await put('told', 'NodePass-13');
    await sees(node, 'told', basic('gate:NodePass-13'));
    const standing = { health: 'pass', rejected: [] };
    await eventually(async () => expect(await gatewayAt('edge-1')).to.deep.include(standing), waitMs);
    expect(await gatewayAt('edge-1')).to.have.property('key');
  });

  it('are masks for a token that belongs to no gateway, and nothing at all for one of another gateway', async () => {
    await put('masked', 'NodePass-21');
    const unbound = await startGateway('edge-2', await issue({ roles: ['gateway'] }));
    await sees(unbound, 'masked', 503);
    await eventually(async () => expect(JSON.stringify(await gatewayAt('edge-2'))).to.contain('secret_not_available'));
    expect(unbound.stderr.join('\n')).to.contain('gateway.node_token belongs to no gateway');
    const foreign = await startGateway('edge-3');
    await eventually(async () =>
      expect(await (await fetch(`${foreign.control}/healthz`)).text()).to.contain('token_refused'),
    );
    expect((await management.call('/api/gateways/edge-3')).status).to.equal(404);
  });

  it('are those of webhooks too, which it calls with them', async () => {
    secrets.push('HookPass-26', 'HookPass-27', 'HookPass-28');
    await using receiver = await startReceiver();
    const send = async (path: string, body: object, type: string): Promise<void> => {
      const init = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': type } };
      const answer = await management.call(path, init);
      expect(answer.status, await answer.text()).to.equal(200);
    };
    const named26 = { id: 'alarms', url: receiver.url, secret: 'HookPass-26', headers: { 'x-told': 'HookPass-27' } };
    await send('/api/webhooks', named26, 'application/json');
    const own = { url: receiver.url, name: 'own', headers: [{ name: 'x-told', value: 'HookPass-28' }] };
    const server = {
      ...{ listenPath: { value: '/guarded/', strip: true }, authentication: { enabled: true } },
      eventHandlers: [handler({ id: 'alarms' }), handler(own)],
    };
    await send('/api/apis/streams', named('guarded', { server }), 'application/vnd.svc.streams.oas');
    const node = await startGateway('edge-1');
    const knock = () => fetch(`${node.gateway}/guarded/`, { headers: { authorization: 'nobody-has-this' } });
    await eventually(async () => (await knock()).status === 403, waitMs);
    await eventually(() => receiver.received.length >= 2, waitMs);
    const told = receiver.received.map(({ headers }) => headers['x-told']);
    expect(new Set(told)).to.deep.equal(new Set(['HookPass-27', 'HookPass-28']));
  });

  it('come again to a gateway that management forgot', async () => {
    const node = await startGateway('edge-1');
    await put('before', 'NodePass-29');
    await sees(node, 'before', basic('gate:NodePass-29'));
    expect((await management.call('/api/gateways/edge-1', { method: 'DELETE' })).status).to.equal(200);
    // The first one may come with a question that was asked before.
    for (const [id, password] of [
      ['first', 'NodePass-30'],
      ['after', 'NodePass-301'],
    ] as const) {
      await put(id, password);
      await sees(node, id, basic(`gate:${password}`));
    }
    expect(await gatewayAt('edge-1')).to.have.property('key');
  });

  it('come with a reload that takes a token of the gateway in the place of one without', async () => {
    await put('renewed', 'NodePass-25');
    const file = folder.file('edge-1-token');
    writeFileSync(file, await issue({ roles: ['gateway'] }));
    const node = await startGateway('edge-1', `$file:${file}`);
    await sees(node, 'renewed', 503);
    writeFileSync(file, token);
    const reload = await fetch(`${node.control}/svc/reload?wait=true`);
    expect(reload.status, await reload.clone().text()).to.equal(200);
    await sees(node, 'renewed', basic('gate:NodePass-25'));
  });

  it('are sealed anew for a gateway that lost its key, which is an alarm', async () => {
    await put('lost', 'NodePass-31');
    let node = await startGateway('edge-1');
    await sees(node, 'lost', basic('gate:NodePass-31'));
    await end(node);
    const { key } = await gatewayAt('edge-1');
    rmSync(folder.file('edge-1', 'gateway', 'node-key.pem'));
    node = await startGateway('edge-1');
    await sees(node, 'lost', basic('gate:NodePass-31'));
    expect(node.stderr.join('\n')).to.contain('sealed for another key than that of this node');
    const now = await gatewayAt('edge-1');
    expect(now).to.include({ health: 'warn' });
    expect(now['key']).to.have.property('before', (key as { id: string }).id);
    expect(management.stderr.join('\n')).to.contain('the key of a gateway has changed');
    // And from its disk with the new one.
    await end(node);
    await end(management);
    node = await startGateway('edge-1');
    await sees(node, 'lost', basic('gate:NodePass-31'));
    management = await startManagement();
  });

  it('open under another master key, and are gone with their own at the next start', async () => {
    await put('shredded', 'NodePass-41');
    await put('staying', 'NodePass-42');
    expect((await secretsCommand('rotate')).code).to.equal(0);
    let node = await startGateway('edge-1');
    await sees(node, 'shredded', basic('gate:NodePass-41'));
    const { keys } = JSON.parse((await secretsCommand('status', '--json')).out) as {
      keys: readonly { kid: string; of?: string }[];
    };
    for (const { kid } of keys.filter(({ of }) => of === 'shredded')) {
      expect((await secretsCommand('shred', kid, '--yes')).code).to.equal(0);
    }
    await put('later', 'NodePass-43');
    await sees(node, 'later', basic('gate:NodePass-43'));
    expect(await seen(node, 'shredded')).to.equal(basic('gate:NodePass-41'));
    await end(node);
    node = await startGateway('edge-1');
    await sees(node, 'shredded', 503);
    await sees(node, 'staying', basic('gate:NodePass-42'));
  });

  it('stand in clear in no byte that either process stored, and in no line that one printed', async () => {
    await end(management);
    // The file of the token is the operator's own.
    const stored = filesBelow(folder.path).filter((path) => path !== folder.file('edge-1-token'));
    expect(stored.some((path) => path.includes('generation-'))).to.equal(true);
    const boxes = stored.filter((path) => readFileSync(path).includes('"enc"'));
    expect(boxes.length, 'files with boxes').to.be.above(0);
    const text = printed.join('\n');
    for (const secret of [...secrets, token]) {
      expect(
        stored.filter((path) => readFileSync(path).includes(secret)),
        secret,
      ).to.deep.equal([]);
      expect(text.includes(secret), secret).to.equal(false);
    }
    if (process.platform !== 'win32') {
      expect(statSync(folder.file('edge-1', 'gateway', 'node-key.pem')).mode & 0o777).to.equal(0o600);
    }
    management = await startManagement();
  });
});
