/** The gateway node aggregate by given, when, then: what a report says that the log does not know yet. */
import {
  type AppliedConfig,
  type GatewayNodeCommand,
  type GatewayNodeEvent,
  gatewayNode,
} from '../../../domain/gateway-node.ts';
import { toNodeId } from '../../../domain/ids.ts';
import { givenFor, org } from '../../support/given.ts';

const given = givenFor(gatewayNode);
const place = { orgId: org, nodeId: toNodeId('edge-1') };
const identity = { group: 'default', tags: ['eu'], version: '1.0.0' };
const applied: AppliedConfig = { position: '12', revision: '9', snapshotSha256: 'ab', ms: 3, errors: [] };
const error = { kind: 'api', id: 'orders', code: 'pattern', message: 'no' };
const report = (parts: Partial<GatewayNodeCommand> = {}): GatewayNodeCommand =>
  ({ type: 'ReportGateway', ...place, ...identity, ...parts }) as GatewayNodeCommand;
const registered: GatewayNodeEvent = { type: 'GatewayRegistered', ...place, ...identity };
const ran = (parts: Partial<AppliedConfig> = {}): GatewayNodeEvent => ({
  type: 'GatewayConfigApplied',
  ...place,
  ...applied,
  ...parts,
});

describe('ReportGateway', () => {
  it('registers a node that is new, before it has a configuration', () => given().when(report()).results(registered));
  it('says what a node runs', () => given(registered).when(report({ applied })).results(ran()));
  it('says both at once', () => given().when(report({ applied })).results(registered, ran()));
  it('registers a node again that is another now', () =>
    given(registered, ran())
      .when(report({ applied, version: '1.0.1' }))
      .results({ type: 'GatewayRegistered', ...place, ...identity, version: '1.0.1' }));

  describe('with a key', () => {
    const keyed = (publicKey: string): GatewayNodeEvent => ({ ...registered, ...{ publicKey } }) as GatewayNodeEvent;
    it('registers it', () =>
      given()
        .when(report({ publicKey: 'one' }))
        .results(keyed('one')));
    it('says it once', () =>
      given(keyed('one'))
        .when(report({ publicKey: 'one' }))
        .results());
    it('registers another one in its place', () =>
      given(registered, keyed('one'))
        .when(report({ publicKey: 'two' }))
        .results(keyed('two')));
    it('keeps it where a report says none, also when the node is another now', () => {
      given(keyed('one')).when(report()).results();
      given(keyed('one'))
        .when(report({ version: '2' }))
        .results({ ...keyed('one'), version: '2' } as GatewayNodeEvent);
    });
  });

  const silent: readonly [string, Partial<AppliedConfig>][] = [
    ['has only followed the log', { position: '99' }],
    ['took another time to compile', { ms: 99 }],
  ];
  for (const [name, change] of silent) {
    it(`says nothing of a node that ${name}`, () =>
      given(registered, ran())
        .when(report({ applied: { ...applied, ...change } }))
        .results());
  }
  it('says when the errors changed, and when they are gone', () => {
    given(registered, ran())
      .when(report({ applied: { ...applied, errors: [error] } }))
      .results(ran({ errors: [error] }));
    given(registered, ran({ errors: [error] }))
      .when(report({ applied }))
      .results(ran());
  });
  it('registers again before the stream lets the registration go', () =>
    given(registered, ...Array.from({ length: 400 }, (_, index) => ran({ revision: String(index) })))
      .when(report({ applied }))
      .decides('GatewayRegistered', 'GatewayConfigApplied'));
});

describe('DeregisterGateway', () => {
  const forget: GatewayNodeCommand = { type: 'DeregisterGateway', ...place, reason: 'asked' };
  it('forgets a node, once', () => {
    given(registered, ran()).when(forget).decides('GatewayDeregistered');
    given(registered, { type: 'GatewayDeregistered', ...place, reason: 'asked' })
      .when(forget)
      .results();
    given().when(forget).results();
  });
  it('lets a node that comes back say everything again', () =>
    given(registered, ran(), { type: 'GatewayDeregistered', ...place, reason: 'asked' })
      .when(report({ applied }))
      .results(registered, ran()));
});
