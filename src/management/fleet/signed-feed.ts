/** The feed as it leaves the process: signed, so that whoever has the key can tell it from anything else. */
import type { FeedPlace } from '../../../gateway/feed/feed.ts';
import {
  type FeedSigner,
  type SignedChanges,
  type SignedSnapshot,
  signChanges,
  signSnapshot,
  signSnapshotInTurns,
} from '../../../gateway/feed/signed.ts';
import { type GatewaySnapshot, withheld } from '../../../projections/gateway-snapshot.ts';
import type { FeedQuery, ManagementFeed } from './feed.ts';
import type { Recipient } from './node-keys.ts';
import type { SealSecrets } from './node-secrets.ts';

export type SignedFeed = {
  readonly identity: ManagementFeed['identity'];
  /** The text of a `SignedSnapshot`. With a recipient it has the secrets sealed for that one. */
  snapshot(tags: readonly string[], signal: AbortSignal, recipient?: Recipient): Promise<string>;
  changes(
    after: FeedPlace,
    signal: AbortSignal,
    query: FeedQuery,
    recipient?: Recipient,
  ): Promise<SignedChanges | { readonly tooOld: true }>;
  /** A whole configuration that is not the one of now. */
  signed(snapshot: GatewaySnapshot): SignedSnapshot;
};

type Kept = Pick<SignedSnapshot, 'position' | 'keyId' | 'signature'> & { readonly text: string };

/** Of so many sets of labels the text of the last snapshot is kept: after an outage all nodes ask at once. */
const maxKept = 8;

/** All gateways are of one group so far. */
const group = 'default';

export function createSignedFeed(
  feed: Omit<ManagementFeed, 'report'>,
  signer: FeedSigner,
  now: () => Date,
  sealSecrets: SealSecrets,
): SignedFeed {
  let kept: ReadonlyMap<string, Kept> = new Map();
  /** By labels and position: who asks while one is made waits for it. */
  const making = new Map<string, Promise<Kept>>();
  const make = async (whole: GatewaySnapshot, tags: readonly string[]): Promise<Kept> => {
    const objects = Object.entries(whole.objects).map(([key, object]) => [key, withheld(object)] as const);
    const snapshot = { ...whole, objects: Object.fromEntries(objects) };
    const signed = await signSnapshotInTurns(signer, { ...snapshot, createdAt: now().toISOString(), group, tags });
    const { position, keyId, signature } = signed;
    const made = { position, keyId, signature, text: JSON.stringify(signed) };
    const name = tags.join(',');
    const others = [...kept].filter(([other]) => other !== name).slice(1 - maxKept);
    kept = new Map([...others, [name, made]]);
    return made;
  };
  /** What all nodes get alike, signed once. */
  const signedText = async (whole: GatewaySnapshot, tags: readonly string[]): Promise<Kept> => {
    const name = tags.join(',');
    const before = kept.get(name);
    if (before?.position === whole.position) return before;
    const place = `${name}@${whole.position}`;
    const made = making.get(place) ?? make(whole, tags).finally(() => making.delete(place));
    making.set(place, made);
    return made;
  };
  return {
    identity: feed.identity,
    async snapshot(tags, signal, recipient) {
      const whole = await feed.snapshot(signal, { tags });
      const { text, ...answer } = await signedText(whole, tags);
      if (!recipient) return text;
      const secrets = await sealSecrets(recipient, whole, Object.values(whole.objects), answer);
      return `${text.slice(0, -1)},"secrets":${JSON.stringify(secrets)}}`;
    },
    signed: (snapshot) => signSnapshot(signer, { ...snapshot, createdAt: now().toISOString(), group, tags: [] }),
    async changes(after, signal, query, recipient) {
      const answer = await feed.changes(after, signal, query);
      if ('tooOld' in answer) return answer;
      const { next } = answer;
      const changes = answer.changes.map((change) =>
        change.op === 'upsert' ? { ...change, object: withheld(change.object) } : change,
      );
      const { logId, era, position } = after;
      const signed = signChanges(signer, { logId, era, after: position, next, tags: query.tags ?? [], changes });
      if (!recipient) return signed;
      const objects = answer.changes.flatMap((change) => (change.op === 'upsert' ? [change.object] : []));
      if (objects.length === 0) return signed;
      return { ...signed, secrets: await sealSecrets(recipient, { logId, era }, objects, signed) };
    },
  };
}
