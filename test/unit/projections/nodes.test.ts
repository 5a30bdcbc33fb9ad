/** The fleet, folded from what nodes said. */
import { expect } from 'chai';
import type { GatewayNodeEvent } from '../../../domain/gateway-node.ts';
import { toNodeId, toOrgId } from '../../../domain/ids.ts';
import { listNodes, nodesProjection } from '../../../projections/nodes.ts';
import { folded, org } from '../../support/given.ts';

const node = (name: string, orgId = org) => ({ orgId, nodeId: toNodeId(name) });
const registered = (name: string, version = '1', orgId = org): GatewayNodeEvent => ({
  type: 'GatewayRegistered',
  ...node(name, orgId),
  ...{ group: 'default', tags: [], version },
});
const applied = (name: string, revision: string): GatewayNodeEvent => ({
  type: 'GatewayConfigApplied',
  ...node(name),
  ...{ position: revision, revision, snapshotSha256: 'ab', ms: 1, errors: [] },
});

describe('the fleet', () => {
  it('lists nodes with what they applied last, in the order of their names', () => {
    const models = folded(
      nodesProjection,
      registered('b'),
      registered('a'),
      applied('b', '4'),
      applied('b', '9'),
      registered('b', '2'),
    );
    const [a, b, ...more] = listNodes(models, org);
    expect(more).to.deep.equal([]);
    expect(a).to.include({ nodeId: 'a', version: '1', registeredAt: '2026-03-01T00:00:01.000Z' });
    expect(a).not.to.have.property('applied');
    expect(b).to.include({ nodeId: 'b', version: '2', registeredAt: '2026-03-01T00:00:00.000Z' });
    expect(b?.applied).to.include({ revision: '9', at: '2026-03-01T00:00:03.000Z' });
  });

  it('knows the key of a node, since when, and which one it took the place of', () => {
    const keyed = (publicKey: string, version?: string): GatewayNodeEvent =>
      ({ ...registered('a', version), ...{ publicKey } }) as GatewayNodeEvent;
    const keyAfter = (...events: readonly GatewayNodeEvent[]) =>
      listNodes(folded(nodesProjection, ...events), org)[0]?.key;
    expect(keyAfter(registered('a'))).to.equal(undefined);
    const first = { publicKey: 'one', since: '2026-03-01T00:00:01.000Z' };
    expect(keyAfter(registered('a'), keyed('one'), keyed('one', '2'), registered('a'))).to.deep.equal(first);
    const second = { publicKey: 'two', since: '2026-03-01T00:00:02.000Z', before: 'one' };
    expect(keyAfter(registered('a'), keyed('one'), keyed('two'), keyed('two', '2'))).to.deep.equal(second);
  });

  it('forgets a node that was deregistered, and knows nobody of another organisation', () => {
    const gone: GatewayNodeEvent = { type: 'GatewayDeregistered', ...node('a'), reason: 'asked' };
    const models = folded(nodesProjection, registered('a'), registered('c', '1', toOrgId('other')), gone);
    expect(listNodes(models, org)).to.deep.equal([]);
    expect(listNodes(models, toOrgId('other')).map(({ nodeId }) => nodeId)).to.deep.equal(['c']);
  });
});
