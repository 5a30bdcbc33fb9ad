/** Lists of addresses that may call an API and that may not, over real sockets; a trusted proxy says who calls. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { rawRequest } from '../support/gateway-raw.ts';
import { apiFor, recordOf, startWithEcho } from '../support/gateway-start.ts';

describe('an API with lists of addresses', () => {
  let gateway: Awaited<ReturnType<typeof startWithEcho>>;
  before(async () => {
    gateway = await startWithEcho({ settings: { trustedProxies: ['127.0.0.0/8'] } });
  });
  after(() => gateway[Symbol.asyncDispose]());

  const put = (lists: JsonObject): Promise<string> =>
    gateway.put(
      'api',
      apiFor('api', gateway.echo.url, {
        server: { ipAccessControl: { enabled: true, ...lists } },
        global: { cors: { enabled: true, allowedOrigins: ['https://a.example'] } },
      }),
    );
  const ask = (address: string, init: RequestInit = {}, path = '/api/'): Promise<Response> =>
    fetch(gateway.url + path, { ...init, headers: { ...init.headers, 'x-forwarded-for': address } });

  const rows: readonly [name: string, lists: JsonObject, open: readonly string[], closed: readonly string[]][] = [
    ['an address that may', { allow: ['10.0.0.1'] }, ['10.0.0.1'], ['10.0.0.2', '::1', '127.0.0.1']],
    [
      'a network that may',
      { allow: ['10.0.0.0/8', '2001:db8::/32'] },
      ['10.9.9.9', '2001:db8:1::1'],
      ['11.0.0.1', '2001:db9::1'],
    ],
    ['an address that may not', { block: ['10.0.0.1', '::1'] }, ['10.0.0.2', '::2'], ['10.0.0.1', '::1']],
    [
      'both: who may not comes after',
      { allow: ['10.0.0.0/8'], block: ['10.1.0.0/16'] },
      ['10.2.0.1'],
      ['10.1.0.1', '9.1.1.1'],
    ],
    [
      'IPv4 in its IPv6 form',
      { block: ['::ffff:10.0.0.1', '::ffff:a01:0/112'] },
      ['10.0.0.2'],
      ['10.0.0.1', '10.1.0.9', '::ffff:10.0.0.1'],
    ],
    ['everybody', { block: ['0.0.0.0/0'] }, ['::1'], ['10.0.0.1', '127.0.0.1']],
    ['nobody on it', { allow: [], block: [] }, ['10.0.0.1', '::1'], []],
    ['lists that are off', { enabled: false, allow: ['10.0.0.1'] }, ['10.0.0.2'], []],
  ];
  for (const [name, lists, open, closed] of rows) {
    it(`lets in and keeps out: ${name}`, async () => {
      await put(lists);
      const statuses = async (addresses: readonly string[]) =>
        Promise.all(addresses.map(async (address) => [address, (await ask(address)).status]));
      expect(await statuses(open)).to.deep.equal(open.map((address) => [address, 200]));
      expect(await statuses(closed)).to.deep.equal(closed.map((address) => [address, 403]));
    });
  }

  const chains: readonly [name: string, chain: string, status: number][] = [
    ['written by a client, with its address behind it', '10.0.0.1, 192.0.2.7', 403],
    ['of a client that may', '192.0.2.7, 10.0.0.1', 200],
    ['with proxies of ours', '10.0.0.1, 192.0.2.7, 127.0.0.9', 403],
    ['of a client that may, with a port', '10.0.0.1:4711', 200],
  ];
  for (const [name, chain, status] of chains) {
    it(`believes of a chain of addresses what a proxy of ours wrote: ${name}`, async () => {
      await put({ allow: ['10.0.0.1'] });
      expect((await ask(chain)).status).to.equal(status);
    });
  }

  it('believes the last of several X-Real-IP, which is the one that the proxy added', async () => {
    await put({ allow: ['10.0.0.1'] });
    const head =
      'GET /api/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Real-IP: 10.0.0.1\r\nX-Real-IP: 192.0.2.7\r\n\r\n';
    expect(await rawRequest(gateway.port, head)).to.match(/^HTTP\/1\.1 403 /);
  });

  it('says why, to browsers too, and records it', async () => {
    await put({ allow: ['10.0.0.1'] });
    const answer = await ask('10.0.0.2', { headers: { origin: 'https://a.example' } }, '/api/refused');
    expect(await answer.json()).to.include({
      error: 'access from this IP has been disallowed',
      code: 'ip_forbidden',
    });
    expect(answer.headers.get('access-control-allow-origin')).to.equal('https://a.example');
    const { ip_address, response_code, ext } = await recordOf(gateway, '/api/refused');
    expect({ ip_address, response_code }).to.deep.equal({ ip_address: '10.0.0.2', response_code: 403 });
    expect(ext.error).to.deep.equal({ flag: 'AKI', source: 'ip-access', details: 'ip_forbidden' });
  });

  it('asks before it asks for a key, and believes no address that a client says itself', async () => {
    await using other = await startWithEcho();
    const server = { ipAccessControl: { enabled: true, allow: ['10.0.0.1'] }, authentication: { enabled: true } };
    await other.put('api', apiFor('api', other.echo.url, { server }));
    const answer = await fetch(`${other.url}/api/`, {
      headers: { 'x-forwarded-for': '10.0.0.1', 'x-real-ip': '10.0.0.1' },
    });
    expect(await answer.json()).to.include({ code: 'ip_forbidden' });
  });
});
