/** What an API keeps of its answers, read from its cache blocks. */
import { expect } from 'chai';
import { readCache } from '../../../../domain/api/response-cache.ts';
import type { JsonObject } from '../../../../domain/event.ts';
import { apiDocument } from '../../../support/documents.ts';

const paths = {
  '/a': { get: { operationId: 'getA' }, post: {} },
  '/b': { get: { operationId: 'getB' } },
};
const read = (cache: JsonObject, operations: JsonObject = {}, global: JsonObject = {}) =>
  readCache(apiDocument({ global: { ...global, cache }, operations }, { paths }), { ...global, cache });

const on = { enabled: true, timeout: 5, cacheAllSafeRequests: true };
const usual = {
  ...{ timeoutS: 5, allSafeRequests: true, byHeaders: [], scope: 'key', operations: [] },
  statuses: [200, 203, 204, 300, 301, 404, 410],
};

describe('the rules of a cache', () => {
  const nothing: readonly [name: string, cache: JsonObject, operations?: JsonObject][] = [
    ['a cache that is off', { ...on, enabled: false }],
    ['no timeout', { ...on, timeout: 0 }],
    ['no path that it is for', { enabled: true, timeout: 5 }],
    ['an operation while the API is off', { enabled: false }, { getA: { cache: { enabled: true, timeout: 5 } } }],
    ['an operation that is off', { enabled: true, timeout: 5 }, { getA: { cache: { enabled: false, timeout: 5 } } }],
  ];
  for (const [name, cache, operations] of nothing) {
    it(`are none for ${name}`, () => expect(read(cache, operations)).to.equal(undefined));
  }

  it('have their defaults', () => expect(read(on)).to.deep.equal(usual));

  it('are those of the definition, names of headers in lower case', () => {
    const cache = {
      ...{ enabled: true, timeout: 0, cacheResponseCodes: [200, 503], cacheByHeaders: ['X-Tenant'], scope: 'shared' },
      ...{ enableUpstreamCacheControl: true, controlTTLHeaderName: 'X-TTL' },
    };
    expect(read(cache)).to.deep.equal({
      ...{ timeoutS: 0, allSafeRequests: false, byHeaders: ['x-tenant'], scope: 'shared', operations: [] },
      ...{ statuses: [200, 503], ttlHeader: 'x-ttl' },
    });
    expect(read({ ...cache, controlTTLHeaderName: '' })).to.include({ ttlHeader: 'x-svc-cache-action-set-ttl' });
  });

  it('name every operation as soon as one has a cache of its own', () => {
    const cache = { enabled: true, timeout: 0, cacheResponseCodes: [404], cacheByRegex: 'a+' };
    const rules = read({ enabled: true, timeout: 5 }, { getA: { cache }, aPOST: { cache: { ...cache, timeout: 9 } } });
    const own = { statuses: [404], bodyExpression: 'a+' };
    expect(rules?.operations).to.have.deep.members([
      { method: 'GET', path: '/a', cache: { timeoutS: 5, ...own } },
      { method: 'POST', path: '/a', cache: { timeoutS: 9, ...own } },
      { method: 'GET', path: '/b' },
    ]);
  });

  const told: readonly [value: string, scope: string][] = [
    ['fixed', 'shared'],
    ['$svc_context.request_id', 'shared'],
    ['for $svc_meta.name', 'key'],
    ['$svc_context.token', 'key'],
    ['$svc_context.remote_addr', 'key'],
    ['$svc_context.headers_X_User', 'key'],
    ['$svc_context.cookies_user', 'key'],
    ['$svc_context.request_data_user', 'key'],
  ];
  for (const [value, scope] of told) {
    it(`are for the scope ${scope} when every answer says ${value}`, () => {
      const transformResponseHeaders = { enabled: true, add: [{ name: 'x', value }] };
      expect(read({ ...on, scope: 'shared' }, {}, { transformResponseHeaders })?.scope).to.equal(scope);
      const off = { ...transformResponseHeaders, enabled: false };
      expect(read({ ...on, scope: 'shared' }, {}, { transformResponseHeaders: off })?.scope).to.equal('shared');
    });
  }
});
