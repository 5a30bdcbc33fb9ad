/** The gateway group aggregate by given, when, then: which requests to reload are new ones. */
import { expect } from 'chai';
import {
  type GatewayGroupEvent,
  gatewayGroup,
  type ReloadScope,
  reloadStream,
  scopeName,
} from '../../../domain/gateway-group.ts';
import { toApiId, toGroupName, toNodeId } from '../../../domain/ids.ts';
import { givenFor, org } from '../../support/given.ts';

const given = givenFor(gatewayGroup);

type Requested = Extract<GatewayGroupEvent, { type: 'GatewayReloadRequested' }>;
type Parts = Partial<Omit<Requested, 'type'>>;

const requested = (parts: Parts = {}): Requested => ({
  ...{ type: 'GatewayReloadRequested', orgId: org, reloadId: 'one', scope: 'all', reason: '', dropBundleCache: [] },
  requestedAt: '2026-03-01T00:00:00.000Z',
  ...parts,
});
const ask = (parts: Parts = {}) => ({ ...requested({ reloadId: 'two', ...parts }), type: 'RequestReload' }) as const;

describe('RequestReload', () => {
  it('is an event', () =>
    given()
      .when(ask())
      .results(requested({ reloadId: 'two' })));

  const rows: readonly [string, Parts, isNew: boolean][] = [
    ['at once', {}, false],
    ['999 ms later', { requestedAt: '2026-03-01T00:00:00.999Z' }, false],
    ['by a clock that is a little behind', { requestedAt: '2026-02-28T23:59:59.500Z' }, false],
    ['a second later', { requestedAt: '2026-03-01T00:00:01.000Z' }, true],
    ['by a clock that was set back', { requestedAt: '2026-02-01T00:00:00.000Z' }, true],
    ['for another scope', { scope: { node: toNodeId('edge-1') } }, true],
    ['with a bundle that the first one did not name', { dropBundleCache: ['b.zip'] }, true],
  ];
  for (const [name, parts, isNew] of rows) {
    it(`repeated ${name} is ${isNew ? 'a new request' : 'the same one'}`, () =>
      given(requested())
        .when(ask(parts))
        .decides(...(isNew ? (['GatewayReloadRequested'] as const) : [])));
  }

  it('is compared with the last one of its own scope', () =>
    given(requested({ scope: { group: toGroupName('edge') } }), requested({ scope: { api: toApiId('orders') } }))
      .when(ask({ scope: { group: toGroupName('edge') } }))
      .decides());
});

describe('FlushCache', () => {
  const about = { orgId: org, flushId: 'one', api: toApiId('orders'), requestedAt: '2026-03-01T00:00:00.000Z' };

  it('is an event each time, however soon: an answer may have been kept between the two', () =>
    given({ type: 'CacheFlushRequested', ...about })
      .when({ type: 'FlushCache', ...about, flushId: 'two' })
      .results({ type: 'CacheFlushRequested', ...about, flushId: 'two' }));
});

describe('a scope', () => {
  const rows: readonly [ReloadScope, name: string, stream: string][] = [
    ['all', 'all', 'gwgroup-all'],
    [{ group: toGroupName('edge') }, 'group:edge', 'gwgroup-edge'],
    [{ node: toNodeId('edge') }, 'node:edge', 'gwgroup-all'],
    [{ api: toApiId('edge') }, 'api:edge', 'gwgroup-all'],
  ];
  for (const [scope, name, stream] of rows) {
    it(`${name} has a name and a stream`, () => {
      expect([scopeName(scope), reloadStream(scope)]).to.deep.equal([name, stream]);
    });
  }
});
