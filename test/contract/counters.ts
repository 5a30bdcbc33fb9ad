/** The contract of the counters port: rates by GCRA, and quotas in windows that open with their first request. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { Counters, QuotaTerms } from '../../gateway/ports.ts';

/** A clock that a test moves; `nowMs` is wall clock and monotonic at once. */
export type TestClock = { nowMs: number };

export type OpenCounters = (clock: TestClock) => Counters;

type SetUp = () => { readonly counters: Counters; readonly clock: TestClock };

/** A promise of the port: throws when counters do not keep it. */
export type CounterLaw = { readonly name: string; readonly check: (setUp: SetUp) => void };

const beginMs = 1_700_000_000_000;

const hour: QuotaTerms = { max: 3, renewalMs: 3_600_000 };
const spendMany = (counters: Counters, key: string, terms: QuotaTerms, times: number) =>
  Array.from({ length: times }, () => counters.spend(key, terms));

export const counterLaws: readonly CounterLaw[] = [
  {
    name: 'a rate lets a burst through, then one per step',
    check: (setUp) => {
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
      clock.nowMs += 99;
      expect(counters.take('a', 3, 300)).to.include({ allowed: false, retryAfterMs: 1 });
      clock.nowMs += 1;
      expect(counters.take('a', 3, 300)).to.include({ allowed: true, remaining: 0 });
    },
  },
  {
    name: 'each rate of a name counts by itself: who asks by turns for two of them gets no more than both',
    check: (setUp) => {
      const { counters } = setUp();
      const byTurns = Array.from({ length: 8 }, (_, turn) => counters.take('a', turn % 2 === 0 ? 1 : 2, 60_000));
      expect(byTurns.map(({ allowed }) => allowed)).to.deep.equal([
        true,
        true,
        false,
        true,
        false,
        false,
        false,
        false,
      ]);
    },
  },
  {
    name: 'rates are separate by name, and by rate and period',
    check: (setUp) => {
      const { counters } = setUp();
      expect(counters.take('a', 1, 1000).allowed).to.equal(true);
      expect(counters.take('b', 1, 1000).allowed).to.equal(true);
      expect(counters.take('a', 1, 1000).allowed).to.equal(false);
      expect(counters.take('a', 2, 1000).allowed).to.equal(true);
      expect(counters.take('a', 2, 2000).remaining).to.equal(1);
    },
  },
  {
    name: 'a rate never lets more through than a burst and one per step, and is full again after its reset',
    check: (setUp) => {
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 50 }),
          fc.integer({ min: 1, max: 5000 }),
          fc.array(fc.nat(400), { maxLength: 300 }),
          (rate, perMs, waits) => {
            const { clock, counters } = setUp();
            let allowed = 0;
            let reset = 0;
            for (const wait of waits) {
              clock.nowMs += wait;
              const decision = counters.take('k', rate, perMs);
              if (decision.allowed) allowed++;
              else expect(decision.retryAfterMs).to.be.greaterThan(0);
              reset = decision.resetMs;
              expect(decision.remaining).to.be.within(0, rate);
            }
            expect(allowed).to.be.at.most(rate + Math.ceil(((clock.nowMs - beginMs) * rate) / perMs));
            clock.nowMs += reset + 1;
            expect(counters.take('k', rate, perMs).remaining).to.equal(rate - 1);
          },
        ),
      );
    },
  },
  {
    name: 'a quota lets its maximum through and refuses without spending',
    check: (setUp) => {
      const { counters } = setUp();
      const spent = spendMany(counters, 'k', hour, 5);
      expect(spent.map(({ allowed, remaining }) => [allowed, remaining])).to.deep.equal([
        [true, 2],
        [true, 1],
        [true, 0],
        [false, 0],
        [false, 0],
      ]);
      expect(spent.map((decision) => decision.spent)).to.deep.equal([1, 2, 3, 3, 3]);
    },
  },
  {
    name: 'the window opens with the first request and ends after its renewal, not with the last request',
    check: (setUp) => {
      const { clock, counters } = setUp();
      const renewsAtMs = beginMs + hour.renewalMs;
      expect(counters.spend('k', hour).renewsAtMs).to.equal(renewsAtMs);
      clock.nowMs += 3_599_999;
      expect(counters.spend('k', hour)).to.include({ remaining: 1, renewsAtMs });
      clock.nowMs += 1;
      expect(counters.spend('k', hour)).to.include({ remaining: 2, renewsAtMs: clock.nowMs + hour.renewalMs });
    },
  },
  {
    name: 'a clock that is set back keeps nobody out for longer than a window, and gives nothing back',
    check: (setUp) => {
      const { clock, counters } = setUp();
      clock.nowMs += 10 * 366 * 86_400_000;
      spendMany(counters, 'k', hour, 3);
      clock.nowMs = beginMs;
      const renewsAtMs = beginMs + hour.renewalMs;
      expect(counters.standing('k', hour)).to.include({ allowed: false, spent: 3, renewsAtMs });
      expect(counters.spend('k', hour)).to.include({ allowed: false, renewsAtMs });
      clock.nowMs = renewsAtMs;
      expect(counters.spend('k', hour)).to.include({ allowed: true, remaining: 2 });
    },
  },
  {
    name: 'a beginning whose end was said ends then, also when that is longer than a window away',
    check: (setUp) => {
      const { clock, counters } = setUp();
      const renewsAtMs = beginMs + 5 * hour.renewalMs;
      const terms = { ...hour, initial: { remaining: 0, renewsAtMs } };
      for (; clock.nowMs < renewsAtMs; clock.nowMs += hour.renewalMs) {
        expect(counters.spend('k', terms)).to.include({ allowed: false, renewsAtMs });
      }
      expect(counters.spend('k', terms)).to.include({ remaining: 2 });
    },
  },
  {
    name: 'a quota that never renews stays spent',
    check: (setUp) => {
      const { clock, counters } = setUp();
      const forEver = { max: 1, renewalMs: 0 };
      expect(counters.spend('k', forEver)).to.include({ allowed: true, renewsAtMs: 0 });
      clock.nowMs += 40 * 366 * 86_400_000;
      expect(counters.spend('k', forEver).allowed).to.equal(false);
    },
  },
  {
    name: 'what was spent stays when the terms change',
    check: (setUp) => {
      const { counters } = setUp();
      spendMany(counters, 'k', hour, 2);
      expect(counters.spend('k', { ...hour, max: 10 })).to.include({ remaining: 7, spent: 3 });
      expect(counters.spend('k', { ...hour, max: 2 })).to.include({ allowed: false, remaining: 0 });
      expect(counters.standing('k', { max: 10, renewalMs: 60_000 }).renewsAtMs).to.equal(beginMs + 60_000);
    },
  },
  {
    name: 'reading spends nothing, and says what the next one would be told',
    check: (setUp) => {
      const { counters } = setUp();
      expect(counters.standing('k', hour)).to.include({ allowed: true, remaining: 3, renewsAtMs: 0 });
      spendMany(counters, 'k', hour, 3);
      for (let i = 0; i < 3; i++) {
        expect(counters.standing('k', hour)).to.include({ allowed: false, remaining: 0, spent: 3 });
      }
    },
  },
  {
    name: 'quotas are separate by name, and from rates of the same name',
    check: (setUp) => {
      const { counters } = setUp();
      spendMany(counters, 'k', hour, 3);
      expect(counters.spend('other', hour).remaining).to.equal(2);
      expect(counters.take('k', 1, 1_000).allowed).to.equal(true);
    },
  },
  {
    name: 'those that nobody asks for any more are dropped, and the others stay',
    check: (setUp) => {
      const { counters } = setUp();
      for (const key of ['gone', 'stays']) spendMany(counters, key, hour, 3);
      counters.retain((key) => key === 'stays');
      expect(counters.spend('gone', hour)).to.include({ allowed: true, remaining: 2 });
      expect(counters.spend('stays', hour)).to.include({ allowed: false, spent: 3 });
    },
  },
  {
    name: 'a counter begins where the terms say, once',
    check: (setUp) => {
      const { counters } = setUp();
      const renewsAtMs = beginMs + 5_000;
      const terms = { ...hour, initial: { remaining: 1, renewsAtMs } };
      expect(counters.standing('k', terms)).to.include({ remaining: 1, renewsAtMs });
      expect(counters.spend('k', terms)).to.include({ allowed: true, remaining: 0, renewsAtMs });
      expect(counters.spend('k', terms)).to.include({ allowed: false, renewsAtMs });
    },
  },
  {
    name: 'a beginning that has ended says nothing, neither at first nor after its window',
    check: (setUp) => {
      const { clock, counters } = setUp();
      const terms = { ...hour, initial: { remaining: 0, renewsAtMs: beginMs + 5_000 } };
      expect(counters.spend('k', terms).allowed).to.equal(false);
      clock.nowMs += 5_000;
      expect(counters.spend('k', terms)).to.include({ remaining: 2, renewsAtMs: clock.nowMs + hour.renewalMs });
      clock.nowMs += hour.renewalMs;
      expect(counters.spend('k', terms).remaining).to.equal(2);
      expect(counters.spend('late', terms).remaining).to.equal(2);
    },
  },
  {
    name: 'never lets more than the maximum through a window, whatever the waits',
    check: (setUp) => {
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 20 }),
          fc.integer({ min: 1, max: 1_000 }),
          fc.array(fc.nat(300), { maxLength: 200 }),
          (max, renewalMs, waits) => {
            const { clock, counters } = setUp();
            const byWindow = new Map<number, number>();
            for (const wait of waits) {
              clock.nowMs += wait;
              const { allowed, renewsAtMs, spent, remaining } = counters.spend('k', { max, renewalMs });
              expect(renewsAtMs).to.be.within(clock.nowMs + 1, clock.nowMs + renewalMs);
              expect(spent + remaining).to.equal(max);
              if (allowed) byWindow.set(renewsAtMs, (byWindow.get(renewsAtMs) ?? 0) + 1);
            }
            for (const count of byWindow.values()) expect(count).to.be.at.most(max);
          },
        ),
      );
    },
  },
];

export const setUpWith =
  (open: OpenCounters): SetUp =>
  () => {
    const clock = { nowMs: beginMs };
    return { clock, counters: open(clock) };
  };

export function countersContract(name: string, open: OpenCounters): void {
  describe(`counters contract: ${name}`, () => {
    for (const law of counterLaws) it(law.name, () => law.check(setUpWith(open)));
  });
}
