/** The data folder of one installation: made at the first start, owned by one management process at a time. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { takeLock } from '../stores/process-lock.ts';

/** Mode 0700: it holds the key ring and the admin token. */
export const makeDataFolder = (directory: string): void => {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
};

/**
 * Holds the folder until released; the kernel releases it when the process dies. Throws with the pid of the process that
 * holds it.
 */
export function holdDataFolder(directory: string): { release(): void } {
  const pidFile = join(directory, 'management.pid');
  const lock = takeLock(join(directory, 'management.lock'));
  if (!lock) {
    throw new Error(
      `${directory} is in use by another svc process${holder(pidFile)}; stop it or choose another --data`,
    );
  }
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  return lock;
}

function holder(pidFile: string): string {
  try {
    return ` (pid ${readFileSync(pidFile, 'utf8').trim()})`;
  } catch {
    return '';
  }
}
