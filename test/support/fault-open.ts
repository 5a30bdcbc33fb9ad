/** Opens a log for the fault checker as the product opens it, on a disk that may be full. */
import { openSqliteLog } from '../../src/stores/events/sqlite-event-store.ts';
import { chainedEventStore } from '../../src/stores/integrity/chained-event-store.ts';
import { openLog } from '../../src/stores/open.ts';
import type { OpenedLog, OpenLogOptions } from '../../src/stores/opened-log.ts';

/** `maxFileBytes` is for SQLite addresses. */
export type FaultOpenOptions = OpenLogOptions & { readonly maxFileBytes?: number };

export async function openForFaults(url: string, options: FaultOpenOptions): Promise<OpenedLog> {
  if (options.maxFileBytes === undefined) return openLog(url, options);
  const log = await openSqliteLog({ ...options, path: url.slice('sqlite:'.length) });
  return { ...log, store: chainedEventStore(log.store) };
}
