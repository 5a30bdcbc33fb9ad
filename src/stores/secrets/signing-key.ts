/** The key with which the management plane signs anchors, exports and snapshots: one for all nodes, sealed, beside the log. */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { CellConflict, type SharedCells } from '../../../domain/shared-cells.ts';
import type { KeyRing } from './keyring.ts';
import { type SealedSecret, SecretError } from './seal.ts';

export type SigningKey = {
  /** SHA-256 hex of the public key's SPKI DER. */
  readonly keyId: string;
  /** SPKI PEM. */
  readonly publicKey: string;
  /** Ed25519, base64url. */
  sign(bytes: Uint8Array): string;
};

const cell = 'signing-key';
const place = { stream: 'cell-signing-key', type: 'SigningKey', path: 'privateKey' };

/** Opens the key, and makes it at the first start. Of several nodes that make one at once, all get the one that won. */
export async function openSigningKey({
  cells,
  keyRing,
}: {
  readonly cells: SharedCells;
  readonly keyRing: Pick<KeyRing, 'seal' | 'open'>;
}): Promise<SigningKey> {
  const found = await cells.read(cell);
  if (found) return toSigningKey(await unsealed(keyRing, JSON.parse(found.value) as SealedSecret));
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const sealed = await keyRing.seal(pem, place);
  try {
    await cells.write(cell, JSON.stringify(sealed), 'none');
  } catch (error) {
    if (error instanceof CellConflict) return openSigningKey({ cells, keyRing });
    throw error;
  }
  return toSigningKey(pem);
}

/** Without it nothing could be signed as before, and whoever checks signatures would be refused without a word. */
async function unsealed(keyRing: Pick<KeyRing, 'open'>, sealed: SealedSecret): Promise<string> {
  try {
    return await keyRing.open(sealed, place);
  } catch (cause) {
    if (!(cause instanceof SecretError) || cause.code !== 'key_missing') throw cause;
    throw new SecretError(
      'key_missing',
      `the key ring has no key ${sealed.kid} for the signing key: it is not the ring of this log. Bring keyring.db back from the backup; when it is lost for good, svc store signing-key renew lets the next start make a new one`,
      { cause },
    );
  }
}

/** The next open makes a new one. Whoever pinned the old one must be told. False when there was none. */
export async function forgetSigningKey(cells: Pick<SharedCells, 'read' | 'remove'>): Promise<boolean> {
  const wasThere = (await cells.read(cell)) !== undefined;
  await cells.remove(cell);
  return wasThere;
}

/** The data key that seals it; undefined before the first start. */
export async function signingKid(cells: Pick<SharedCells, 'read'>): Promise<string | undefined> {
  const found = await cells.read(cell);
  return found && (JSON.parse(found.value) as SealedSecret).kid;
}

function toSigningKey(pem: string): SigningKey {
  const privateKey: KeyObject = createPrivateKey(pem);
  const publicKey = createPublicKey(privateKey);
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return {
    keyId: createHash('sha256').update(der).digest('hex'),
    publicKey: String(publicKey.export({ type: 'spki', format: 'pem' })),
    sign: (bytes) => sign(null, bytes, privateKey).toString('base64url'),
  };
}
