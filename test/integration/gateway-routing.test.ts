/** From request to API over real sockets: hosts, listen paths, normal form of paths, refusals before an API is found. */
import { expect } from 'chai';
import { rawClient, rawRequest } from '../support/gateway-raw.ts';
import { apiFor, startTestGateway, type TestGateway } from '../support/gateway-start.ts';
import { type Echo, echoUpstream, type Upstream } from '../support/upstream.ts';

describe('a gateway finds the API of a request', () => {
  let upstream: Upstream;
  let gateway: TestGateway;
  before(async () => {
    upstream = await echoUpstream();
    gateway = await startTestGateway();
    await gateway.put('orders', apiFor('orders', `${upstream.url}base`));
    await gateway.put(
      'deep',
      apiFor('deep', `${upstream.url}deep`, { server: { listenPath: { value: '/orders/deep', strip: true } } }),
    );
    await gateway.put(
      'whole',
      apiFor('whole', upstream.url, { server: { listenPath: { value: '/whole/', strip: false } } }),
    );
    await gateway.put(
      'hosted',
      apiFor('hosted', `${upstream.url}hosted`, {
        server: {
          listenPath: { value: '/orders/', strip: true },
          customDomain: { enabled: true, name: 'Shop.example' },
        },
      }),
    );
    await gateway.put(
      'hidden',
      apiFor('hidden', upstream.url, { info: { state: { active: false, internal: false } } }),
    );
    await gateway.put('inner', apiFor('inner', upstream.url, { info: { state: { active: true, internal: true } } }));
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  const asked = async (
    target: string,
    host = 'gateway.example',
  ): Promise<{ status: number; url?: string; text: string }> => {
    const text = await rawRequest(gateway.port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    const status = Number(text.slice(9, 12));
    const json = /\r\n\r\n(?:[0-9a-f]+\r\n)?(\{.*\})/s.exec(text)?.[1];
    const url = status === 200 && json ? (JSON.parse(json) as Echo).url : undefined;
    return { status, text, ...(url === undefined ? {} : { url }) };
  };

  const forwarded: readonly [name: string, target: string, url: string, host?: string][] = [
    ['the listen path alone', '/orders', '/base'],
    ['the listen path with its slash', '/orders/', '/base'],
    ['a path below', '/orders/a/b?c=d&e', '/base/a/b?c=d&e'],
    ['a slash at the end', '/orders/a/', '/base/a/'],
    ['the longest listen path', '/orders/deep/x', '/deep/x'],
    ['an unstripped listen path', '/whole/x', '/whole/x'],
    ['a custom domain, whatever its case, port and dot', '/orders/x', '/hosted/x', 'SHOP.example.:8080'],
    ['another host', '/orders/x', '/base/x', 'other.example'],
    ['the absolute form, whose host counts', 'http://shop.example/orders/x?y', '/hosted/x?y', 'other.example'],
    ['escapes of unreserved characters', '/%6frders/%41%7e%2D', '/base/A~-'],
    ['other escapes in capitals', '/orders/a%2fb%c3%a9', '/base/a%2Fb%C3%A9'],
    ['dot segments', '/orders/a/./b/../c', '/base/a/c'],
    ['escaped dot segments', '/orders/a/%2e/b/%2E%2e/c', '/base/a/c'],
    ['dot segments that lead to another API', '/orders/deep/%2e%2e/x', '/base/x'],
    ['doubled slashes', '/orders//a///b', '/base/a/b'],
    ['a backslash as an ordinary character', '/orders/a\\b', '/base/a%5Cb'],
    ['a query byte for byte', '/orders/x?a=%2e%2E/../;%zz&&', '/base/x?a=%2e%2E/../;%zz&&'],
  ];
  for (const [name, target, url, host] of forwarded) {
    it(`and forwards ${name}`, async () => {
      expect(await asked(target, host)).to.include({ status: 200, url });
    });
  }

  const refused: readonly [name: string, target: string, status: number, code: string, host?: string][] = [
    ['a path of no API', '/nothing', 404, 'no_route'],
    ['a path that only begins like a listen path', '/ordersx', 404, 'no_route'],
    ['an escaped slash in the place of a real one', '/orders%2fdeep', 404, 'no_route'],
    ['an inactive API', '/hidden/x', 404, 'no_route'],
    ['an internal API', '/inner/x', 404, 'no_route'],
    ['a climb above the root', '/orders/../../x', 400, 'bad_path'],
    ['an escaped climb', '/%2e%2e/x', 400, 'bad_path'],
    ['a broken escape', '/orders/%zz', 400, 'bad_path'],
    ['a cut escape', '/orders/%4', 400, 'bad_path'],
    ['an escaped zero byte', '/orders/%00', 400, 'bad_path'],
    ['bytes beyond ASCII', '/orders/caf\xc3\xa9', 400, 'malformed_request'],
    ['a long target', `/orders/${'a'.repeat(8200)}`, 414, 'url_too_long'],
    ['a host that is none', '/orders', 400, 'bad_host', 'a b'],
    ['an empty host', '/orders', 400, 'bad_host', ''],
  ];
  for (const [name, target, status, code, host] of refused) {
    it(`and refuses ${name}`, async () => {
      const answer = await asked(target, host);
      expect(answer.status, answer.text).to.equal(status);
      expect(answer.text)
        .to.contain(`"code": "${code}"`)
        .and.match(/"revision": 6\}/);
    });
  }

  it('an inactive API keeps its claim: what stands below it is not served by a shorter path', async () => {
    await gateway.put('root', apiFor('root', upstream.url, { server: { listenPath: { value: '/', strip: false } } }));
    expect((await asked('/hidden/x')).status).to.equal(404);
    expect((await asked('/anything')).status).to.equal(200);
    await gateway.settled(gateway.feed.remove('root'));
  });

  it('finds a domain that is written with other letters under the name that clients send for it', async () => {
    const server = {
      listenPath: { value: '/idn/', strip: true },
      customDomain: { enabled: true, name: 'Bücher.example' },
    };
    await gateway.put('idn', apiFor('idn', upstream.url, { server }));
    expect((await asked('/idn/x', 'xn--bcher-kva.example')).status).to.equal(200);
    expect((await asked('/idn/x')).status).to.equal(404);
  });

  describe('an API that has never compiled', () => {
    const broken = { port: 1 };
    const rows: readonly [name: string, parts: Parameters<typeof apiFor>[2], status: number][] = [
      ['keeps its place', { server: broken }, 503],
      [
        'keeps it on every host when its domain is switched off',
        { server: { ...broken, customDomain: { enabled: false, name: 'other.example' } } },
        503,
      ],
      [
        'leaves it to others on hosts that are not its own',
        { server: { ...broken, customDomain: { enabled: true, name: 'other.example' } } },
        200,
      ],
      ['is not there when it is inactive', { server: broken, info: { state: { active: false } } }, 404],
      [
        'is not there for the outside when it is internal',
        { server: broken, info: { state: { active: true, internal: true } } },
        404,
      ],
    ];
    before(() =>
      gateway.put('root', apiFor('root', upstream.url, { server: { listenPath: { value: '/', strip: false } } })),
    );
    after(() => gateway.settled(gateway.feed.remove('root')));
    for (const [name, parts, status] of rows) {
      it(`${name}: ${status}`, async () => {
        await gateway.put('broken', apiFor('broken', upstream.url, { ...parts, server: at(parts) }));
        expect((await asked('/broken/x')).status).to.equal(status);
        await gateway.settled(gateway.feed.remove('broken'));
      });
    }
    const at = (parts: Parameters<typeof apiFor>[2] = {}) => ({
      listenPath: { value: '/broken/', strip: true },
      ...parts.server,
    });

    it('is nothing to a gateway with other labels', async () => {
      await using labelled = await startTestGateway({ settings: { tags: ['east'] } });
      const labels = (tag: string) => ({ gatewayTags: { enabled: true, tags: [tag] } });
      const root = { listenPath: { value: '/', strip: false } };
      await labelled.put('root', apiFor('root', upstream.url, { server: { ...root, ...labels('east') } }));
      await labelled.put(
        'broken',
        apiFor('broken', upstream.url, { server: { ...at(), ...broken, ...labels('west') } }),
      );
      expect((await fetch(`${labelled.url}/broken/x`)).status).to.equal(200);
      await labelled.put(
        'broken',
        apiFor('broken', upstream.url, { server: { ...at(), ...broken, ...labels('east') } }),
      );
      expect((await fetch(`${labelled.url}/broken/x`)).status).to.equal(503);
    });
  });

  it('a request without Host is refused, one of HTTP/1.0 as well', async () => {
    for (const version of ['1.0', '1.1']) {
      const text = await rawRequest(gateway.port, `GET /orders HTTP/${version}\r\n\r\n`);
      expect(text)
        .to.match(/^HTTP\/1\.1 400 /)
        .and.contain('bad_host');
    }
    const twice = await rawRequest(gateway.port, 'GET /orders HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n');
    expect(twice).to.match(/^HTTP\/1\.1 400 /);
  });

  it('answers GET /hello with its health, also while the path belongs to nobody', async () => {
    const answer = await fetch(`${gateway.url}/hello`);
    expect(answer.status).to.equal(200);
    expect(await answer.json()).to.include({ status: 'pass' });
  });

  it('speaks XML to who sends XML', async () => {
    const answer = await fetch(`${gateway.url}/nothing`, {
      method: 'POST',
      body: '<a/>',
      headers: { 'content-type': 'application/soap+xml; charset=utf-8' },
    });
    expect(answer.headers.get('content-type')).to.equal('application/xml');
    expect(await answer.text()).to.match(/^<error code="no_route" revision="\d+">Not Found<\/error>$/);
  });

  it('a head that is too large is a 431, and what is no HTTP a 400, each with a log line', async () => {
    const large = await rawRequest(gateway.port, `GET /orders HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`);
    expect(large).to.match(/^HTTP\/1\.1 431 /);
    const garbage = await rawRequest(gateway.port, 'NOT HTTP AT ALL\r\n\r\n');
    expect(garbage)
      .to.match(/^HTTP\/1\.1 400 /)
      .and.contain('malformed_request');
    const codes = gateway.log.lines.map(({ fields }) => fields['code']);
    expect(codes).to.include.members(['head_too_large', 'malformed_request']);
  });

  it('many requests share one connection, refused ones too', async () => {
    using client = await rawClient(gateway.port);
    client.send('GET /orders/1 HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.until(/base\/1/);
    client.send('POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody');
    await client.until(/no_route/);
    client.send('GET /orders/2 HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.until(/base\/2/);
  });
});
