/** Signing keys, signed configurations and what pins them, for tests of gateways that are apart from management. */
import { generateKeyPairSync, sign } from 'node:crypto';
import {
  type FeedSigner,
  keyIdOf,
  type SignedChanges,
  type SignedSnapshot,
  signChanges,
  signSnapshot,
} from '../../gateway/feed/signed.ts';
import type { GatewayChange, GatewaySnapshot } from '../../projections/gateway-snapshot.ts';

export function newSigner(): FeedSigner {
  const pair = generateKeyPairSync('ed25519');
  const publicKey = String(pair.publicKey.export({ type: 'spki', format: 'pem' }));
  return {
    keyId: keyIdOf(publicKey),
    publicKey,
    sign: (bytes) => sign(null, bytes, pair.privateKey).toString('base64url'),
  };
}

export const signed = (signer: FeedSigner, snapshot: GatewaySnapshot): SignedSnapshot =>
  signSnapshot(signer, { ...snapshot, createdAt: '2026-01-01T00:00:00.000Z', group: 'default', tags: [] });

/** What leads from one place to the next. */
export const signedStep = (
  signer: FeedSigner,
  { logId, era, position: after }: GatewaySnapshot,
  changes: readonly GatewayChange[],
  next: string,
): SignedChanges => signChanges(signer, { logId, era, after, next, tags: [], changes });
