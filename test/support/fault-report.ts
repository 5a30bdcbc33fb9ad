/** Says what a run of the fault checker came to, so that a failure can be read and run again. */
import type { RunOptions, RunResult } from './fault-run.ts';

const shownPerInvariant = 5;

export function reportOf(
  { engine, seed, processes }: Pick<RunOptions, 'engine' | 'seed' | 'processes'>,
  { violations, counts }: RunResult,
): string {
  const facts = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  const broken = [...Map.groupBy(violations, ({ invariant }) => invariant)].flatMap(([invariant, own]) => [
    `invariant ${invariant} is broken ${own.length} times:`,
    ...own.slice(0, shownPerInvariant).map(({ text }) => `  ${text}`),
  ]);
  return [
    `${engine}, seed ${seed}, ${processes} nodes: ${violations.length === 0 ? 'every invariant holds' : `${violations.length} violations`}`,
    `  ${facts.join(', ')}`,
    ...broken,
  ].join('\n');
}
