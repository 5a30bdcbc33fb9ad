/** The configuration of gateways: given events, then snapshot and changes; following changes leads to the snapshot. */
import { assert, expect } from 'chai';
import fc from 'fast-check';
import { padPosition } from '../../../domain/event-store.ts';
import type { DomainEvent } from '../../../domain/events.ts';
import { changesAfter, gatewayConfig, readSnapshot } from '../../../projections/gateway-config.ts';
import { applyChanges, type GatewaySnapshot } from '../../../projections/gateway-snapshot.ts';
import type { ReadModelStore } from '../../../projections/read-model-store.ts';
import { apiDocument } from '../../support/documents.ts';
import {
  apiActivated,
  apiCreated,
  apiDeactivated,
  apiDeleted,
  apiReplaced,
  certificateImported,
  folded,
} from '../../support/given.ts';

const position = (number: number) => (number === 0 ? '' : padPosition(String(number)));
const snapshotOf = (models: ReadModelStore, head: number): GatewaySnapshot =>
  readSnapshot(models, { logId: 'log', era: 0, position: position(head) });
const changes = (models: ReadModelStore, after: number) => {
  const answer = changesAfter(models, position(after));
  assert('changes' in answer);
  return answer;
};

describe('readSnapshot', () => {
  it('is empty before anything happened', () => {
    expect(snapshotOf(folded(gatewayConfig), 0)).to.deep.equal({
      format: 2,
      logId: 'log',
      era: 0,
      position: '',
      revision: '',
      objects: {},
    });
  });

  it('holds each API with the hash, revision and position of its last event', () => {
    const document = apiDocument({ info: { name: 'second' } });
    const models = folded(gatewayConfig, apiCreated(), apiReplaced({ document }), apiCreated({ id: 'b' }));
    const { objects, revision } = snapshotOf(models, 3);
    expect(Object.keys(objects)).to.have.members(['api:orders', 'api:b']);
    expect(objects['api:orders']).to.deep.include({
      kind: 'api',
      id: 'orders',
      revision: '1',
      position: position(2),
      body: { orgId: 'acme', apiKind: 'streams', document },
    });
    expect(objects['api:orders']!.sha256).to.match(/^[0-9a-f]{64}$/);
    expect(revision).to.equal(position(3));
  });

  it('moves an object on with a flag, so that its revision is the one of the ETag', () => {
    const { objects } = snapshotOf(folded(gatewayConfig, apiCreated(), apiActivated()), 2);
    expect(objects['api:orders']).to.include({ revision: '1', position: position(2) });
  });

  it('lets deleted APIs go', () => {
    const { objects, revision } = snapshotOf(folded(gatewayConfig, apiCreated(), apiDeleted()), 2);
    expect(objects).to.deep.equal({});
    expect(revision).to.equal(position(2));
  });

  it('has a revision that only the configuration moves', () => {
    expect(snapshotOf(folded(gatewayConfig, apiCreated(), certificateImported('a')), 2).revision).to.equal(position(1));
  });
});

describe('changesAfter', () => {
  const models = folded(gatewayConfig, apiCreated(), certificateImported('a'), apiCreated({ id: 'b' }), apiDeleted());

  it('answers what came after a place, in order', () => {
    expect(changes(models, 0).changes.map((change) => [change.op, change.position])).to.deep.equal([
      ['upsert', position(3)],
      ['remove', position(4)],
    ]);
    expect(changes(models, 2).changes).to.have.length(2);
    expect(changes(models, 4)).to.deep.equal({ changes: [], isComplete: true });
  });

  it('answers a part of many, and says so', () => {
    const many = folded(gatewayConfig, ...Array.from({ length: 600 }, (_, index) => apiCreated({ id: `a${index}` })));
    const first = changes(many, 0);
    expect(first.isComplete).to.equal(false);
    const second = changes(many, first.changes.length);
    expect(second.isComplete).to.equal(true);
    expect(first.changes.length + second.changes.length).to.equal(600);
  });

  it('answers an object that changed often once, as it is now', () => {
    const often = folded(gatewayConfig, apiCreated(), apiActivated(), apiActivated(), apiCreated({ id: 'b' }));
    expect(changes(often, 0).changes.map((change) => change.position)).to.deep.equal([position(3), position(4)]);
  });

  it('forgets that an object was removed when it comes back', () => {
    const back = folded(gatewayConfig, apiCreated(), apiDeleted(), apiCreated());
    expect(changes(back, 1).changes.map(({ op }) => op)).to.deep.equal(['upsert']);
    expect(back.count('gateway_removals')).to.equal(0);
  });

  it('keeps the marks of at most 10,000 removals and sends whoever is further behind to the snapshot', function () {
    this.timeout(30_000);
    const events = Array.from({ length: 10_200 }, (_, index) => apiDeleted(`api-${index}`));
    const long = folded(gatewayConfig, ...events);
    const kept = long.count('gateway_removals');
    expect(kept).to.be.within(9_000, 10_000);
    expect(changesAfter(long, '')).to.deep.equal({ tooOld: true });
    expect(changesAfter(long, position(10_200 - kept - 1))).to.deep.equal({ tooOld: true });
    expect(changes(long, 10_200 - kept).changes[0]!.position).to.equal(position(10_200 - kept + 1));
  });
});

describe('applyChanges', () => {
  const anEvent: fc.Arbitrary<DomainEvent> = fc.oneof(
    fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(3)).chain(([id, n]) => {
      const document = apiDocument({ info: { name: `${n}` } });
      return fc.constantFrom<DomainEvent>(
        apiCreated({ id, document }),
        apiReplaced({ id, document }),
        apiActivated(id),
        apiDeactivated(id),
        apiDeleted(id),
      );
    }),
    fc.constantFrom('x', 'y').map((name) => certificateImported(name)),
  );

  it('leads from any earlier snapshot to the one of today', () => {
    fc.assert(
      fc.property(fc.array(anEvent, { minLength: 1, maxLength: 30 }), fc.nat(), (events, cut) => {
        const start = cut % (events.length + 1);
        const before = snapshotOf(folded(gatewayConfig, ...events.slice(0, start)), start);
        const models = folded(gatewayConfig, ...events);
        const head = position(events.length);
        const after = applyChanges(before, changes(models, start).changes, head);
        expect(after).to.deep.equal(snapshotOf(models, events.length));
      }),
      { numRuns: 60 },
    );
  });

  it('changes nothing in the snapshot that it is given', () => {
    const before = snapshotOf(folded(gatewayConfig, apiCreated()), 1);
    const copy = structuredClone(before);
    applyChanges(before, changes(folded(gatewayConfig, apiCreated(), apiDeleted()), 1).changes, position(2));
    expect(before).to.deep.equal(copy);
  });
});
