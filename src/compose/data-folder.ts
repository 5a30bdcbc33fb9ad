/** The data folder of one installation: made at the first start, owned by one management process at a time. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, openDatabase, sqliteFault } from '../stores/sqlite.ts';

/** Mode 0700: it holds the key ring and the admin token. */
export const makeDataFolder = (directory: string): void => {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
};

/**
 * Holds the folder until released; the operating system releases it when the process dies. Throws with the pid of the
 * process that holds it.
 */
export function holdDataFolder(directory: string): { release(): void } {
  const pidFile = join(directory, 'management.pid');
  let lock: Database | undefined;
  try {
    lock = openDatabase(join(directory, 'management.lock'), { journal: 'truncate', busyTimeoutMs: 0 });
    lock.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    lock?.close();
    if (sqliteFault(cause) !== 'busy') throw cause;
    const text = `${directory} is in use by another svc process${holder(pidFile)}; stop it or choose another --data`;
    throw new Error(text, { cause });
  }
  const held = lock;
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  return { release: () => held.close() };
}

function holder(pidFile: string): string {
  try {
    return ` (pid ${readFileSync(pidFile, 'utf8').trim()})`;
  } catch {
    return '';
  }
}
