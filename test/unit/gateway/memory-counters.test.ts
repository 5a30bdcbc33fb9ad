/** Counters in memory: what nobody needs any more takes no place. What they promise beyond that is a contract. */
import { expect } from 'chai';
import { memoryCounters } from '../../../src/stores/runtime/memory-counters.ts';

describe('counters in memory', () => {
  const setUp = () => {
    const clock = { now: 1000 };
    const read = (): number => clock.now;
    return { clock, counters: memoryCounters({ now: read, monotonic: read }) };
  };

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
