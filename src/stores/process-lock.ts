/** A lock that belongs to a living process: the kernel frees it when the process dies, however it dies. */
import { existsSync, rmSync } from 'node:fs';
import { type Database, openDatabase, sqliteFault } from './sqlite.ts';

export type ProcessLock = {
  /** Frees the lock and removes its file. */
  release(): void;
};

/**
 * Takes the lock or answers undefined when another connection holds it. Process ids would not do, since the kernel hands
 * them out again; a write lock of SQLite on a file of its own is freed by the kernel and seen by every thread.
 */
export function takeLock(path: string): ProcessLock | undefined {
  const database = lockedDatabase(path);
  return database && { release: () => release(database, path) };
}

/** Whether a living process holds the lock. A file that is gone was released. */
export function isLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  const database = lockedDatabase(path);
  database?.close();
  return database === undefined;
}

function lockedDatabase(path: string): Database | undefined {
  let database: Database | undefined;
  try {
    database = openDatabase(path, { journal: 'truncate', synchronous: 'normal', busyTimeoutMs: 0 });
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if (sqliteFault(error) === 'busy') return undefined;
    throw error;
  }
}

function release(database: Database, path: string): void {
  rmSync(path, { force: true });
  rmSync(`${path}-journal`, { force: true });
  database.close();
}
