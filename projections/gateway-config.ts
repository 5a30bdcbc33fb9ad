/** The configuration that gateways run from: snapshot types, the fold of events into it, and `applyChange`, which gateways use too. */
import type { ApiDocument, ApiKind } from '../domain/api/definition.ts';
import type { Position } from '../domain/event-store.ts';
import type { OrgId } from '../domain/ids.ts';

/** One object of the configuration. `revision` is its stream revision as text, `position` that of the event that made it. */
export type GatewayObject = {
  readonly kind: 'api';
  readonly id: string;
  readonly revision: string;
  readonly position: Position;
  /** SHA-256 hex of the document, from the event. Same hash, same compiled API. */
  readonly sha256: string;
  readonly body: { readonly orgId: OrgId; readonly apiKind: ApiKind; readonly document: ApiDocument };
};

/**
 * The whole configuration at a position. `position` is the checkpoint of the feed; `revision` the position of the last
 * event that changed the configuration: what requests are stamped with.
 */
export type GatewaySnapshot = {
  readonly format: 1;
  readonly logId: string;
  readonly era: number;
  readonly position: Position;
  readonly revision: Position;
  readonly objects: Readonly<Record<string, GatewayObject>>;
};

export type GatewayChange =
  | { readonly op: 'upsert'; readonly position: Position; readonly object: GatewayObject }
  | { readonly op: 'remove'; readonly position: Position; readonly kind: 'api'; readonly id: string };

export const objectKey = (kind: 'api', id: string): string => `${kind}:${id}`;

/** The next snapshot; the given one is not changed. Changes at or before the snapshot's revision are skipped. */
export function applyChanges(
  snapshot: GatewaySnapshot,
  changes: readonly GatewayChange[],
  position: Position,
): GatewaySnapshot {
  const objects = { ...snapshot.objects };
  let { revision } = snapshot;
  for (const change of changes) {
    if (change.position <= snapshot.revision) continue;
    if (change.op === 'upsert') objects[objectKey(change.object.kind, change.object.id)] = change.object;
    else delete objects[objectKey(change.kind, change.id)];
    revision = change.position;
  }
  return { ...snapshot, objects, revision, position };
}
