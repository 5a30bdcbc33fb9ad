/** The steps of the chain over real sockets: size, variables, authentication, rate limit, headers, expiry. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { rawRequest } from '../support/gateway-raw.ts';
import { apiFor, recordOf, startWithEcho, systemClock } from '../support/gateway-start.ts';
import { answering, type Echo } from '../support/upstream.ts';

describe('the chain', () => {
  let gateway: Awaited<ReturnType<typeof startWithEcho>>;
  let skewMs = 0;
  before(async () => {
    gateway = await startWithEcho({ clock: { ...systemClock, now: () => Date.now() + skewMs } });
  });
  after(() => gateway[Symbol.asyncDispose]());

  const put = (global: JsonObject, parts: Parameters<typeof apiFor>[2] = {}, url = gateway.echo.url): Promise<string> =>
    gateway.put('api', apiFor('api', url, { ...parts, global }));
  const call = (init?: RequestInit, path = '/api/'): Promise<Response> => fetch(gateway.url + path, init);
  const send = (text: string): Promise<string> => rawRequest(gateway.port, text.replaceAll('\n', '\r\n'));

  describe('request size', () => {
    before(() => put({ requestSizeLimit: { enabled: true, value: 4 } }));
    const rows: readonly [name: string, text: string, status: number][] = [
      ['a declared length within', 'POST /api/ HTTP/1.1\nContent-Length: 4\n', 200],
      ['a declared length beyond', 'POST /api/ HTTP/1.1\nContent-Length: 5\n', 400],
      ['a body without length within', 'POST /api/ HTTP/1.1\nTransfer-Encoding: chunked\n', 200],
      ['a body without length beyond', 'PUT /api/ HTTP/1.1\nTransfer-Encoding: chunked\n', 400],
      ['a method whose body does not count', 'DELETE /api/ HTTP/1.1\nContent-Length: 5\n', 200],
    ];
    for (const [name, head, status] of rows) {
      it(`counts ${name}: ${status}`, async () => {
        const text = 'bodybodybody'.slice(0, status === 400 || head.includes('5') ? 5 : 4);
        const body = head.includes('chunked')
          ? `2\n${text.slice(0, 2)}\n${text.length - 2}\n${text.slice(2)}\n0\n\n`
          : text;
        const answer = await send(`${head}Host: a\nConnection: close\n\n${body}`);
        expect(answer).to.match(new RegExp(`^HTTP/1\\.1 ${status} `));
        if (status === 400) expect(answer).to.contain('"error": "Request is too large", "code": "body_too_large"');
      });
    }
  });

  describe('header transforms', () => {
    it('remove first, then add in order; what is added again is a further value', async () => {
      const transformRequestHeaders = {
        enabled: true,
        remove: ['x-gone', 'X-SET'],
        add: ['1', '2'].map((value) => ({ name: 'X-Set', value })).concat({ name: 'HOST', value: 'inner.example' }),
      };
      await put({ transformRequestHeaders });
      const text = await send(
        'GET /api/ HTTP/1.1\nHost: a\nX-Gone: 1\nX-Set: client\nX-Gone: 2\nX-Kept: 1\nConnection: close\n\n',
      );
      const { rawHeaders, headers } = JSON.parse(/\{.*\}/s.exec(text)?.[0] ?? '') as Echo;
      expect(headers.host).to.equal('inner.example');
      expect(rawHeaders.slice(-4)).to.deep.equal(['X-Set', '1', 'X-Set', '2']);
      expect(rawHeaders).to.include('X-Kept').and.not.include('X-Gone').and.not.include('client');
    });

    it('of the answer work on all its values', async () => {
      await using upstream = await answering(
        'HTTP/1.1 200 OK\r\nServer: x\r\nX-Set: 0\r\nserver: y\r\nX-Kept: 1\r\nContent-Length: 0\r\n\r\n',
      );
      const add = [{ name: 'X-Set', value: 'a' }];
      await put({ transformResponseHeaders: { enabled: true, remove: ['Server'], add } }, {}, upstream.url);
      const text = await send('GET /api/ HTTP/1.1\nHost: a\nConnection: close\n\n');
      expect(text)
        .to.match(/^HTTP\/1\.1 200 OK\r\nX-Kept: 1\r\nContent-Length: 0\r\nX-Set: a\r\n/)
        .and.not.match(/server/i);
    });

    const variables: readonly [text: string, value: string][] = [
      ['a $svc_context.request_data_q b', 'a one two b'],
      ['$svc_context.request_data_none', ''],
      ['$svc_context.headers_X_Given', 'given'],
      ['$svc_context.headers_Host', 'a.example'],
      ['$svc_context.cookies_two', '2'],
      ['$svc_context.path', '/api/x/%41'],
      ['$svc_context.path_parts', 'api,x,%41'],
      ['$svc_context.remote_addr', '127.0.0.1'],
      ['$svc_context.request_data_evil', 'xY: z'],
      ['$svc_context.unknown', ''],
      ['$svc_meta.anything', ''],
      ['$svc_context.request_data_again', '$svc_context.path'],
      ['costs 5$', 'costs 5$'],
    ];
    const askWithVariables = async (value: string): Promise<Echo['headers']> => {
      const text = await send(
        'GET /api/x/%41?q=one+two&q=three&evil=x%0D%0AY:%20z&again=$svc_context.path HTTP/1.1\nHost: a.example\n' +
          `X-Given: given\nCookie: one=1; two=2\nX-Marker: ${value}\nConnection: close\n\n`,
      );
      return (JSON.parse(/\{.*\}/s.exec(text)?.[0] ?? '') as Echo).headers;
    };
    for (const [text, value] of variables) {
      it(`fill in "${text}"`, async () => {
        const transformRequestHeaders = { enabled: true, add: [{ name: 'X-Value', value: text }] };
        await put({ contextVariables: { enabled: true }, transformRequestHeaders });
        expect((await askWithVariables(''))['x-value']).to.equal(value);
      });
    }

    it('fill in nothing while contextVariables is off', async () => {
      const transformRequestHeaders = { enabled: true, add: [{ name: 'X-Value', value: 'a$svc_context.path' }] };
      await put({ contextVariables: { enabled: false }, transformRequestHeaders });
      expect((await askWithVariables(''))['x-value']).to.equal('a');
    });

    it('know the fields of a form, which goes on as it was', async () => {
      const add = [
        { name: 'X-Field', value: '$svc_context.request_data_field' },
        { name: 'X-Id', value: '$svc_context.request_id' },
      ];
      await put({ contextVariables: { enabled: true }, transformRequestHeaders: { enabled: true, add } });
      const body = 'field=a+b&other=%26';
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const echo = (await (await call({ method: 'POST', body, headers }, '/api/form')).json()) as Echo;
      expect(echo).to.include({ body });
      expect(echo.headers['x-field']).to.equal('a b');
      expect((await recordOf(gateway, '/api/form')).ext).to.deep.include({
        request_id: echo.headers['x-id'],
        bytes: { in: body.length, out: JSON.stringify(echo).length },
      });
    });
  });

  describe('authentication', () => {
    const source = {
      enabled: true,
      header: { enabled: true, name: 'X-Key' },
      query: { enabled: true, name: 'key' },
      cookie: { enabled: true, name: 'key' },
    };
    const authentication = { enabled: true, securitySchemes: { token: source } };
    const components = { securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Key' } } };
    before(async () => {
      await gateway.put('api', { ...apiFor('api', gateway.echo.url, { server: { authentication } }), components });
      expect(gateway.gateway.applied().rejected).to.deep.equal([]);
    });
    const rows: readonly [name: string, target: string, headers: string, status: number, code: string][] = [
      ['no credential', '/api/', '', 401, 'auth_missing'],
      ['an empty one', '/api/', 'X-Key: \n', 401, 'auth_missing'],
      ['an unknown one in a header', '/api/', 'X-Key: secret\n', 403, 'auth_unknown'],
      ['an unknown one after Bearer', '/api/', 'X-Key: bearer secret\n', 403, 'auth_unknown'],
      ['an unknown one in the query', '/api/?key=secret', '', 403, 'auth_unknown'],
      ['an unknown one in a cookie', '/api/', 'Cookie: a=b; key=secret\n', 403, 'auth_unknown'],
      ['a very long one', '/api/', `X-Key: ${'x'.repeat(20_000)}\n`, 403, 'auth_unknown'],
      ['one twice in headers', '/api/', 'X-Key: a\nX-Key: a\n', 400, 'auth_duplicate'],
      ['one twice in the query', '/api/?key=a&key=b', '', 400, 'auth_duplicate'],
      ['one under a name with an underscore', '/api/', 'X_Key: secret\n', 401, 'auth_missing'],
    ];
    for (const [name, target, headers, status, code] of rows) {
      it(`lets nobody in: ${name} is a ${status}`, async () => {
        const answer = await send(`GET ${target} HTTP/1.1\nHost: a\n${headers}Connection: close\n\n`);
        expect(answer)
          .to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
          .and.contain(`"code": "${code}"`);
        expect(answer.includes('WWW-Authenticate: Bearer')).to.equal(status === 401);
      });
    }

    it('keeps the credential out of the record, which names it by its hash', async () => {
      await call({ headers: { 'x-key': 'secret' } }, '/api/hashed');
      const record = await recordOf(gateway, '/api/hashed');
      expect(record.api_key).to.equal('2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b');
      expect(JSON.stringify(record)).not.to.contain('"secret"');
      expect(record.ext.error).to.deep.equal({ flag: 'AKI', source: 'authentication', details: 'auth_unknown' });
    });
  });

  describe('the rate limit of an API', () => {
    const limit = (rate: number, per: string) => put({}, { upstream: { rateLimit: { enabled: true, rate, per } } });

    it('lets a burst of the rate through, says where a caller stands, and refuses the rest', async () => {
      await limit(3, '1h');
      const answers = [await call(), await call(), await call(), await call()];
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 429]);
      const told = (name: string) => answers.map(({ headers }) => headers.get(name));
      expect(told('x-ratelimit-limit')).to.deep.equal(['3', '3', '3', '3']);
      expect(told('x-ratelimit-remaining')).to.deep.equal(['2', '1', '0', '0']);
      expect(told('ratelimit-policy')).to.deep.equal(Array(4).fill('"api";q=3;w=3600'));
      expect(told('ratelimit')[0]).to.match(/^"api";r=2;t=1200$/);
      const reset = Number(told('x-ratelimit-reset')[0]) - Date.now() / 1000;
      expect(reset).to.be.within(1190, 1202);
      expect(told('retry-after').slice(0, 3)).to.deep.equal([null, null, null]);
      expect(Number(told('retry-after')[3])).to.be.within(1190, 1200);
      expect(await answers[3]?.json()).to.include({ error: 'API Rate Limit Exceeded', code: 'rate_api' });
    });

    it('keeps its count through a change that does not concern it, and begins anew with another rate', async () => {
      await limit(2, '2h');
      await call();
      await gateway.put('api', {
        ...apiFor('api', gateway.echo.url, { upstream: { rateLimit: { enabled: true, rate: 2, per: '2h' } } }),
        info: { title: 'Changed', version: '2' },
      });
      expect((await call()).headers.get('x-ratelimit-remaining')).to.equal('0');
      expect((await call()).status).to.equal(429);
      await limit(5, '2h');
      expect((await call()).headers.get('x-ratelimit-remaining')).to.equal('4');
    });
  });

  it('says when an API ends, and refuses it from then on, by the wall clock', async () => {
    await put({}, { info: { id: 'api', name: 'api', state: { active: true }, expiration: '2099-01-01 00:00' } });
    expect(gateway.gateway.applied().rejected).to.deep.equal([]);
    const before = await call();
    expect(before.status).to.equal(200);
    expect(before.headers.get('x-svc-api-expires')).to.equal('Thu, 01 Jan 2099 00:00:00 GMT');
    skewMs = Date.UTC(2099, 0, 1) - Date.now() + 1000;
    const answer = await call();
    skewMs = 0;
    expect(answer.status).to.equal(403);
    expect(await answer.json()).to.include({ code: 'api_expired' });
  });

  it('tells the revision on every answer of an API that asks for it, and on no other', async () => {
    await put({}, { server: { listenPath: { value: '/api/', strip: true }, revisionHeader: { enabled: true } } });
    const revision = String(Number(gateway.gateway.applied().revision));
    expect((await call()).headers.get('x-svc-config-revision')).to.equal(revision);
    await put({});
    expect((await call()).headers.has('x-svc-config-revision')).to.equal(false);
  });

  it('answers 404 below a streams API that has no upstream', async () => {
    const { feed } = gateway;
    const document = apiFor('streams', 'http://127.0.0.1:1/');
    const extension = { ...(document['x-svc-api-gateway'] as JsonObject) };
    delete (extension as Record<string, unknown>)['upstream'];
    await gateway.settled(
      feed.put(
        'streams',
        { ...document, 'x-svc-api-gateway': extension, 'x-svc-streaming': { streams: {} } },
        'streams',
      ),
    );
    expect(gateway.gateway.applied().rejected).to.deep.equal([]);
    expect((await call({}, '/streams/x')).status).to.equal(404);
  });
});
