/** Signed statements: how an anchor or the end of an export is signed, and how the signature is checked with nothing but its public key. */
import { createHash, createPublicKey, verify } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { AnchorEvent, AnchorStatement } from '../../../domain/anchor.ts';

/** The key of the management plane, as whoever signs sees it. */
export type Signer = {
  /** SHA-256 hex of the public key's SPKI DER. */
  readonly keyId: string;
  /** SPKI PEM. */
  readonly publicKey: string;
  /** Ed25519, base64url. */
  sign(bytes: Uint8Array): string;
};

/** The bytes that are signed: what kind of statement it is, so that none passes for another, and its canonical form. */
export const statementBytes = (kind: 'anchor' | 'export', statement: object): Uint8Array =>
  Buffer.from(`svc ${kind} 1\n${canonicalize(statement)}`);

/** The statement of an anchor event, without what only carries and proves it. */
export const statementOf = ({
  logId,
  era,
  from,
  to,
  count,
  merkleRoot,
  prevAnchorHash,
  keyId,
}: AnchorEvent): AnchorStatement => ({ logId, era, from, to, count, merkleRoot, prevAnchorHash, keyId });

export const keyIdOf = (publicKeyPem: string): string =>
  createHash('sha256')
    .update(createPublicKey(publicKeyPem).export({ type: 'spki', format: 'der' }))
    .digest('hex');

/** False for everything that is not a good signature by the key that `keyId` names. */
export function isSigned(
  bytes: Uint8Array,
  { keyId, publicKey, signature }: { readonly keyId: string; readonly publicKey: string; readonly signature: string },
): boolean {
  try {
    return keyIdOf(publicKey) === keyId && verify(null, bytes, publicKey, Buffer.from(signature, 'base64url'));
  } catch {
    return false;
  }
}
