/** The feed as it leaves the process: signed, so that whoever has the key can tell it from anything else. */
import type { FeedPlace } from '../../gateway/feed/feed.ts';
import {
  type FeedSigner,
  type SignedChanges,
  type SignedSnapshot,
  signChanges,
  signSnapshot,
} from '../../gateway/feed/signed.ts';
import { type GatewaySnapshot, withheld } from '../../projections/gateway-snapshot.ts';
import type { FeedQuery, ManagementFeed } from './feed.ts';

export type SignedFeed = {
  readonly identity: ManagementFeed['identity'];
  /** The text of a `SignedSnapshot`. */
  snapshot(tags: readonly string[], signal: AbortSignal): Promise<string>;
  changes(after: FeedPlace, signal: AbortSignal, query: FeedQuery): Promise<SignedChanges | { readonly tooOld: true }>;
  /** A whole configuration that is not the one of now. */
  signed(snapshot: GatewaySnapshot): SignedSnapshot;
};

type Kept = { readonly position: string; readonly text: string };

/** Of so many sets of labels the text of the last snapshot is kept: after an outage all nodes ask at once. */
const maxKept = 8;

/** All gateways are of one group so far. */
const group = 'default';

export function createSignedFeed(
  feed: Omit<ManagementFeed, 'report'>,
  signer: FeedSigner,
  now: () => Date,
): SignedFeed {
  let kept: ReadonlyMap<string, Kept> = new Map();
  return {
    identity: feed.identity,
    async snapshot(tags, signal) {
      const whole = await feed.snapshot(signal, { tags });
      const objects = Object.entries(whole.objects).map(([name, object]) => [name, withheld(object)] as const);
      const snapshot = { ...whole, objects: Object.fromEntries(objects) };
      const name = tags.join(',');
      const before = kept.get(name);
      if (before?.position === snapshot.position) return before.text;
      const text = JSON.stringify(signSnapshot(signer, { ...snapshot, createdAt: now().toISOString(), group, tags }));
      const others = [...kept].filter(([other]) => other !== name).slice(1 - maxKept);
      kept = new Map([...others, [name, { position: snapshot.position, text }]]);
      return text;
    },
    signed: (snapshot) => signSnapshot(signer, { ...snapshot, createdAt: now().toISOString(), group, tags: [] }),
    async changes(after, signal, query) {
      const answer = await feed.changes(after, signal, query);
      if ('tooOld' in answer) return answer;
      const { next } = answer;
      const changes = answer.changes.map((change) =>
        change.op === 'upsert' ? { ...change, object: withheld(change.object) } : change,
      );
      const { logId, era, position } = after;
      return signChanges(signer, { logId, era, after: position, next, tags: query.tags ?? [], changes });
    },
  };
}
