/** The key that a gateway opens its secrets with: made once, and never anywhere but on the disk of this node. */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Log } from '../ports.ts';
import type { Pair } from './hpke.ts';
import { readKeyFile, writeKeyFile } from './key-file.ts';
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
  const exposed = () => new Error(`every user may open the key of this node, ${file}: run chmod 600 on it`);
  const pem = readKeyFile(file, exposed);
  return pem === undefined ? undefined : pairOf(file, pem);
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
  writeKeyFile(file, String(privateKey.export({ type: 'pkcs8', format: 'pem' })), { isFirst: true });
  const made = readPair(file);
  if (!made) throw new Error(`the key of this node, ${file}, was removed while it was made`);
  log.info('this node has a key for its secrets', { file, keyId: nodeKeyIdOf(nodeKeyText(made.publicKey)) });
  return made;
}
