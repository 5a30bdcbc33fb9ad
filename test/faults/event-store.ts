/** The long run of the fault checker: `node test/faults/event-store.ts --engine sqlite --engine postgres --seconds 120 --seed 7`. */
import { parseArgs } from 'node:util';
import { type EngineName, engineNames } from '../support/fault-engines.ts';
import { reportOf } from '../support/fault-report.ts';
import { runFaults } from '../support/fault-run.ts';

const { values } = parseArgs({
  options: {
    engine: { type: 'string', multiple: true, default: ['sqlite'] },
    seconds: { type: 'string', default: '60' },
    processes: { type: 'string', default: '3' },
    streams: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});

const isEngine = (name: string): name is EngineName => engineNames.some((known) => known === name);

function wholeNumber(name: 'seconds' | 'processes' | 'streams' | 'seed'): number {
  const text = values[name];
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`--${name} takes a whole number, not ${text}`);
}

const numbers = { seed: wholeNumber('seed'), seconds: wholeNumber('seconds') };
const sizes = { processes: wholeNumber('processes'), streams: wholeNumber('streams') };
for (const engine of values.engine) {
  if (!isEngine(engine)) throw new Error(`no engine ${engine}, there are ${engineNames.join(', ')}`);
  const options = { engine, ...numbers, ...sizes, events: 0, kills: 0, say: console.log };
  console.log(`${engine}: seed ${options.seed}, ${options.processes} nodes for ${options.seconds} s`);
  const result = await runFaults(options);
  console.log(reportOf(options, result));
  if (result.violations.length > 0) process.exitCode = 1;
}
