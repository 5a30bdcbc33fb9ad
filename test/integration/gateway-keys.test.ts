/** Access keys over real sockets: who is let in, to what, until when, and what a change of a key or a policy does. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { ApiDocument } from '../../domain/api/definition.ts';
import type { JsonObject } from '../../domain/event.ts';
import { keyId } from '../support/gateway-feed.ts';
import { rawRequest } from '../support/gateway-raw.ts';
import { apiFor, recordOf, startWithEcho, systemClock } from '../support/gateway-start.ts';
import type { Echo } from '../support/upstream.ts';

const key = 'the-key-of-a-test';
const all = { access_rights: { api: {} } };

type Asked = { readonly status: number; readonly code?: string; readonly error?: string; readonly echo?: Echo };

describe('an access key', () => {
  let gateway: Awaited<ReturnType<typeof startWithEcho>>;
  let skewMs = 0;
  before(async () => {
    gateway = await startWithEcho({ clock: { ...systemClock, now: () => Date.now() + skewMs } });
    await gateway.put('api', guarded());
  });
  after(() => gateway[Symbol.asyncDispose]());

  const guarded = (authentication: JsonObject = {}, parts: Parameters<typeof apiFor>[2] = {}): ApiDocument => {
    const source = { enabled: true, ...on('header', 'X-Key'), ...on('query', 'key'), ...on('cookie', 'key') };
    return {
      ...apiFor('api', gateway.echo.url, {
        ...parts,
        server: { authentication: { enabled: true, securitySchemes: { token: source }, ...authentication } },
      }),
      components: { securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
    };
  };
  const on = (place: string, name: string): JsonObject => ({ [place]: { enabled: true, name } });

  const give = (document: JsonObject, options?: { orgId: string }): Promise<void> =>
    gateway.settled(gateway.feed.putKey(key, document, options));
  const policy = (id: string, document: JsonObject): Promise<void> =>
    gateway.settled(gateway.feed.putPolicy(id, document));

  async function ask(path = '/api/', init: RequestInit = { headers: { 'x-key': key } }): Promise<Asked> {
    const answer = await fetch(gateway.url + path, init);
    const body = (await answer.json()) as { code?: string; error?: string } & Echo;
    if (answer.status === 200) return { status: 200, echo: body };
    return { status: answer.status, code: body.code ?? '', error: body.error ?? '' };
  }
  const disallowed = { status: 403, error: 'Access to this API has been disallowed' };

  describe('lets in', () => {
    before(() => give({ ...all, alias: 'till 7', tags: ['shop'], meta_data: { desk: 'seven', floor: 3, of: ['a'] } }));

    const places: readonly [name: string, path: string, headers: Record<string, string>][] = [
      ['a header', '/api/', { 'x-key': key }],
      ['a header after Bearer', '/api/', { 'x-key': `Bearer ${key}` }],
      ['the query', `/api/?a=b&key=${key}`, {}],
      ['a cookie', '/api/', { cookie: `a=b; key=${key}` }],
    ];
    for (const [name, path, headers] of places) {
      it(`whoever has it in ${name}`, async () => {
        expect((await ask(path, { headers })).status).to.equal(200);
      });
    }

    it('and is recorded by its hash, alias and tags, its policies first', async () => {
      await policy('gold', { tags: ['metal'] });
      await give({ ...all, apply_policies: ['gold'], alias: 'till 7', tags: ['shop'] });
      await ask('/api/recorded');
      const record = await recordOf(gateway, '/api/recorded');
      expect(record).to.include({ api_key: keyId(key), alias: 'till 7' });
      expect(record.tags).to.deep.equal(['pol-gold', 'metal', 'shop', `key-${keyId(key)}`, 'org-acme', 'api-api']);
      await give({ ...all, alias: 'till 7', tags: ['shop'], meta_data: { desk: 'seven', floor: 3, of: ['a'] } });
    });

    it('and stands in no record itself, also when it came in the query', async () => {
      const trafficLogs = { enabled: true, tagHeaders: ['X-Key', 'X-Other', 'Cookie'] };
      await gateway.put('api', guarded({}, { global: { trafficLogs } }));
      const headers = { 'x-key': key, 'x-other': 'kept', cookie: `key=${key}` };
      await ask(`/api/asked?a=%20b&ke%79=${key}&key&c=d`, { headers });
      const record = await recordOf(gateway, '/api/asked?a=%20b&ke%79=***&key=***&c=d');
      expect(JSON.stringify(record)).not.to.contain(key);
      expect(record.tags).to.include('x-other-kept');
      await gateway.put('api', guarded());
    });

    it('and brings variables: its metadata, and itself where the API asks for it', async () => {
      const add = ['$svc_meta.desk', '$svc_meta.floor', '$svc_meta.of', '$svc_meta.none', '$svc_context.token'].map(
        (value, index) => ({ name: `X-V${index}`, value: `a${value}` }),
      );
      const global = { contextVariables: { enabled: true }, transformRequestHeaders: { enabled: true, add } };
      await gateway.put('api', guarded({}, { global }));
      const { echo } = await ask();
      const seen = add.map(({ name }) => echo?.headers[name.toLowerCase()]);
      expect(seen).to.deep.equal(['aseven', 'a3', 'a["a"]', 'a', `a${key}`]);
      await gateway.put('api', guarded());
    });
  });

  describe('whose API strips credentials', () => {
    before(async () => {
      await give(all);
      await gateway.put('api', guarded({ stripAuthorizationData: true }));
    });
    after(() => gateway.put('api', guarded()));

    const rows: readonly [name: string, target: string, headers: string, url: string, cookie: string | undefined][] = [
      ['header', '/api/x?a=%41&b', `X-Key: ${key}\n`, '/x?a=%41&b', undefined],
      ['parameter', `/api/x?a=%41&key=${key}&b`, '', '/x?a=%41&b', undefined],
      ['parameter that is escaped', `/api/x?k%65y=${key}`, '', '/x', undefined],
      ['cookie', '/api/x', `Cookie: a=1; key=${key};b=2\n`, '/x', 'a=1;b=2'],
      ['only cookie', '/api/x', `Cookie: key=${key}\n`, '/x', undefined],
      ['header, and an empty parameter', '/api/x?key=&c', `x-KEY: ${key}\n`, '/x?c', undefined],
    ];
    for (const [name, target, headers, url, cookie] of rows) {
      it(`does not reach the upstream: ${name}`, async () => {
        const answer = await rawRequest(
          gateway.port,
          `GET ${target} HTTP/1.1\nHost: a\n${headers}X-Keys: 1\nConnection: close\n\n`.replaceAll('\n', '\r\n'),
        );
        const echo = JSON.parse(/\{.*\}/s.exec(answer)?.[0] ?? '') as Echo;
        expect([echo.url, echo.headers.cookie, echo.headers['x-keys']]).to.deep.equal([url, cookie, '1']);
        expect(JSON.stringify(echo)).not.to.contain(key);
      });
    }
  });

  describe('has an end', () => {
    afterEach(() => {
      skewMs = 0;
    });

    it('by the wall clock, after which it is a 401', async () => {
      await give({ ...all, expires: 4_000_000_000 });
      skewMs = 3_999_999_990_000 - Date.now();
      expect((await ask()).status).to.equal(200);
      skewMs = 4_000_000_000_000 - Date.now();
      const answer = await fetch(`${gateway.url}/api/ended`, { headers: { 'x-key': key } });
      expect(answer.status).to.equal(401);
      expect(answer.headers.get('www-authenticate')).to.equal('Bearer error="invalid_token"');
      expect(await answer.json()).to.include({ error: 'Key has expired, please renew', code: 'key_expired' });
      const { ext } = await recordOf(gateway, '/api/ended');
      expect(ext.error).to.deep.equal({ flag: 'TKE', source: 'key-expiry', details: 'key_expired' });
    });

    for (const expires of [0, -1]) {
      it(`never with ${expires}`, async () => {
        await give({ ...all, expires });
        skewMs = 4_000_000_000_000 - Date.now();
        expect((await ask()).status).to.equal(200);
      });
    }

    it('when it is switched off: 403', async () => {
      await give({ ...all, is_inactive: true });
      expect(await ask()).to.deep.equal({ status: 403, code: 'key_inactive', error: 'Key is inactive, please renew' });
    });

    it('also where it only authenticates beside another one, whose session counts', async () => {
      const named = (one: (name: string) => JsonObject) => ({ first: one('X-First'), second: one('X-Second') });
      const schemes = named((name) => ({ enabled: true, ...on('header', name) }));
      const components = { securitySchemes: named((name) => ({ type: 'apiKey', in: 'header', name })) };
      const document = guarded({ baseIdentityProvider: 'auth_token', securitySchemes: schemes });
      await gateway.put('api', { ...document, components });
      await gateway.settled(gateway.feed.putKey('the-key-that-counts', all));
      const both = () => ask('/api/', { headers: { 'x-first': key, 'x-second': 'the-key-that-counts' } });
      await give({});
      expect((await both()).status).to.equal(200);
      await give({ is_inactive: true });
      expect(await both()).to.include({ status: 403, code: 'key_inactive' });
      await gateway.put('api', guarded());
    });

    it('when it is deleted: it is unknown from then on', async () => {
      await give(all);
      expect((await ask()).status).to.equal(200);
      await gateway.settled(gateway.feed.removeKey(key));
      expect(await ask()).to.deep.equal({ ...disallowed, code: 'auth_unknown' });
    });
  });

  describe('has rights', () => {
    const rows: readonly [name: string, document: JsonObject, status: number][] = [
      ['for the API', { access_rights: { api: {} } }, 200],
      ['for another API only', { access_rights: { other: {} } }, 403],
      ['for none: an empty map grants nothing', { access_rights: {} }, 403],
      ['for none: no map grants nothing', {}, 403],
      ['for all', { allow_all_apis: true }, 200],
      ['for all, and less with this one', { allow_all_apis: true, access_rights: { api: { versions: ['v9'] } } }, 403],
      ['for its only version', { access_rights: { api: { versions: ['Default', 'v9'] } } }, 200],
      ['for a version that it does not have', { access_rights: { api: { versions: ['v9'] } } }, 403],
      ['for nothing of a policy that is not there', { apply_policies: ['none'] }, 403],
    ];
    for (const [name, document, status] of rows) {
      it(`${name}: ${status}`, async () => {
        await give(document);
        const answer = await ask();
        if (status === 200) expect(answer.status).to.equal(200);
        else expect(answer).to.deep.equal({ ...disallowed, code: 'auth_no_right' });
      });
    }

    it('in its organisation only: elsewhere it is unknown, with all rights', async () => {
      await give({ ...all, allow_all_apis: true }, { orgId: 'other' });
      expect(await ask()).to.deep.equal({ ...disallowed, code: 'auth_unknown' });
    });

    it('that a policy gives, and takes with its next change', async () => {
      await give({ apply_policies: ['gold'] });
      await policy('gold', { access_rights: { api: {} } });
      expect((await ask()).status).to.equal(200);
      await policy('gold', { access_rights: { other: {} } });
      expect(await ask()).to.include({ code: 'auth_no_right' });
      await policy('gold', { access_rights: { api: {} }, state: 'deny' });
      expect(await ask()).to.include({ code: 'key_inactive' });
      await policy('gold', { access_rights: { api: {} }, state: 'draft' });
      expect(await ask()).to.include({ code: 'auth_no_right' });
    });
  });

  describe('has paths', () => {
    const allowed = [
      { url: '/pets/{id}', methods: ['GET', 'HEAD'] },
      { url: '/files/*' },
      { url: '/api/whole', methods: ['GET'] },
      { url: '/', methods: ['GET'] },
    ];
    before(() => give({ access_rights: { api: { allowed_urls: allowed } } }));

    type Row = [request: string, isGranted: boolean];
    const climbing = (path: string): Row => [`GET /api/files/${path}`, false];
    const rows: readonly Row[] = [
      ['GET /api/pets/7', true],
      ['GET /api/pets/7?x=/admin', true],
      ['GET /api/%70ets/7', true],
      ['GET /api//pets//7', true],
      ['GET /api/x/../pets/7', true],
      ['GET /api/x/%2e%2e/pets/7', true],
      ['GET /api/pets/7%2F8', true],
      ['GET /api/', true],
      ['GET /api', true],
      ['GET /api/whole', true],
      ['PUT /api/files/a/b', true],
      ['GET /api/files', true],
      ['GET /api/pets/7/..', false],
      ['GET /api/pets/7/%2e%2e', false],
      ['GET /api/files%2F..%2Fadmin', false],
      ['POST /api/pets/7', false],
      ['GET /api/pets', false],
      ['GET /api/pets/7/8', false],
      ['GET /api/pets%2F7', false],
      ['GET /api/PETS/7', false],
      ['GET /api/pets/7/', false],
      ['GET /api/petss/7', false],
      ['GET /api/admin', false],
      ['GET /api/admin;/pets/7', false],
      ['GET /api/admin%3F/pets/7', false],
      ...['../a', '%2E%2E/a', '..%2Fa', 'x%2f..%2F..%2Fa%ff', '..%5ca', '..;/a', '..%3bx/a', 'a%2F..'].map(climbing),
      ...['a..b', '...', 'a%2F..b', 'a..%2Fb'].map((name): Row => [`GET /api/files/${name}`, true]),
    ];
    for (const [request, isGranted] of rows) {
      it(`${request} is ${isGranted ? '' : 'not '}granted`, async () => {
        const head = `${request} HTTP/1.1\r\nHost: a\r\nX-Key: ${key}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
        const answer = await rawRequest(gateway.port, head);
        if (isGranted) expect(answer).to.match(/^HTTP\/1\.1 200 /);
        else {
          expect(answer).to.match(/^HTTP\/1\.1 403 /);
          expect(answer).to.contain('"error": "Access to this resource has been disallowed"');
          expect(answer).to.contain('"code": "path_not_granted"');
        }
      });
    }
  });

  it('whose path is granted reaches that path at the upstream, however it was written', async () => {
    await give({ access_rights: { api: { allowed_urls: [{ url: '/pets/*' }] } } });
    const part = fc.constantFrom(
      ...['pets', 'PETS', 'admin', '.', '..', '%2e', '%2E%2e', '.%2e', '', '%70ets', 'p%65ts', 'pets%2Fadmin'],
      ...[
        'pets%2f..%2fadmin',
        '..%2fadmin',
        '%5c..',
        '..\\admin',
        'pets;admin',
        '%2570ets',
        '%00',
        '%zz',
        'ä',
        '?',
        '#',
      ],
    );
    const seen = { let: 0, refused: 0 };
    const check = async (parts: readonly string[]): Promise<void> => {
      const target = `/api/${parts.join('/')}`;
      const head = `GET ${target} HTTP/1.1\r\nHost: a\r\nX-Key: ${key}\r\nConnection: close\r\n\r\n`;
      const answer = await rawRequest(gateway.port, head);
      if (!answer.startsWith('HTTP/1.1 200 ')) {
        expect(answer).to.match(/^HTTP\/1\.1 (403|404|400) /);
        seen.refused++;
        return;
      }
      seen.let++;
      const { url } = JSON.parse(/\{.*\}/s.exec(answer)?.[0] ?? '') as Echo;
      // As the platform reads it, which resolves dots, also escaped ones.
      expect(new URL(url, 'http://a').pathname).to.match(/^\/pets(\/|$)/);
    };
    await fc.assert(fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 6 }), check), { numRuns: 400 });
    expect(Math.min(seen.let, seen.refused)).to.be.greaterThan(0);
  });

  it('that cannot be read lets nobody in, and takes no other key with it', async () => {
    await give({ access_rights: 'all' });
    const another = 'another-key-of-a-test';
    await gateway.settled(gateway.feed.putKey(another, all));
    expect(await ask()).to.deep.equal({ ...disallowed, code: 'auth_unknown' });
    expect((await ask('/api/', { headers: { 'x-key': another } })).status).to.equal(200);
  });

  it('is asked for by every API of its own: a key does not open a keyless one any wider, nor close it', async () => {
    expect((await ask('/echo/', { headers: { 'x-key': 'nobody' } })).status).to.equal(200);
  });

  it('is let in, and an unknown one is not, all through a hundred changes under load', async () => {
    await give(all);
    const seen = { known: new Map<number, number>(), unknown: new Map<number, number>() };
    let isOver = false;
    const load = async (who: keyof typeof seen, headers: Record<string, string>): Promise<void> => {
      while (!isOver) {
        const { status } = await fetch(`${gateway.url}/api/load`, { headers });
        seen[who].set(status, (seen[who].get(status) ?? 0) + 1);
      }
    };
    const loads = [
      load('known', { 'x-key': key }),
      load('known', { cookie: `key=${key}` }),
      load('unknown', { 'x-key': 'nobody-has-this-key' }),
      load('unknown', { 'x-key': keyId(key) }),
    ];
    for (let i = 0; i < 100; i++) {
      await gateway.settled(gateway.feed.putKey(`filler-${i}`, all));
      if (i % 10 === 0) await give({ ...all, alias: `change ${i}` });
      if (i % 25 === 0)
        await gateway.put('api', guarded({}, { global: { contextVariables: { enabled: i % 2 === 0 } } }));
    }
    isOver = true;
    await Promise.all(loads);
    expect([...seen.known.keys()]).to.deep.equal([200]);
    expect([...seen.unknown.keys()]).to.deep.equal([403]);
  });
});
