/** Random decisions of the fault checker, the same again for the same seed. */
import { createHash } from 'node:crypto';

export type Random = {
  /** 0 ≤ x < 1. */
  next(): number;
  /** A whole number from 0 up to below `end`. */
  below(end: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** Each with its weight. */
  weighted<T>(list: readonly (readonly [weight: number, value: T])[]): T;
  /** In the form of a UUID. */
  uuid(): string;
};

/**
 * sfc32, with all of its 128 bits from the parts: so many sequences stand beside each other in one run that with fewer bits
 * two of them would meet and give out the same ids. Never for secrets.
 */
export function createRandom(...parts: readonly (string | number)[]): Random {
  const seed = createHash('sha256').update(JSON.stringify(parts)).digest();
  let [a, b, c, counter] = [0, 4, 8, 12].map((offset) => seed.readUInt32LE(offset)) as [number, number, number, number];
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  const below = (end: number): number => Math.floor(next() * end);
  const pick = <T>(list: readonly T[]): T => {
    if (list.length === 0) throw new RangeError('there is nothing to pick');
    return list[below(list.length)] as T;
  };
  const hex = (digits: number): string => Array.from({ length: digits }, () => below(16).toString(16)).join('');
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick,
    weighted(list) {
      let left = next() * list.reduce((sum, [weight]) => sum + weight, 0);
      const found = list.find(([weight]) => {
        left -= weight;
        return left < 0;
      });
      return (found ?? pick(list))[1];
    },
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
  };
}
