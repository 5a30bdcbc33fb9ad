/** From a change to traffic: swaps under load, what is kept, what survives a restart, what is released. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { createCheckApi } from '../../gateway/check-api.ts';
import type { CheckApi } from '../../gateway/checked-api.ts';
import { FeedRefusal } from '../../gateway/feed/feed.ts';
import { createLateCheckApi } from '../../src/compose/late-check.ts';
import { classicDefinition } from '../support/classic-definitions.ts';
import { eventually } from '../support/eventually.ts';
import { MemoryFeed } from '../support/gateway-feed.ts';
import { rawClient } from '../support/gateway-raw.ts';
import { apiFor, recordOf, startTestGateway, startWithEcho } from '../support/gateway-start.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { echoUpstream, httpUpstream } from '../support/upstream.ts';

const withHeader = (id: string, url: string, value: string) =>
  apiFor(id, url, { global: { transformResponseHeaders: { enabled: true, add: [{ name: 'X-Change', value }] } } });

/** Compiles to nothing: an API without an upstream. */
const broken = (id: string) => apiFor(id, 'nonsense://x');

describe('a change of the configuration', function () {
  this.timeout(30_000);

  it('is served without a restart, and stamped from the one table that served the request', async () => {
    await using gateway = await startWithEcho();
    for (const change of ['1', '2', '3']) {
      const position = await gateway.put('echo', withHeader('echo', gateway.echo.url, change));
      const answer = await fetch(`${gateway.url}/echo/${change}`);
      expect(answer.headers.get('x-change')).to.equal(change);
      expect((await recordOf(gateway, `/echo/${change}`)).ext.config_rev).to.equal(String(Number(position)));
    }
    await gateway.settled(gateway.feed.remove('echo'));
    const gone = await fetch(`${gateway.url}/echo/`);
    expect(gone.status).to.equal(404);
    expect(await gone.json()).to.deep.equal({ error: 'Not Found', code: 'no_route', revision: 5 });
  });

  it('fails no request: 1,000 swaps under constant load', async () => {
    await using gateway = await startWithEcho({ settings: { swapEveryMs: 0 } });
    const statuses = new Map<number, number>();
    let isOver = false;
    const running = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const answer = await fetch(`${gateway.url}/echo/x`);
        await answer.text();
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      }
    });
    for (let change = 1; change <= 1000; change++) {
      const id = change % 2 === 0 ? 'echo' : 'other';
      await gateway.put(id, withHeader(id, gateway.echo.url, String(change)));
      // A turn for the sockets, so that requests come in between.
      await new Promise((resolve) => setImmediate(resolve));
    }
    isOver = true;
    await Promise.all(running);
    expect([...statuses.keys()]).to.deep.equal([200]);
    expect(statuses.get(200)).to.be.greaterThan(100);
    const revisions = new Set(gateway.lane.records.map(({ ext }) => ext.config_rev));
    expect(revisions.size).to.be.greaterThan(100);
    expect(gateway.lane.records.every(({ response_code }) => response_code === 200)).to.equal(true);
  });

  it('leaves requests under way and upgraded connections what they have', async () => {
    const release = Promise.withResolvers<void>();
    await using upstream = await httpUpstream((_, response) => {
      response.write('first');
      void release.promise.then(() => response.end('last'));
    });
    upstream.server.on('upgrade', (_, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
      socket.on('data', (chunk: Buffer) => socket.write(chunk)).on('end', () => socket.end());
    });
    await using gateway = await startTestGateway();
    await gateway.put('slow', apiFor('slow', upstream.url));
    using tunnel = await rawClient(gateway.port);
    tunnel.send('GET /slow/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    await tunnel.until(/101 Switching/);
    const answer = await fetch(`${gateway.url}/slow/`);
    await gateway.settled(gateway.feed.remove('slow'));
    expect((await fetch(`${gateway.url}/slow/`)).status).to.equal(404);
    tunnel.send('still here');
    await tunnel.until(/still here$/);
    release.resolve();
    expect(await answer.text()).to.equal('firstlast');
  });

  it('keeps the connections of APIs that it does not concern, and closes those of APIs that are gone', async () => {
    await using gateway = await startWithEcho();
    await using other = await echoUpstream();
    await gateway.put('other', apiFor('other', other.url));
    for (let change = 0; change < 5; change++) {
      await (await fetch(`${gateway.url}/echo/`)).text();
      await (await fetch(`${gateway.url}/other/`)).text();
      await gateway.put('other', withHeader('other', other.url, String(change)));
    }
    expect(gateway.echo.connections()).to.deep.equal({ accepted: 1, open: 1 });
    // A new version with the same origin goes on with the pool of the old one.
    expect(other.connections()).to.deep.equal({ accepted: 1, open: 1 });
    await gateway.settled(gateway.feed.remove('other'));
    await eventually(() => other.connections().open === 0);
  });

  it('that does not compile keeps the version before, is reported, and holds up nobody else', async () => {
    await using gateway = await startWithEcho();
    await gateway.put('echo', withHeader('echo', gateway.echo.url, 'good'));
    gateway.feed.put('echo', broken('echo'));
    gateway.feed.put('fresh', broken('fresh'));
    await gateway.put('fine', apiFor('fine', gateway.echo.url));
    expect((await fetch(`${gateway.url}/echo/`)).headers.get('x-change')).to.equal('good');
    expect((await fetch(`${gateway.url}/fine/`)).status).to.equal(200);
    const fresh = await fetch(`${gateway.url}/fresh/x`);
    expect([fresh.status, fresh.headers.get('retry-after')]).to.deep.equal([503, '1']);
    expect(await fresh.json()).to.include({ code: 'api_not_loaded' });
    const { rejected } = gateway.gateway.applied();
    expect(rejected.map(({ id, keptRevision }) => [id, keptRevision])).to.deep.equal([
      ['echo', '1'],
      ['fresh', undefined],
    ]);
    await eventually(() => expect(gateway.feed.reports.at(-1)).to.deep.include({ node: 'node-1', rejected }));
    await gateway.put('echo', withHeader('echo', gateway.echo.url, 'mended'));
    expect((await fetch(`${gateway.url}/echo/`)).headers.get('x-change')).to.equal('mended');
  });

  it('is not asked the same rules again at a start; of other rules each API is, and then no more', async () => {
    using folder = temporaryFolder('svc-rules-');
    await using echo = await echoUpstream();
    const feed = new MemoryFeed();
    feed.put('good', apiFor('good', echo.url));
    feed.put('bad', broken('bad'));
    const check = createCheckApi();
    /** What a start asks, API by API, and when it said that its configuration was current. */
    async function startBy(rules: string, away: boolean) {
      const asked: [string, boolean | undefined][] = [];
      const checkApi: CheckApi = (api, isChecked) => {
        asked.push([api.apiId, isChecked]);
        return check(api, isChecked);
      };
      const unreachable = new MemoryFeed();
      unreachable.breakSnapshot = () => Promise.reject(new FeedRefusal('unreachable', 'away'));
      const source = away ? unreachable : feed;
      await using gateway = await startTestGateway({ feed: source, directory: folder.path, checkApi, rules });
      await eventually(() => asked.length >= 2);
      expect((await fetch(`${gateway.url}/good/`)).status).to.equal(200);
      expect((await fetch(`${gateway.url}/bad/`)).status).to.equal(503);
      return asked;
    }
    const each = [
      ['good', undefined],
      ['bad', undefined],
    ];
    const onlyTheBad = [
      ['good', true],
      ['bad', false],
    ];
    expect(await startBy('first', false)).to.deep.equal(each);
    expect(await startBy('first', true)).to.deep.equal(onlyTheBad);
    const age = (): number =>
      Math.max(
        ...readdirSync(join(folder.path, 'generations')).map(
          (name) => statSync(join(folder.path, 'generations', name)).mtimeMs,
        ),
      );
    const before = age();
    expect(await startBy('second', true)).to.deep.equal(each);
    expect(await startBy('second', true)).to.deep.equal(onlyTheBad);
    expect(age(), 'nobody has said that it is still current').to.be.closeTo(before, 1);
  });

  it('needs no rules to be there at a start by the same ones; Classic definitions and other rules do', async () => {
    using folder = temporaryFolder('svc-rules-');
    await using echo = await echoUpstream();
    const feed = new MemoryFeed();
    feed.put('good', apiFor('good', echo.url));
    /** Whether they were loaded before the gateway listened, and whether they are in the end. */
    async function loadedBy(rules: string) {
      let loads = 0;
      const { checkApi, loadRules } = createLateCheckApi();
      const counted = (): Promise<void> => {
        loads++;
        return loadRules();
      };
      await using gateway = await startTestGateway({
        feed,
        directory: folder.path,
        checkApi,
        loadRules: counted,
        rules,
      });
      const atStart = loads > 0;
      await eventually(async () => (await fetch(`${gateway.url}/good/`)).status === 200);
      await eventually(() => loads > 0);
      expect(gateway.gateway.applied().rejected).to.deep.equal([]);
      return atStart;
    }
    await loadedBy('first');
    expect(await loadedBy('first')).to.equal(false);
    expect(await loadedBy('second')).to.equal(true);
    expect(await loadedBy('second')).to.equal(false);
    feed.put('old', classicDefinition('old', echo.url), 'classic');
    await loadedBy('second');
    expect(await loadedBy('second')).to.equal(true);
  });

  it('is asked the rules by a node that gets other labels, where they refused it before', async () => {
    using folder = temporaryFolder('svc-rules-');
    const feed = new MemoryFeed();
    const labels = { gatewayTags: { enabled: true, tags: ['us'] } };
    const elsewhere = apiFor('elsewhere', 'nonsense://x', {
      server: { listenPath: { value: '/elsewhere/' }, ...labels },
    });
    feed.put('elsewhere', elsewhere);
    const start = (tag: string) =>
      startTestGateway({ feed, directory: folder.path, rules: 'same', settings: { tags: [tag] } });
    await (await start('eu'))[Symbol.asyncDispose]();
    await eventually(() => readdirSync(join(folder.path, 'generations')).length > 0);
    await using gateway = await start('us');
    expect(gateway.gateway.applied().rejected.map(({ id }) => id)).to.deep.equal(['elsewhere']);
  });

  it('with tags runs only where a tag is shared', async () => {
    await using gateway = await startWithEcho({ settings: { tags: ['edge', 'eu'] } });
    const tagged = (id: string, tags: readonly string[]) =>
      apiFor(id, gateway.echo.url, {
        server: { listenPath: { value: `/${id}/`, strip: true }, gatewayTags: { enabled: true, tags: [...tags] } },
      });
    await gateway.put('here', tagged('here', ['eu']));
    await gateway.put('there', tagged('there', ['us']));
    const statuses = await Promise.all(
      ['here', 'there', 'echo'].map(async (id) => (await fetch(`${gateway.url}/${id}/`)).status),
    );
    expect(statuses).to.deep.equal([200, 404, 404]);
    await gateway.put('there', tagged('there', ['edge']));
    expect((await fetch(`${gateway.url}/there/`)).status).to.equal(200);
  });
});

