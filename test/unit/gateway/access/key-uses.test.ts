/** Which keys a report tells of: those that were used since the last one, newest first, and no more than it holds. */
import { expect } from 'chai';
import type { JsonObject } from '../../../../domain/event.ts';
import { toOrgId } from '../../../../domain/ids.ts';
import { limitsOfKey } from '../../../../gateway/access/key-limits.ts';
import { KeyUses } from '../../../../gateway/access/key-uses.ts';
import { readSession } from '../../../../gateway/access/read-session.ts';
import type { KeySession } from '../../../../gateway/access/session.ts';
import { memoryCounters } from '../../../../src/stores/runtime/memory-counters.ts';

const beginMs = Date.parse('2026-03-01T00:00:00Z');

function given() {
  let nowMs = beginMs;
  const clock = { now: () => nowMs, monotonic: () => nowMs };
  const counters = memoryCounters(clock);
  const uses = new KeyUses({ clock, counters });
  const told = () => uses.next().map(({ key }) => key);
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { counters, uses, told, pass };
}

const session = (keyId: string, document: JsonObject = {}): KeySession =>
  readSession({ keyId, orgId: toOrgId('acme') }, { session: document, applied: [] });

describe('uses of keys', () => {
  it('are told newest first, each key once, until management has taken them', () => {
    const { uses, told, pass } = given();
    for (const [keyId, atMs] of [
      ['a', 1],
      ['b', 2],
      ['a', 3],
    ] as const)
      uses.saw(session(keyId), beginMs + atMs);
    expect(told()).to.deep.equal(['a', 'b']);
    const first = uses.next();
    expect(first[0]).to.deep.equal({ key: 'a', at: '2026-03-01T00:00:00.003Z' });
    uses.saw(session('b'), beginMs + 9);
    uses.taken(first);
    expect(told()).to.deep.equal([]);
    pass(5_000);
    expect(told()).to.deep.equal(['b']);
  });

  it('are told by the request that came last, not by the one that lasted longest', () => {
    const { uses } = given();
    uses.saw(session('a'), beginMs + 9);
    uses.saw(session('a'), beginMs);
    expect(uses.next()).to.deep.equal([{ key: 'a', at: '2026-03-01T00:00:00.009Z' }]);
  });

  it('say where the quota of the key stands', () => {
    const { counters, uses } = given();
    const document = { quota_max: 5, quota_renewal_rate: 60 };
    const { quota } = limitsOfKey({ keyId: 'a' }, document).own;
    counters.spend(quota!.counter, quota!);
    uses.saw(session('a', document), beginMs);
    uses.saw(session('b', { quota_max: 5 }), beginMs);
    expect(uses.next()).to.deep.equal([
      { key: 'b', at: '2026-03-01T00:00:00.000Z', remaining: 5 },
      { key: 'a', at: '2026-03-01T00:00:00.000Z', remaining: 4, renews: beginMs / 1_000 + 60 },
    ]);
  });

  it('are bounded: the keys that were used last count', () => {
    const { uses, told } = given();
    for (let number = 0; number < 1_500; number++) uses.saw(session(`k${number}`), beginMs + number);
    expect(told()).to.have.length(1_000);
    expect([told()[0], told().at(-1)]).to.deep.equal(['k1499', 'k500']);
  });
});
