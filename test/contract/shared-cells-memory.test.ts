/** Runs the contract of shared cells against the cells in memory. */
import { memoryCells } from '../../src/stores/events/memory-cells.ts';
import { sharedCellsContract } from './shared-cells.ts';

sharedCellsContract('memory', async () => ({ cells: memoryCells(), dispose: async () => {} }));
