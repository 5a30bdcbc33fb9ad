/** The key-encryption key in its file: made once with mode 0600, read at every start, never replaced. */
import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { keyBytes, SecretError } from './seal.ts';

/** `id` names the key without telling anything about it. */
export type MasterKey = { readonly id: string; readonly key: Uint8Array };

/** undefined when there is no file. */
export function readMasterKey(path: string): MasterKey | undefined {
  const file = openIfThere(path);
  if (file === undefined) return undefined;
  try {
    // Windows has no such modes; a group may be let in, as file mounts of orchestrators do.
    if (process.platform !== 'win32' && (fstatSync(file).mode & 0o007) !== 0) {
      throw new SecretError('master_key_exposed', `every user may open the master key ${path}: run chmod 600 on it`);
    }
    return parse(path, readFileSync(file, 'utf8'));
  } finally {
    closeSync(file);
  }
}

/** Complete and on the disk before it has its name; of two processes that make it at once, one wins and both read it. */
export function makeMasterKey(path: string): MasterKey {
  const folder = dirname(resolve(path));
  mkdirSync(folder, { recursive: true });
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeDurably(draft, `${randomBytes(keyBytes).toString('base64url')}\n`);
    linkSync(draft, path);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  syncFolder(folder);
  const made = readMasterKey(path);
  if (!made) throw new SecretError('master_key_missing', `the master key ${path} was removed while it was made`);
  return made;
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function parse(path: string, text: string): MasterKey {
  const key = Buffer.from(text.trim(), 'base64url');
  if (key.byteLength !== keyBytes || !/^[\w-]{43}$/.test(text.trim())) {
    throw new SecretError('master_key_invalid', `${path} is no master key: it holds 43 characters of base64url`);
  }
  return { id: createHash('sha256').update('svc master key').update(key).digest('hex').slice(0, 32), key };
}

function writeDurably(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The name is durable with its folder; Windows cannot open one. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
