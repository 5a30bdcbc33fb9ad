/** Runs the contract of shared cells against KurrentDB. */
import { openKurrentDoubleLog } from '../support/event-store-kurrent-log.ts';
import { sharedCellsContract } from './shared-cells.ts';

for (const level of ['26.1', '23.10'] as const) {
  sharedCellsContract(`kurrentdb ${level}, protocol double`, async () => {
    const { log, openLogAgain, dispose } = await openKurrentDoubleLog(level);
    return { cells: log.cells, openAgain: async () => (await openLogAgain()).cells, dispose };
  });
}
