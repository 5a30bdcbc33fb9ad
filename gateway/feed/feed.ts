/** The port through which a gateway gets its configuration: a snapshot, then changes by position. In process it is a function call. */
import type { NodeError, NodeIdentity } from '../../domain/gateway-node.ts';
import type { KeyUse } from '../../domain/key-use.ts';
import type { WebhookDelivery } from '../../domain/webhook-delivery.ts';
import type { GatewayChange, GatewaySnapshot } from '../../projections/gateway-snapshot.ts';
import type { SignedChanges, SignedSnapshot } from './signed.ts';

/** Positions are comparable within one log and one era only, so they are named with both. */
export type FeedPlace = Pick<GatewaySnapshot, 'logId' | 'era' | 'position'>;

type FeedChanges = { readonly changes: readonly GatewayChange[]; readonly next: string };

export type FeedAnswer =
  | (FeedChanges & Partial<SignedChanges>)
  /** The place asked for is not there any more: take a snapshot. */
  | { readonly tooOld: true };

export interface Feed {
  /** What comes over the network is signed, and was checked. */
  snapshot(signal: AbortSignal): Promise<GatewaySnapshot | SignedSnapshot>;
  /** Waits until there is something after the place or some seconds have passed; an idle answer moves `next`. */
  changes(after: FeedPlace, signal: AbortSignal): Promise<FeedAnswer>;
  /** Tells management what this node runs. Throws `FeedRefusal` with `node_superseded` when another process has its name now. */
  report(report: GatewayReport): Promise<void>;
}

/** A request to all gateways of a group. `revision` is its position without leading zeros. */
export type GroupReload = { readonly reloadId: string; readonly revision: string };

/** Where the configuration came from that runs. */
export type SnapshotSource = 'disk' | 'seed' | 'feed';

/** The request to reload that a node followed last, and what it came to. */
export type ReloadReport = {
  readonly reloadId: string;
  /** Of the request. */
  readonly position: string;
  /** How many APIs. */
  readonly loaded: number;
  readonly unchanged: number;
  readonly rejected: number;
  /** The first of those that were rejected. */
  readonly errors?: readonly NodeError[];
  /** What could not be taken anew. */
  readonly message?: string;
};

export type GatewayReport = NodeIdentity & {
  readonly node: string;
  /** One start of the process: of two that claim one name the newer wins. */
  readonly run: string;
  readonly startedAt: string;
  /** `none`: it never had a configuration. */
  readonly source: SnapshotSource | 'none';
  /** How many APIs it serves. */
  readonly apis: number;
  readonly position: string;
  readonly revision: string;
  /** As in `GatewayConfigApplied`. */
  readonly snapshotSha256: string;
  /** How long the last compilation took. */
  readonly ms: number;
  readonly rejected: readonly NodeError[];
  /** Why it does not follow the feed, when it does not. */
  readonly trouble?: { readonly code: string; readonly message: string };
  readonly reload?: ReloadReport;
  /** Deliveries to webhooks that changed since management took the last report. */
  readonly deliveries?: readonly WebhookDelivery[];
  /** Keys that were used since then, the last one first. */
  readonly keys?: readonly KeyUse[];
};

/** Why an answer of the feed is not believed, or was not given. */
export type FeedRefusalCode =
  | 'other_log'
  | 'position_ahead'
  | 'earlier_era'
  | 'malformed'
  | 'signature_invalid'
  | 'key_changed'
  | 'token_refused'
  | 'node_superseded'
  | 'node_key_unknown'
  | 'unreachable'
  | 'failed';

export class FeedRefusal extends Error {
  readonly code: FeedRefusalCode;
  constructor(code: FeedRefusalCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'FeedRefusal';
    this.code = code;
  }
}
