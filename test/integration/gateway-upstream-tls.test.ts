/** Versions of TLS that a gateway offers to an upstream, read from the first bytes that it sends. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { rawRequest } from '../support/gateway-raw.ts';
import { apiFor, startTestGateway, type TestGateway } from '../support/gateway-start.ts';

/** The `supported_versions` of a ClientHello (RFC 8446 4.2.1); without it, the version that the hello itself says. */
function offeredVersions(hello: Buffer): readonly string[] {
  let at = 5 + 4;
  const legacy = hello.readUInt16BE(at);
  at += 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  const end = at + 2 + hello.readUInt16BE(at);
  for (at += 2; at < end; at += 4 + hello.readUInt16BE(at + 2)) {
    if (hello.readUInt16BE(at) !== 0x2b) continue;
    const count = hello.readUInt8(at + 4) / 2;
    return Array.from({ length: count }, (_, index) => nameOf(hello.readUInt16BE(at + 5 + 2 * index)));
  }
  return [nameOf(legacy)];
}

const nameOf = (version: number): string => ({ 771: '1.2', 772: '1.3' })[version] ?? version.toString(16);

/** An upstream that notes what it is offered, and hangs up. */
async function listening() {
  const hellos: (readonly string[])[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (chunk) => {
      hellos.push(offeredVersions(chunk));
      socket.destroy();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    ...{ hellos, url: `https://127.0.0.1:${port}/` },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

describe('a gateway offers to an upstream', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startTestGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const rows: readonly [name: string, upstream: JsonObject, versions: readonly string[]][] = [
    ['TLS 1.2 and 1.3', {}, ['1.3', '1.2']],
    ['the same where the definition says so', { minVersion: '1.2', maxVersion: '1.3' }, ['1.3', '1.2']],
    ['the same where it says nothing in words', { minVersion: '', maxVersion: '' }, ['1.3', '1.2']],
    ['TLS 1.3 alone', { minVersion: '1.3' }, ['1.3']],
    ['TLS 1.2 alone', { maxVersion: '1.2' }, ['1.2']],
  ];
  for (const [name, tlsTransport, versions] of rows) {
    it(`${name}, also for a WebSocket, and also after a change`, async () => {
      await using upstream = await listening();
      await gateway.put('tls', apiFor('tls', upstream.url));
      await gateway.put('tls', apiFor('tls', upstream.url, { upstream: { tlsTransport } }));
      const upgrade =
        'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: a\r\n';
      // Not sent again, so that there is one hello for each.
      for (const [method, headers] of [
        ['POST', 'Connection: close\r\n'],
        ['GET', upgrade],
      ]) {
        const answer = await rawRequest(gateway.port, `${method} /tls/ HTTP/1.1\r\nHost: a\r\n${headers}\r\n`);
        expect(answer).to.match(/^HTTP\/1\.1 502 /);
      }
      expect(upstream.hellos).to.deep.equal([versions, versions]);
    });
  }
});
