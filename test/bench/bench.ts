/** Runs the benchmarks that are named (all by default), prints their figures and keeps them in `results/`. Quote ratios of one run. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

type Figures = { readonly name: string; readonly figures: Readonly<Record<string, number | string>> };
type Bench = { run(): Promise<readonly Figures[]> };

const benches: Readonly<Record<string, () => Promise<Bench>>> = {
  append: () => import('./append.ts'),
  change: () => import('./change.ts'),
  keys: () => import('./keys.ts'),
  management: () => import('./management.ts'),
  proxy: () => import('./proxy.ts'),
  records: () => import('./records.ts'),
  replay: () => import('./replay.ts'),
};

const results = join(import.meta.dirname, 'results');

async function runBench(name: string): Promise<void> {
  const load = benches[name];
  if (!load) throw new Error(`unknown benchmark ${name}; there are ${Object.keys(benches).join(', ')}`);
  console.log(`\n${name}`);
  const figures = await (await load()).run();
  for (const { name: row, figures: values } of figures) {
    const text = Object.entries(values).map(([figure, value]) => `${figure} ${format(value)}`);
    console.log(`  ${row.padEnd(36)} ${text.join('   ')}`);
  }
  compare(name, figures);
  mkdirSync(results, { recursive: true });
  const run = { node: process.version, cores: availableParallelism(), figures };
  writeFileSync(join(results, `${name}.json`), `${JSON.stringify(run, null, 2)}\n`);
}

const format = (value: number | string): string =>
  typeof value === 'string' ? value : value.toLocaleString('en', { maximumFractionDigits: 3 });

/** Ratios are comparable between machines, absolute figures are not; a drop warns and never fails. */
function compare(name: string, figures: readonly Figures[]): void {
  for (const { name: row, figures: values } of figures) {
    const before = lastRatio(name, row);
    const now = values['ratio'];
    if (before === undefined || typeof now !== 'number') continue;
    if (now < before * 0.95) console.log(`  warning: ${row} was ${format(before)} in the last committed result`);
  }
}

function lastRatio(name: string, row: string): number | undefined {
  try {
    const last = JSON.parse(readFileSync(join(results, `${name}.json`), 'utf8')) as { figures: readonly Figures[] };
    const ratio = last.figures.find((figures) => figures.name === row)?.figures['ratio'];
    return typeof ratio === 'number' ? ratio : undefined;
  } catch {
    return undefined;
  }
}

const named = process.argv.slice(2);
for (const name of named.length > 0 ? named : Object.keys(benches)) await runBench(name);
