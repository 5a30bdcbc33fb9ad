/** The control listener and the end of a gateway. */

import { request } from 'node:http';
import { expect } from 'chai';
import { canonicalHead } from '../../domain/api/classic/codec.ts';
import type { JsonObject } from '../../domain/event.ts';
import { toGroupName } from '../../domain/ids.ts';
import type { CheckApi } from '../../gateway/checked-api.ts';
import { FeedRefusal } from '../../gateway/feed/feed.ts';
import { memoryCache } from '../../src/stores/runtime/memory-cache.ts';
import { memoryCounters } from '../../src/stores/runtime/memory-counters.ts';
import { eventually } from '../support/eventually.ts';
import { MemoryFeed } from '../support/gateway-feed.ts';
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

  it('forgets the kept answers of an API when it is asked with DELETE, and has no metrics of its own here', async () => {
    const answer = await get('/svc/cache/echo', { method: 'DELETE' });
    expect([answer.status, await answer.json()]).to.deep.equal([200, { status: 'ok', message: '', entries: 0 }]);
    const other = await get('/svc/cache/echo');
    expect([other.status, other.headers.get('allow')]).to.deep.equal([405, 'DELETE']);
    expect((await get('/svc/cache/', { method: 'DELETE' })).status).to.equal(404);
    expect((await get('/metrics')).status).to.equal(404);
  });

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

  it('passes a reload of its group on to management, and follows it as all others do', async () => {
    const { feed } = gateway;
    let count = 0;
    const reloadGroup = async () => {
      count += 1;
      const revision = feed.reload(`group ${count}`, { group: toGroupName('inner') }).replace(/^0+/, '');
      return { reloadId: `group ${count}`, revision };
    };
    await using inner = await startTestGateway({ feed, reloadGroup, settings: { group: 'inner' } });
    await inner.settled(feed.put('echo', apiFor('echo', gateway.echo.url)));
    const ask = async (query: string, init?: RequestInit) => {
      const answer = await fetch(`${inner.control}/svc/reload/group${query}`, init);
      expect(answer.status).to.equal(200);
      return (await answer.json()) as Reload & { request: { reloadId: string; revision: string; group: string } };
    };
    const asked = await ask('');
    expect(asked).to.deep.include({ status: 'ok', message: '', apis: [] });
    expect(asked.request).to.deep.include({ reloadId: 'group 1', group: 'inner' });
    const { apis, revision, request } = await ask('?wait=true', { method: 'POST' });
    expect(apis.map(({ id, result }) => `${id} ${result}`)).to.include('echo loaded');
    expect([request.reloadId, String(revision)]).to.deep.equal(['group 2', request.revision]);
    expect((await fetch(`${inner.control}/svc/reload/group`, { method: 'DELETE' })).headers.get('allow')).to.equal(
      'GET, HEAD, POST',
    );
  });

  it('says why its group was not asked', async () => {
    const refusal = new FeedRefusal('token_refused', 'http://m does not take gateway.node_token (403): no');
    const refuse = async () => Promise.reject(refusal);
    await using apart = await startTestGateway({ reloadGroup: refuse });
    const answer = await fetch(`${apart.control}/svc/reload/group`);
    expect([answer.status, await answer.json()]).to.deep.equal([503, { status: 'error', message: refusal.message }]);
    const alone = await get('/svc/reload/group');
    expect(await alone.json()).to.include({ message: 'this gateway has no management plane to ask' });
    await using guarded = await startTestGateway({
      reloadGroup: () => expect.fail('a stranger was listened to'),
      settings: { controlSecret: 'correct horse battery' },
    });
    expect((await fetch(`${guarded.control}/svc/reload/group`)).status).to.equal(403);
  });

  it('says who it is, also before it has a configuration, and shows no password of what was rejected', async () => {
    const feed = new MemoryFeed();
    feed.breakSnapshot = () => {
      throw new FeedRefusal('unreachable', 'management is away');
    };
    await using silent = await startTestGateway({ feed, settings: { tags: ['eu'], version: '1.2.3' } });
    const config = async (control: string) => (await (await fetch(`${control}/svc/config`)).json()) as JsonObject;
    expect(await config(silent.control)).to.deep.include({
      ...{ node: 'node-1', group: 'default', tags: ['eu'], version: '1.2.3' },
      ...{ source: 'none', revision: 0, apis: [], errors: [] },
    });
    const checkApi: CheckApi = () => {
      throw new Error('no http://u:secret@broken.example/?api_key=hidden');
    };
    await using checked = await startTestGateway({ checkApi });
    await checked.put('broken', apiFor('broken', 'http://broken.example/'));
    const shown = await config(checked.control);
    expect(shown).to.have.nested.property('errors[0].id', 'broken');
    const reloaded = await (await fetch(`${checked.control}/svc/reload?wait=true`)).text();
    for (const text of [JSON.stringify(shown), reloaded]) {
      expect(text).to.contain('***@broken.example').and.not.contain('u:secret').and.not.contain('hidden');
    }
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
    expect((await fetch(`${guarded.control}/svc/cache/a`, { method: 'DELETE' })).status).to.equal(403);
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
      cache: memoryCache({ maxBytes: 1_048_576, ...systemClock }),
      headOf: canonicalHead,
      checkApi: () => ({ problems: [], warnings: [] }),
      listen: { host: '127.0.0.1', port: running.port },
      controlListen: { host: '127.0.0.1', port: 0 },
    }).catch((error: NodeJS.ErrnoException) => error.code);
    expect(failed).to.equal('EADDRINUSE');
    expect(lane.ended).to.equal(0);
  });
});
