/** Rate counters in memory: GCRA against its definition. */
import { expect } from 'chai';
import fc from 'fast-check';
import { memoryCounters } from '../../../src/stores/runtime/memory-counters.ts';

describe('counters in memory', () => {
  const setUp = () => {
    const clock = { now: 1000 };
    const read = (): number => clock.now;
    return { clock, counters: memoryCounters({ now: read, monotonic: read }) };
  };

  it('let a burst of the rate through, then one per step', () => {
    const { clock, counters } = setUp();
    const taken = Array.from({ length: 4 }, () => counters.take('a', 3, 300));
    expect(taken.map(({ allowed, remaining }) => [allowed, remaining])).to.deep.equal([
      [true, 2],
      [true, 1],
      [true, 0],
      [false, 0],
    ]);
    expect(taken.map(({ resetMs, retryAfterMs }) => [resetMs, retryAfterMs])).to.deep.equal([
      [100, 0],
      [200, 0],
      [300, 0],
      [300, 100],
    ]);
    clock.now += 99;
    expect(counters.take('a', 3, 300)).to.include({ allowed: false, retryAfterMs: 1 });
    clock.now += 1;
    expect(counters.take('a', 3, 300)).to.include({ allowed: true, remaining: 0 });
  });

  it('are separate by key, and begin anew with another rate or period', () => {
    const { counters } = setUp();
    expect(counters.take('a', 1, 1000).allowed).to.equal(true);
    expect(counters.take('b', 1, 1000).allowed).to.equal(true);
    expect(counters.take('a', 1, 1000).allowed).to.equal(false);
    expect(counters.take('a', 2, 1000).allowed).to.equal(true);
    expect(counters.take('a', 2, 2000).remaining).to.equal(1);
  });

  it('never let more through than a burst and one per step, and are full again after their reset', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 5000 }),
        fc.array(fc.nat(400), { maxLength: 300 }),
        (rate, perMs, waits) => {
          const { clock, counters } = setUp();
          const begin = clock.now;
          let allowed = 0;
          let reset = 0;
          for (const wait of waits) {
            clock.now += wait;
            const decision = counters.take('k', rate, perMs);
            if (decision.allowed) allowed++;
            else expect(decision.retryAfterMs).to.be.greaterThan(0);
            reset = decision.resetMs;
            expect(decision.remaining).to.be.within(0, rate);
          }
          expect(allowed).to.be.at.most(rate + Math.ceil(((clock.now - begin) * rate) / perMs));
          clock.now += reset + 1;
          expect(counters.take('k', rate, perMs).remaining).to.equal(rate - 1);
        },
      ),
    );
  });

  it('forget counters at rest', () => {
    const { clock, counters } = setUp();
    for (let i = 0; i < 9_999; i++) counters.take(`key-${i}`, 1, 10);
    clock.now += 11;
    // The sweep comes with this one; a counter that was forgotten is as good as new.
    expect(counters.take('key-0', 1, 10)).to.include({ allowed: true, remaining: 0 });
  });

  it('forget quotas whose windows have ended, and keep those that never end', () => {
    const { clock, counters } = setUp();
    const passing = { max: 1, renewalMs: 10 };
    const lasting = { max: 1, renewalMs: 0 };
    counters.spend('lasting', lasting);
    for (let i = 0; i < 9_998; i++) counters.spend(`key-${i}`, passing);
    clock.now += 10;
    // The sweep comes with this one.
    counters.spend('one more', passing);
    // A window with a longer renewal would not have ended: it is the counter that is gone.
    expect(counters.standing('key-0', { max: 1, renewalMs: 1_000 }).spent).to.equal(0);
    expect(counters.standing('lasting', lasting).spent).to.equal(1);
  });
});
