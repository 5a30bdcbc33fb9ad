/** The response cache over processes: switched on by a patch, told in records and metrics, and flushed on a gateway apart by a command. */
import { expect } from 'chai';
import { svc } from '../support/cli.ts';
import { apiDocument } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { type SvcProcess, startSvc } from '../support/svc-process.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';
import { httpUpstream, type Upstream } from '../support/upstream.ts';

const waitMs = 20_000;

describe('the response cache of a gateway apart', function () {
  this.timeout(90_000);
  let folder: TemporaryFolder;
  let upstream: Upstream;
  let management: SvcProcess;
  let gateway: SvcProcess;
  let count = 0;

  const send = async (method: string, path: string, body: unknown, type = 'application/json') => {
    const headers = { 'content-type': type };
    const answer = await management.call(path, { method, headers, body: JSON.stringify(body) });
    const json = (await answer.json()) as Readonly<Record<string, string>>;
    expect(answer.status, JSON.stringify(json)).to.be.within(200, 299);
    return { json, revision: answer.headers.get('x-svc-revision') ?? '' };
  };
  const ask = (...args: readonly string[]) =>
    svc([...args, '--url', management.management], { env: { SVC_TOKEN: management.token } });
  const get = async () => {
    const answer = await fetch(`${gateway.gateway}/orders/x`);
    return [await answer.text(), answer.headers.get('x-svc-cached-response')];
  };

  before(async () => {
    folder = temporaryFolder('svc-cache-');
    upstream = await httpUpstream((_, response) => response.end(`answer ${++count}`));
    management = await startSvc({ data: folder.file('management'), args: ['--role', 'management'] });
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const token = { name: 'edge', roles: ['gateway'], node: 'edge-1', expiresAt };
    const { json } = await send('POST', '/api/tokens', token);
    gateway = await startSvc({
      data: folder.file('edge-1'),
      args: ['--role', 'gateway'],
      env: {
        SVC_GW_MANAGEMENTURL: management.management,
        SVC_GW_NODETOKEN: json['token'] ?? '',
        SVC_GW_NODEID: 'edge-1',
        SVC_GW_CACHE_MAXBYTES: '1MiB',
      },
    });
    const document = apiDocument({ info: { id: 'orders', name: 'orders' }, upstream: { url: upstream.url } });
    await send('POST', '/api/apis/oas', document);
    await eventually(async () => (await fetch(`${gateway.gateway}/orders/`)).status === 200, waitMs);
  });
  after(async () => {
    await gateway?.stop();
    await management?.stop();
    await upstream?.[Symbol.asyncDispose]();
    folder?.[Symbol.dispose]();
  });

  it('keeps answers once a patch says so, until a command has them forgotten', async () => {
    const cache = { enabled: true, timeout: 600, cacheAllSafeRequests: true };
    const patch = { 'x-svc-api-gateway': { middleware: { global: { cache } } } };
    const { revision } = await send('PATCH', '/api/apis/oas/orders', patch, 'application/merge-patch+json');
    expect((await ask('wait', '--revision', revision, '--timeout', '20s')).code).to.equal(0);
    const [first] = await get();
    expect(await get()).to.deep.equal([first, '1']);
    const flushed = await ask('api', 'flush-cache', 'orders', '--json');
    const { revision: at } = JSON.parse(flushed.out) as { readonly revision: string };
    const waited = await ask('wait', '--revision', at, '--timeout', '20s');
    expect(waited.code, waited.err).to.equal(0);
    const [next, isKept] = await get();
    expect([next === first, isKept]).to.deep.equal([false, null]);
    expect(await get()).to.deep.equal([next, '1']);
  });

  it('tells of itself in metrics, and forgets at once where its own control listener says so', async () => {
    const before = await get();
    expect(before[1]).to.equal('1');
    const metrics = await (await fetch(`${gateway.control}/metrics`)).text();
    expect(metrics).to.match(/^svc_cache_requests_total\{api="orders",outcome="hit"\} 3$/m);
    expect(metrics).to.match(/^svc_cache_entries 1$/m);
    const flushed = await fetch(`${gateway.control}/svc/cache/orders`, { method: 'DELETE' });
    expect(await flushed.json()).to.deep.equal({ status: 'ok', message: '', entries: 1 });
    expect((await get())[1]).to.equal(null);
  });
});
