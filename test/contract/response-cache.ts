/** The contract of the port of kept answers: what is found and for how long, what gives way, and what is forgotten. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { KeptAnswer, ResponseCache } from '../../gateway/ports.ts';

/** A clock that a test moves. */
type CacheClock = { nowMs: number };

export type OpenCache = (maxBytes: number, clock: CacheClock) => ResponseCache;

/** A promise of the port: throws when a cache does not keep it. */
export type CacheLaw = { readonly name: string; readonly check: (open: OpenCache) => void };

const answer = (text: string): KeptAnswer => ({
  ...{ kind: 'answer', status: 200, headers: ['etag', text], body: Buffer.from(text), bornMs: 0 },
});
const terms = (lifetimeMs = 1_000, apiId = 'a') => ({ apiId, lifetimeMs });
const large = 1_000_000;

export const cacheLaws: readonly CacheLaw[] = [
  {
    name: 'finds what was kept last under a key, and nothing under others',
    check: (open) => {
      const cache = open(large, { nowMs: 0 });
      cache.put('k', answer('one'), terms());
      cache.put('k', answer('two'), terms());
      cache.put('names', { kind: 'names', names: ['accept'] }, terms());
      expect(cache.get('k')).to.deep.equal(answer('two'));
      expect(cache.get('names')).to.deep.equal({ kind: 'names', names: ['accept'] });
      expect(cache.get('K')).to.equal(undefined);
      expect(cache.standing()).to.include({ entries: 2, evicted: 0 });
    },
  },
  {
    name: 'finds nothing after the end of its lifetime, and keeps nothing without one',
    check: (open) => {
      const clock = { nowMs: 5_000 };
      const cache = open(large, clock);
      cache.put('k', answer('one'), terms(1_000));
      cache.put('none', answer('one'), terms(0));
      clock.nowMs += 999;
      expect(cache.get('k')).to.deep.equal(answer('one'));
      clock.nowMs += 1;
      expect([cache.get('k'), cache.get('none')]).to.deep.equal([undefined, undefined]);
      expect(cache.standing()).to.deep.equal({ entries: 0, bytes: 0, evicted: 0 });
    },
  },
  {
    name: 'counts many short headers for what they cost',
    check: (open) => {
      const cache = open(large, { nowMs: 0 });
      const headers = Array.from({ length: 20_000 }, () => 'a');
      cache.put('k', { ...answer('one'), headers } as KeptAnswer, terms());
      expect(cache.standing().bytes).to.be.within(400_000, large);
    },
  },
  {
    name: 'lets go first of what was not used for longest',
    check: (open) => {
      const cache = open(5_000, { nowMs: 0 });
      for (const key of ['one', 'two', 'three']) cache.put(key, answer('x'.repeat(500)), terms());
      cache.get('one');
      cache.put('four', answer('x'.repeat(500)), terms());
      expect(['one', 'two', 'three', 'four'].filter((key) => cache.get(key))).to.include.members(['one', 'four']);
      expect(cache.get('two')).to.equal(undefined);
      expect(cache.standing().evicted).to.be.greaterThan(0);
    },
  },
  {
    name: 'keeps nothing that is larger than all of it, also not what stood in its place before',
    check: (open) => {
      const cache = open(4_000, { nowMs: 0 });
      cache.put('other', answer('small'), terms());
      cache.put('k', answer('small'), terms());
      cache.put('k', answer('x'.repeat(5_000)), terms());
      expect(cache.get('k')).to.equal(undefined);
      expect(cache.get('other')).to.deep.equal(answer('small'));
    },
  },
  {
    name: 'forgets all of an API, and nothing of others',
    check: (open) => {
      const cache = open(large, { nowMs: 0 });
      cache.put('a1', answer('x'), terms(1_000, 'a'));
      cache.put('a2', answer('x'), terms(1_000, 'a'));
      cache.put('b', answer('x'), terms(1_000, 'b'));
      expect([cache.flush('a'), cache.flush('a'), cache.flush('none')]).to.deep.equal([2, 0, 0]);
      expect([cache.get('a1'), cache.get('b')]).to.deep.equal([undefined, answer('x')]);
    },
  },
  {
    name: 'never takes more than it may, and what it says to take is what is there',
    check: (open) => {
      const put = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e'), size: fc.nat(3_000), wait: fc.nat(700) });
      fc.assert(
        fc.property(fc.array(put, { maxLength: 40 }), (puts) => {
          const clock = { nowMs: 0 };
          const cache = open(6_000, clock);
          for (const { key, size, wait } of puts) {
            clock.nowMs += wait;
            cache.put(key, answer('x'.repeat(size)), terms());
            expect(cache.standing().bytes).to.be.within(0, 6_000);
          }
          cache.flush('a');
          expect(cache.standing()).to.include({ entries: 0, bytes: 0 });
        }),
      );
    },
  },
];
