/** A process that runs a projection which counts, on a log and read models that others share. Started by tests. */
import { writeSync } from 'node:fs';
import { startProjector } from '../../projections/runner/projector.ts';
import { openSqliteEventStore } from '../../src/stores/events/sqlite-event-store.ts';
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { countingProjection } from './counting-projection.ts';
import { keptLog } from './given.ts';

const [log = '', readModels = '', leaseMs = '15000'] = process.argv.slice(2);
const store = await openSqliteEventStore({ path: log });
const models = openSqliteReadModels(readModels);
const projector = startProjector({
  ...{ store, models, log: keptLog(), leaseMs: Number(leaseMs) },
  projections: [countingProjection()],
});
let said = '';
const say = async (): Promise<void> => {
  const [status] = await projector.status();
  const line = `${status?.state} ${Number(status?.position)}`;
  if (line !== said) writeSync(1, `${line}\n`);
  said = line;
};
let saying = Promise.resolve();
const timer = setInterval(() => {
  saying = saying.then(say);
}, 20);
process.stdin.once('data', () => {
  clearInterval(timer);
  void projector.stop().then(async () => {
    await saying;
    models.close();
    await store.close();
    process.stdin.destroy();
  });
});
