/** What management signs of a configuration that leaves its process, and how anybody checks it with nothing but the public key. */
import { createHash, createPublicKey, verify } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { GatewayChange, GatewaySnapshot } from '../../projections/gateway-snapshot.ts';

/** The key that signs. */
export type FeedSigner = {
  /** SHA-256 hex of the public key's SPKI DER. */
  readonly keyId: string;
  /** SPKI PEM. */
  readonly publicKey: string;
  /** Ed25519, base64url. */
  sign(bytes: Uint8Array): string;
};

type Signature = { readonly keyId: string; readonly signature: string };

export type SignedSnapshot = GatewaySnapshot &
  Signature & {
    /** RFC 3339. */
    readonly createdAt: string;
    readonly group: string;
    /** Labels for which it was made; empty: everything. */
    readonly tags: readonly string[];
    /** Hex, over the RFC 8785 form of `objects`. */
    readonly sha256: string;
    readonly publicKey: string;
  };

/** Changes between two places of one log. */
export type SignedChanges = Signature & {
  readonly logId: string;
  readonly era: number;
  readonly after: string;
  readonly next: string;
  readonly tags: readonly string[];
  readonly changes: readonly GatewayChange[];
};

const contentSha256 = (value: object): string =>
  createHash('sha256')
    .update(canonicalize(value) ?? '')
    .digest('hex');

/** What kind of statement it is comes first, so that none passes for another. */
const bytesOf = (kind: 'snapshot' | 'changes', statement: object): Uint8Array =>
  Buffer.from(`svc ${kind} 1\n${canonicalize(statement)}`);

type SnapshotStatement = Omit<SignedSnapshot, 'signature' | 'objects' | 'publicKey'>;

const snapshotBytes = (of: SnapshotStatement): Uint8Array => {
  const { format, logId, era, position, revision, createdAt, group, tags, sha256, keyId } = of;
  return bytesOf('snapshot', { format, logId, era, position, revision, createdAt, group, tags, sha256, keyId });
};

const changesBytes = ({ logId, era, after, next, tags, changes, keyId }: Omit<SignedChanges, 'signature'>) =>
  bytesOf('changes', { logId, era, after, next, tags, sha256: contentSha256(changes), keyId });

export function signSnapshot(
  { keyId, publicKey, sign }: FeedSigner,
  snapshot: GatewaySnapshot & Pick<SignedSnapshot, 'createdAt' | 'group' | 'tags'>,
): SignedSnapshot {
  const statement = { ...snapshot, sha256: contentSha256(snapshot.objects), keyId };
  return { ...statement, publicKey, signature: sign(snapshotBytes(statement)) };
}

export function signChanges(
  { keyId, sign }: FeedSigner,
  changes: Omit<SignedChanges, 'keyId' | 'signature'>,
): SignedChanges {
  const statement = { ...changes, keyId };
  return { ...statement, signature: sign(changesBytes(statement)) };
}

/** Throws when the text is no public key. */
export const keyIdOf = (publicKey: string): string =>
  createHash('sha256')
    .update(createPublicKey(publicKey).export({ type: 'spki', format: 'der' }))
    .digest('hex');

/** False for everything that this key did not sign as it stands. */
export const isSignedSnapshot = (snapshot: SignedSnapshot, publicKey: string): boolean =>
  snapshot.sha256 === contentSha256(snapshot.objects) && holds(snapshotBytes(snapshot), snapshot, publicKey);

export const areSignedChanges = (changes: SignedChanges, publicKey: string): boolean =>
  holds(changesBytes(changes), changes, publicKey);

function holds(bytes: Uint8Array, { keyId, signature }: Signature, publicKey: string): boolean {
  try {
    return keyId === keyIdOf(publicKey) && verify(null, bytes, publicKey, Buffer.from(signature, 'base64url'));
  } catch {
    return false;
  }
}
