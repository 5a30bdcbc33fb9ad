/** Anchors: signed statements over the hashes of all audited events in global order, so that insertion and truncation show. */
import type { Position } from './event-store.ts';
import type { OrgId } from './ids.ts';

/** What is signed. Positions belong to the log and era that are named; a copy of the log keeps the order, not the positions. */
export type AnchorStatement = {
  readonly logId: string;
  readonly era: number;
  /** First and last position that it covers. */
  readonly from: Position;
  readonly to: Position;
  /** Audited events between them, both included. */
  readonly count: number;
  /** Hex; leaves are the hashes of the events. */
  readonly merkleRoot: string;
  /** Hash of the anchor before, hex; zeros for the first one. */
  readonly prevAnchorHash: string;
  /** SHA-256 hex of the public key's SPKI DER. */
  readonly keyId: string;
};

export type AnchorEvent = AnchorStatement & {
  readonly type: 'AuditAnchored';
  readonly orgId: OrgId;
  /** SPKI PEM, so that an export can be verified with nothing else; who verifies compares `keyId` with one noted before. */
  readonly publicKey: string;
  /** Ed25519, base64url. */
  readonly signature: string;
};
