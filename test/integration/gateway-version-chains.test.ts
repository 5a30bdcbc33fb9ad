/** Versions of an API as APIs of their own, over real sockets: whose chain runs, what it sees, and changes while requests come. */
import { expect } from 'chai';
import fc from 'fast-check';
import { rawClient, rawRequest } from '../support/gateway-raw.ts';
import { apiFor, recordOf, startTestGateway, type TestGateway } from '../support/gateway-start.ts';
import { type Echo, httpUpstream, type Upstream } from '../support/upstream.ts';
import {
  missing,
  notLoaded,
  served,
  startVersionedGateway,
  state,
  unknown,
  type VersionedGateway,
  version,
  versioning,
} from '../support/versioned-gateway.ts';

describe('versions of an API', () => {
  let versioned: VersionedGateway;
  let gateway: TestGateway;
  let upstream: Upstream;
  let ask: VersionedGateway['ask'];
  let base: VersionedGateway['base'];
  let child: VersionedGateway['child'];
  before(async () => {
    versioned = await startVersionedGateway();
    ({ gateway, upstream, ask, base, child } = versioned);
  });
  after(() => versioned[Symbol.asyncDispose]());

  describe('one of them', () => {
    const closed = (id: string) => ({
      server: { listenPath: { value: `/${id}/`, strip: true }, authentication: { enabled: true } },
    });

    it('is served by its own chain: the authentication of its base does not run for it', async () => {
      await base({}, closed('orders'));
      expect(await ask('/orders/a', version('v1'))).to.include({ status: 401, code: 'auth_missing' });
      expect(await ask('/orders/a', version('v2'))).to.include({ status: 200 });
    });

    it('keeps its own authentication behind an open base', async () => {
      await base();
      await gateway.put('orders-v2', child('orders-v2', closed('orders-v2')));
      expect(await ask('/orders/a', version('v2'))).to.include({ status: 401, code: 'auth_missing' });
      expect(await ask('/orders/a', version('v1'))).to.include({ status: 200 });
      await gateway.put('orders-v2', child('orders-v2'));
    });

    it('has limits, headers and cross-origin rules of its own', async () => {
      await base({}, { upstream: { rateLimit: { enabled: true, rate: 1, per: '1h' } } });
      const own = {
        transformRequestHeaders: { enabled: true, add: [{ name: 'X-Who', value: 'second' }] },
        cors: { enabled: true, allowedOrigins: ['https://app.example'] },
      };
      await gateway.put('orders-v2', child('orders-v2', { global: own }));
      const origin = { origin: 'https://app.example' };
      for (let i = 0; i < 3; i++) {
        const answer = await fetch(`${gateway.url}/orders/a`, { headers: { ...version('v2'), ...origin } });
        expect(answer.status).to.equal(200);
        expect(answer.headers.get('access-control-allow-origin')).to.equal('https://app.example');
        expect(((await answer.json()) as Echo).headers).to.include({ 'x-who': 'second' });
      }
      expect(await ask('/orders/a', version('v1'))).to.include({ status: 200 });
      expect(await ask('/orders/a', version('v1'))).to.include({ status: 429 });
      await gateway.put('orders-v2', child('orders-v2'));
      await base();
    });

    it('sees the header that chose it, or not, and never one that only looks like it', async () => {
      const headers = { ...version('v2'), X_Api_Version: 'v1' };
      const kept = (await ask('/orders/a', headers)).echo?.headers;
      expect(kept).to.include({ 'x-api-version': 'v2' }).and.not.have.property('x_api_version');
      await base({ stripVersioningData: true });
      for (const name of ['v1', 'v2']) {
        expect((await ask('/orders/a', { ...headers, ...version(name) })).echo?.headers).to.not.have.any.keys(
          'x-api-version',
          'x_api_version',
        );
      }
      await base();
    });

    it('tells caches that the header matters, whoever answers', async () => {
      const varying = await httpUpstream((_, response) => response.writeHead(200, { vary: 'Accept' }).end('{}'));
      await gateway.put('orders-v2', child('orders-v2', { upstream: { url: varying.url } }));
      const varyOf = async (headers = {}) => (await fetch(`${gateway.url}/orders/a`, { headers })).headers.get('vary');
      expect(await varyOf(version('v1'))).to.equal('X-Api-Version');
      expect(await varyOf(version('v2'))).to.equal('Accept, X-Api-Version');
      expect(await varyOf(version('v9'))).to.equal('X-Api-Version');
      expect(await varyOf()).to.equal('X-Api-Version');
      await base({ location: 'url', key: '', default: 'v1' });
      expect(await varyOf()).to.equal(null);
      await base();
      await gateway.put('orders-v2', child('orders-v2'));
      await varying[Symbol.asyncDispose]();
    });

    it('opens no way around the authentication of its base, whatever the path', async () => {
      const strip = { location: 'url', key: '', stripVersioningData: true };
      await base({ ...strip, default: 'v1', fallbackToDefault: true }, closed('orders'));
      const parts = [
        'v1',
        'v2',
        'v9',
        'self',
        '%76',
        '2',
        '..',
        '%2e',
        '%2F',
        '/',
        '//',
        '\\',
        '?',
        'x',
        '&',
        'orders',
      ];
      const paths = fc.array(fc.constantFrom(...parts), { maxLength: 8 }).map((chosen) => `/orders/${chosen.join('')}`);
      await fc.assert(
        fc.asyncProperty(paths, async (path) => {
          const bytes = `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
          const answer = await rawRequest(gateway.port, bytes);
          // What the upstream was asked for is in its answer: of the base, nothing without a key.
          const asked = /"url":"([^"]*)"/.exec(answer)?.[1];
          return asked === undefined ? /^HTTP\/1\.1 4/.test(answer) : asked.startsWith('/orders-v2');
        }),
        { numRuns: 300 },
      );
      await base();
    });

    it('is not loaded where the gateway has other tags', async () => {
      await using tagged = await startTestGateway({ settings: { tags: ['eu'] } });
      const labels = { gatewayTags: { enabled: true, tags: ['eu'] } };
      const server = { listenPath: { value: '/orders/', strip: true }, ...labels };
      await tagged.put('orders-v2', child('orders-v2'));
      await tagged.put('orders', apiFor('orders', upstream.url, { server, info: { versioning: versioning() } }));
      const answer = await fetch(`${tagged.url}/orders/a`, { headers: version('v2') });
      expect(answer.status).to.equal(503);
    });

    it('is reached below the listen path of its base, whatever that does with it', async () => {
      const kept = { server: { listenPath: { value: '/orders/', strip: false } } };
      await base({ location: 'url', key: '', stripVersioningData: true }, kept);
      expect(await ask('/orders/v1/a')).to.include(served('/orders/orders/a'));
      expect(await ask('/orders/v3/a')).to.include(served('/orders-v3/a'));
      await base({ location: 'url', key: '', stripVersioningData: true }, { server: { listenPath: { value: '/' } } });
      expect(await ask('/v1/a')).to.include(served('/orders/a'));
      expect(await ask('/v3/a')).to.include(served('/orders-v3/a'));
      await base();
    });

    it('is not there when its base is inactive or internal', async () => {
      for (const hidden of [state(false, false), state(true, true)]) {
        await base({}, { info: { ...hidden, versioning: versioning() } });
        expect(await ask('/orders/a', version('v2'))).to.include({ status: 404, code: 'no_route' });
      }
      await base();
    });

    it('may be external too, and then has a place of its own', async () => {
      await gateway.put('orders-v2', child('orders-v2', { info: state(true, false) }));
      expect(await ask('/orders/a', version('v2'))).to.include(served('/orders-v2/a'));
      expect(await ask('/orders-v2/a')).to.include(served('/orders-v2/a'));
      await gateway.put('orders-v2', child('orders-v2'));
    });

    it('of another organisation is no version', async () => {
      await gateway.settled(gateway.feed.put('orders-gone', child('orders-gone'), 'oas', 'other'));
      expect(await ask('/orders/a', version('gone'))).to.include(unknown);
      await gateway.settled(gateway.feed.remove('orders-gone'));
    });

    it('has no versions of its own behind a base', async () => {
      const nested = { info: { ...state(true, false), versioning: versioning({ versions: [], default: '' }) } };
      await gateway.put('orders-v2', child('orders-v2', nested));
      expect(await ask('/orders/a', version('v2'))).to.include(served('/orders-v2/a'));
      expect(await ask('/orders-v2/a')).to.include(missing);
      await gateway.put('orders-v2', child('orders-v2'));
    });

    it('is served to upgraded connections', async () => {
      const ws = await httpUpstream(() => {});
      ws.server.on('upgrade', ({ url }, socket) => {
        socket.end(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nat ${url}`);
      });
      await gateway.put('orders-v2', child('orders-v2', { upstream: { url: `${ws.url}ws` } }));
      using client = await rawClient(gateway.port);
      client.send(
        'GET /orders/a HTTP/1.1\r\nHost: a\r\nX-Api-Version: v2\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      );
      expect(await client.until(/at .*a/)).to.match(/^HTTP\/1\.1 101 [\s\S]*at \/ws\/a/);
      await gateway.put('orders-v2', child('orders-v2'));
      await ws[Symbol.asyncDispose]();
    });

    it('is named in the record, with the listen path by which it was reached', async () => {
      const facts = async (target: string, headers = {}) => {
        await ask(target, headers);
        const { api_id, api_version, listen_path, path, response_code, ext } = await recordOf(gateway, target);
        return { api_id, api_version, listen_path, path, response_code, error: ext.error };
      };
      const one = {
        api_version: 'v2',
        listen_path: '/orders',
        path: '/orders-v2/r1',
        response_code: 200,
        error: undefined,
      };
      expect(await facts('/orders/r1', version('v2'))).to.deep.equal({ api_id: 'orders-v2', ...one });
      const own = { ...one, api_version: 'v1', path: '/orders/r2' };
      expect(await facts('/orders/r2', version('self'))).to.deep.equal({ api_id: 'orders', ...own });
      const error = { flag: 'NRT', source: 'version', details: 'version_unknown' };
      const refused = { ...one, api_version: 'Non Versioned', path: '/r3', response_code: 404, error };
      expect(await facts('/orders/r3', version('v9'))).to.deep.equal({ api_id: 'orders', ...refused });
    });
  });

  describe('OPTIONS of an API with versions', () => {
    const passing = { cors: { enabled: true, optionsPassthrough: true, allowedOrigins: ['*'] } };

    it('meets no step of the base when that passes it on, but still not an unknown version', async () => {
      await base({}, { global: passing });
      expect(await ask('/orders/a', {}, 'OPTIONS')).to.include(served('/orders/a'));
      expect(await ask('/orders/a', version('v2'), 'OPTIONS')).to.include(served('/orders-v2/a'));
      expect(await ask('/orders/a', version('v9'), 'OPTIONS')).to.include(unknown);
      await base();
      expect(await ask('/orders/a', {}, 'OPTIONS')).to.include(missing);
    });
  });

  describe('while the configuration changes', () => {
    it('a base waits for a version that comes later, and lets it go again', async () => {
      await base();
      expect(await ask('/orders/a', version('gone'))).to.include(notLoaded);
      await gateway.put('orders-gone', child('orders-gone'));
      expect(await ask('/orders/a', version('gone'))).to.include(served('/orders-gone/a'));
      await gateway.put('orders-gone', child('orders-gone', { info: state(false, true) }));
      expect(await ask('/orders/a', version('gone'))).to.include(unknown);
      await gateway.settled(gateway.feed.remove('orders-gone'));
      expect(await ask('/orders/a', version('gone'))).to.include(notLoaded);
    });

    it('a version comes before its base', async () => {
      await gateway.put('early-v2', child('early-v2'));
      expect(await ask('/early/a', version('v2'))).to.include({ status: 404, code: 'no_route' });
      const block = versioning({ versions: [{ name: 'v2', id: 'early-v2' }] });
      await gateway.put('early', apiFor('early', `${upstream.url}early`, { info: { versioning: block } }));
      expect(await ask('/early/a', version('v2'))).to.include(served('/early-v2/a'));
    });

    it('a version that does not compile any more goes on as it was; one that never did is not available', async () => {
      const broken = (id: string) => child(id, { server: { listenPath: { value: '/a b' } } });
      await gateway.put('orders-v2', broken('orders-v2'));
      await gateway.put('orders-gone', broken('orders-gone'));
      expect(await ask('/orders/a', version('v2'))).to.include(served('/orders-v2/a'));
      expect(await ask('/orders/a', version('gone'))).to.include(notLoaded);
      await gateway.settled(gateway.feed.remove('orders-gone'));
      await gateway.put('orders-v2', child('orders-v2'));
    });

    it('every request gets the version of its moment, and none fails', async () => {
      const seen = new Set<string>();
      let isOver = false;
      const client = async (): Promise<void> => {
        while (!isOver) {
          const { status, url = '' } = await ask('/orders/a', version('v2'));
          expect(status).to.equal(200);
          seen.add(url);
        }
      };
      const clients = Promise.all([client(), client(), client()]);
      for (let i = 0; i < 20; i++) {
        await gateway.put('orders-v2', child('orders-v2', { upstream: { url: `${upstream.url}turn${i}` } }));
      }
      expect(await ask('/orders/a', version('v2'))).to.include(served('/turn19/a'));
      isOver = true;
      await clients;
      expect([...seen].every((url) => /^\/(orders-v2|turn\d+)\/a$/.test(url))).to.equal(true);
      await gateway.put('orders-v2', child('orders-v2'));
    });

    it('a request under way is answered by the version that it began with', async () => {
      const arrived = Promise.withResolvers<void>();
      const go = Promise.withResolvers<void>();
      const slow = await httpUpstream((_, response) => {
        arrived.resolve();
        void go.promise.then(() => response.end('{"url": "slow"}'));
      });
      await gateway.put('orders-v2', child('orders-v2', { upstream: { url: slow.url } }));
      const answer = ask('/orders/a', version('v2'));
      await arrived.promise;
      await gateway.settled(gateway.feed.remove('orders-v2'));
      expect(await ask('/orders/a', version('v2'))).to.include(notLoaded);
      go.resolve();
      expect(await answer).to.include({ status: 200, url: 'slow' });
      await slow[Symbol.asyncDispose]();
      await gateway.put('orders-v2', child('orders-v2'));
    });

    it('a base is not built again when a version changes, nor a version when its base does', async () => {
      const lines = gateway.log.lines.length;
      await gateway.put('orders-v2', child('orders-v2', { upstream: { url: `${upstream.url}other` } }));
      const results = async () => {
        const answer = await fetch(`${gateway.control}/svc/reload?wait=true`);
        const { apis } = (await answer.json()) as { apis: readonly { id: string; result: string }[] };
        return Object.fromEntries(apis.map(({ id, result }) => [id, result]));
      };
      expect(await results()).to.include({ orders: 'unchanged', 'orders-v2': 'loaded' });
      await base({ default: 'v2' });
      expect(await results()).to.include({ orders: 'loaded', 'orders-v2': 'unchanged' });
      expect(gateway.log.lines.slice(lines).filter(({ level }) => level === 'error')).to.deep.equal([]);
    });
  });
});
