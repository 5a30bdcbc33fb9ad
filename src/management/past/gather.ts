/** Collects what takes many short look-ups, and lets other requests have their turn in between. */

const itemsPerTurn = 200;

export async function gather<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of items) {
    found.push(item);
    // A promise alone would not let the event loop serve what waits.
    if (found.length % itemsPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return found;
}
