/** What must not pass a gateway, and what goes wrong behind it: framing in doubt, upstreams that fail, clients that leave. */
import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { rawClient, rawRequest } from '../support/gateway-raw.ts';
import { apiFor, recordOf, startWithEcho } from '../support/gateway-start.ts';
import { answering, closedUpstream, httpUpstream, rawUpstream, type Upstream } from '../support/upstream.ts';

describe('a request that goes wrong', () => {
  let gateway: Awaited<ReturnType<typeof startWithEcho>>;
  before(async () => {
    gateway = await startWithEcho();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const send = (text: string): Promise<string> => rawRequest(gateway.port, text.replaceAll('\n', '\r\n'));

  describe('framing that is not beyond doubt', () => {
    const head = 'POST /echo/ HTTP/1.1\nHost: a\n';
    const refused: readonly [name: string, text: string][] = [
      ['Content-Length and Transfer-Encoding', `${head}Content-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n`],
      ['two lengths that differ', `${head}Content-Length: 4\nContent-Length: 5\n\nbody`],
      ['two lengths that agree', `${head}Content-Length: 4\nContent-Length: 4\n\nbody`],
      ['a list of lengths', `${head}Content-Length: 4, 4\n\nbody`],
      ['a signed length', `${head}Content-Length: +4\n\nbody`],
      ['an odd list of codings', `${head}Transfer-Encoding: ,chunked\n\n0\n\n`],
      ['two codings', `${head}Transfer-Encoding: gzip, chunked\n\n0\n\n`],
      ['a coding twice', `${head}Transfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n0\n\n`],
      ['a coding that is not chunked', `${head}Transfer-Encoding: identity\n\n0\n\n`],
      ['a coding in HTTP/1.0', 'POST /echo/ HTTP/1.0\nHost: a\nTransfer-Encoding: chunked\n\n0\n\n'],
      ['a folded header', `${head}X-Folded: a\n b\n\n`],
      ['a space before the colon', `${head}Content-Length : 4\n\nbody`],
      ['a chunk size that is none', `${head}Transfer-Encoding: chunked\n\nzz\nbody\n0\n\n`],
    ];
    for (const [name, text] of refused) {
      it(`is a 400 and the end of the connection: ${name}`, async () => {
        const before = gateway.log.lines.length;
        const answer = await send(`${text}GET /echo/smuggled HTTP/1.1\nHost: a\n\n`);
        expect(answer).to.match(/^HTTP\/1\.1 400 /);
        expect(answer.match(/HTTP\/1\.1/g)).to.have.length(1);
        expect(gateway.lane.records.some(({ raw_path }) => raw_path === '/smuggled')).to.equal(false);
        expect(gateway.log.lines.length).to.be.greaterThan(before);
      });
    }

    const malformed: readonly [name: string, answer: string][] = [
      [
        'Content-Length and Transfer-Encoding',
        'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
      ],
      ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!'],
      ['an odd coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: ,chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
      ['garbage', 'this is not HTTP\r\n\r\n'],
      ['an endless head', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`],
      [
        'a switch of protocols that nobody asked for',
        'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
      ],
    ];
    for (const [name, bytes] of malformed) {
      it(`of the upstream is a 502 and closes that connection: ${name}`, async () => {
        await using upstream = await answering(bytes);
        await gateway.put('malformed', apiFor('malformed', upstream.url));
        const answer = await fetch(`${gateway.url}/malformed/`);
        expect(answer.status).to.equal(502);
        expect(await answer.json())
          .to.have.property('code')
          .that.matches(/^upstream_(?:protocol|reset)$/);
        await eventually(() => upstream.connections().open === 0);
      });
    }
  });

  describe('an upstream that fails', () => {
    const failures: readonly [
      name: string,
      url: () => Promise<Upstream>,
      status: number,
      code: string,
      flag: string,
    ][] = [
      ['refuses', closedUpstream, 502, 'upstream_refused', 'UCF'],
      [
        'resets',
        () => rawUpstream((socket) => void socket.once('data', () => socket.resetAndDestroy())),
        502,
        'upstream_reset',
        'URR',
      ],
      [
        'closes without an answer',
        () => rawUpstream((socket) => void socket.once('data', () => socket.end())),
        502,
        'upstream_reset',
        'URR',
      ],
      ['hangs', () => rawUpstream(() => {}), 504, 'upstream_timeout', 'URT'],
    ];
    for (const [name, make, status, code, flag] of failures) {
      it(`because it ${name}: ${status} ${code}`, async () => {
        await using upstream = await make();
        const enforceTimeout = { enabled: true, duration: '200ms' };
        await gateway.put('failing', apiFor('failing', upstream.url, { upstream: { enforceTimeout } }));
        const answer = await fetch(`${gateway.url}/failing/${code}`, { method: 'POST', body: 'x' });
        expect(answer.status).to.equal(status);
        expect(await answer.json()).to.include({ code });
        const record = await recordOf(gateway, `/failing/${code}`);
        expect(record.response_code).to.equal(status);
        expect(record.ext.error).to.include({ flag, source: 'upstream' });
      });
    }

    it('because its name is not known: 502 upstream_dns', async () => {
      await gateway.put('dns', apiFor('dns', 'http://does-not-exist.invalid/'));
      const answer = await fetch(`${gateway.url}/dns/`);
      expect([answer.status, ((await answer.json()) as { code: string }).code]).to.deep.equal([502, 'upstream_dns']);
    });

    it('in the middle of its body: the client sees that something is missing', async () => {
      await using upstream = await rawUpstream((socket) => {
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'));
      });
      await gateway.put('cut', apiFor('cut', upstream.url));
      const text = await send('GET /cut/ HTTP/1.1\nHost: a\n\n');
      expect(text)
        .to.contain('hello')
        .and.not.match(/\r\n0\r\n\r\n$/);
      expect((await recordOf(gateway, '/cut/')).ext.error).to.include({ source: 'upstream' });
    });

    it('between two chunks for too long: the connection breaks, and the record says why', async () => {
      await using upstream = await httpUpstream((_, response) => void response.write('some'));
      const enforceTimeout = { enabled: true, duration: '200ms' };
      await gateway.put('slow', apiFor('slow', upstream.url, { upstream: { enforceTimeout } }));
      expect(await send('GET /slow/ HTTP/1.1\nHost: a\n\n')).to.contain('some');
      expect((await recordOf(gateway, '/slow/')).ext.error).to.include({
        flag: 'URT',
        details: 'response_body_timeout',
      });
    });

    it('answers before it has read the request: the answer arrives and the connection lives on', async () => {
      await using upstream = await rawUpstream((socket) => {
        socket.once('data', () => socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno!'));
      });
      await gateway.put('early', apiFor('early', upstream.url));
      using client = await rawClient(gateway.port);
      client.send('POST /early/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345');
      await client.until(/413 (?:.|\r\n)*no!$/);
      client.send('67890GET /echo/after HTTP/1.1\r\nHost: a\r\n\r\n');
      await client.until(/"url":"\/after"/);
    });
  });

  it('is sent once more when an idle connection turns out to be dead, and only when that is safe', async () => {
    let isDead = false;
    await using upstream = await rawUpstream((socket) => {
      let served = 0;
      socket.on('data', () => {
        served++;
        if (served > 1 && isDead) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    await gateway.put('stale', apiFor('stale', upstream.url));
    const status = async (method: string): Promise<number> => {
      isDead = false;
      await (await fetch(`${gateway.url}/stale/`)).text();
      isDead = true;
      return (await fetch(`${gateway.url}/stale/`, { method })).status;
    };
    expect(await status('GET')).to.equal(200);
    expect(await status('DELETE')).to.equal(200);
    expect(await status('POST')).to.equal(502);
    for (const retry of [{ enabled: false }, { enabled: true, attempts: 0 }]) {
      await gateway.put('stale', apiFor('stale', upstream.url, { upstream: { retry } }));
      expect(await status('GET')).to.equal(502);
    }
  });

  it('is sent once more with a body that a step has read', async () => {
    const bodies: string[] = [];
    await using upstream = await rawUpstream((socket) => {
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString();
        if (!text.endsWith('a=1')) return;
        text = '';
        // The second request comes over the connection of the first.
        if (bodies.push('a=1') === 2) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    const add = [{ name: 'X-A', value: '$svc_context.request_data_a' }];
    const global = { contextVariables: { enabled: true }, transformRequestHeaders: { enabled: true, add } };
    await gateway.put('form', apiFor('form', upstream.url, { global }));
    const put = () => fetch(`${gateway.url}/form/`, { method: 'PUT', body: new URLSearchParams({ a: '1' }) });
    await (await put()).text();
    expect((await put()).status).to.equal(200);
    expect(bodies).to.deep.equal(['a=1', 'a=1', 'a=1']);
  });

  it('ends at the upstream when its client leaves, and is recorded as 499', async () => {
    const ended = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    await using upstream = await httpUpstream((incoming) => {
      asked.resolve();
      incoming.socket.once('close', () => ended.resolve());
    });
    await gateway.put('left', apiFor('left', upstream.url));
    using client = await rawClient(gateway.port);
    client.send('GET /left/ HTTP/1.1\r\nHost: a\r\n\r\n');
    await asked.promise;
    client.socket.destroy();
    await ended.promise;
    const record = await recordOf(gateway, '/left/');
    expect(record.response_code).to.equal(499);
    expect(record.ext.error).to.deep.equal({ flag: 'CDC', source: 'client', details: 'client_gone' });
  });
});
