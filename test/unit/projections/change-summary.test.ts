/** Differences in words, grouped by feature. */
import { expect } from 'chai';
import type { Json, JsonObject } from '../../../domain/event.ts';
import type { ReloadScope } from '../../../domain/gateway-group.ts';
import { toApiId, toGroupName, toNodeId } from '../../../domain/ids.ts';
import { type Feature, features, summarise, summariseDiff } from '../../../projections/change-summary.ts';
import { apiCreated, apiPatched, apiReplaced, org } from '../../support/given.ts';

const gateway = '/x-svc-api-gateway';

const cases: readonly [op: string, path: string, value: Json, feature: Feature, text: string][] = [
  ['replace', `${gateway}/info/name`, 'New', 'other', 'name changed to "New"'],
  ['replace', `${gateway}/info/state/active`, false, 'other', 'active changed to false'],
  ['replace', `${gateway}/server/listenPath/value`, '/a/', 'routes', 'listen path changed to "/a/"'],
  ['add', `${gateway}/server/customDomain`, { enabled: true }, 'routes', 'custom domain set'],
  ['remove', `${gateway}/server/customDomain`, null, 'routes', 'custom domain removed'],
  ['add', '/paths/~1orders', { get: {}, post: {} }, 'routes', 'GET, POST /orders added'],
  ['add', '/paths/~1orders/get', {}, 'routes', 'GET /orders added'],
  ['remove', '/paths/~1orders/get', null, 'routes', 'GET /orders removed'],
  ['replace', '/paths/~1orders/get/summary', 'x', 'routes', 'GET /orders changed'],
  ['add', '/paths/~1a~0b', {}, 'routes', '/a~b added'],
  ['add', `${gateway}/server/authentication`, {}, 'authentication', 'authentication set'],
  ['replace', `${gateway}/server/authentication/enabled`, true, 'authentication', 'authentication switched on'],
  ['replace', `${gateway}/server/authentication/enabled`, false, 'authentication', 'authentication switched off'],
  ['add', '/components/securitySchemes/k', {}, 'authentication', 'components.securitySchemes.k set'],
  ['replace', `${gateway}/upstream/url`, 'http://b', 'upstream', 'upstream address changed to "http://b"'],
  ['replace', '/servers/0/url', 'http://b', 'upstream', 'servers.0.url changed to "http://b"'],
  ['replace', `${gateway}/upstream/rateLimit/rate`, 5, 'limits', 'rate limit of the upstream rate changed to 5'],
  ['add', `${gateway}/middleware/global/requestSizeLimit`, {}, 'limits', 'request size limit set'],
  ['add', `${gateway}/middleware/global/prePlugins/0`, {}, 'plugins', 'middleware.global.prePlugins.0 set'],
  ['add', `${gateway}/server/clientCertificates`, {}, 'certificates', 'server.clientCertificates set'],
  ['add', '/x-svc-streaming/streams/in', {}, 'streams', 'x-svc-streaming.streams.in set'],
  ['replace', `${gateway}/middleware/global/cors/maxAge`, 60, 'other', 'CORS maxAge changed to 60'],
  ['replace', '', {}, 'other', 'document changed'],
];

describe('summariseDiff', () => {
  for (const [op, path, value, feature, text] of cases) {
    it(`says "${text}"`, () => {
      const expected = Object.fromEntries(features.map((name) => [name, name === feature ? [text] : []]));
      const operation = op === 'remove' ? { op, path } : { op, path, value };
      expect(summariseDiff([operation])).to.deep.equal(expected);
    });
  }

  it('says once what happened to an operation in many places', () => {
    const diff = ['summary', 'tags', 'responses/200'].map((name) => ({
      op: 'add',
      path: `/paths/~1a/get/${name}`,
      value: 1,
    }));
    expect(summariseDiff(diff).routes).to.deep.equal(['GET /a changed']);
  });

  it('shows no value that may be a secret', () => {
    const places: readonly (readonly [string, string])[] = [
      [`${gateway}/upstream/authentication/basicAuth/password`, 'hidden'],
      [`${gateway}/server/authentication/hmac/secret`, 'hidden'],
      [`${gateway}/middleware/global/transformRequestHeaders/add/0/value`, 'hidden'],
      [`${gateway}/upstream/url`, 'http://user:hidden@b.example/'],
      [`${gateway}/upstream/url`, 'http://b.example/?key=hidden'],
      ['/info/description', `hidden${'x'.repeat(100)}`],
    ];
    for (const [path, value] of places) {
      expect(JSON.stringify(summariseDiff([{ op: 'replace', path, value }])), path).to.not.contain('hidden');
    }
  });
});

