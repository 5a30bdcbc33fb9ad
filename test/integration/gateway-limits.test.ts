/** Limits of keys and organisations over real sockets: rates, quotas, what clients are told, and what outlives a change of the configuration. */
import { expect } from 'chai';
import type { ApiDocument } from '../../domain/api/definition.ts';
import type { JsonObject } from '../../domain/event.ts';
import type { OrganisationTerms } from '../../domain/organisation.ts';
import type { Clock, Counters } from '../../gateway/ports.ts';
import type { KeyQuota } from '../../projections/gateway-snapshot.ts';
import { memoryCounters } from '../../src/stores/runtime/memory-counters.ts';
import { eventually } from '../support/eventually.ts';
import { keyId, MemoryFeed } from '../support/gateway-feed.ts';
import { apiFor, recordOf, startWithEcho, systemClock, type TestGateway } from '../support/gateway-start.ts';

type Running = Awaited<ReturnType<typeof startWithEcho>>;
type Parts = NonNullable<Parameters<typeof apiFor>[2]>;
type Asked = { readonly status: number; readonly code: unknown; readonly headers: Headers };

const key = 'the-key-of-a-test';
const hourS = 3_600;

const guarded = (id: string, upstream: string, parts: Parts = {}): ApiDocument => ({
  ...apiFor(id, upstream, {
    ...parts,
    server: {
      authentication: {
        enabled: true,
        securitySchemes: { token: { enabled: true, header: { enabled: true, name: 'X-Key' } } },
      },
    },
  }),
  components: { securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
});

async function ask({ url }: Pick<TestGateway, 'url'>, path = '/a/', init: RequestInit = {}): Promise<Asked> {
  const answer = await fetch(url + path, { headers: { 'x-key': key }, ...init });
  const body = (await answer.json()) as { readonly code?: string };
  return { status: answer.status, code: body.code, headers: answer.headers };
}

/** Statuses of requests one after the other. */
async function statuses(gateway: TestGateway, count: number, path?: string, init?: RequestInit) {
  const found: number[] = [];
  for (let i = 0; i < count; i++) found.push((await ask(gateway, path, init)).status);
  return found;
}

describe('limits of keys', () => {
  let gateway: Running;
  let skewMs = 0;
  const clock: Clock = {
    now: () => systemClock.now() + skewMs,
    monotonic: () => systemClock.monotonic() + skewMs,
  };
  beforeEach(async () => {
    skewMs = 0;
    gateway = await startWithEcho({ clock });
    for (const id of ['a', 'b', 'c']) await gateway.put(id, guarded(id, gateway.echo.url));
  });
  afterEach(() => gateway[Symbol.asyncDispose]());

  const rights = { a: {}, b: {}, c: {} };
  const give = (document: JsonObject, quota?: KeyQuota): Promise<void> =>
    gateway.settled(gateway.feed.putKey(key, { access_rights: rights, ...document }, quota ? { quota } : {}));

  it('refuse above the rate of the key, whatever the API, and say when to come back', async () => {
    await give({ rate: 2, per: hourS });
    expect([await statuses(gateway, 1, '/a/'), await statuses(gateway, 1, '/b/')]).to.deep.equal([[200], [200]]);
    const refused = await ask(gateway);
    expect([refused.status, refused.code]).to.deep.equal([429, 'rate_key']);
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, hourS / 2);
    skewMs = (hourS / 2) * 1_000;
    expect(await statuses(gateway, 2)).to.deep.equal([200, 429]);
  });

  it('count an API with a rate of its own by itself, and those with a scope together', async () => {
    const limit = { rate: 1, per: hourS };
    await give({
      ...{ rate: 2, per: hourS },
      access_rights: { a: { limit, allowance_scope: 's' }, b: { limit, allowance_scope: 's' }, c: { limit }, echo: {} },
    });
    expect(await statuses(gateway, 1, '/a/')).to.deep.equal([200]);
    expect(await statuses(gateway, 1, '/b/')).to.deep.equal([429]);
    expect(await statuses(gateway, 2, '/c/')).to.deep.equal([200, 429]);
  });

  it('count an endpoint that is named in place of the key', async () => {
    const methods = (rate: number) => [{ name: 'GET', limit: { rate, per: hourS } }];
    const endpoints = [
      { path: '/orders/{id}', methods: methods(2) },
      { path: '/orders/open', methods: methods(-1) },
    ];
    await give({ rate: 1, per: hourS, access_rights: { a: { endpoints } } });
    expect(await statuses(gateway, 1, '/a/orders/1')).to.deep.equal([200]);
    const last = await ask(gateway, '/a/orders/2');
    expect(last.headers.get('ratelimit-policy')).to.equal(`"endpoint";q=2;w=${hourS}`);
    expect(await statuses(gateway, 1, '/a/orders/3')).to.deep.equal([429]);
    expect(await statuses(gateway, 4, '/a/orders/open')).to.deep.equal([200, 200, 200, 200]);
    expect(await statuses(gateway, 2, '/a/orders/1', { method: 'POST', headers: { 'x-key': key } })).to.deep.equal([
      200, 429,
    ]);
    expect(await statuses(gateway, 1, '/a/else')).to.deep.equal([429]);
  });

  it('wait and try again where the key says so, and give up in the end', async () => {
    await give({ rate: 1, per: 0.2, throttle_interval: 0.05, throttle_retry_limit: 100 });
    expect(await statuses(gateway, 3)).to.deep.equal([200, 200, 200]);
    await give({ rate: 1, per: hourS, throttle_interval: 0.01, throttle_retry_limit: 3 });
    expect(await statuses(gateway, 2)).to.deep.equal([200, 429]);
  });

  it('wait for nobody who has left', async () => {
    const leaving = new AbortController();
    const counters = memoryCounters(systemClock);
    const take: Counters['take'] = (...asked) => {
      const decision = counters.take(...asked);
      // It waits from here on.
      if (!decision.allowed) setImmediate(() => leaving.abort());
      return decision;
    };
    await using other = await startWithEcho({ counters: { ...counters, take } });
    await other.put('a', guarded('a', other.echo.url));
    const slow = { rate: 1, per: hourS, throttle_interval: hourS, throttle_retry_limit: 1 };
    await other.settled(other.feed.putKey(key, { access_rights: rights, ...slow }));
    await ask(other);
    await fetch(`${other.url}/a/left`, { headers: { 'x-key': key }, signal: leaving.signal }).catch(() => {});
    expect((await recordOf(other, '/a/left')).response_code).to.equal(499);
  });

  it('let nobody in whose key was deleted while he waited', async () => {
    const counters = memoryCounters(systemClock);
    const waiting = Promise.withResolvers<void>();
    let isOpen = false;
    const take: Counters['take'] = (...asked) => {
      waiting.resolve();
      return { ...counters.take(...asked), allowed: isOpen };
    };
    await using other = await startWithEcho({ counters: { ...counters, take } });
    await other.put('a', guarded('a', other.echo.url));
    const slow = { rate: 100, per: 1, throttle_interval: 0.02, throttle_retry_limit: 10_000 };
    await other.settled(other.feed.putKey(key, { access_rights: rights, ...slow }));
    const answer = ask(other);
    await waiting.promise;
    await other.settled(other.feed.removeKey(key));
    isOpen = true;
    expect(await answer).to.include({ status: 403, code: 'auth_unknown' });
  });

  it('refuse above the quota until its window ends, and tell where the key stands', async () => {
    await give({ quota_max: 2, quota_renewal_rate: hourS });
    const first = await ask(gateway);
    const renews = Number(first.headers.get('x-ratelimit-reset'));
    expect(renews).to.be.within(clock.now() / 1_000 + hourS - 60, clock.now() / 1_000 + hourS + 1);
    expect(first.headers.get('x-ratelimit-limit')).to.equal('2');
    expect(first.headers.get('x-ratelimit-remaining')).to.equal('1');
    expect(first.headers.get('ratelimit-policy')).to.equal(`"quota";q=2;w=${hourS}`);
    expect(first.headers.get('ratelimit')).to.match(/^"quota";r=1;t=\d+$/);
    const [, refused] = [await ask(gateway, '/b/'), await ask(gateway)];
    expect([refused.status, refused.code]).to.deep.equal([403, 'quota_key']);
    expect(refused.headers.get('x-ratelimit-reset')).to.equal(String(renews));
    expect(Number(refused.headers.get('retry-after'))).to.be.within(hourS - 60, hourS);
    skewMs = hourS * 1_000;
    expect(await statuses(gateway, 3)).to.deep.equal([200, 200, 403]);
  });

  it('refuse for ever above a quota that does not renew, and name no time to come back at', async () => {
    await give({ quota_max: 1 });
    expect((await ask(gateway)).headers.get('ratelimit')).to.equal('"quota";r=0');
    const refused = await ask(gateway);
    expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([403, null]);
    expect(refused.headers.get('x-ratelimit-reset')).to.equal('0');
  });

  it('spend no quota on a request that the rate refuses', async () => {
    await give({ rate: 1, per: 60, quota_max: 2 });
    expect(await statuses(gateway, 4)).to.deep.equal([200, 429, 429, 429]);
    skewMs = 60_000;
    expect((await ask(gateway)).headers.get('x-ratelimit-remaining')).to.equal('0');
  });

  it('tell of every limit, the quota first, and of the one with the least left otherwise', async () => {
    await gateway.put(
      'a',
      guarded('a', gateway.echo.url, { upstream: { rateLimit: { enabled: true, rate: 5, per: '1h' } } }),
    );
    await give({ rate: 9, per: hourS, quota_max: 100 });
    const all = (await ask(gateway)).headers;
    expect(all.get('ratelimit-policy')).to.equal(`"key";q=9;w=${hourS}, "quota";q=100, "api";q=5;w=${hourS}`);
    expect(all.get('ratelimit')).to.match(/^"key";r=8;t=\d+, "quota";r=99, "api";r=4;t=\d+$/);
    expect([all.get('x-ratelimit-limit'), all.get('x-ratelimit-remaining')]).to.deep.equal(['100', '99']);
    await give({ rate: 9, per: hourS });
    const two = (await ask(gateway)).headers;
    expect([two.get('x-ratelimit-limit'), two.get('x-ratelimit-remaining')]).to.deep.equal(['5', '3']);
  });

  it('tell nothing but when to come back where the gateway is set so', async () => {
    await using quiet = await startWithEcho({ settings: { rateLimitHeaders: 'none' } });
    const rateLimit = { enabled: true, rate: 5, per: '1h' };
    await quiet.put('a', guarded('a', quiet.echo.url, { upstream: { rateLimit } }));
    const document = { access_rights: rights, rate: 2, per: hourS, quota_max: 5 };
    await quiet.settled(quiet.feed.putKey(key, document));
    const [, , last] = [await ask(quiet), await ask(quiet), await ask(quiet)];
    expect(last.status).to.equal(429);
    expect([...last.headers.keys()].filter((name) => name.includes('ratelimit'))).to.deep.equal([]);
    expect(last.headers.get('retry-after')).to.match(/^\d+$/);
  });

  it('leave headers alone that speak of theirs', async () => {
    const cors = { enabled: true, allowedOrigins: ['*'], exposedHeaders: ['X-RateLimit-Limit'] };
    const rateLimit = { enabled: true, rate: 5, per: '1h' };
    await gateway.put('a', guarded('a', gateway.echo.url, { global: { cors }, upstream: { rateLimit } }));
    await give({ rate: 9, per: hourS });
    const { headers } = await ask(gateway, '/a/', { headers: { 'x-key': key, origin: 'https://a.example' } });
    expect(headers.get('access-control-expose-headers')).to.equal('X-RateLimit-Limit');
    expect(headers.get('ratelimit-policy')).to.equal(`"key";q=9;w=${hourS}, "api";q=5;w=${hourS}`);
    expect(headers.get('x-ratelimit-limit')).to.equal('5');
  });

  it('say nothing of an API without limits, and are left out by an API that says so', async () => {
    await give({ rate: 1, per: hourS, quota_max: 1 });
    const open = await ask(gateway, '/echo/');
    expect([...open.headers.keys()].filter((name) => name.includes('ratelimit'))).to.deep.equal([]);
    await gateway.put('a', guarded('a', gateway.echo.url, { global: { skipRateLimit: true, skipQuota: true } }));
    expect(await statuses(gateway, 3)).to.deep.equal([200, 200, 200]);
    await gateway.put('a', guarded('a', gateway.echo.url, { global: { skipRateLimit: true } }));
    expect(await statuses(gateway, 2)).to.deep.equal([200, 403]);
  });

  it('are left out by a Classic definition that says so', async () => {
    const classic = (switches: JsonObject): JsonObject => ({
      ...{ api_id: 'old', name: 'old', active: true, use_keyless: false, auth: { auth_header_name: 'X-Key' } },
      proxy: { listen_path: '/old/', target_url: gateway.echo.url, strip_listen_path: true },
      ...{ version_data: { not_versioned: true, versions: { Default: { name: 'Default' } } }, ...switches },
    });
    const put = (switches: JsonObject) => gateway.settled(gateway.feed.put('old', classic(switches), 'classic'));
    await give({ rate: 1, per: hourS, quota_max: 2, access_rights: { old: {} } });
    await put({ disable_rate_limit: true });
    expect(await statuses(gateway, 3, '/old/')).to.deep.equal([200, 200, 403]);
    await put({ disable_rate_limit: true, disable_quota: true });
    expect(await statuses(gateway, 2, '/old/')).to.deep.equal([200, 200]);
  });

  it('go on through changes of the configuration that do not concern them', async () => {
    const document = { rate: 2, per: hourS, quota_max: 9 };
    await give(document);
    await ask(gateway);
    for (let i = 0; i < 20; i++)
      await gateway.put('b', guarded('b', gateway.echo.url, { info: { name: `name ${i}` } }));
    await give({ ...document, alias: 'renamed' });
    expect(await statuses(gateway, 2)).to.deep.equal([200, 429]);
  });

  it('begin anew with an epoch, where it says, and are changed in place without one', async () => {
    await give({ quota_max: 1 }, { epoch: '1' });
    expect(await statuses(gateway, 2)).to.deep.equal([200, 403]);
    await give({ quota_max: 2 }, { epoch: '1' });
    expect(await statuses(gateway, 2)).to.deep.equal([200, 403]);
    await give({ quota_max: 2 }, { epoch: '2' });
    expect(await statuses(gateway, 3)).to.deep.equal([200, 200, 403]);
    await give({ quota_max: 9 }, { epoch: '3', start: { remaining: 1, since: 1_700_000_000 } });
    expect(await statuses(gateway, 2)).to.deep.equal([200, 403]);
  });

  it('count by themselves on every gateway', async () => {
    await give({ quota_max: 1 });
    await using other = await startWithEcho({ feed: gateway.feed, clock });
    expect(await statuses(gateway, 2)).to.deep.equal([200, 403]);
    expect(await statuses(other, 2)).to.deep.equal([200, 403]);
  });

  it('are told to management with the keys that were used', async () => {
    await give({ quota_max: 5, quota_renewal_rate: hourS });
    await ask(gateway);
    // A change is reported at once.
    await gateway.put('b', guarded('b', gateway.echo.url, { info: { name: 'another' } }));
    const used = await eventually(() => gateway.feed.reports.find(({ keys = [] }) => keys.length > 0)?.keys);
    expect(used).to.have.length(1);
    expect(used[0]).to.include({ key: keyId(key), remaining: 4 });
    expect(Math.abs(Date.parse(used[0]?.at ?? '') - clock.now())).to.be.lessThan(60_000);
  });

  it('come from policies, and change with them', async () => {
    const policy = (quota_max: number) =>
      gateway.settled(gateway.feed.putPolicy('metered', { quota_max, access_rights: rights }));
    await policy(1);
    await give({ apply_policies: ['metered'], quota_max: 50 });
    expect(await statuses(gateway, 2)).to.deep.equal([200, 403]);
    await policy(3);
    expect(await statuses(gateway, 3)).to.deep.equal([200, 200, 403]);
  });
});

