/** What gateways ran from at a position, in the form in which they are given it: for a gateway that starts from the past. */
import type { EventStore, Position } from '../../../domain/event-store.ts';
import { decodeEvent } from '../../../domain/events.ts';
import { type OrgId, orgStream, toApiId } from '../../../domain/ids.ts';
import { objectFrom } from '../../../projections/gateway-config.ts';
import {
  type GatewayObject,
  type GatewaySnapshot,
  objectKey,
  withheld,
} from '../../../projections/gateway-snapshot.ts';
import { lastEntryOfKind } from '../../../projections/history.ts';
import type { DocumentReader } from '../../../projections/read-model-store.ts';
import { configAt, type Named } from './config-objects.ts';
import { apiAtRevision, eventsUpTo, revisionAt } from './time-travel.ts';

/** So many objects are read at once. */
const parallel = 16;

const kinds = ['api', 'key', 'policy', 'webhook'] as const;

export async function snapshotAt(
  store: EventStore,
  models: DocumentReader,
  orgId: OrgId,
  position: Position,
): Promise<GatewaySnapshot> {
  const named = await configAt({ store, models }, orgId, position, kinds);
  const found: GatewayObject[] = [];
  const organisation = await fromStream(store, orgStream(orgId), await revisionAt(store, orgStream(orgId), position));
  if (organisation) found.push(organisation);
  for (let start = 0; start < named.length; start += parallel) {
    const read = named.slice(start, start + parallel).map((one) => objectOf(store, orgId, one));
    found.push(...(await Promise.all(read)));
  }
  const { logId, era } = store.identity;
  const changed = [
    ...found.map((object) => object.position),
    ...kinds.map((kind) => lastEntryOfKind(models, orgId, kind, position)?.position ?? ''),
  ];
  const revision = changed.reduce((newest, one) => (one > newest ? one : newest), '');
  const objects = Object.fromEntries(found.map((object) => [objectKey(object.kind, object.id), withheld(object)]));
  return { format: 2, logId, era, position, revision, objects };
}

async function objectOf(store: EventStore, orgId: OrgId, named: Named): Promise<GatewayObject> {
  const { kind, id, stream, revision, position } = named;
  const object =
    kind === 'api' ? await apiObject(store, orgId, named) : await fromStream(store, stream, BigInt(revision));
  if (!object) throw new Error(`${stream} has no state at revision ${revision}, though the history knows it`);
  return { ...object, id, position };
}

async function apiObject(
  store: EventStore,
  orgId: OrgId,
  { id, revision, position }: Named,
): Promise<GatewayObject | undefined> {
  const api = await apiAtRevision(store, orgId, toApiId(id), BigInt(revision));
  if (!api) return undefined;
  const { kind: apiKind, document, docSha256: sha256, sealed } = api;
  const body = { orgId, apiKind, document, ...(sealed ? { sealed } : {}) };
  return { kind: 'api', id, revision: String(revision), position, sha256, body };
}

/** Their streams are short. */
async function fromStream(
  store: EventStore,
  stream: string,
  revision: bigint | undefined,
): Promise<GatewayObject | undefined> {
  if (revision === undefined) return undefined;
  return objectFrom((await eventsUpTo(store, stream, revision)).map(decodeEvent));
}
