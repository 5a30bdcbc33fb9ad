/** What the file sink knows for sure: which file, how much of it is whole, and which records that is. */
import { open, readFile, rename } from 'node:fs/promises';
import type { Cursor } from '../domain/record-log.ts';

export type FileCheckpoint = {
  readonly file: string;
  readonly offset: number;
  readonly openedMs: number;
  readonly cursors: readonly Cursor[];
};

export async function readCheckpoint(path: string): Promise<FileCheckpoint | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as FileCheckpoint;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new Error(`${path} cannot be read; without it records could be repeated`, { cause: error });
  }
}

/** Either the old one stands there or the new one, also after a loss of power. */
export async function writeCheckpoint(path: string, checkpoint: FileCheckpoint): Promise<void> {
  const draft = `${path}.draft`;
  const handle = await open(draft, 'w', 0o600);
  try {
    await handle.writeFile(JSON.stringify(checkpoint));
    await handle.datasync();
  } finally {
    await handle.close();
  }
  await rename(draft, path);
}
