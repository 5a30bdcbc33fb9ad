/** Requests that last, over real sockets: they end when the key that let them in would not do so any more, and no others do. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { rawClient } from '../support/gateway-raw.ts';
import { apiFor, recordOf, startTestGateway, systemClock, type TestGateway } from '../support/gateway-start.ts';
import { httpUpstream } from '../support/upstream.ts';

/** What the gateway says goodbye to a tunnel with: close frame 1001. */
const closeFrame = '\x88\x02\x03\xe9';

describe('a request that lasts', () => {
  let gateway: TestGateway;
  let upstream: Awaited<ReturnType<typeof httpUpstream>>;
  let skewMs = 0;
  before(async () => {
    upstream = await httpUpstream((request, response) => {
      if (request.url?.startsWith('/silent')) return;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: first\n\n');
    });
    upstream.server.on('upgrade', (_, socket) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
      socket.on('data', (chunk: Buffer) => socket.write(`you said ${chunk}`));
      socket.on('end', () => socket.end());
    });
    const clock = { ...systemClock, now: () => Date.now() + skewMs };
    gateway = await startTestGateway({ clock, settings: { keyReviewMs: 20 } });
    await gateway.put('api', apiFor('api', upstream.url, { server: guarded }));
    await gateway.put('open', apiFor('open', upstream.url));
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    skewMs = 0;
    await give('one', { access_rights: { api: {} } });
    await give('other', { access_rights: { api: {} } });
  });

  const guarded = { listenPath: { value: '/api/', strip: true }, authentication: { enabled: true } };
  const give = (key: string, document: JsonObject): Promise<void> =>
    gateway.settled(gateway.feed.putKey(`the-key-of-${key}`, document));

  /** Reached its upstream. */
  async function opened(path: string, key: string, until: RegExp) {
    const client = await rawClient(gateway.port);
    const socket = path.includes('socket') ? 'Connection: Upgrade\r\nUpgrade: websocket\r\n' : '';
    client.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: the-key-of-${key}\r\n${socket}\r\n`);
    await client.until(until);
    return client;
  }
  const switched = /^HTTP\/1\.1 101 .*\r\n\r\n/s;
  const streaming = /data: first/;

  const ends: readonly [why: string, change: () => Promise<unknown>, code: string, flag: string][] = [
    ['is deleted', () => gateway.settled(gateway.feed.removeKey('the-key-of-one')), 'auth_unknown', 'AKI'],
    ['is switched off', () => give('one', { access_rights: { api: {} }, is_inactive: true }), 'key_inactive', 'AKI'],
    ['loses the API', () => give('one', { access_rights: { another: {} } }), 'auth_no_right', 'AKI'],
    [
      'loses the path',
      () => give('one', { access_rights: { api: { allowed_urls: [{ url: '/other' }] } } }),
      'path_not_granted',
      'AKI',
    ],
  ];
  for (const [index, [why, change, code, flag]] of ends.entries()) {
    it(`ends when its key ${why}, and no other one does`, async () => {
      using tunnel = await opened(`/api/socket/${index}`, 'one', switched);
      using stream = await opened(`/api/stream/${index}`, 'one', streaming);
      using otherTunnel = await opened('/api/socket/other', 'other', switched);
      using openTunnel = await opened('/open/socket', 'one', switched);
      await change();
      expect(await tunnel.closed()).to.contain(closeFrame);
      expect(await stream.closed()).not.to.match(/\r\n0\r\n\r\n$/);
      for (const path of ['socket', 'stream']) {
        const { ext } = await recordOf(gateway, `/api/${path}/${index}`);
        expect(ext.error).to.include({ flag, details: code });
      }
      for (const client of [otherTunnel, openTunnel]) {
        client.send('still here');
        await client.until(/you said still here$/);
      }
    });
  }

  it('ends when a key that only authenticates beside the one that counts is switched off', async () => {
    const named = (one: (name: string) => JsonObject) => ({ first: one('X-First'), second: one('X-Second') });
    const securitySchemes = named((name) => ({ enabled: true, header: { enabled: true, name } }));
    const components = { securitySchemes: named((name) => ({ type: 'apiKey', in: 'header', name })) };
    const authentication = { enabled: true, baseIdentityProvider: 'auth_token', securitySchemes };
    const server = { listenPath: { value: '/both/', strip: true }, authentication };
    await gateway.put('both', { ...apiFor('both', upstream.url, { server }), components });
    await give('other', { access_rights: { both: {} } });
    const client = await rawClient(gateway.port);
    const keys = 'X-First: the-key-of-one\r\nX-Second: the-key-of-other\r\n';
    client.send(`GET /both/stream HTTP/1.1\r\nHost: a\r\n${keys}\r\n`);
    await client.until(streaming);
    await give('one', { is_inactive: true });
    await client.closed();
    expect((await recordOf(gateway, '/both/stream')).ext.error).to.include({ details: 'key_inactive' });
  });

  it('ends when the end of its key comes, without any change', async () => {
    await give('one', { access_rights: { api: {} }, expires: 4_000_000_000 });
    using tunnel = await opened('/api/socket/ended', 'one', switched);
    skewMs = 4_000_000_000_000 - Date.now();
    await tunnel.closed();
    expect((await recordOf(gateway, '/api/socket/ended')).ext.error).to.include({ flag: 'TKE' });
  });

  it('gets the refusal as its answer while nothing has come from the upstream', async () => {
    using client = await opened('/api/silent', 'one', /^/);
    await gateway.settled(gateway.feed.removeKey('the-key-of-one'));
    const answer = await client.until(/\}$/);
    expect(answer).to.match(/^HTTP\/1\.1 403 /);
  });

  it('goes on while its key changes and lets it in all the same', async () => {
    using tunnel = await opened('/api/socket/kept', 'one', switched);
    using stream = await opened('/api/stream/kept', 'one', streaming);
    await give('one', { access_rights: { api: { allowed_urls: [{ url: '/*' }] } }, alias: 'changed' });
    // Another one is ended meanwhile, so that the reviews have been there.
    using ended = await opened('/api/socket/also', 'other', switched);
    await gateway.settled(gateway.feed.removeKey('the-key-of-other'));
    await ended.closed();
    tunnel.send('still here');
    await tunnel.until(/you said still here$/);
    expect(stream.socket.destroyed).to.equal(false);
  });
});
