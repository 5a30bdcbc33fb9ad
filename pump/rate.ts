/** How many records a second went out lately. */

export type Rate = { add(count: number): void; perSecond(): number };

const windowSeconds = 10;

/** Counts by whole seconds, so that it costs nothing to keep. */
export function createRate(nowMs: () => number = () => performance.now()): Rate {
  let counts: readonly { readonly second: number; readonly count: number }[] = [];
  const second = (): number => Math.floor(nowMs() / 1000);
  const recent = () => counts.filter((entry) => entry.second > second() - windowSeconds);
  return {
    add(count) {
      const now = second();
      const before = recent().filter((entry) => entry.second !== now);
      const current = counts.find((entry) => entry.second === now)?.count ?? 0;
      counts = [...before, { second: now, count: current + count }];
    },
    perSecond: () => recent().reduce((sum, { count }) => sum + count, 0) / windowSeconds,
  };
}
