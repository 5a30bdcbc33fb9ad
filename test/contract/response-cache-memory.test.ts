/** The cache in memory keeps the contract, and caches that break one of its promises fail it. */
import { expect } from 'chai';
import { memoryCache } from '../../src/stores/runtime/memory-cache.ts';
import { cacheLaws, type OpenCache } from './response-cache.ts';

const open: OpenCache = (maxBytes, clock) => memoryCache({ maxBytes, monotonic: () => clock.nowMs });

describe('the response cache in memory', () => {
  for (const { name, check } of cacheLaws) it(name, () => check(open));
});

const broken: readonly [name: string, open: OpenCache, law: string][] = [
  [
    'keeps what has ended',
    (maxBytes) => memoryCache({ maxBytes, monotonic: () => 0 }),
    'finds nothing after the end of its lifetime, and keeps nothing without one',
  ],
  [
    'knows no bound',
    (_, clock) => open(Number.POSITIVE_INFINITY, clock),
    'never takes more than it may, and what it says to take is what is there',
  ],
  [
    'forgets everything',
    (maxBytes, clock) => {
      const cache = open(maxBytes, clock);
      return { ...cache, flush: (id) => cache.flush(id) + cache.flush('b') };
    },
    'forgets all of an API, and nothing of others',
  ],
];

describe('a response cache that', () => {
  for (const [name, made, law] of broken) {
    it(`${name} fails the contract`, () => {
      const found = cacheLaws.find((one) => one.name === law);
      expect(() => found?.check(made)).to.throw();
    });
  }
});
