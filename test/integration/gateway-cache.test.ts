/** The response cache over real sockets: what is given again and for how long, what never is, and what tells of it. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { allSafe, type CachedGateway, type Reply, startCachedGateway, withHeaders } from '../support/cached-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { rawClient } from '../support/gateway-raw.ts';
import { recordOf } from '../support/gateway-start.ts';
import { rawUpstream } from '../support/upstream.ts';

const controlled = { ...allSafe, enableUpstreamCacheControl: true };
const forced = { 'x-svc-cache-action-set': '1' };

/** Answers with these headers and the number of the request. */
const answering =
  (headers: Record<string, string | string[]>, status = 200): Reply =>
  (_, response, number) =>
    response.writeHead(status, headers).end(status === 304 ? '' : `answer ${number}`);

describe('the response cache', () => {
  let cached: CachedGateway;
  beforeEach(async () => {
    cached = await startCachedGateway();
  });
  afterEach(() => cached[Symbol.asyncDispose]());

  it('gives an answer again with its age, and tells of it in the record', async () => {
    const { gateway, ask, serve } = cached;
    await serve();
    const own = { etag: '"1"', 'x-own': 'a', 'content-type': 'text/plain' };
    cached.reply = (_, response) => response.writeHead(203, own).end('kept');
    expect((await ask('/a/x')).headers.get('x-svc-cached-response')).to.equal(null);
    cached.skewMs = 7_400;
    const hit = await ask('/a/x');
    expect([hit.status, hit.body, cached.count]).to.deep.equal([203, 'kept', 1]);
    const told = ['x-svc-cached-response', 'age', 'etag', 'x-own', 'content-type', 'content-length'];
    expect(told.map((name) => hit.headers.get(name))).to.deep.equal(['1', '7', '"1"', 'a', 'text/plain', '4']);
    await ask('/a/x', { method: 'DELETE' });
    await eventually(() => gateway.lane.records.length === 3);
    const [missed, record, passed] = gateway.lane.records;
    expect([missed, record, passed].map((one) => one?.ext.cache)).to.deep.equal(['miss', 'hit', 'bypass']);
    expect([missed, record, passed].map((one) => one?.tags[0])).to.deep.equal([
      ...['key-00000000', 'cached-response', 'key-00000000'],
    ]);
    expect(record).to.deep.include({ response_code: 203, host: '', path: '/x' });
    expect([record?.latency.upstream, record?.ext.bytes.out]).to.deep.equal([0, 4]);
    const counts = new Map([['a', { hit: 1, miss: 1, bypass: 1 }]]);
    expect(gateway.gateway.kept.standing()).to.deep.include({ entries: 1, evicted: 0, counts });
  });

  it('is not asked for APIs without one, and says nothing in their records', async () => {
    await cached.serve({ enabled: false, timeout: 60, cacheAllSafeRequests: true });
    expect(await cached.bodies([], [])).to.deep.equal(['answer 1', 'answer 2']);
    expect((await recordOf(cached.gateway, '/a/x')).ext).not.to.have.property('cache');
  });

  const neverKept: readonly [name: string, reply: Reply, init?: RequestInit, cache?: JsonObject][] = [
    ['a cookie', answering({ 'set-cookie': 'a=b' })],
    ['no-store', answering({ 'cache-control': 'max-age=60, No-Store' })],
    ['no-cache', answering({ 'cache-control': 'no-cache="x"' })],
    ['private', answering({ 'cache-control': 'public, private' })],
    ['a second header that says private', answering({ 'cache-control': ['max-age=60', 'private'] })],
    ['Vary: *', answering({ vary: 'accept, *' })],
    ['a failure', answering({}, 500)],
    ['a status that is not listed', answering({}, 302)],
    ['an answer that has ended already', answering({ 'cache-control': 'max-age=0' })],
    ['one that is as old as it may be', answering({ 'cache-control': 'max-age=60', age: '60' })],
    ['a lifetime that does not read', answering({ 'cache-control': 'max-age=soon' })],
    ['an end in the past', answering({ expires: 'Thu, 01 Jan 1970 00:00:00 GMT' })],
    ['an end that does not read', answering({ expires: '0' })],
    ['a stream of events', answering({ 'content-type': 'Text/Event-Stream' })],
    ['a stream of events, forced', answering({ 'content-type': 'text/event-stream', ...forced }), {}, controlled],
    ['a part, forced', answering({ 'content-range': 'bytes 0-1/9', ...forced }, 206), {}, controlled],
    ['a 304 that somebody listed', answering({}, 304), {}, { ...allSafe, cacheResponseCodes: [304] }],
    ['a failure, forced', answering(forced, 503), {}, controlled],
    ['a request for a part', answering({}), { headers: { range: 'bytes=0-1' } }],
    ['a request for a part, forced', answering(forced), { headers: { range: 'bytes=0-1' } }, controlled],
    ['a condition of a write', answering({}), { headers: { 'if-match': '"1"' } }],
    ['what may mean another path', answering({}), { headers: { 'x-original-url': '/y' } }],
    ['what may mean another method', answering({}), { headers: { 'X-HTTP-Method-Override': 'DELETE' } }],
    ['a request for events', answering({}), { headers: { accept: 'text/event-stream' } }],
    ['another method', answering({}), { method: 'POST', body: 'x' }],
    ['another method, forced', answering(forced), { method: 'DELETE' }, controlled],
    ['a lifetime of nothing', answering({}), {}, { ...controlled, timeout: 0 }],
    [
      'a body with trailers',
      (_, response, number) => {
        response.writeHead(200, { trailer: 'x-end', 'transfer-encoding': 'chunked' });
        response.write(`answer ${number}`);
        response.addTrailers({ 'x-end': '1' });
        response.end();
      },
    ],
    ['a long body of known length', (_, response, number) => response.end(`answer ${number}`.padEnd(2_000_000))],
    [
      'a long body of unknown length',
      (_, response, number) => {
        response.write(`answer ${number}`);
        response.end(''.padEnd(2_000_000));
      },
    ],
  ];
  for (const [name, reply, init = {}, cache] of neverKept) {
    it(`never keeps ${name}`, async () => {
      await cached.serve(cache);
      cached.reply = reply;
      for (const number of [1, 2]) {
        const { headers } = await cached.ask('/a/x', init);
        expect(headers.get('x-svc-cached-response')).to.equal(null);
        expect(cached.count).to.equal(number);
      }
      expect(cached.gateway.gateway.kept.standing()).to.include({ entries: 0, bytes: 0 });
    });
  }

  it('never keeps what the upstream called private, whatever a transform makes of it', async () => {
    const global = { transformResponseHeaders: { enabled: true, remove: ['cache-control', 'set-cookie'] } };
    await cached.serve(allSafe, { global });
    for (const headers of [{ 'cache-control': 'private' }, { 'set-cookie': 'a=b' }]) {
      cached.reply = answering(headers);
      const before = cached.count;
      await cached.bodies([], []);
      expect(cached.count).to.equal(before + 2);
    }
  });

  const cuts: readonly [name: string, head: string][] = [
    ['no length at all', 'HTTP/1.1 200 OK\r\n\r\nhalf'],
    ['less than its length', 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf'],
    ['chunks without an end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
  ];
  for (const [name, bytes] of cuts) {
    it(`never keeps an answer that may be cut short: ${name}`, async () => {
      let asked = 0;
      await using upstream = await rawUpstream((socket) => {
        socket.once('data', () => {
          asked++;
          socket.end(bytes);
        });
      });
      await cached.serve(allSafe, { upstream: { url: upstream.url } });
      await cached.ask().catch(() => {});
      await cached.ask().catch(() => {});
      expect(asked).to.equal(2);
      expect(cached.gateway.gateway.kept.standing().entries).to.equal(0);
    });
  }

  const lifetimes: readonly [name: string, headers: Record<string, string>, seconds: number, cache?: JsonObject][] = [
    ['of the definition', {}, 60],
    ['of the definition when the upstream says more', { 'cache-control': 'max-age=600' }, 60],
    ['of the upstream when it says less', { 'cache-control': 'max-age=20' }, 20],
    ['for shared caches before that for all', { 'cache-control': 'max-age=20, s-maxage=10' }, 10],
    ['less the age', { 'cache-control': 'max-age=50', age: '20' }, 30],
    ['the smaller one of two', { 'cache-control': 'max-age=50, max-age=10' }, 10],
    [
      'up to the end that the upstream names',
      { expires: 'Sun, 06 Nov 1994 08:49:57 GMT', date: 'Sun, 06 Nov 1994 08:49:37 GMT' },
      20,
    ],
    ['of the control header', { ...forced, 'x-svc-cache-action-set-ttl': '600' }, 600, controlled],
    [
      'of a control header with a name of the definition',
      { ...forced, 'x-ttl': '7' },
      7,
      {
        ...{ ...controlled, controlTTLHeaderName: 'X-TTL' },
      },
    ],
    [
      'of the definition when the control header is no number',
      { ...forced, 'x-svc-cache-action-set-ttl': 'x' },
      60,
      controlled,
    ],
    ['of the definition when nobody forces it', { 'x-svc-cache-action-set-ttl': '600' }, 60, controlled],
    ['of the definition when the upstream may not say', { ...forced, 'x-svc-cache-action-set-ttl': '600' }, 60],
  ];
  for (const [name, headers, seconds, cache] of lifetimes) {
    it(`keeps an answer for the lifetime ${name}`, async () => {
      await cached.serve(cache);
      cached.reply = answering(headers);
      await cached.ask();
      cached.skewMs = seconds * 1_000 - 500;
      expect((await cached.ask()).body).to.equal('answer 1');
      cached.skewMs = seconds * 1_000 + 1_000;
      expect((await cached.ask()).body).to.equal('answer 2');
    });
  }

  const forcing: readonly [name: string, headers: Record<string, string>, status?: number][] = [
    ['a private answer', { 'cache-control': 'private, no-store' }],
    ['one with a cookie', { 'set-cookie': 'a=b' }],
    ['Vary: *', { vary: '*' }],
    ['a status that is not listed', {}, 418],
    ['a request that is not kept otherwise', {}],
  ];
  for (const [name, headers, status] of forcing) {
    it(`keeps what the upstream wants kept: ${name}`, async () => {
      await cached.serve({ enabled: true, timeout: 60, enableUpstreamCacheControl: true });
      cached.reply = answering({ ...forced, ...headers }, status);
      expect(await cached.bodies([], [])).to.deep.equal(['answer 1', 'answer 1']);
      cached.reply = answering(headers, status);
      expect(await cached.bodies(['/a/other'], ['/a/other'])).to.deep.equal(['answer 2', 'answer 3']);
    });
  }

  it('keeps statuses that the definition lists in place of the usual ones', async () => {
    await cached.serve({ ...allSafe, cacheResponseCodes: [503] });
    cached.reply = answering({}, 503);
    expect(await cached.bodies([], [])).to.deep.equal(['answer 1', 'answer 1']);
    cached.reply = answering({}, 200);
    expect(await cached.bodies(['/a/y'], ['/a/y'])).to.deep.equal(['answer 2', 'answer 3']);
  });

  it('keeps answers to HEAD and OPTIONS by themselves', async () => {
    await cached.serve();
    cached.reply = answering({ 'content-length': '8' });
    const asked = async (method: string) => {
      const { headers } = await cached.ask('/a/x', { method });
      return [headers.get('x-svc-cached-response'), headers.get('content-length')];
    };
    expect([await asked('GET'), await asked('HEAD'), await asked('OPTIONS')]).to.deep.equal([
      [null, '8'],
      [null, '8'],
      [null, '8'],
    ]);
    expect([await asked('GET'), await asked('HEAD'), await asked('OPTIONS')]).to.deep.equal([
      ['1', '8'],
      ['1', '8'],
      ['1', '8'],
    ]);
    expect(cached.count).to.equal(3);
  });

  const modified = 'Sun, 06 Nov 1994 08:49:37 GMT';
  const conditions: readonly [name: string, headers: Record<string, string>, status: number][] = [
    ['its tag', { 'if-none-match': '"one"' }, 304],
    ['its tag among others, as a weak one', { 'if-none-match': '"two", W/"one"' }, 304],
    ['any tag', { 'if-none-match': '*' }, 304],
    ['another tag', { 'if-none-match': '"two"' }, 200],
    ['another tag and its time', { 'if-none-match': '"two"', 'if-modified-since': modified }, 200],
    ['its time', { 'if-modified-since': modified }, 304],
    ['an earlier time', { 'if-modified-since': 'Sun, 06 Nov 1994 08:49:36 GMT' }, 200],
    ['a time that does not read', { 'if-modified-since': 'yesterday' }, 200],
    ['nothing, and says that nothing is to be kept', { 'cache-control': 'no-cache', pragma: 'no-cache' }, 200],
  ];
  for (const [name, headers, status] of conditions) {
    it(`answers ${status} from the cache to a client that names ${name}`, async () => {
      await cached.serve();
      cached.reply = answering({ etag: 'W/"one"', 'last-modified': modified, 'content-type': 'text/plain', vary: 'x' });
      await cached.ask();
      const answer = await cached.ask(...withHeaders(headers));
      expect([answer.status, answer.body, cached.count]).to.deep.equal([status, status === 304 ? '' : 'answer 1', 1]);
      expect(answer.headers.get('x-svc-cached-response')).to.equal('1');
      expect([answer.headers.get('etag'), answer.headers.get('vary')]).to.deep.equal(['W/"one"', 'x']);
      expect(answer.headers.get('content-type')).to.equal(status === 304 ? null : 'text/plain');
    });
  }

  it('gives no connection that is to be upgraded anything but the upstream', async () => {
    await cached.serve();
    await cached.ask();
    using client = await rawClient(cached.gateway.port);
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13';
    client.send(`GET /a/x HTTP/1.1\r\nHost: 127.0.0.1:${cached.gateway.port}\r\n${upgrade}\r\n\r\n`);
    expect(await client.until(/answer \d/)).to.contain('answer 2');
  });

  it('gives no request with a body that is in no key anything but the upstream', async () => {
    await cached.serve();
    await cached.ask();
    using client = await rawClient(cached.gateway.port);
    client.send(`GET /a/x HTTP/1.1\r\nHost: 127.0.0.1:${cached.gateway.port}\r\nContent-Length: 1\r\n\r\nx`);
    expect(await client.until(/answer \d/)).to.contain('answer 2');
    expect(await cached.bodies([])).to.deep.equal(['answer 1']);
  });

  it('gives back the memory of copies, whatever became of them', async () => {
    await cached.serve();
    const gate = Promise.withResolvers<void>();
    cached.reply = (_, response) => {
      response.write('the first part');
      void gate.promise.then(() => response.end());
    };
    const asked = cached.ask();
    const copied = () => cached.gateway.gateway.kept.standing().copied;
    await eventually(() => copied() === 'the first part'.length);
    gate.resolve();
    await asked;
    cached.reply = (_, response) => {
      response.write('a part of what is too long');
      response.end(''.padEnd(2_000_000));
    };
    await cached.ask('/a/long');
    await eventually(() => copied() === 0);
  });
});
