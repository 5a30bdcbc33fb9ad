/** Signing keys, signed configurations and what pins them, for tests of gateways that are apart from management. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { readNodeKey, sealBox } from '../../gateway/feed/node-box.ts';
import type { NodeKey } from '../../gateway/feed/node-key.ts';
import {
  type FeedSigner,
  keyIdOf,
  type NodeSecrets,
  type SignedChanges,
  type SignedSnapshot,
  signChanges,
  signSecrets,
  signSnapshot,
} from '../../gateway/feed/signed.ts';
import {
  type GatewayChange,
  type GatewayObject,
  type GatewaySnapshot,
  objectKey,
} from '../../projections/gateway-snapshot.ts';

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

/** The answer with the secrets of these objects, sealed for a gateway. */
export function withSecrets<Answer extends SignedSnapshot | SignedChanges>(
  signer: FeedSigner,
  answer: Answer,
  { node, publicKey, keyId }: Pick<NodeKey, 'node' | 'publicKey' | 'keyId'>,
  secrets: readonly { readonly object: GatewayObject; readonly pointer: string; readonly clear: string }[],
): Answer & { readonly secrets: NodeSecrets } {
  const { logId, era } = answer;
  const boxes = secrets.map(({ object: { kind, id, position }, pointer, clear }) => {
    const place = { logId, era, node, kind, id, position };
    return [objectKey(kind, id), sealBox(readNodeKey(publicKey), place, [{ pointer, clear }])] as const;
  });
  const sealed = { node, recipient: keyId, boxes: Object.fromEntries(boxes) };
  return { ...answer, secrets: signSecrets(signer, sealed, answer) };
}
