/** The key that a gateway opens its secrets with: made once, and never anywhere but on the disk of this node. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
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
import { dirname } from 'node:path';
import type { Log } from '../ports.ts';
import type { Pair } from './hpke.ts';
import { type BoxPlace, type NodeBox, nodeKeyIdOf, nodeKeyText, openBox } from './node-box.ts';

export type NodeKey = {
  /** Id of this node. */
  readonly node: string;
  /** The 32 bytes of the public half, base64url. */
  readonly publicKey: string;
  readonly keyId: string;
  /** Throws when the box was made for another key or place, or was changed. */
  open(place: Omit<BoxPlace, 'node'>, box: NodeBox): ReturnType<typeof openBox>;
};

/** Throws when the file is there and holds no such key, or when every user may read it. */
export function openNodeKey(file: string, node: string, log: Log): NodeKey {
  const pair = readPair(file) ?? makePair(file, log);
  const publicKey = nodeKeyText(pair.publicKey);
  return {
    ...{ node, publicKey, keyId: nodeKeyIdOf(publicKey) },
    open: (place, box) => openBox(pair, { ...place, node }, box),
  };
}

/** undefined when there is no file. */
function readPair(file: string): Pair | undefined {
  const handle = openIfThere(file);
  if (handle === undefined) return undefined;
  try {
    // Windows has no such modes; a group may be let in, as file mounts of orchestrators do.
    if (process.platform !== 'win32' && (fstatSync(handle).mode & 0o007) !== 0) {
      throw new Error(`every user may open the key of this node, ${file}: run chmod 600 on it`);
    }
    return pairOf(file, readFileSync(handle, 'utf8'));
  } finally {
    closeSync(handle);
  }
}

function pairOf(file: string, pem: string): Pair {
  const advice = `remove ${file}: another key is made, and management seals the secrets for that one`;
  try {
    const privateKey = createPrivateKey(pem);
    if (privateKey.asymmetricKeyType === 'x25519') return { privateKey, publicKey: createPublicKey(privateKey) };
  } catch (cause) {
    throw new Error(`the key of this node cannot be read; ${advice}`, { cause });
  }
  throw new Error(`the key of this node is no X25519 key; ${advice}`);
}

function makePair(file: string, log: Log): Pair {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const { privateKey } = generateKeyPairSync('x25519');
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeDurably(draft, String(privateKey.export({ type: 'pkcs8', format: 'pem' })));
    // Of two processes that make it at once, one wins and both read it.
    linkSync(draft, file);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  const made = readPair(file);
  if (!made) throw new Error(`the key of this node, ${file}, was removed while it was made`);
  log.info('this node has a key for its secrets', { file, keyId: nodeKeyIdOf(nodeKeyText(made.publicKey)) });
  return made;
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
