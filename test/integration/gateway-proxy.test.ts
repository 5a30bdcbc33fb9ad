/** One request out and its answer back, over real sockets: headers, and bodies as streams in both directions. */
import { once } from 'node:events';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { rawClient, rawRequest } from '../support/gateway-raw.ts';
import { apiFor, recordOf, startTestGateway, startWithEcho } from '../support/gateway-start.ts';
import { answering, type Echo, httpUpstream } from '../support/upstream.ts';

const mib = 1_048_576;

describe('a proxied request', function () {
  this.timeout(20_000);
  let gateway: Awaited<ReturnType<typeof startWithEcho>>;
  before(async () => {
    gateway = await startWithEcho();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const send = (text: string): Promise<string> => rawRequest(gateway.port, text.replaceAll('\n', '\r\n'));
  const echoed = async (path: string, init?: RequestInit): Promise<Echo> =>
    (await (await fetch(`${gateway.url}/echo${path}`, init)).json()) as Echo;

  describe('headers', () => {
    it('keep their names, values and order; hop-by-hop ones stay here, and those that Connection names', async () => {
      const text = await send(
        'GET /echo/x HTTP/1.1\nHost: a.example:81\nX-One: 1\nx-two: 2\nX-One: 3\nKeep-Alive: timeout=5\nTE: gzip, trailers\n' +
          'Proxy-Connection: x\nProxy-Authorization: x\nUpgrade: h2c\nHTTP2-Settings: x\nX-Named: gone\n' +
          'Connection: close, X-Named, Upgrade, Host\n\n',
      );
      const { rawHeaders } = JSON.parse(/\{.*\}/s.exec(text)?.[0] ?? '') as Echo;
      expect(rawHeaders).to.deep.equal([
        ...['host', `127.0.0.1:${gateway.echo.port}`, 'connection', 'keep-alive'],
        ...['X-One', '1', 'x-two', '2', 'X-One', '3', 'TE', 'trailers'],
        ...['X-Forwarded-For', '127.0.0.1', 'X-Forwarded-Proto', 'http'],
        ...['X-Forwarded-Host', 'a.example:81', 'X-Forwarded-Port', '81'],
      ]);
    });

    it('of the answer keep theirs, and lose what belongs to the connection', async () => {
      await using upstream = await answering(
        'HTTP/1.1 200 Fine\r\nSet-Cookie: a=1\r\nX-Mixed: 1\r\nset-cookie: b=2\r\nKeep-Alive: timeout=5\r\nX-Named: 1\r\n' +
          'Connection: X-Named\r\nProxy-Authenticate: x\r\nDate: then\r\nContent-Length: 2\r\n\r\nok',
      );
      await gateway.put('answer', apiFor('answer', upstream.url));
      const text = await send('GET /answer/ HTTP/1.1\nHost: a\nConnection: close\n\n');
      expect(text.split('\r\n')).to.deep.equal([
        ...['HTTP/1.1 200 Fine', 'Set-Cookie: a=1', 'X-Mixed: 1', 'set-cookie: b=2', 'Date: then', 'Content-Length: 2'],
        ...['Connection: close', '', 'ok'],
      ]);
    });

    it('that claim what only a proxy knows count from trusted proxies alone', async () => {
      const claims = {
        ...{
          'x-forwarded-for': '9.9.9.9',
          'x-forwarded-proto': 'https',
          'x-forwarded-host': 'b',
          forwarded: 'for=9.9.9.9',
        },
        ...{ 'x-real-ip': '9.9.9.9', 'x-forwarded-user': 'root', 'x-forwarded-port': '1' },
      };
      const { headers } = await echoed('/claims', { headers: claims });
      expect(headers).to.include({ 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'http' });
      expect(headers).not.to.have.any.keys('forwarded', 'x-real-ip', 'x-forwarded-user');
      expect((await recordOf(gateway, '/echo/claims')).ip_address).to.equal('127.0.0.1');
      await using trusting = await startTestGateway({ settings: { trustedProxies: ['127.0.0.0/8'] } });
      await trusting.put('echo', apiFor('echo', gateway.echo.url));
      const believed = (await (await fetch(`${trusting.url}/echo/`, { headers: claims })).json()) as Echo;
      expect(believed.headers).to.include({
        ...{ ...claims, 'x-forwarded-for': '9.9.9.9, 127.0.0.1' },
      });
      expect((await recordOf(trusting, '/echo/')).ip_address).to.equal('9.9.9.9');
    });

    const underscores: readonly [rule: 'guard' | 'drop' | 'keep', passed: readonly string[]][] = [
      ['guard', ['x_mine']],
      ['drop', []],
      ['keep', ['authorization_', 'content_length', 'x_forwarded_for', 'x_mine', 'x_set']],
    ];
    for (const [rule, passed] of underscores) {
      it(`with underscores cannot pass for guarded ones: ${rule}`, async () => {
        await using other = await startTestGateway({ settings: { underscoreHeaders: rule } });
        const add = [{ name: 'X-Set', value: 'gateway' }];
        const global = { transformRequestHeaders: { enabled: true, add } };
        await other.put('echo', apiFor('echo', gateway.echo.url, { global }));
        const names = ['authorization_', 'content_length', 'x_forwarded_for', 'x_mine', 'x_set'];
        const wanted = rule === 'guard' ? [...passed, 'authorization_'] : passed;
        const headers = Object.fromEntries(names.map((name) => [name, 'client']));
        const { headers: seen } = (await (await fetch(`${other.url}/echo/`, { headers })).json()) as Echo;
        expect(Object.keys(seen).filter((name) => name.includes('_'))).to.have.members([...wanted]);
      });
    }

    it("preserveHostHeader sends the client's Host; the query of the URL is added", async () => {
      await gateway.put(
        'host',
        apiFor('host', `${gateway.echo.url}?own=1`, {
          upstream: { preserveHostHeader: { enabled: true } },
        }),
      );
      const text = await send(
        'GET /host/x?a=b HTTP/1.1\nHost: front.example\nAuthorization: mine\nConnection: close\n\n',
      );
      const { headers, url } = JSON.parse(/\{.*\}/s.exec(text)?.[0] ?? '') as Echo;
      expect(headers).to.include({ host: 'front.example', authorization: 'mine' });
      expect(url).to.equal('/x?a=b&own=1');
      expect((await recordOf(gateway, '/host/x?a=b')).host).to.equal(`127.0.0.1:${gateway.echo.port}`);
    });
  });

  describe('bodies', () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'GET']) {
      it(`of ${method} arrive with a length and without`, async () => {
        const counted = `${method} /echo/ HTTP/1.1\nHost: a\nContent-Length: 4\nConnection: close\n\nbody`;
        expect(await send(counted)).to.contain('"body":"body"');
        const chunked = `${method} /echo/ HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\nConnection: close\n\n2\nbo\n2\ndy\n0\n\n`;
        expect(await send(chunked)).to.contain('"body":"body"');
      });
    }

    it('stream both ways: the first byte is back before the last is sent', async () => {
      await using upstream = await httpUpstream((incoming, response) => void incoming.pipe(response));
      await gateway.put('pipe', apiFor('pipe', upstream.url));
      const call = request(`${gateway.url}/pipe/`, { method: 'POST' });
      call.write('first');
      const [answer] = (await once(call, 'response')) as [Readable];
      const parts = answer[Symbol.asyncIterator]();
      expect(String((await parts.next()).value)).to.equal('first');
      call.end('last');
      expect(String((await parts.next()).value)).to.equal('last');
      expect((await parts.next()).done).to.equal(true);
    });

    it('of 192 MiB pass in both directions while memory stays flat', async () => {
      const size = 192 * mib;
      const chunk = Buffer.alloc(65_536, 'x');
      const chunks = size / chunk.length;
      await using upstream = await httpUpstream((incoming, response) => void incoming.pipe(response));
      await gateway.put('large', apiFor('large', upstream.url));
      let made = 0;
      let peak = 0;
      const base = process.memoryUsage().rss;
      const call = request(`${gateway.url}/large/`, { method: 'POST', headers: { 'content-length': size } });
      Readable.from(
        (function* () {
          for (; made < chunks; made++) yield chunk;
        })(),
        { objectMode: false },
      ).pipe(call);
      const [answer] = (await once(call, 'response')) as [Readable];
      // Nobody reads: what has left the sender by now is what stands in buffers along the way.
      const held = await eventually(async () => {
        const before = made;
        await new Promise((resolve) => setTimeout(resolve, 100));
        return made === before && made;
      });
      expect(held).to.be.lessThan(chunks / 4);
      let received = 0;
      for await (const part of answer) {
        received += (part as Buffer).length;
        peak = Math.max(peak, process.memoryUsage().rss - base);
      }
      expect(received).to.equal(size);
      // Client, gateway and upstream share this process; a body that is held anywhere would be all of it, twice.
      expect(peak).to.be.lessThan(size);
    });

    const emptyAnswers: readonly [name: string, method: string, answer: string, end: RegExp][] = [
      ['HEAD', 'HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n', /Content-Length: 999\r\n(?:.+\r\n)*\r\n$/],
      ['204', 'GET', 'HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n', /204 No Content\r\nX-A: 1\r\n(?:.+\r\n)*\r\n$/],
      [
        '304',
        'GET',
        'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n',
        /304 Not Modified\r\nETag: "1"\r\n(?:.+\r\n)*\r\n$/,
      ],
      ['an empty 200', 'GET', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', /Content-Length: 0\r\n(?:.+\r\n)*\r\n$/],
      [
        'an early hint before the answer',
        'GET',
        'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
        /^HTTP\/1\.1 200 OK(?:.|\r\n)*ok$/,
      ],
    ];
    for (const [name, method, bytes, end] of emptyAnswers) {
      it(`of the answer: ${name}`, async () => {
        await using upstream = await answering(bytes);
        await gateway.put('empty', apiFor('empty', upstream.url));
        expect(await send(`${method} /empty/ HTTP/1.1\nHost: a\nConnection: close\n\n`)).to.match(end);
      });
    }

    it('of the answer carry their trailers', async () => {
      await using upstream = await answering(
        'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 42\r\n\r\n',
      );
      await gateway.put('trailer', apiFor('trailer', upstream.url));
      const text = await send('GET /trailer/ HTTP/1.1\nHost: a\nTE: trailers\nConnection: close\n\n');
      expect(text)
        .to.match(/\r\nTrailer: X-Sum\r\n/)
        .and.match(/\r\n0\r\nX-Sum: 42\r\n\r\n$/);
    });

    it('are asked for with 100 only when the request goes on', async () => {
      using client = await rawClient(gateway.port);
      client.send('POST /echo/ HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n');
      await client.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
      client.send('body');
      expect(await client.until(/"body":"body"/)).not.to.contain('"expect"');
      const refused = await send('POST /nothing HTTP/1.1\nHost: a\nContent-Length: 4\nExpect: 100-continue\n\n');
      expect(refused)
        .to.match(/^HTTP\/1\.1 404 /)
        .and.match(/Connection: close/);
      const other = await send('POST /echo/ HTTP/1.1\nHost: a\nContent-Length: 4\nExpect: coffee\n\n');
      expect(other).to.match(/^HTTP\/1\.1 417 /);
    });
  });
});
