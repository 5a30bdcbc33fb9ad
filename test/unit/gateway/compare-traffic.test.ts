/** What a change would do to recorded requests: each part of the outcome by itself, for requests that are only known by their heads. */
import { hash } from 'node:crypto';
import { assert, expect } from 'chai';
import { notVersioned } from '../../../domain/analytics-record.ts';
import type { ApiDefinition } from '../../../domain/api/definition.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { padPosition } from '../../../domain/event-store.ts';
import { toApiId, toOrgId } from '../../../domain/ids.ts';
import type { RecordedHead } from '../../../domain/recorded-heads.ts';
import { createCheckApi } from '../../../gateway/check-api.ts';
import { compareTraffic, type Place, partOfStep, type TrafficSide } from '../../../gateway/compare-traffic.ts';
import { stack } from '../../../gateway/stack.ts';
import type { KeyObject, PolicyObject } from '../../../projections/gateway-snapshot.ts';
import { apiDocument } from '../../support/documents.ts';

const orgId = toOrgId('acme');
const check = createCheckApi();

type Parts = Parameters<typeof apiDocument>[0];

function api(id: string, { server, ...parts }: NonNullable<Parts> = {}): ApiDefinition {
  const { in: place = 'header', name = 'X-Key', ...block } = (server?.['authentication'] ?? {}) as JsonObject;
  const authentication = server?.['authentication'] ? { authentication: block } : {};
  const document = apiDocument(
    { ...parts, server: { listenPath: { value: `/${id}/`, strip: true }, ...server, ...authentication } },
    { components: { securitySchemes: { token: { type: 'apiKey', in: place, name } } } },
  );
  const { definition, problems } = check({ apiId: toApiId(id), orgId, kind: 'oas', document });
  assert(definition, JSON.stringify(problems));
  return definition;
}

const at = (value: string): NonNullable<Parts> => ({ server: { listenPath: { value, strip: true } } });

function side(...apis: readonly ApiDefinition[]): TrafficSide {
  const places = apis.map(
    ({ apiId, domain, listenPath, active, internal }): Place => ({
      ...{ apiId, listenPath, isServed: active && !internal },
      ...(domain === undefined ? {} : { domain }),
    }),
  );
  return { places, definitionOf: (id) => apis.find(({ apiId }) => apiId === id) };
}

const idOf = (key: string): string => hash('sha256', key, 'hex');

const keyObject = (key: string, document: JsonObject): KeyObject => ({
  ...{ kind: 'key', id: idOf(key), revision: '0', position: padPosition('1'), sha256: '' },
  body: { orgId, createdAt: '2026-01-01T00:00:00.000Z', document },
});

const policy = (id: string, document: JsonObject): PolicyObject => ({
  ...{ kind: 'policy', id, revision: '0', position: padPosition('1'), sha256: '' },
  body: { orgId, document: { id, name: id, ...document } },
});

const keys = [
  keyObject('good', { access_rights: { orders: {} }, rate: 5, per: 60 }),
  keyObject('elsewhere', { access_rights: { other: {} } }),
  keyObject('gone', { access_rights: { orders: {} }, expires: 1_000 }),
  keyObject('narrow', { access_rights: { orders: { allowed_urls: [{ url: '/a', methods: ['GET'] }] } } }),
  keyObject('by-policy', { apply_policies: ['gold'] }),
  keyObject('old-version', { access_rights: { orders: { versions: ['v1'] } } }),
];
const policies = [policy('gold', { access_rights: { orders: {} }, quota_max: 10, quota_renewal_rate: 60 })];

const head = (target: string, changes: Partial<RecordedHead> & { readonly key?: string } = {}): RecordedHead => {
  const { key, ...rest } = changes;
  return {
    ...{ method: 'GET', target, host: 'api.example:8080', clientAddress: '192.0.2.7' },
    ...{ keyId: key === undefined ? '' : idOf(key), version: notVersioned, bodyBytes: 0, ...rest },
  };
};

const changed = (before: TrafficSide, after: TrafficSide, recorded: RecordedHead): readonly string[] => {
  const clock = { now: () => Date.UTC(2026, 4, 17), monotonic: () => 0 };
  return [...compareTraffic({ before, after, keys, policies, clock })(recorded)];
};

