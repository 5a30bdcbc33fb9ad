/** Random decisions of the fault checker, the same again for the same seed. */

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

/** A number that follows from all of the parts, for seeds below seeds. */
export function seedOf(...parts: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  for (const character of parts.join('/')) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  return hash >>> 0;
}

/** Mulberry32: small, even enough for choices, and never for secrets. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
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
