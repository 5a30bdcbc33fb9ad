/** Runs the contract of shared cells against PostgreSQL. */
import { openPostgresTestLog } from '../support/postgres-log.ts';
import { needsPostgres } from '../support/postgres-server.ts';
import { sharedCellsContract } from './shared-cells.ts';

describe('postgresql', function () {
  this.timeout(30_000);
  before(function () {
    needsPostgres(this);
  });
  sharedCellsContract('postgresql', async () => {
    const { log, openLogAgain, dispose } = await openPostgresTestLog();
    return { cells: log.cells, openAgain: async () => (await openLogAgain()).cells, dispose };
  });
});
