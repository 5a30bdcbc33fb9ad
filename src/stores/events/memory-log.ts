/** A whole log in memory: the store, its cells and an era that only this process knows. */
import type { OpenedLog, OpenLogOptions } from '../opened-log.ts';
import { memoryCells } from './memory-cells.ts';
import { MemoryEventStore } from './memory-event-store.ts';

export async function openMemoryLog(options: OpenLogOptions): Promise<OpenedLog> {
  const store = new MemoryEventStore(options);
  let { era } = store.identity;
  return {
    store,
    cells: memoryCells(),
    async bumpEra() {
      era += 1;
      return era;
    },
    close: () => store.close(),
  };
}