describe('limits of organisations', () => {
  let gateway: Running;
  before(async () => {
    gateway = await startWithEcho();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const terms = (given: Partial<OrganisationTerms>): Promise<void> =>
    gateway.settled(gateway.feed.putOrganisation(given));
  const none = { rate: 0, per: 0, quotaMax: 0, quotaRenewalRate: 0 };

  const rows: readonly [name: string, given: Partial<OrganisationTerms>, status: number, code: string][] = [
    ['a rate', { limits: { ...none, rate: 2, per: hourS } }, 403, 'org_rate'],
    ['a quota', { limits: { ...none, quotaMax: 2, quotaRenewalRate: hourS } }, 403, 'org_quota'],
  ];
  for (const [name, given, status, code] of rows) {
    it(`hold for all callers of all its APIs: ${name}`, async () => {
      await gateway.put('open', apiFor('open', gateway.echo.url));
      await terms(given);
      expect([...(await statuses(gateway, 1, '/open/')), ...(await statuses(gateway, 1, '/echo/'))]).to.deep.equal([
        200, 200,
      ]);
      const refused = await ask(gateway, '/open/');
      expect([refused.status, refused.code]).to.deep.equal([status, code]);
      expect(Number(refused.headers.get('retry-after'))).to.be.within(1, hourS);
      await terms({});
      expect(await statuses(gateway, 1, '/open/')).to.deep.equal([200]);
    });
  }

  it('that are switched off refuse calls of their APIs, until they are switched on', async () => {
    await terms({ disabled: true });
    const refused = await ask(gateway, '/echo/');
    expect([refused.status, refused.code]).to.deep.equal([403, 'org_disabled']);
    await terms({ disabled: false });
    expect(await statuses(gateway, 1, '/echo/')).to.deep.equal([200]);
  });

  it('are nobody else’s', async () => {
    const feed = new MemoryFeed();
    feed.putOrganisation({ disabled: true }, 'other');
    await using other = await startWithEcho({ feed });
    expect(await statuses(other, 1, '/echo/')).to.deep.equal([200]);
  });
});
