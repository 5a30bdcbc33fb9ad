/** The long run of the fault checker: `node test/faults/event-store.ts --engine sqlite --seconds 120 --processes 3 --seed 7`. */
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

for (const engine of values.engine) {
  if (!isEngine(engine)) throw new Error(`no engine ${engine}, there are ${engineNames.join(', ')}`);
  const [seed, seconds, processes, streams] = [values.seed, values.seconds, values.processes, values.streams].map(
    Number,
  );
  const options = { engine, seed: seed ?? 0, seconds: seconds ?? 0, processes: processes ?? 0, streams: streams ?? 0 };
  console.log(`${engine}: seed ${seed}, ${processes} nodes for ${seconds} s`);
  const result = await runFaults({ ...options, events: 0, kills: 0, say: (text) => console.log(text) });
  console.log(reportOf(options, result));
  if (result.violations.length > 0) process.exitCode = 1;
}
