/** Whose the kept answers are: what keeps requests apart, who may share, and that nobody gets one who would not be let in. */
import { request as httpRequest } from 'node:http';
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import {
  allSafe,
  byKey,
  type CachedGateway,
  type Parts,
  startCachedGateway,
  withHeaders,
} from '../support/cached-gateway.ts';
import { classicDefinition, laidOver } from '../support/classic-definitions.ts';
import { apiFor } from '../support/gateway-start.ts';

const shared = { ...allSafe, scope: 'shared' };

/** A request whose Host a client chooses. */
const statusWithHost = (url: string, host: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const asked = httpRequest(`${url}/a/x`, { headers: { host } }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      answer.on('end', () => resolve(body));
    });
    asked.on('error', reject).end();
  });

describe('callers of a cache', () => {
  let cached: CachedGateway;
  beforeEach(async () => {
    cached = await startCachedGateway({ settings: { trustedProxies: ['127.0.0.0/8', '::1'] } });
  });
  afterEach(() => cached[Symbol.asyncDispose]());

  const give = (key: string, document: JsonObject = {}): Promise<void> =>
    cached.gateway.settled(cached.gateway.feed.putKey(key, { access_rights: { a: {} }, ...document }));
  const as = (key: string, headers: Record<string, string> = {}, path?: string) =>
    withHeaders({ 'x-key': key, ...headers }, path);

  describe('with keys', () => {
    beforeEach(async () => {
      await give('first');
      await give('second');
    });

    it('have their own answers, whatever a header says', async () => {
      await cached.serve(allSafe, byKey);
      const claim = { 'x-user': 'first', 'x-real-ip': '192.0.2.1' };
      expect(await cached.bodies(as('first'), as('second'), as('second', claim), as('first'))).to.deep.equal([
        ...['answer 1', 'answer 2', 'answer 2', 'answer 1'],
      ]);
    });

    it('are kept apart by what they show to the upstream behind their key', async () => {
      await cached.serve(allSafe, byKey);
      const asked = [{ authorization: 'Bearer a' }, { authorization: 'Bearer b' }, { cookie: 'user=a' }, {}];
      expect(await cached.bodies(...asked.map((one) => as('first', one)))).to.deep.equal([
        ...['answer 1', 'answer 2', 'answer 3', 'answer 4'],
      ]);
      expect(await cached.bodies(...asked.map((one) => as('first', one)))).to.deep.equal([
        ...['answer 1', 'answer 2', 'answer 3', 'answer 4'],
      ]);
    });

    it('share where the definition says so, and a credential that is stripped keeps nobody apart', async () => {
      const authentication = { ...(byKey.server?.['authentication'] as JsonObject), stripAuthorizationData: true };
      await cached.serve(shared, { server: { authentication } });
      expect(await cached.bodies(as('first'), as('second'))).to.deep.equal(['answer 1', 'answer 1']);
    });

    it('do not share what a transform tells the upstream of one of them', async () => {
      await give('first', { meta_data: { tenant: 'a' } });
      await give('second', { meta_data: { tenant: 'b' } });
      const add = [{ name: 'X-Tenant', value: '$svc_meta.tenant' }];
      await cached.serve(shared, { ...byKey, global: { transformRequestHeaders: { enabled: true, add } } });
      expect(await cached.bodies(as('first'), as('second'), as('first'))).to.deep.equal([
        ...['answer 1', 'answer 2', 'answer 1'],
      ]);
    });

    it('are known by all their keys where an API asks for several', async () => {
      const scheme = (name: string) => ({ enabled: true, header: { enabled: true, name } });
      const securitySchemes = { one: scheme('X-One'), two: scheme('X-Two') };
      const authentication = { enabled: true, baseIdentityProvider: 'auth_token', securitySchemes };
      const schemes = { one: 'X-One', two: 'X-Two' };
      const written = Object.entries(schemes).map(([id, name]) => [id, { type: 'apiKey', in: 'header', name }]);
      await cached.serve(
        allSafe,
        { server: { authentication: { ...authentication, stripAuthorizationData: true } } },
        { components: { securitySchemes: Object.fromEntries(written) }, security: [{ one: [], two: [] }] },
      );
      const both = (one: string, two: string) => withHeaders({ 'x-one': one, 'x-two': two });
      const keys = ['first', 'second'];
      const asked = keys.flatMap((one) => keys.map((two) => both(one, two)));
      const once = await cached.bodies(...asked);
      expect(new Set(once).size, once.join()).to.equal(4);
      expect(await cached.bodies(...asked)).to.deep.equal(once);
    });

    it('do not share what a transform says to one of them', async () => {
      const add = [{ name: 'X-Alias', value: '$svc_meta.name' }];
      await give('first', { meta_data: { name: 'a' } });
      await give('second', { meta_data: { name: 'b' } });
      await cached.serve(shared, { ...byKey, global: { transformResponseHeaders: { enabled: true, add } } });
      const names = [];
      for (const key of ['first', 'second']) names.push((await cached.ask(...as(key))).headers.get('x-alias'));
      expect(names).to.deep.equal(['a', 'b']);
    });

    it('are not told where another one stands with its limits', async () => {
      await give('first', { quota_max: 9, quota_renewal_rate: 3_600 });
      await give('second', { quota_max: 5, quota_renewal_rate: 3_600 });
      const transform = { enabled: true, add: [{ name: 'X-Left', value: '$svc_context.quota_remaining' }] };
      const told = async (where: string) => {
        await cached.serve(shared, { ...byKey, global: { contextVariables: { enabled: true }, [where]: transform } });
        const found = [];
        for (const key of ['first', 'second']) {
          const { headers, body } = await cached.ask(...as(key));
          found.push(headers.get('x-left') ?? body);
        }
        return found;
      };
      expect(await told('transformResponseHeaders')).to.deep.equal(['8', '4']);
      cached.reply = (request, response) => response.end(request.headers['x-left']);
      expect(await told('transformRequestHeaders')).to.deep.equal(['7', '3']);
    });

    const refusals: readonly [name: string, change: () => Promise<unknown>, status: number, parts?: Parts][] = [
      ['unknown', () => cached.gateway.settled(cached.gateway.feed.removeKey('first')), 403],
      ['inactive', () => give('first', { is_inactive: true }), 403],
      ['without rights', () => give('first', { access_rights: { other: {} } }), 403],
      [
        'without the path',
        () => give('first', { access_rights: { a: { allowed_urls: [{ url: '/y', methods: ['GET'] }] } } }),
        403,
      ],
    ];
    for (const [name, change, status] of refusals) {
      it(`get nothing from the cache once their key is ${name}`, async () => {
        await cached.serve(allSafe, byKey);
        await cached.bodies(as('first'), as('first'));
        await change();
        expect((await cached.ask(...as('first'))).status).to.equal(status);
        expect((await cached.ask()).status).to.equal(401);
      });
    }

    it('pay for hits: quota and rates count them, and the answer tells of this request', async () => {
      await give('first', { quota_max: 3, quota_renewal_rate: 3_600 });
      await cached.serve(shared, { ...byKey, upstream: { rateLimit: { enabled: true, rate: 100, per: '1h' } } });
      const left = [];
      for (let i = 0; i < 3; i++) {
        const { headers } = await cached.ask(...as('first'));
        left.push([headers.get('x-ratelimit-remaining'), headers.get('x-svc-cached-response')]);
      }
      expect(left).to.deep.equal([
        ['2', null],
        ['1', '1'],
        ['0', '1'],
      ]);
      expect((await cached.ask(...as('first'))).status).to.equal(403);
    });
  });

  describe('of versions', () => {
    const at = (version: string) => withHeaders({ 'x-api-version': version });

    it('inside one API have the answers of their own version', async () => {
      const definition = laidOver(classicDefinition('a', cached.upstream.url), {
        definition: { location: 'header', key: 'X-Api-Version' },
        cache_options: { enable_cache: true, cache_timeout: 60, cache_all_safe_requests: true },
      });
      const versions = { v1: { name: 'v1' }, v2: { name: 'v2', override_target: `${cached.upstream.url}two` } };
      const document = { ...definition, version_data: { not_versioned: false, default_version: 'v1', versions } };
      await cached.gateway.settled(cached.gateway.feed.put('a', document, 'classic'));
      expect(await cached.bodies(at('v1'), at('v2'), at('v1'), at('v2'), [])).to.deep.equal([
        ...['answer 1', 'answer 2', 'answer 1', 'answer 2', 'answer 1'],
      ]);
    });

    it('in APIs of their own have the answers of their API', async () => {
      const versioning = {
        ...{ enabled: true, name: 'v1', default: 'self', location: 'header', key: 'X-Api-Version' },
        versions: [{ name: 'v2', id: 'b' }],
      };
      await cached.serve(shared, { info: { versioning } });
      const other = apiFor('b', cached.upstream.url, { global: { cache: shared } });
      await cached.gateway.put('b', other);
      expect(await cached.bodies(at('v1'), at('v2'), at('v1'), at('v2'))).to.deep.equal([
        ...['answer 1', 'answer 2', 'answer 1', 'answer 2'],
      ]);
    });
  });

  describe('without keys', () => {
    it('are told apart by their address and by what they show to the upstream', async () => {
      await cached.serve();
      const from = (address: string, headers = {}) => withHeaders({ 'x-real-ip': address, ...headers });
      const shown = ['cookie', 'x-api-key', 'X-Auth-User', 'x-token', 'x-session-id'];
      const asked = [
        ...[from('192.0.2.1'), from('192.0.2.2')],
        ...shown.flatMap((name) => ['a', 'b'].map((value) => from('192.0.2.1', { [name]: value }))),
      ];
      const once = await cached.bodies(...asked);
      expect(new Set(once).size, once.join()).to.equal(asked.length);
      expect(await cached.bodies(...asked)).to.deep.equal(once);
    });

    const authorised: readonly [name: string, cacheControl: string, isKept: boolean, forced?: string][] = [
      ['not kept', 'max-age=60', false],
      ['not kept when the upstream wants it kept', 'max-age=60', false, '1'],
      ['kept when it is public', 'public', true],
      ['kept when it names a lifetime for shared caches', 's-maxage=60', true],
    ];
    for (const [name, value, isKept, forced = ''] of authorised) {
      it(`share: an answer to a request with Authorization is ${name}`, async () => {
        await cached.serve({ ...shared, enableUpstreamCacheControl: true });
        const headers = { 'cache-control': value, 'x-svc-cache-action-set': forced };
        cached.reply = (_, response, number) => response.writeHead(200, headers).end(`answer ${number}`);
        const asked = [withHeaders({ authorization: 'Bearer a', 'x-real-ip': '192.0.2.1' }), withHeaders({})] as const;
        expect(await cached.bodies(...asked)).to.deep.equal(['answer 1', isKept ? 'answer 1' : 'answer 2']);
      });
    }

    it('share no cookie, also when the upstream wants the answer kept', async () => {
      await cached.serve({ ...shared, enableUpstreamCacheControl: true });
      cached.reply = (_, response) =>
        response.writeHead(200, { 'set-cookie': 'session=a', 'x-svc-cache-action-set': '1' }).end();
      expect((await cached.ask()).headers.get('set-cookie')).to.equal('session=a');
      const hit = await cached.ask();
      expect([hit.headers.get('x-svc-cached-response'), hit.headers.get('set-cookie')]).to.deep.equal(['1', null]);
    });

    it('have answers of their own for each host, scheme and port by which they come', async () => {
      await cached.serve(shared);
      const hosts = ['one.example', 'two.example', 'one.example:81', 'ONE.example'];
      const found = [];
      for (const host of hosts) found.push(await statusWithHost(cached.gateway.url, host));
      expect(found.slice(0, 3)).to.deep.equal(['answer 1', 'answer 2', 'answer 3']);
      const before = cached.count;
      const told = [
        ...[{ 'x-forwarded-proto': 'https' }, { 'x-forwarded-proto': 'http' }, { 'x-forwarded-host': 'other' }],
        ...[{ 'x-forwarded-prefix': '/evil' }, { forwarded: 'host=evil' }],
        ...[{ 'x-host': 'evil' }, { 'x-original-host': 'evil' }, { 'front-end-https': 'on' }],
      ];
      expect(
        new Set(await cached.bodies(...told.map((one) => withHeaders(one as Record<string, string>)))).size,
      ).to.equal(8);
      expect(cached.count).to.equal(before + 8);
    });

    it('get nothing that was made for a header whose name an upstream may read with dashes', async () => {
      await cached.serve({ ...shared, cacheByHeaders: ['X-Tenant'] });
      const asked = [{ X_Tenant: 'b' }, { X_HTTP_Method_Override: 'DELETE' }, {}, { X_Tenant: 'b' }];
      expect(await cached.bodies(...asked.map((one) => withHeaders(one as Record<string, string>)))).to.deep.equal([
        ...['answer 1', 'answer 2', 'answer 3', 'answer 1'],
      ]);
    });

    it('get nothing that was made for a path that another one wrote otherwise, where the upstream is told of it', async () => {
      const add = [{ name: 'X-Path', value: '$svc_context.path' }];
      await cached.serve(shared, {
        global: { contextVariables: { enabled: true }, transformRequestHeaders: { enabled: true, add } },
      });
      cached.reply = (request, response) => response.end(request.headers['x-path']);
      expect(await cached.bodies(['/a/%78'], ['/a/x'])).to.deep.equal(['/a/%78', '/a/x']);
    });

    it('have answers of their own for each host that a transform asks the upstream for', async () => {
      const add = [{ name: 'Host', value: '$svc_context.headers_X_Site' }];
      const global = { contextVariables: { enabled: true }, transformRequestHeaders: { enabled: true, add } };
      await cached.serve(shared, { global });
      const site = (name: string) => withHeaders({ 'x-site': name });
      expect(await cached.bodies(site('one.example'), site('two.example'), site('one.example'))).to.deep.equal([
        ...['answer 1', 'answer 2', 'answer 1'],
      ]);
    });

    it('get answers by the headers that the definition names, and those that an answer depends on', async () => {
      await cached.serve({ ...shared, cacheByHeaders: ['X-Tenant'] });
      cached.reply = (_, response, number) => response.setHeader('vary', 'accept-language').end(`answer ${number}`);
      const asked = [
        ...[{ 'x-tenant': 'a' }, { 'x-tenant': 'b' }, { 'x-tenant': '' }, {}],
        ...[
          { 'x-tenant': 'a', 'accept-language': 'de' },
          { 'x-tenant': 'a', 'accept-language': 'en' },
        ],
      ].map((one) => withHeaders(one as Record<string, string>));
      const once = await cached.bodies(...asked);
      expect(new Set(once).size).to.equal(6);
      expect(await cached.bodies(...asked)).to.deep.equal(once);
    });

    it('get what any answer of a path depended on kept apart, also when the next one does not say so', async () => {
      await cached.serve(shared);
      cached.reply = (_, response, number) => response.setHeader('vary', 'x-a').end(`answer ${number}`);
      await cached.ask(...withHeaders({ 'x-a': '1' }));
      cached.reply = (_, response, number) => response.end(`answer ${number}`);
      expect(await cached.bodies(withHeaders({ 'x-a': '2' }), withHeaders({ 'x-a': '1' }))).to.deep.equal([
        ...['answer 2', 'answer 1'],
      ]);
    });

    it('get no coding that they do not read, also when the upstream does not say what it looked at', async () => {
      await cached.serve(shared);
      cached.reply = (_, response, number) => response.writeHead(200, { 'content-encoding': 'x-own' }).end(`${number}`);
      const coded = withHeaders({ 'accept-encoding': 'x-own' });
      const plain = withHeaders({ 'accept-encoding': 'identity' });
      await cached.bodies(coded, coded, plain);
      expect(cached.count).to.equal(2);
    });

    it('get no leave of the upstream that was given to another page', async () => {
      await cached.serve(shared);
      cached.reply = (request, response) => {
        response.setHeader('access-control-allow-origin', request.headers.origin ?? '*').end();
      };
      const leaves = [];
      for (const origin of ['https://one.example', 'https://two.example']) {
        leaves.push((await cached.ask(...withHeaders({ origin }))).headers.get('access-control-allow-origin'));
      }
      expect(leaves).to.deep.equal(['https://one.example', 'https://two.example']);
    });

    it('get other answers for another query, path or method, and the same for the same path written otherwise', async () => {
      await cached.serve(shared);
      const apart = ['/a/x', '/a/x?', '/a/x?a=1&b=2', '/a/x?b=2&a=1', '/a/x/', '/a/X', '/a/x%2Fy', '/a/x/y'];
      const once = await cached.bodies(...apart.map((path) => [path] as const));
      expect(new Set(once).size).to.equal(apart.length);
      expect(await cached.bodies(['/a/%78'])).to.deep.equal(['answer 1']);
    });

    it('have CORS headers of their own origin', async () => {
      const cors = { enabled: true, allowedOrigins: ['https://one.example', 'https://two.example'] };
      await cached.serve(shared, { global: { cors } });
      const origins = [];
      for (const origin of ['https://one.example', 'https://two.example', 'https://three.example']) {
        const { headers } = await cached.ask(...withHeaders({ origin }));
        origins.push(headers.get('access-control-allow-origin'));
      }
      expect(origins).to.deep.equal(['https://one.example', 'https://two.example', null]);
      expect(cached.count).to.equal(1);
    });
  });
});
