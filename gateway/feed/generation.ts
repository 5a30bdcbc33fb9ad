/** What a node keeps of a configuration: the snapshot, what runs in place of rejected objects, and the proof of where it came from. */
import type { GatewayObject } from '../../projections/gateway-snapshot.ts';
import type { HeldSnapshot } from './held.ts';
import type { NodeBox } from './node-box.ts';
import type { SignedChanges, SignedSnapshot } from './signed.ts';

/** What shows that a snapshot came from management: the signed one it began with, and each signed change since, in order. */
export type Provenance = { readonly base: SignedSnapshot; readonly steps: readonly SignedChanges[] };

/** Which APIs the rules of a version let through: all but those that are named, each with everything in its document. */
export type Checked = { readonly by: string; readonly rejected: readonly string[] };

/** `kept`: the good objects that run in place of rejected ones, so that a restart gives what running on gives. */
export type Generation = {
  readonly snapshot: HeldSnapshot;
  readonly kept: Readonly<Record<string, GatewayObject>>;
  /** Secrets of those: sealed for this node, as they came. */
  readonly boxes?: Readonly<Record<string, NodeBox>>;
  /** A start by the same rules need not ask them again. */
  readonly checked?: Checked;
  /** Absent when it came by a function call. */
  readonly provenance?: Provenance;
};
