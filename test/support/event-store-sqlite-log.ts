/** A SQLite event log in a temporary folder of its own, which goes when the test is over. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  openSqliteEventStore,
  type SqliteEventStore,
  type SqliteEventStoreOptions,
} from '../../src/stores/events/sqlite-event-store.ts';

export type TemporaryLog = {
  readonly path: string;
  readonly store: SqliteEventStore;
  readonly clock: { nowMs: number };
  readonly openAgain: (options?: Partial<SqliteEventStoreOptions>) => Promise<SqliteEventStore>;
  readonly dispose: () => Promise<void>;
};

export async function openTemporaryLog(options: Partial<SqliteEventStoreOptions> = {}): Promise<TemporaryLog> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-events-'));
  const path = join(folder, 'events.db');
  const clock = { nowMs: 1_000 };
  const opened: SqliteEventStore[] = [];
  const open = async (more: Partial<SqliteEventStoreOptions> = {}): Promise<SqliteEventStore> => {
    const store = await openSqliteEventStore({ path, now: () => clock.nowMs, ...more });
    opened.push(store);
    return store;
  };
  const dispose = async (): Promise<void> => {
    await Promise.all(opened.map((store) => store.close()));
    await rm(folder, { recursive: true, force: true });
  };
  return { path, store: await open(options), clock, openAgain: open, dispose };
}
