/** Runs the contract of shared cells against KurrentDB. */
import { openKurrentDoubleLog } from '../support/event-store-kurrent-log.ts';
import { openKurrentServerLog } from '../support/event-store-kurrent-server.ts';
import { sharedCellsContract } from './shared-cells.ts';

for (const level of ['26.1', '23.10'] as const) {
  sharedCellsContract(`kurrentdb ${level}, protocol double`, async () => {
    const { log, openLogAgain, dispose } = await openKurrentDoubleLog(level);
    return { cells: log.cells, openAgain: async () => (await openLogAgain()).cells, dispose };
  });
}

const url = process.env['SVC_TEST_KURRENTDB'];
if (url) {
  sharedCellsContract('the server that SVC_TEST_KURRENTDB names', async () => {
    const { cells, openCellsAgain, dispose } = await openKurrentServerLog(url);
    return { cells, openAgain: openCellsAgain, dispose };
  });
}
