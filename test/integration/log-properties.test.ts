/** Laws of the log, for random commands: a copy of it folds to the same state, and so does what was exported and imported. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { EventStore } from '../../domain/event-store.ts';
import { apiCatalog } from '../../projections/api-catalog.ts';
import { certificateList } from '../../projections/certificate-list.ts';
import { gatewayConfig } from '../../projections/gateway-config.ts';
import { historyProjection } from '../../projections/history.ts';
import { startProjector } from '../../projections/runner/projector.ts';
import { copyLog } from '../../src/compose/migrate.ts';
import { memoryCells } from '../../src/stores/events/memory-cells.ts';
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { openLog } from '../../src/stores/open.ts';
import { documentsOf, keptLog } from '../support/given.ts';
import { startTestManagement } from '../support/management-server.ts';
import { makeCertificates, randomCommand, runCommand } from '../support/random-commands.ts';
import { temporaryFolder } from '../support/temporary.ts';

const projections = [apiCatalog, certificateList, gatewayConfig, historyProjection];

/** Everything that the projections make of a log. */
async function fold(store: EventStore): Promise<unknown> {
  const models = openSqliteReadModels(':memory:');
  const projector = startProjector({ store, models, projections, log: keptLog() });
  await projector.ready;
  await projector.stop();
  const made = projections.map((projection) => documentsOf(models, projection));
  models.close();
  return made;
}

describe('a log', function () {
  this.timeout(60_000);
  const certificates = makeCertificates();

  it('that was copied event by event to another engine folds to the same state: fold(import(export(x))) = fold(x)', () =>
    fc.assert(
      fc.asyncProperty(fc.array(randomCommand, { minLength: 1, maxLength: 12 }), async (commands) => {
        await using management = await startTestManagement();
        using folder = temporaryFolder('svc-laws-');
        for (const command of commands) await runCommand(management, command, certificates);
        const source = {
          store: management.store,
          cells: memoryCells(),
          bumpEra: async () => 0,
          close: async () => undefined,
        };
        let atMs = 0;
        const target = await openLog(`sqlite:${folder.file('copy.db')}`, { now: () => atMs });
        const setClock = (ms: number): void => {
          atMs = ms;
        };
        await copyLog(source, target, { setClock, onProgress: () => undefined });
        expect(await fold(target.store)).to.deep.equal(await fold(management.store));
        await target.close();
      }),
      { numRuns: 12 },
    ));
});
