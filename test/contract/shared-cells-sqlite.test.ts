/** Runs the contract of shared cells against SQLite files. */
import { openTemporaryLog } from '../support/event-store-sqlite-log.ts';
import { sharedCellsContract } from './shared-cells.ts';

sharedCellsContract('sqlite', async () => {
  const { store, openAgain, dispose } = await openTemporaryLog();
  return { cells: store.cells, openAgain: async () => (await openAgain()).cells, dispose };
});
