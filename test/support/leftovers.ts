/** Ends a run of tests that something keeps alive after its last test, and names what it is and the test that left it. */
import type { Context } from 'mocha';

/** Long enough for what tests end without waiting for it: idle connections, children that were told to stop. */
const patienceMs = Number(process.env['SVC_TEST_PATIENCE_MS'] ?? 30_000);

type Count = ReadonlyMap<string, number>;

/** What kept the process alive after each test, in the order in which they ran. */
const seen: { readonly test: string; readonly alive: Count }[] = [];

export const mochaHooks = {
  afterEach(this: Context): void {
    seen.push({ test: this.currentTest?.fullTitle() ?? '', alive: countOf(process.getActiveResourcesInfo()) });
  },
};

/** A run whose process ends by itself never hears of this: the timer does not keep it. */
export function mochaGlobalTeardown(): void {
  setTimeout(() => {
    process.stderr.write(`${reportOf(countOf(process.getActiveResourcesInfo()), seen)}\n`);
    // The runner sets the code of its own count when the process exits; this comes after it.
    process.once('exit', () => {
      process.exitCode = 1;
    });
    process.exit();
  }, patienceMs).unref();
}

/** For each kind of resource that is left: how many, and the test after which there were never fewer. */
export function reportOf(left: Count, history: readonly { readonly test: string; readonly alive: Count }[]): string {
  const lines = [...left].map(([kind, count]) => {
    const before = history.findLastIndex(({ alive }) => (alive.get(kind) ?? 0) < count);
    return `  ${count} ${kind}, from: ${history[before + 1]?.test ?? 'what came after the last test'}`;
  });
  return ['The tests are over and something keeps their process alive:', ...lines].join('\n');
}

function countOf(kinds: readonly string[]): Count {
  return new Map([...Map.groupBy(kinds, (kind) => kind)].map(([kind, list]) => [kind, list.length]));
}