/** `in` and `name` go to the component. */
const token = (name = 'X-Key', scheme: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  ...{ name, enabled: true, securitySchemes: { token: { enabled: true, ...scheme } } },
  ...more,
});
const keyed = (...of: Parameters<typeof token>) => api('orders', { server: { authentication: token(...of) } });
const limited = (rate: number) => api('orders', { upstream: { rateLimit: { enabled: true, rate, per: '1m' } } });
const sized = (value: number) => api('orders', { global: { requestSizeLimit: { enabled: true, value } } });
const state = (active: boolean, internal: boolean) => ({ info: { state: { active, internal } } });
const versioned = (members: JsonObject = {}) =>
  api('orders', {
    info: {
      versioning: {
        ...{ enabled: true, name: 'v1', default: 'self', location: 'url-param', key: 'v' },
        ...{ versions: [{ name: 'v2', id: 'orders-v2' }], ...members },
      },
    },
  });
const second = (parts: Parts = {}) => api('orders-v2', { ...state(true, true), ...parts });

const open = side(api('orders'));

type Row = readonly [name: string, before: TrafficSide, after: TrafficSide, recorded: RecordedHead, ...string[]];

const rows: readonly Row[] = [
  ['nothing when nothing differs', side(keyed()), side(keyed()), head('/orders/a', { key: 'good' })],
  ['nothing of an address that has no normal form', open, side(), head('/orders/%zz')],
  ['the route when the listen path moves', open, side(api('orders', at('/new/'))), head('/orders/a'), 'route'],
  [
    'the route of a request that comes to the API by its new path',
    side(),
    side(api('orders', at('/new/'))),
    head('/new/a'),
    'route',
  ],
  ['nothing of a request that neither path serves', open, side(api('orders', at('/new/'))), head('/old/a')],
  [
    'the route when another API takes it over',
    side(api('orders'), api('all', at('/'))),
    side(api('all', at('/'))),
    head('/orders/a'),
    'route',
  ],
  [
    'the route when a custom domain leaves the host out',
    open,
    side(api('orders', { server: { customDomain: { enabled: true, name: 'b.example' } } })),
    head('/orders/a'),
    'route',
  ],
  [
    'nothing when the custom domain is the host of the request',
    open,
    side(api('orders', { server: { customDomain: { enabled: true, name: 'api.example' } } })),
    head('/orders/a'),
  ],
  [
    'the route of an API that is switched off',
    open,
    side(api('orders', state(false, false))),
    head('/orders/a'),
    'route',
  ],
  [
    'the route of an API that becomes internal',
    open,
    side(api('orders', state(true, true))),
    head('/orders/a'),
    'route',
  ],
  [
    'the route of an API that has ended',
    open,
    side(api('orders', { info: { expiration: '2020-01-01 00:00' } })),
    head('/orders/a'),
    'route',
  ],
  [
    'nothing of an API that ends later',
    open,
    side(api('orders', { info: { expiration: '2096-01-01 00:00' } })),
    head('/orders/a'),
  ],
  ['the route in the absolute form', open, side(), head('http://api.example/orders/a?x=1'), 'route'],

  [
    'the version that a parameter names',
    side(versioned(), second()),
    side(versioned({ versions: [] }), second()),
    head('/orders/a?v=v2', { version: 'v2' }),
    'route',
  ],
  [
    'the version that a header named, as it was recorded',
    side(versioned({ location: 'header', key: 'X-V' }), second()),
    side(versioned({ location: 'header', key: 'X-V', versions: [{ name: 'v3', id: 'orders-v2' }] }), second()),
    head('/orders/a', { version: 'v2' }),
    'route',
  ],
  [
    'nothing of a version that stays',
    side(versioned({ location: 'header', key: 'X-V' }), second()),
    side(versioned({ location: 'header', key: 'X-V' }), second()),
    head('/orders/a', { version: 'v2' }),
  ],
  [
    'what the chain of a version does',
    side(versioned(), second()),
    side(versioned(), second({ server: { authentication: token() } })),
    head('/orders/a?v=v2', { version: 'v2' }),
    'auth',
  ],
  [
    'the version by default',
    side(versioned(), second()),
    side(versioned({ default: 'v2' }), second()),
    head('/orders/a'),
    'route',
  ],
  [
    'a version that is switched off',
    side(versioned(), second()),
    side(versioned(), second(state(false, true))),
    head('/orders/a?v=v2', { version: 'v2' }),
    'route',
  ],

  ['authentication when it is switched on for requests without a key', open, side(keyed()), head('/orders/a'), 'auth'],
  [
    'authentication when it is switched off for requests with a key, and the limits of the key',
    side(keyed()),
    open,
    head('/orders/a', { key: 'good' }),
    'auth',
    'limit',
  ],
  [
    'authentication when the API looks elsewhere for the key',
    side(keyed('X-Key')),
    side(keyed('X-Other')),
    head('/orders/a', { key: 'good' }),
    'auth',
  ],
  [
    'nothing when it looks there as well',
    side(keyed('X-Key')),
    side(keyed('X-Key', { query: { enabled: true, name: 'k' } })),
    head('/orders/a', { key: 'good' }),
  ],
  [
    'authentication when the parameter of the query is not read any more',
    side(keyed('X-Key', { query: { enabled: true, name: 'k' } })),
    side(keyed('X-Key')),
    head('/orders/a?k=***&b=1', { key: 'good' }),
    'auth',
  ],
  [
    'nothing of a key in a cookie that is still read',
    side(keyed('c', {}, { in: 'cookie' })),
    side(keyed('c', {}, { in: 'cookie' })),
    head('/orders/a', { key: 'good' }),
  ],
  [
    'authentication when another cookie is read',
    side(keyed('c', {}, { in: 'cookie' })),
    side(keyed('d', {}, { in: 'cookie' })),
    head('/orders/a', { key: 'good' }),
    'auth',
  ],
  [
    'nothing of a key that nobody has, on either side',
    side(keyed()),
    side(keyed('X-Key')),
    head('/orders/a', { key: 'stranger' }),
  ],
  [
    'authentication of a recorded key when the API, which is open now, asks for keys',
    open,
    side(keyed()),
    head('/orders/a', { key: 'elsewhere' }),
    'auth',
  ],
  [
    'what a key is granted: its own API and no other',
    side(keyed(), api('other', { server: { ...at('/never/').server, authentication: token() } })),
    side(api('other', { server: { ...at('/orders/').server, authentication: token() } })),
    head('/orders/a', { key: 'good' }),
    'route',
    'auth',
  ],
  [
    'what a key is granted as a version',
    side(keyed()),
    side(api('orders', { server: { authentication: { ...token(), grantedAs: { id: 'orders', version: 'v1' } } } })),
    head('/orders/a', { key: 'old-version' }),
    'auth',
  ],
  [
    'nothing of a preflight',
    side(api('orders', { global: { cors: { enabled: true } } })),
    side(api('orders', { global: { cors: { enabled: true } }, server: { authentication: token() } })),
    head('/orders/a', { method: 'OPTIONS' }),
  ],

  ['the limit of the API when it is another one', side(limited(5)), side(limited(6)), head('/orders/a'), 'limit'],
  ['nothing when the limit stays', side(limited(5)), side(limited(5)), head('/orders/a')],
  [
    'the limit of a key that the API leaves out',
    side(keyed()),
    side(api('orders', { global: { skipRateLimit: true }, server: { authentication: token() } })),
    head('/orders/a', { key: 'good' }),
    'limit',
  ],
  [
    'the quota of a policy that the API leaves out',
    side(keyed()),
    side(api('orders', { global: { skipQuota: true }, server: { authentication: token() } })),
    head('/orders/a', { key: 'by-policy' }),
    'limit',
  ],
  [
    'the size that a body may have',
    open,
    side(sized(10)),
    head('/orders/a', { method: 'POST', bodyBytes: 11 }),
    'limit',
  ],
  ['nothing of the size where no body is limited', open, side(sized(10)), head('/orders/a')],
  [
    'no limit where a request is not let in',
    side(keyed()),
    side(
      api('orders', {
        server: { authentication: token() },
        upstream: { rateLimit: { enabled: true, rate: 1, per: '1m' } },
      }),
    ),
    head('/orders/a', { key: 'gone' }),
  ],
];

