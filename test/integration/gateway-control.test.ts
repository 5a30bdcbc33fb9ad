/** The control listener and the end of a gateway. */
import { request } from 'node:http';
import { expect } from 'chai';
import { memoryCounters } from '../../src/stores/runtime/memory-counters.ts';
import { eventually } from '../support/eventually.ts';
import { rawClient } from '../support/gateway-raw.ts';
import { apiFor, startTestGateway, startWithEcho } from '../support/gateway-start.ts';
import { httpUpstream } from '../support/upstream.ts';

type Reload = { status: string; revision: number; apis: { id: string; result: string; keptRevision?: string }[] };

describe('the control listener', () => {
  let gateway: Awaited<ReturnType<typeof startWithEcho>>;
  before(async () => {
    gateway = await startWithEcho();
  });
  after(() => gateway[Symbol.asyncDispose]());
  const get = (path: string, init?: RequestInit): Promise<Response> => fetch(gateway.control + path, init);

  const health: readonly [path: string, type: string][] = [
    ['/livez', 'application/json'],
    ['/readyz', 'application/json'],
    ['/healthz', 'application/health+json'],
  ];
  for (const [path, type] of health) {
    it(`answers ${path} with its state and the revision, to reading methods only`, async () => {
      const answer = await get(path);
      expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, type]);
      expect(await answer.json()).to.include({ status: 'pass' });
      expect((await get(path, { method: 'POST' })).status).to.equal(405);
    });
  }

  it('knows nothing else, whatever stands in the place of a path', async () => {
    expect((await get('/svc/other')).status).to.equal(404);
    using client = await rawClient(Number(new URL(gateway.control).port));
    client.send('GET // HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
    expect(await client.until(/^HTTP.*\r\n/)).to.match(/^HTTP\/1\.1 404 /);
  });

  it('says which methods a path takes when another one is used', async () => {
    const allowed = async (path: string) => (await get(path, { method: 'DELETE' })).headers.get('allow');
    expect([await allowed('/svc/config'), await allowed('/svc/reload')]).to.deep.equal([
      ...['GET, HEAD', 'GET, HEAD, POST'],
    ]);
  });

  it('shows what runs, and what was rejected', async () => {
    const apis = (await (await get('/svc/config')).json()) as { apis: object[]; errors: object[] };
    expect(apis.errors).to.deep.equal([]);
    expect(apis.apis).to.have.length(1);
    expect(apis.apis[0]).to.deep.include({
      ...{ id: 'echo', name: 'API echo', listenPath: '/echo', active: true, internal: false, revision: '0' },
      steps: ['organisation-limits'],
      upstream: gateway.echo.url,
    });
  });

  it('reloads: at once, until it has swapped, or until a revision runs', async () => {
    const reload = async (query: string, method = 'GET'): Promise<Reload> =>
      (await (await get(`/svc/reload${query}`, { method })).json()) as Reload;
    expect(await reload('')).to.deep.equal({ status: 'ok', message: '', revision: 1, apis: [] });
    expect((await reload('?wait=true', 'POST')).apis).to.deep.equal([{ id: 'echo', result: 'loaded' }]);
    const waiting = reload('?wait=3');
    gateway.feed.put('more', apiFor('more', gateway.echo.url));
    gateway.feed.put('bad', apiFor('bad', 'nonsense://x'));
    const { status, apis, revision } = await waiting;
    expect([status, revision]).to.deep.equal(['partial', 3]);
    expect(apis.map(({ id, result }) => `${id} ${result}`)).to.include.members(['echo unchanged', 'bad rejected']);
    await gateway.settled(gateway.feed.remove('bad'));
  });

  it('keeps its doors shut: a wrong secret, or a page that rebinds its name', async () => {
    const statusFor = (headers: Record<string, string>, control = gateway.control): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        request(`${control}/svc/config`, { headers }, (answer) => resolve(answer.resume().statusCode))
          .on('error', reject)
          .end();
      });
    expect(await statusFor({ host: 'rebound.example' })).to.equal(403);
    expect(await statusFor({})).to.equal(200);
    await using guarded = await startTestGateway({ settings: { controlSecret: 'correct horse battery' } });
    const rows: readonly [Record<string, string>, number][] = [
      [{}, 403],
      [{ authorization: 'Bearer wrong' }, 403],
      [{ authorization: 'Bearer correct horse battery' }, 200],
      [{ 'x-svc-authorization': 'correct horse battery' }, 200],
    ];
    for (const [headers, status] of rows) expect(await statusFor(headers, guarded.control)).to.equal(status);
    expect((await fetch(`${guarded.control}/livez`)).status).to.equal(200);
  });
});

describe('a gateway that stops', () => {
  it('fails readiness, finishes what is under way, says goodbye to WebSockets, and ends its records', async () => {
    const release = Promise.withResolvers<void>();
    await using upstream = await httpUpstream((_, response) => {
      response.write('first');
      void release.promise.then(() => response.end('last'));
    });
    upstream.server.on('upgrade', (_, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
      socket.on('end', () => socket.end());
      socket.on('data', () => socket.end());
    });
    const gateway = await startTestGateway();
    await gateway.put('api', apiFor('api', upstream.url));
    using tunnel = await rawClient(gateway.port);
    tunnel.send('GET /api/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    await tunnel.until(/101 Switching/);
    using idle = await rawClient(gateway.port);
    const answer = await fetch(`${gateway.url}/api/slow`);
    const stopped = gateway.gateway.stop(5000);
    expect((await fetch(`${gateway.control}/readyz`)).status).to.equal(503);
    expect((await tunnel.closed()).endsWith('\x88\x02\x03\xe9')).to.equal(true);
    expect(await idle.closed()).to.equal('');
    await eventually(() =>
      fetch(gateway.url).then(
        () => false,
        () => true,
      ),
    );
    release.resolve();
    expect(await answer.text()).to.equal('firstlast');
    await stopped;
    expect(gateway.lane.records.map(({ raw_path }) => raw_path)).to.have.members(['/ws', '/slow']);
    expect(gateway.lane.ended).to.equal(2);
    await gateway[Symbol.asyncDispose]();
  });

  it('cuts what is left at the deadline, and records it', async () => {
    await using upstream = await httpUpstream((_, response) => void response.write('first'));
    const gateway = await startTestGateway();
    await gateway.put('api', apiFor('api', upstream.url));
    const answer = await fetch(`${gateway.url}/api/stuck`);
    await gateway.gateway.stop(50);
    expect(await answer.text().catch(() => 'cut')).to.equal('cut');
    expect(gateway.lane.records.map(({ response_code }) => response_code)).to.deep.equal([499]);
    await gateway[Symbol.asyncDispose]();
  });

  it('does not start on a port that is taken, and leaves nothing open', async () => {
    await using running = await startTestGateway();
    const { startGateway } = await import('../../gateway/gateway.ts');
    const { MemoryFeed } = await import('../support/gateway-feed.ts');
    const { ListLane } = await import('../support/gateway-lane.ts');
    const { listLog, systemClock } = await import('../support/gateway-start.ts');
    const lane = new ListLane();
    const failed = await startGateway({
      ...{ feed: new MemoryFeed(), lane, log: listLog(), clock: systemClock, node: 'n', directory: running.directory },
      counters: memoryCounters(systemClock),
      checkApi: () => ({ problems: [], warnings: [] }),
      listen: { host: '127.0.0.1', port: running.port },
      controlListen: { host: '127.0.0.1', port: 0 },
    }).catch((error: NodeJS.ErrnoException) => error.code);
    expect(failed).to.equal('EADDRINUSE');
    expect(lane.ended).to.equal(0);
  });
});
