/** The port through which a gateway gets its configuration: a snapshot, then changes by position. In process it is a function call. */
import type { GatewayChange, GatewaySnapshot } from '../../projections/gateway-config.ts';

export type FeedAnswer =
  | { readonly changes: readonly GatewayChange[]; readonly next: string }
  /** The place asked for is not there any more (or never was): take a snapshot. */
  | { readonly tooOld: true };

export interface Feed {
  snapshot(signal: AbortSignal): Promise<GatewaySnapshot>;
  /** Waits until there is something after `after` (position) or some seconds have passed; an idle answer moves `next`. */
  changes(after: string, signal: AbortSignal): Promise<FeedAnswer>;
  /** Tells management what this node runs: applied revision, and which objects it had to keep back. */
  report(report: GatewayReport): Promise<void>;
}

export type GatewayReport = {
  readonly node: string;
  readonly position: string;
  readonly revision: string;
  readonly rejected: readonly RejectedObject[];
};

/** An API that does not compile keeps its previous good revision (`keptRevision`), or is not served at all. */
export type RejectedObject = {
  readonly kind: 'api';
  readonly id: string;
  readonly code: string;
  readonly message: string;
  readonly keptRevision?: string;
};
