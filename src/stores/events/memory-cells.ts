/** Shared cells in memory, for tests and trials: the reference of the port. */
import { type Cell, CellConflict, checkCell, type SharedCells } from '../../../domain/shared-cells.ts';

export function memoryCells(): SharedCells {
  let cells: ReadonlyMap<string, Cell> = new Map();
  return {
    async read(key) {
      checkCell(key);
      const cell = cells.get(key);
      return cell && { value: cell.value, version: cell.version };
    },
    async write(key, value, expected) {
      checkCell(key, value);
      const version = cells.get(key)?.version;
      if (version !== (expected === 'none' ? undefined : expected)) throw new CellConflict(key, expected);
      const next = (version ?? 0n) + 1n;
      cells = new Map([...cells, [key, { key, value, version: next }]]);
      return next;
    },
    async list(prefix) {
      const found = [...cells.values()].filter(({ key }) => key.startsWith(prefix));
      return found.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    },
    async remove(key) {
      checkCell(key);
      cells = new Map([...cells].filter(([name]) => name !== key));
    },
  };
}
