/** A configuration as a gateway holds it: following changes gives what the whole configuration would be, and changes nothing that somebody else has. */
import { expect } from 'chai';
import fc from 'fast-check';
import { KeyTable } from '../../../gateway/access/key-table.ts';
import { follow, hold, sizeOf } from '../../../gateway/feed/held.ts';
import { applyChanges, type GatewayChange, type GatewaySnapshot } from '../../../projections/gateway-snapshot.ts';
import { apiDocument } from '../../support/documents.ts';
import { keyId, MemoryFeed, positionText, whole } from '../../support/gateway-feed.ts';

/** Configurations one after the other, each with the change that led to it. */
function history(steps: readonly (readonly [what: string, id: number])[]): readonly GatewaySnapshot[] {
  const feed = new MemoryFeed();
  return steps.map(([what, id]) => {
    if (what === 'api') feed.put(`api-${id}`, apiDocument());
    else if (what === 'policy') feed.putPolicy(`policy-${id}`, {});
    else if (what === 'key') feed.putKey(`key-${id}`, { alias: String(id) });
    else if (what === 'remove api') feed.remove(`api-${id}`);
    else feed.removeKey(`key-${id}`);
    return feed.current;
  });
}

const step = fc.tuple(fc.constantFrom('api', 'policy', 'key', 'remove api', 'remove key'), fc.nat({ max: 5 }));

describe('a held configuration', () => {
  it('is the whole one, and is again after every change', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), fc.nat({ max: 29 }), (steps, cut) => {
        const feed = new MemoryFeed();
        const changes: GatewayChange[] = [];
        const snapshots = history(steps);
        const first = snapshots[Math.min(cut, snapshots.length - 1)] ?? feed.current;
        const last = snapshots.at(-1) ?? feed.current;
        for (const [key, object] of Object.entries(last.objects)) {
          if (first.objects[key] !== object) changes.push({ op: 'upsert', position: object.position, object });
        }
        for (const [key, { kind, id }] of Object.entries(first.objects)) {
          if (!(key in last.objects)) changes.push({ op: 'remove', position: last.position, kind, id });
        }
        const ordered = changes.toSorted((a, b) => (a.position < b.position ? -1 : 1));
        const before = hold(first);
        const copy = JSON.stringify(whole(before));
        const after = follow(before, ordered, last.position);
        expect(whole(after)).to.deep.equal(applyChanges(first, ordered, last.position));
        expect(sizeOf(after)).to.equal(Object.keys(last.objects).length);
        expect(JSON.stringify(whole(before))).to.equal(copy);
      }),
    );
  });

  it('passes over changes that it has already', () => {
    const [first, second] = history([
      ['key', 1],
      ['key', 2],
    ]);
    if (!first || !second) throw new Error('no history');
    const change: GatewayChange = { op: 'remove', position: positionText(1), kind: 'key', id: keyId('key-1') };
    const after = follow(hold(second), [change], positionText(9));
    expect([sizeOf(after), after.revision, after.position]).to.deep.equal([2, positionText(2), positionText(9)]);
  });

  it('does not count what is there for other gateways only', () => {
    const [snapshot] = history([['key', 1]]);
    const before = hold(snapshot ?? new MemoryFeed().current);
    const elsewhere = { op: 'remove', position: positionText(2), kind: 'api', id: 'api-1', elsewhere: true } as const;
    const after = follow(before, [elsewhere], positionText(2));
    expect([after.revision, after.position]).to.deep.equal([positionText(1), positionText(2)]);
    const gone: GatewayChange = { op: 'remove', position: positionText(3), kind: 'key', id: keyId('key-1') };
    expect(follow(after, [gone, { ...elsewhere, position: positionText(4) }], positionText(4)).revision).to.equal(
      positionText(3),
    );
  });

  it('shares what did not change', () => {
    const [, second, third] = history([
      ['api', 1],
      ['key', 1],
      ['key', 2],
    ]);
    const object = third?.objects[`key:${keyId('key-2')}`];
    if (!second || object?.kind !== 'key') throw new Error('no history');
    const before = hold(second);
    const after = follow(before, [{ op: 'upsert', position: positionText(3), object }], positionText(3));
    expect(after.objects).to.equal(before.objects);
    expect(after.keys.get(keyId('key-1'))).to.equal(before.keys.get(keyId('key-1')));
    expect(before.keys.get(keyId('key-2'))).to.equal(undefined);
  });

  it('finds keys by their whole id only', () => {
    const [snapshot] = history([['key', 1]]);
    const { keys } = hold(snapshot ?? new MemoryFeed().current);
    const id = keyId('key-1');
    for (const other of ['', id.slice(0, 63), `${id}0`, id.toUpperCase(), 'x', '__proto__']) {
      expect(keys.get(other)).to.equal(undefined);
    }
    expect(KeyTable.of([]).get(id)).to.equal(undefined);
  });
});
