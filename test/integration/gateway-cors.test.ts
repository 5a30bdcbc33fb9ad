/** Cross-origin requests over real sockets: preflights, actual requests, passthrough. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { apiFor, startWithEcho } from '../support/gateway-start.ts';
import { httpUpstream } from '../support/upstream.ts';

describe('cross-origin rules', () => {
  let gateway: Awaited<ReturnType<typeof startWithEcho>>;
  before(async () => {
    gateway = await startWithEcho();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const put = (global: JsonObject, parts: Parameters<typeof apiFor>[2] = {}, url = gateway.echo.url): Promise<string> =>
    gateway.put('api', apiFor('api', url, { ...parts, global }));
  const call = (init?: RequestInit, path = '/api/'): Promise<Response> => fetch(gateway.url + path, init);

  describe('CORS', () => {
    const allowed = 'https://app.example';
    const cors = (members: JsonObject = {}) => put({ cors: { enabled: true, allowedOrigins: [allowed], ...members } });
    type Expected = Readonly<Record<string, string | null>>;
    const origin = 'access-control-allow-origin';
    const methods = 'access-control-allow-methods';
    const headers = 'access-control-allow-headers';

    const preflights: readonly [
      name: string,
      settings: JsonObject,
      asked: Readonly<Record<string, string>>,
      Expected,
    ][] = [
      ['the origin that is listed', {}, { origin: allowed }, { [origin]: allowed, [methods]: 'GET' }],
      ['without case', {}, { origin: 'HTTPS://App.Example' }, { [origin]: 'HTTPS://App.Example' }],
      ['another origin', {}, { origin: 'https://evil.example' }, { [origin]: null, [methods]: null }],
      ['any origin by default', { allowedOrigins: [] }, { origin: 'https://x' }, { [origin]: '*' }],
      ['any origin by a star', { allowedOrigins: ['*'] }, { origin: 'https://x' }, { [origin]: '*' }],
      [
        'a star inside',
        { allowedOrigins: ['https://*.example'] },
        { origin: 'https://a.b.example' },
        { [origin]: 'https://a.b.example' },
      ],
      [
        'a star that must not stand for less than nothing',
        { allowedOrigins: ['https://a*a'] },
        { origin: 'https://a' },
        { [origin]: null },
      ],
      ['a prefix of a listed origin', {}, { origin: 'https://app.example.evil' }, { [origin]: null }],
      [
        'a method that is not listed',
        {},
        { origin: allowed, 'access-control-request-method': 'PUT' },
        { [origin]: null },
      ],
      ['a method in another case', {}, { origin: allowed, 'access-control-request-method': 'get' }, { [origin]: null }],
      [
        'OPTIONS, always',
        {},
        { origin: allowed, 'access-control-request-method': 'OPTIONS' },
        { [methods]: 'OPTIONS' },
      ],
      [
        'the requested method alone',
        { allowedMethods: ['PUT', 'DELETE'] },
        { origin: allowed, 'access-control-request-method': 'PUT' },
        { [methods]: 'PUT' },
      ],
      [
        'the default headers in any order and case',
        {},
        { origin: allowed, 'access-control-request-headers': 'X-Requested-With,ACCEPT' },
        { [headers]: 'X-Requested-With,ACCEPT' },
      ],
      [
        'a header that is not listed',
        {},
        { origin: allowed, 'access-control-request-headers': 'accept,x-other' },
        { [origin]: null, [headers]: null },
      ],
      [
        'any header by a star',
        { allowedHeaders: ['*'] },
        { origin: allowed, 'access-control-request-headers': 'x-any' },
        { [headers]: 'x-any' },
      ],
      ['credentials', { allowCredentials: true }, { origin: allowed }, { 'access-control-allow-credentials': 'true' }],
      ['no credentials by default', {}, { origin: allowed }, { 'access-control-allow-credentials': null }],
      ['a max age', { maxAge: 60 }, { origin: allowed }, { 'access-control-max-age': '60' }],
      ['a negative max age', { maxAge: -1 }, { origin: allowed }, { 'access-control-max-age': '0' }],
      ['no max age', { maxAge: 0 }, { origin: allowed }, { 'access-control-max-age': null }],
    ];
    for (const [name, settings, asked, expected] of preflights) {
      it(`answers a preflight: ${name}`, async () => {
        await cors(settings);
        const answer = await call({ method: 'OPTIONS', headers: { 'access-control-request-method': 'GET', ...asked } });
        expect([answer.status, await answer.text()]).to.deep.equal([204, '']);
        expect(answer.headers.get('vary')).to.equal(
          'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
        );
        for (const [header, value] of Object.entries(expected))
          expect(answer.headers.get(header), header).to.equal(value);
      });
    }

    const actual: readonly [name: string, settings: JsonObject, init: RequestInit, Expected][] = [
      [
        'from a listed origin',
        { exposedHeaders: ['X-A', 'X-B'] },
        { headers: { origin: allowed } },
        { [origin]: allowed, vary: 'Origin', 'access-control-expose-headers': 'X-A, X-B' },
      ],
      ['from another origin', {}, { headers: { origin: 'https://x' } }, { [origin]: null, vary: 'Origin' }],
      ['without an origin', {}, {}, { [origin]: null, vary: 'Origin' }],
      ['from anywhere', { allowedOrigins: ['*'] }, { headers: { origin: 'https://x' } }, { [origin]: '*', vary: null }],
      ['with a method that is not listed', {}, { method: 'PUT', headers: { origin: allowed } }, { [origin]: null }],
      ['that is another OPTIONS', {}, { method: 'OPTIONS', headers: { origin: allowed } }, { [origin]: allowed }],
    ];
    for (const [name, settings, init, expected] of actual) {
      it(`serves a request ${name}`, async () => {
        await cors(settings);
        const answer = await call(init);
        expect(answer.status).to.equal(200);
        for (const [header, value] of Object.entries(expected))
          expect(answer.headers.get(header), header).to.equal(value);
      });
    }

    it('replaces the headers of the upstream, keeps its Vary, and marks refusals of the gateway too', async () => {
      await using upstream = await httpUpstream((_, response) => {
        response.setHeader('Access-Control-Allow-Origin', 'https://wrong').setHeader('Vary', 'Accept').end();
      });
      const rateLimit = { enabled: true, rate: 1, per: '1h' };
      await put({ cors: { enabled: true, allowedOrigins: [allowed] } }, { upstream: { rateLimit } }, upstream.url);
      for (const status of [200, 429]) {
        const answer = await call({ headers: { origin: allowed } });
        expect(answer.status).to.equal(status);
        expect(answer.headers.get(origin)).to.equal(allowed);
        expect(answer.headers.get('vary')).to.equal(status === 200 ? 'Accept, Origin' : 'Origin');
      }
    });

    const refused: readonly [name: string, init: RequestInit, isMarked: boolean][] = [
      ['another origin', { headers: { origin: 'https://x' } }, false],
      ['a method that is not listed', { method: 'PUT', headers: { origin: allowed } }, false],
      ['a listed origin', { headers: { origin: allowed } }, true],
    ];
    for (const [name, init, isMarked] of refused) {
      it(`is not undone by an upstream that lets everybody in: ${name}`, async () => {
        await using upstream = await httpUpstream((_, response) => {
          response
            .writeHead(200, { 'Access-Control-Allow-Origin': '*', 'access-control-allow-credentials': 'true' })
            .end();
        });
        const global = { cors: { enabled: true, allowedOrigins: [allowed], allowCredentials: true } };
        await put(global, {}, upstream.url);
        const answer = await call(init);
        expect(answer.status).to.equal(200);
        expect(answer.headers.get(origin)).to.equal(isMarked ? allowed : null);
        expect(answer.headers.get('access-control-allow-credentials')).to.equal(isMarked ? 'true' : null);
      });
    }

    it('lets OPTIONS through untouched with passthrough, without any step', async () => {
      await using upstream = await httpUpstream((incoming, response) => {
        response
          .writeHead(299, { 'x-method': incoming.method, 'x-seen': String(incoming.headers['x-added']) })
          .end('mine');
      });
      const add = [{ name: 'X-Added', value: 'yes' }];
      const global = {
        cors: { enabled: true, optionsPassthrough: true },
        transformRequestHeaders: { enabled: true, add },
        transformResponseHeaders: { enabled: true, add },
      };
      await put(global, {}, upstream.url);
      const answer = await call({
        method: 'OPTIONS',
        headers: { origin: 'x', 'access-control-request-method': 'GET' },
      });
      expect([answer.status, await answer.text()]).to.deep.equal([299, 'mine']);
      expect([answer.headers.get('x-method'), answer.headers.get('x-seen')]).to.deep.equal(['OPTIONS', 'undefined']);
      expect([answer.headers.get('x-added'), answer.headers.get(origin)]).to.deep.equal([null, null]);
      expect((await call()).headers.get('x-added')).to.equal('yes');
    });

    it('says its decisions in the log when it is asked to', async () => {
      await cors({ debug: true });
      await call({ headers: { origin: 'https://evil.example' } });
      expect(gateway.log.lines.at(-1)).to.deep.include({ message: 'cors decision' });
      expect(gateway.log.lines.at(-1)?.fields).to.include({ origin: 'https://evil.example', allowed: false });
    });
  });
});
