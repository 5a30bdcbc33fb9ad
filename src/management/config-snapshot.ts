/** What gateways ran from at a position, in the form in which they are given it: for a gateway that starts from the past. */
import type { EventStore, Position } from '../../domain/event-store.ts';
import { type OrgId, toApiId } from '../../domain/ids.ts';
import { type GatewayObject, type GatewaySnapshot, objectKey, withheld } from '../../projections/gateway-config.ts';
import { lastEntryOfKind } from '../../projections/history.ts';
import type { DocumentReader } from '../../projections/read-model-store.ts';
import { configAt } from './config-objects.ts';
import { apiAtRevision } from './time-travel.ts';

/** So many objects are read at once. */
const parallel = 16;

export async function snapshotAt(
  store: EventStore,
  models: DocumentReader,
  orgId: OrgId,
  position: Position,
): Promise<GatewaySnapshot> {
  const named = await configAt(models, orgId, position, ['api']);
  const objects: Record<string, GatewayObject> = {};
  for (let start = 0; start < named.length; start += parallel) {
    const read = named.slice(start, start + parallel).map(async ({ id, stream, revision, position }) => {
      const api = await apiAtRevision(store, orgId, toApiId(id), BigInt(revision));
      if (!api) throw new Error(`${stream} has no state at revision ${revision}, though the history knows it`);
      const { kind: apiKind, document, docSha256: sha256, sealed } = api;
      const body = { orgId, apiKind, document, ...(sealed ? { sealed } : {}) };
      return withheld({ kind: 'api', id, revision: String(revision), position, sha256, body });
    });
    for (const object of await Promise.all(read)) objects[objectKey(object.kind, object.id)] = object;
  }
  const { logId, era } = store.identity;
  const revision = lastEntryOfKind(models, orgId, 'api', position)?.position ?? '';
  return { format: 1, logId, era, position, revision, objects };
}