describe('a change, tried on a recorded request', () => {
  for (const [name, before, after, recorded, ...parts] of rows) {
    it(`changes ${name}`, () => expect(changed(before, after, recorded)).to.deep.equal(parts));
  }

  it('lets an address in, or not', () => {
    const lists = { enabled: true, block: ['192.0.2.0/24'] };
    const blocking = side(api('orders', { server: { ipAccessControl: lists } }));
    expect(changed(open, blocking, head('/orders/a'))).to.deep.equal(['auth']);
    expect(changed(open, blocking, head('/orders/a', { clientAddress: '198.51.100.1' }))).to.deep.equal([]);
  });

  it('grants a key the paths that it names', () => {
    const opened = [open, side(keyed())] as const;
    const narrow = (target: string, method = 'GET') => head(target, { key: 'narrow', method });
    // Both are changes: one is let in as a key, the other not at all. So the limits of one are compared, of the other not.
    const limits = (target: string, method?: string) =>
      changed(side(limited(1)), side(keyed()), narrow(target, method)).includes('limit');
    expect(changed(...opened, narrow('/orders/a'))).to.deep.equal(['auth']);
    expect([limits('/orders/a'), limits('/orders/b'), limits('/orders/a', 'POST')]).to.deep.equal([true, false, false]);
  });

  it('says of every step of the chain which part it decides, or that heads do not tell', () => {
    expect(Object.keys(partOfStep)).to.include.members(stack.map(({ name }) => name));
  });
});
