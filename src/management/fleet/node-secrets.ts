/** Seals the secrets of an answer for the gateway that asked: each object once for a node and event, and none that was shredded. */
import type { KeyObject } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { type NodeBox, nodeKeyIdOf, readNodeKey, sealBox } from '../../../gateway/feed/node-box.ts';
import { secretsOf, streamOf } from '../../../gateway/feed/object-secrets.ts';
import { type FeedSigner, type NodeSecrets, signSecrets } from '../../../gateway/feed/signed.ts';
import { type GatewayObject, objectKey } from '../../../projections/gateway-snapshot.ts';
import { secretsFrom } from '../definitions/definition-secrets.ts';
import type { HeldSecrets } from '../held-secrets.ts';
import type { Recipient } from './node-keys.ts';

/** Whom a box is for. */
type For = Recipient & Log & { readonly key: KeyObject };

type Log = { readonly logId: string; readonly era: number };

/** What the secrets go with. */
type Answer = { readonly keyId: string; readonly signature: string };

export type SealSecrets = (
  recipient: Recipient,
  log: Log,
  objects: Iterable<GatewayObject>,
  answer: Answer,
) => Promise<NodeSecrets>;

type Kept = { readonly box: NodeBox; readonly kids: readonly string[] };

/** Boxes of a few hundred bytes each; the ones made first go first. */
const defaultMaxKept = 50_000;

/** Between two turns of the process. */
const busyMs = 10;

export function createSealSecrets(ring: HeldSecrets, signer: FeedSigner, maxKept = defaultMaxKept): SealSecrets {
  const open = secretsFrom(ring);
  const kept = new Map<string, Kept>();

  /** A key that was shredded, here or by another process, is not in the ring any more. */
  const known = async (name: string): Promise<Kept | undefined> => {
    const found = kept.get(name);
    if (!found) return undefined;
    for (const kid of found.kids) if (!(await ring.has(kid))) return undefined;
    return found;
  };

  const seal = async ({ key, publicKey: _, ...of }: For, object: GatewayObject): Promise<Kept | undefined> => {
    const sealed = secretsOf(object);
    if (!sealed) return undefined;
    const opened = await open(streamOf(object), sealed);
    const clear = opened.flatMap(({ pointer, kid, clear: text }) =>
      text === undefined ? [] : [{ pointer, kid, clear: text }],
    );
    if (clear.length === 0) return undefined;
    const { kind, id, position } = object;
    const texts = clear.map(({ pointer, clear: text }) => ({ pointer, clear: text }));
    return { box: sealBox(key, { ...of, kind, id, position }, texts), kids: clear.map(({ kid }) => kid) };
  };

  const boxOf = async (whom: For, object: GatewayObject): Promise<NodeBox | undefined> => {
    const { kind, id, position } = object;
    const name = JSON.stringify([whom.publicKey, whom.node, whom.era, kind, id, position]);
    const found = (await known(name)) ?? (await seal(whom, object));
    kept.delete(name);
    if (!found) return undefined;
    kept.set(name, found);
    for (const [oldest] of kept) {
      if (kept.size <= maxKept) break;
      kept.delete(oldest);
    }
    return found.box;
  };

  return async function sealSecrets(recipient, { logId, era }, objects, answer) {
    const whom = { ...recipient, logId, era, key: readNodeKey(recipient.publicKey) };
    const boxes: Record<string, NodeBox> = {};
    let sinceMs = performance.now();
    for (const object of objects) {
      if (!secretsOf(object)) continue;
      const box = await boxOf(whom, object);
      if (box) boxes[objectKey(object.kind, object.id)] = box;
      if (performance.now() - sinceMs < busyMs) continue;
      await turn();
      sinceMs = performance.now();
    }
    const secrets = { node: recipient.node, recipient: nodeKeyIdOf(recipient.publicKey), boxes };
    return signSecrets(signer, secrets, answer);
  };
}
