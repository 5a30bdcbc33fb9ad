/** A file that holds a key: whole under its name, for its owner alone, and never taken where every user may read it. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { syncFolder } from './sync-folder.ts';

/** undefined when there is no file. `exposed` is thrown when every user may open it; absent: whoever may. */
export function readKeyFile(file: string, exposed?: () => Error): string | undefined {
  const handle = openIfThere(file);
  if (handle === undefined) return undefined;
  try {
    // Windows has no such modes; a group may be let in, as file mounts of orchestrators do.
    if (exposed && process.platform !== 'win32' && (fstatSync(handle).mode & 0o007) !== 0) throw exposed();
    return readFileSync(handle, 'utf8');
  } finally {
    closeSync(handle);
  }
}

/** A first one never takes the place of another: of two processes that make it at once, one wins and both read it. */
export function writeKeyFile(file: string, text: string, { isFirst }: { readonly isFirst: boolean }): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeDurably(draft, text);
    if (isFirst) linkSync(draft, file);
    else renameSync(draft, file);
  } catch (error) {
    if (!isFirst || !isCode(error, 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  syncFolder(dirname(resolve(file)));
}

function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, 'r');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function writeDurably(file: string, text: string): void {
  const handle = openSync(file, 'wx', 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
