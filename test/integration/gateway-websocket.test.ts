/** Upgraded connections over real sockets. */
import { expect } from 'chai';
import { rawClient, rawRequest } from '../support/gateway-raw.ts';
import { apiFor, recordOf, startWithEcho } from '../support/gateway-start.ts';
import { closedUpstream, httpUpstream } from '../support/upstream.ts';

describe('upgrades', () => {
  let gateway: Awaited<ReturnType<typeof startWithEcho>>;
  before(async () => {
    gateway = await startWithEcho();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const send = (text: string): Promise<string> => rawRequest(gateway.port, text.replaceAll('\n', '\r\n'));

  describe('WebSockets', () => {
    const handshake = (path: string): string =>
      `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: abc\r\nX-Secret: s\r\n\r\n`;

    it('are tunnelled after the request half of the chain, and recorded when they end', async () => {
      await using upstream = await httpUpstream(() => {});
      upstream.server.on('upgrade', (incoming, socket) => {
        socket.write(
          `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-Seen: ${incoming.headers['x-secret'] ?? 'none'}${incoming.headers['x-added']}\r\n\r\n`,
        );
        socket.on('data', (chunk: Buffer) => socket.write(`you said ${chunk}`));
        socket.on('end', () => socket.end());
      });
      const transformRequestHeaders = { enabled: true, remove: ['x-secret'], add: [{ name: 'X-Added', value: '+' }] };
      await gateway.put(
        'socket',
        apiFor('socket', upstream.url.replace('http', 'ws'), { global: { transformRequestHeaders } }),
      );
      using client = await rawClient(gateway.port);
      client.send(handshake('/socket/chat'));
      expect(await client.until(/\r\n\r\n/))
        .to.match(/^HTTP\/1\.1 101 /)
        .and.contain('X-Seen: none+');
      client.send('hello');
      await client.until(/you said hello$/);
      client.socket.destroy();
      const record = await recordOf(gateway, '/socket/chat');
      expect(record.response_code).to.equal(101);
      expect(record.ext.bytes).to.deep.equal({ in: 5, out: 14 });
      expect(record.ext).not.to.have.property('error');
    });

    it('that the upstream refuses get its answer', async () => {
      await gateway.put('refusing', apiFor('refusing', gateway.echo.url));
      using client = await rawClient(gateway.port);
      client.send(handshake('/refusing/x'));
      expect(await client.closed())
        .to.match(/^HTTP\/1\.1 200 /)
        .and.contain('"url":"/x"');
      using lost = await rawClient(gateway.port);
      lost.send(handshake('/nothing'));
      expect(await lost.closed()).to.match(/^HTTP\/1\.1 404 /);
    });

    it('get a 502 when there is no upstream', async () => {
      await using upstream = await closedUpstream();
      await gateway.put('gone', apiFor('gone', upstream.url));
      using client = await rawClient(gateway.port);
      client.send(handshake('/gone/x'));
      expect(await client.closed())
        .to.match(/^HTTP\/1\.1 502 /)
        .and.contain('upstream_refused');
    });

    it('are the only protocol: a switch to HTTP/2 in clear is served as the request that it is', async () => {
      const text = await send(
        'GET /echo/clear HTTP/1.1\nHost: a\nConnection: close, Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: AAMAAABkAAQAAP__\n\n',
      );
      expect(text)
        .to.match(/^HTTP\/1\.1 200 /)
        .and.not.contain('h2c')
        .and.not.contain('settings');
    });
  });
});
