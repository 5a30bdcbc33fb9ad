/** One after the other per key: saves needless conflicts inside the process; correctness never rests on it. */

export type KeyedMutex = <T>(key: string, work: () => Promise<T>) => Promise<T>;

export function createKeyedMutex(): KeyedMutex {
  const tails = new Map<string, Promise<unknown>>();
  return async function exclusively(key, work) {
    const before = tails.get(key);
    const mine = before === undefined ? work() : before.then(work, work);
    tails.set(key, mine);
    try {
      return await mine;
    } finally {
      if (tails.get(key) === mine) tails.delete(key);
    }
  };
}
