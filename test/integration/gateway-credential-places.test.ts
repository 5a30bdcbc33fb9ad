/** Where a token scheme looks for a key, over real sockets: its component says, and the scheme may say otherwise. */
import { expect } from 'chai';
import type { JsonObject } from '../../domain/event.ts';
import { apiFor, startWithEcho } from '../support/gateway-start.ts';

const key = 'the-key-of-a-test';

type Component = { readonly in: string; readonly name: string };
type Request = { readonly query?: string; readonly headers?: Readonly<Record<string, string>> };

const inHeader = { in: 'header', name: 'X-Key' };
const inQuery = { in: 'query', name: 'key' };

/** Requests with the key, by the place that they have it in. */
const requests: Readonly<Record<string, Request>> = {
  'X-Key': { headers: { 'x-key': key } },
  Authorization: { headers: { authorization: `Bearer ${key}` } },
  'query key': { query: `?key=${key}` },
  'query X-Key': { query: `?X-Key=${key}` },
  'cookie key': { headers: { cookie: `key=${key}` } },
};

const rows: readonly [name: string, component: Component, scheme: JsonObject, places: readonly string[]][] = [
  ['a scheme that says nothing', inHeader, {}, ['X-Key']],
  ['one that switches the header on and does not name it', inHeader, { header: { enabled: true } }, ['X-Key']],
  ['one that names another header', inHeader, { header: { enabled: true, name: 'Authorization' } }, ['Authorization']],
  [
    'one that switches the header off',
    inHeader,
    { header: { enabled: false }, query: { enabled: true, name: 'key' } },
    ['query key'],
  ],
  ['one that adds a query without a name', inHeader, { query: { enabled: true } }, ['X-Key', 'query X-Key']],
  ['one that is declared for the query', inQuery, {}, ['query key']],
  [
    'one that is declared for the query, and switches the header off',
    inQuery,
    { header: { enabled: false } },
    ['query key'],
  ],
  [
    'one that is declared for the query, and adds the header',
    inQuery,
    { header: { enabled: true } },
    ['Authorization', 'query key'],
  ],
  [
    'nested sources',
    inHeader,
    { AuthSources: { header: { enabled: false }, cookie: { enabled: true, name: 'key' } } },
    ['cookie key'],
  ],
];

describe('a key is looked for by', () => {
  let gateway: Awaited<ReturnType<typeof startWithEcho>>;
  before(async () => {
    gateway = await startWithEcho();
    await gateway.settled(gateway.feed.putKey(key, { access_rights: { api: {} } }));
  });
  after(() => gateway[Symbol.asyncDispose]());

  for (const [name, component, scheme, places] of rows) {
    it(name, async () => {
      const authentication = { enabled: true, securitySchemes: { token: { enabled: true, ...scheme } } };
      await gateway.put('api', {
        ...apiFor('api', gateway.echo.url, { server: { authentication } }),
        components: { securitySchemes: { token: { type: 'apiKey', ...component } } },
      });
      const answered = Object.entries(requests).map(async ([place, { query = '', headers = {} }]) => {
        const { status } = await fetch(`${gateway.url}/api/${query}`, { headers });
        return [place, status] as const;
      });
      const found = await Promise.all(answered);
      expect(found.filter(([, status]) => status === 200).map(([place]) => place)).to.have.members([...places]);
      expect(new Set(found.map(([, status]) => status))).to.deep.equal(new Set([200, 401]));
    });
  }
});
