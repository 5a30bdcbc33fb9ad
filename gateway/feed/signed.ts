/** What management signs of a configuration that leaves its process, and how anybody checks it with nothing but the public key. */
import { createHash, createPublicKey, verify } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import canonicalize from 'canonicalize';
import type { GatewayChange, GatewayObject, GatewaySnapshot } from '../../projections/gateway-snapshot.ts';
import type { NodeBox } from './node-box.ts';

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

/** The secrets of one answer, sealed for the one gateway that asked: beside what is signed for all, and signed with it. */
export type NodeSecrets = {
  readonly node: string;
  /** Id of the key that the boxes are for. */
  readonly recipient: string;
  /** By the key of the object. */
  readonly boxes: Readonly<Record<string, NodeBox>>;
  readonly signature: string;
};

type WithSecrets = { readonly secrets?: NodeSecrets };

export type SignedSnapshot = GatewaySnapshot &
  Signature &
  WithSecrets & {
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
export type SignedChanges = Signature &
  WithSecrets & {
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

/** Between two turns of the process. */
const busyMs = 10;

/**
 * The same, a member at a time: with a hundred thousand of them the process would stand still for a second or two. What was
 * summed goes to `seen`, in order.
 */
async function contentSha256InTurns<Member>(
  value: Readonly<Record<string, Member>>,
  seen: (name: string, canonical: string) => void = () => {},
): Promise<string> {
  const sum = createHash('sha256').update('{');
  let sinceMs = performance.now();
  for (const [index, name] of Object.keys(value).toSorted().entries()) {
    const canonical = canonicalize(value[name]) ?? '';
    sum.update(`${index === 0 ? '' : ','}${JSON.stringify(name)}:${canonical}`);
    seen(name, canonical);
    if (performance.now() - sinceMs < busyMs) continue;
    await turn();
    sinceMs = performance.now();
  }
  return sum.update('}').digest('hex');
}

/** What has the sum as it is written now has it in every form, and need not be brought into the canonical one. */
const hasContentSha256 = (value: object, sha256: string): boolean =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex') === sha256 || contentSha256(value) === sha256;

/** What kind of statement it is comes first, so that none passes for another. */
const bytesOf = (kind: 'snapshot' | 'changes' | 'secrets', statement: object): Uint8Array =>
  Buffer.from(`svc ${kind} 1\n${canonicalize(statement)}`);

type SnapshotStatement = Omit<SignedSnapshot, 'signature' | 'objects' | 'publicKey' | 'secrets'>;

const snapshotBytes = (of: SnapshotStatement): Uint8Array => {
  const { format, logId, era, position, revision, createdAt, group, tags, sha256, keyId } = of;
  return bytesOf('snapshot', { format, logId, era, position, revision, createdAt, group, tags, sha256, keyId });
};

const changesBytes = ({ logId, era, after, next, tags, changes, keyId }: Omit<SignedChanges, 'signature'>) =>
  bytesOf('changes', { logId, era, after, next, tags, sha256: contentSha256(changes), keyId });

/** Boxes of one answer say nothing about another one: its signature is a part of what is signed. */
const secretsBytes = (
  { node, recipient, boxes }: Omit<NodeSecrets, 'signature'>,
  { keyId, signature: of }: Signature,
) => bytesOf('secrets', { node, recipient, of, sha256: contentSha256(boxes), keyId });

export const signSecrets = (
  { sign }: FeedSigner,
  secrets: Omit<NodeSecrets, 'signature'>,
  answer: Signature,
): NodeSecrets => ({ ...secrets, signature: sign(secretsBytes(secrets, answer)) });

type ToSign = GatewaySnapshot & Pick<SignedSnapshot, 'createdAt' | 'group' | 'tags'>;

const withSignature = ({ keyId, publicKey, sign }: FeedSigner, snapshot: ToSign, sha256: string): SignedSnapshot => {
  const statement = { ...snapshot, sha256, keyId };
  return { ...statement, publicKey, signature: sign(snapshotBytes(statement)) };
};

export const signSnapshot = (signer: FeedSigner, snapshot: ToSign): SignedSnapshot =>
  withSignature(signer, snapshot, contentSha256(snapshot.objects));

/** While requests are served. */
export const signSnapshotInTurns = async (signer: FeedSigner, snapshot: ToSign): Promise<SignedSnapshot> =>
  withSignature(signer, snapshot, await contentSha256InTurns(snapshot.objects));

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
  holds(snapshotBytes(snapshot), snapshot, publicKey) && hasContentSha256(snapshot.objects, snapshot.sha256);

/**
 * While requests are served. Answers the snapshot with its objects in the order in which they are signed, so that what is
 * written of it is quickly checked when it is read again; undefined for everything that this key did not sign as it stands.
 */
export async function signedInTurns(snapshot: SignedSnapshot, publicKey: string): Promise<SignedSnapshot | undefined> {
  if (!holds(snapshotBytes(snapshot), snapshot, publicKey)) return undefined;
  const members: [string, GatewayObject][] = [];
  const sum = await contentSha256InTurns(snapshot.objects, (name, canonical) => {
    members.push([name, JSON.parse(canonical) as GatewayObject]);
  });
  return snapshot.sha256 === sum ? { ...snapshot, objects: Object.fromEntries(members) } : undefined;
}

export const areSignedChanges = (changes: SignedChanges, publicKey: string): boolean =>
  holds(changesBytes(changes), changes, publicKey);

/** Whether the secrets of an answer, where it has some, are those that management gave with it. */
export const areSignedSecrets = (answer: Signature & WithSecrets, publicKey: string): boolean => {
  const { keyId, secrets } = answer;
  return !secrets || holds(secretsBytes(secrets, answer), { keyId, signature: secrets.signature }, publicKey);
};

function holds(bytes: Uint8Array, { keyId, signature }: Signature, publicKey: string): boolean {
  try {
    return keyId === keyIdOf(publicKey) && verify(null, bytes, publicKey, Buffer.from(signature, 'base64url'));
  } catch {
    return false;
  }
}