describe('a gateway that starts', () => {
  it('without any configuration answers 503 and is not ready, until there is one', async () => {
    const feed = new MemoryFeed();
    feed.breakSnapshot = () => {
      throw new Error('management is away');
    };
    await using gateway = await startTestGateway({ feed });
    const answer = await fetch(`${gateway.url}/any`);
    expect(answer.status).to.equal(503);
    expect(await answer.json()).to.include({ code: 'no_snapshot', revision: 0 });
    expect((await fetch(`${gateway.control}/readyz`)).status).to.equal(503);
    feed.breakSnapshot = undefined;
    await eventually(async () => (await fetch(`${gateway.control}/readyz`)).status === 200);
  });

  it('with everything else down serves what it had, kept versions too', async () => {
    using folder = temporaryFolder();
    await using echo = await echoUpstream();
    {
      await using gateway = await startTestGateway({ directory: folder.path });
      await gateway.put('api', withHeader('api', echo.url, 'good'));
      gateway.feed.put('api', broken('api'));
      await gateway.put('more', apiFor('more', echo.url));
    }
    const feed = new MemoryFeed();
    feed.breakSnapshot = () => {
      throw new Error('management is away');
    };
    await using gateway = await startTestGateway({ feed, directory: folder.path });
    expect((await fetch(`${gateway.url}/api/`)).headers.get('x-change')).to.equal('good');
    expect((await fetch(`${gateway.url}/more/`)).status).to.equal(200);
    const config = (await (await fetch(`${gateway.control}/svc/config`)).json()) as {
      source: string;
      revision: number;
    };
    expect(config).to.include({ source: 'disk', revision: 3 });
    expect(gateway.gateway.applied().rejected).to.have.length(1);
  });

  it('passes over a broken generation, and keeps three', async () => {
    using folder = temporaryFolder();
    await using echo = await echoUpstream();
    const files = () => readdirSync(join(folder.path, 'generations')).sort();
    {
      await using gateway = await startTestGateway({ directory: folder.path });
      for (let change = 1; change <= 5; change++) {
        await gateway.put('api', withHeader('api', echo.url, String(change)));
        const before = String(change);
        await eventually(() =>
          readFileSync(join(folder.path, 'generations', files().at(-1) ?? ''), 'utf8').includes(`"value":"${before}"`),
        );
      }
    }
    expect(files()).to.have.length(3);
    const newest = join(folder.path, 'generations', files().at(-1) ?? '');
    writeFileSync(newest, readFileSync(newest, 'utf8').replace('"value":"5"', '"value":"6"'));
    const feed = new MemoryFeed();
    feed.breakSnapshot = () => ({});
    await using gateway = await startTestGateway({ feed, directory: folder.path });
    expect((await fetch(`${gateway.url}/api/`)).headers.get('x-change')).to.equal('4');
    expect(gateway.log.lines.some(({ message }) => message === 'a configuration on disk is broken')).to.equal(true);
  });
});