describe('summarise', () => {
  it('names the feature of each change', () => {
    const diff = [
      { op: 'replace', path: `${gateway}/server/listenPath/value`, value: '/a/' },
      { op: 'replace', path: `${gateway}/upstream/url`, value: 'http://b' },
    ];
    expect(summarise(apiReplaced({ diff }), true)).to.deep.equal([
      'routes: listen path changed to "/a/"',
      'upstream: upstream address changed to "http://b"',
    ]);
  });

  it('ends a long list with a count', () => {
    const diff: JsonObject[] = Array.from({ length: 30 }, (_, index) => ({
      op: 'add',
      path: `/tags/${index}`,
      value: 1,
    }));
    const lines = summarise(apiPatched({ diff }), true);
    expect(lines).to.have.length(21);
    expect(lines.at(-1)).to.equal('and 10 more');
  });

  it('says so when the difference was too large to keep', () => {
    expect(summarise({ ...apiReplaced(), diffOmitted: true } as never, true)).to.deep.equal([
      'definition changed in many places',
    ]);
  });

  it('names pruned operations', () => {
    expect(summarise({ ...apiReplaced({ diff: [] }), prunedOperations: ['getA'] } as never, true)).to.deep.equal([
      'routes: settings of operation "getA" removed with it',
    ]);
  });

  it('says which API has a route, and which policy a name', () => {
    const held = { orgId: org, value: 'policy\nGold', owner: 'p1', commandId: 'c' } as const;
    const route = { ...held, kind: 'route', value: 'a.example\n/orders', owner: 'orders' } as const;
    expect([
      ...summarise({ type: 'NameReserved', kind: 'name', ownerName: 'Gold', ...held }, false),
      ...summarise({ type: 'NameReleased', kind: 'name', ...held }, true),
      ...summarise({ type: 'NameReleased', ...route }, true),
    ]).to.deep.equal([
      'name "Gold" reserved for policy p1',
      'name "Gold" released by policy p1',
      'a.example/orders released by API orders',
    ]);
  });

  it('tells of a conversion', () => {
    const event = { ...apiReplaced({ diff: [] }), kind: 'oas', convertedFrom: 'classic' } as const;
    expect(summarise(event as never, true)).to.deep.equal(['converted from Classic to OAS']);
  });

  it('tells of a rollback', () => {
    const event = {
      ...apiReplaced({ diff: [] }),
      type: 'ApiDefinitionRolledBack',
      toRevision: '3',
      reason: '',
    } as const;
    expect(summarise(event as never, true)).to.deep.equal(['rolled back to revision 3']);
  });

  const reloads: readonly [ReloadScope, reason: string, line: string][] = [
    ['all', '', 'every gateway asked to reload'],
    [{ group: toGroupName('edge') }, 'new files', 'gateways of group "edge" asked to reload: new files'],
    [{ node: toNodeId('n1') }, '', 'gateway n1 asked to reload'],
    [{ api: toApiId('orders') }, '', 'every gateway asked to reload API orders'],
  ];
  for (const [scope, reason, line] of reloads) {
    it(`says: ${line}`, () => {
      const about = { orgId: org, reloadId: 'r', scope, reason, dropBundleCache: [], requestedAt: '' };
      expect(summarise({ type: 'GatewayReloadRequested', ...about }, true)).to.deep.equal([line]);
    });
  }

  it('says that answers are to be forgotten', () => {
    const flush = { type: 'CacheFlushRequested', orgId: org, flushId: 'f', api: toApiId('orders') } as const;
    const line = 'every gateway asked to forget the kept answers of API orders';
    expect(summarise({ ...flush, requestedAt: '' }, true)).to.deep.equal([line]);
  });

  it('names a created API', () => {
    expect(summarise(apiCreated(), false)).to.deep.equal(['API "Orders" created']);
  });
});
