/** The contract of counters bites: each of these adapters breaks a promise, and a law of the contract says so. */
import { expect } from 'chai';
import type { Counters, QuotaTerms } from '../../gateway/ports.ts';
import { memoryCounters } from '../../src/stores/runtime/memory-counters.ts';
import { counterLaws, type OpenCounters, setUpWith, type TestClock } from './counters.ts';

const sound = (clock: TestClock): Counters => {
  const read = (): number => clock.nowMs;
  return memoryCounters({ now: read, monotonic: read });
};

type Change = (counters: Counters, clock: TestClock) => Partial<Counters>;

const without = ({ initial: _, ...terms }: QuotaTerms): QuotaTerms => terms;

const broken: readonly (readonly [what: string, change: Change])[] = [
  ['lets one more through', ({ spend }) => ({ spend: (key, terms) => spend(key, { ...terms, max: terms.max + 1 }) })],
  ['counts all keys together', ({ spend }) => ({ spend: (_, terms) => spend('one', terms) })],
  ['spends when it is read', ({ spend }) => ({ standing: spend })],
  ['forgets nothing', () => ({ retain: () => {} })],
  ['forgets everything', ({ retain }) => ({ retain: () => retain(() => false) })],
  ['knows no beginning', ({ spend }) => ({ spend: (key, terms) => spend(key, without(terms)) })],
  ['never renews', ({ spend }) => ({ spend: (key, terms) => spend(key, { ...terms, renewalMs: 0 }) })],
  [
    'begins anew when the terms change',
    ({ spend }) => ({ spend: (key, terms) => spend(`${key} ${terms.max}`, terms) }),
  ],
  [
    'keeps one rate of a name',
    (_, clock) => {
      let last = '';
      let rates = sound(clock);
      return {
        take: (key, rate, perMs) => {
          if (last !== `${key} ${rate} ${perMs}`) rates = sound(clock);
          last = `${key} ${rate} ${perMs}`;
          return rates.take(key, rate, perMs);
        },
      };
    },
  ],
  ['counts all rates together', ({ take }) => ({ take: (_, rate, perMs) => take('one', rate, perMs) })],
  [
    'says to come again at once',
    ({ take }) => ({ take: (key, rate, perMs) => ({ ...take(key, rate, perMs), retryAfterMs: 0 }) }),
  ],
  ['lets one more step in', ({ take }) => ({ take: (key, rate, perMs) => take(key, rate + 1, perMs) })],
  ['refuses no rate', ({ take }) => ({ take: (key, rate, perMs) => ({ ...take(key, rate, perMs), allowed: true }) })],
  [
    'moves the window with each request',
    (_, clock) => {
      const windows = new Map<string, { spent: number; endsMs: number }>();
      return {
        spend: (key, { max, renewalMs }) => {
          const known = windows.get(key);
          const spent = known && (renewalMs === 0 || known.endsMs > clock.nowMs) ? known.spent : 0;
          const allowed = spent < max;
          const renewsAtMs = renewalMs === 0 ? 0 : clock.nowMs + renewalMs;
          windows.set(key, { spent: allowed ? spent + 1 : spent, endsMs: renewsAtMs });
          const after = allowed ? spent + 1 : spent;
          return { allowed, max, spent: after, remaining: Math.max(0, max - after), renewsAtMs };
        },
      };
    },
  ],
];

const failing = (open: OpenCounters): readonly string[] =>
  counterLaws.flatMap(({ name, check }) => {
    try {
      check(setUpWith(open));
      return [];
    } catch {
      return [name];
    }
  });

describe('the contract of counters', () => {
  it('is kept by sound ones', () => expect(failing(sound)).to.deep.equal([]));

  for (const [what, change] of broken) {
    it(`is broken by an adapter that ${what}`, () =>
      expect(
        failing((clock) => {
          const counters = sound(clock);
          return { ...counters, ...change(counters, clock) };
        }),
      ).to.not.deep.equal([]));
  }
});
