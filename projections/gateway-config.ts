/** The configuration that gateways run from: folds events into its objects, and reads snapshots and changes from them. */
import { tagsOf } from '../domain/api/head.ts';
import { never, type Recorded } from '../domain/event.ts';
import type { Position } from '../domain/event-store.ts';
import type { DomainEvent } from '../domain/events.ts';
import { apiChange } from './gateway-objects/api.ts';
import { cacheFlushChange } from './gateway-objects/cache-flush.ts';
import { keyChange } from './gateway-objects/key.ts';
import { organisationChange } from './gateway-objects/organisation.ts';
import { policyChange } from './gateway-objects/policy.ts';
import { redeliveryChange } from './gateway-objects/redelivery.ts';
import { reloadChange } from './gateway-objects/reload.ts';
import { shreddedChange } from './gateway-objects/shredded-secret.ts';
import { webhookChange } from './gateway-objects/webhook.ts';
import {
  type GatewayChange,
  type GatewayObject,
  type GatewaySnapshot,
  type ObjectKind,
  type ObjectOfKind,
  objectKey,
} from './gateway-snapshot.ts';
import type { Projection } from './projection.ts';
import type { Checkpoint, DocumentChange, DocumentReader } from './read-model-store.ts';

/**
 * The feed is made of the objects themselves, in the order of their last changes: who is behind gets each object once, as it
 * is now. What was removed leaves a mark.
 */
const objects = 'gateway_objects';
const removals = 'gateway_removals';
const meta = 'gateway_meta';

/** `revision`: of the last change. `removals`: marks that are kept. `dropped`: position of the newest mark that is not. */
type Meta = { readonly revision: Position; readonly removals: number; readonly dropped: Position };

const noMeta: Meta = { revision: '', removals: 0, dropped: '' };

/** Who is further behind takes a snapshot. Marks go in groups, because each look for the oldest costs. */
const maxRemovals = 10_000;
const droppedAtOnce = 500;

/** Streams whose events may change the configuration of gateways. */
export const gatewayCategories: readonly string[] = ['api', 'key', 'policy', 'webhook', 'org', 'gwgroup'];

export const gatewayConfig: Projection = {
  name: 'gateway_config',
  version: 5,
  collections: [objects, removals, meta],
  filter: { categories: gatewayCategories },
  onPoison: 'stop',
  superseded: 'nothing',
  apply: (recorded, documents) => {
    const change = changeOf(recorded, (key) => documents.get(objects, key)?.body as GatewayObject | undefined);
    return change ? keep(change, documents) : [];
  },
};

/** The object that the events of one stream come to, oldest first; undefined when there is none any more. */
export function objectFrom(events: readonly Recorded<DomainEvent>[]): GatewayObject | undefined {
  let object: GatewayObject | undefined;
  for (const recorded of events) {
    // An object of its own, and no configuration.
    if (recorded.event.type === 'WebhookRedeliveryRequested') continue;
    const change = changeOf(recorded, () => object);
    if (change) object = change.op === 'upsert' ? change.object : undefined;
  }
  return object;
}

/** By the key of the object. */
type FindBefore = (key: string) => GatewayObject | undefined;

function changeOf(recorded: Recorded<DomainEvent>, find: FindBefore): GatewayChange | undefined {
  const { event } = recorded;
  switch (event.type) {
    case 'ApiDefinitionCreated':
    case 'ApiDefinitionImported':
    case 'ApiDefinitionPatched':
    case 'ApiDefinitionReplaced':
    case 'ApiDefinitionRolledBack':
    case 'ApiDefinitionDeleted':
    case 'ApiActivated':
    case 'ApiDeactivated':
    case 'ApiInternalChanged':
      return apiChange({ ...recorded, event }, objectBefore(find, 'api', event.apiId));
    case 'KeyCreated':
    case 'KeyUpdated':
    case 'KeyDisabled':
    case 'KeyQuotaReset':
    case 'KeyDeleted':
      return keyChange({ ...recorded, event }, objectBefore(find, 'key', event.keyHash));
    case 'PolicyCreated':
    case 'PolicyUpdated':
    case 'PolicyDeleted':
      return policyChange({ ...recorded, event });
    case 'WebhookCreated':
    case 'WebhookUpdated':
    case 'WebhookDeleted':
      return webhookChange({ ...recorded, event });
    case 'WebhookRedeliveryRequested':
      return redeliveryChange({ ...recorded, event }, objectBefore(find, 'redelivery', event.webhookId));
    case 'OrganisationCreated':
    case 'OrganisationUpdated':
      return organisationChange({ ...recorded, event });
    case 'SecretShredded':
      // Categories of streams with secrets are the kinds of their objects.
      return shreddedChange({ ...recorded, event }, (kind, id) => find(`${kind}:${id}`));
    case 'GatewayReloadRequested':
      return reloadChange({ ...recorded, event });
    case 'CacheFlushRequested':
      return cacheFlushChange({ ...recorded, event });
    case 'CertificateImported':
    case 'CertificateKeyAttached':
    case 'CertificateRenamed':
    case 'CertificateExpiringSoon':
    case 'CertificateExpired':
    case 'CertificateDeleted':
    case 'CertificateKeyShredded':
    case 'ConfigRestored':
    case 'NameReserved':
    case 'NameReleased':
    case 'AuditAnchored':
    case 'GatewayRegistered':
    case 'GatewayDeregistered':
    case 'GatewayConfigApplied':
    case 'TokenIssued':
    case 'TokenUpdated':
    case 'TokenRotated':
    case 'TokenRevoked':
      return undefined;
    default:
      return never(event);
  }
}

const objectBefore = <Kind extends ObjectKind>(find: FindBefore, kind: Kind, id: string) =>
  find(objectKey(kind, id)) as ObjectOfKind<Kind> | undefined;

function keep(change: GatewayChange, documents: DocumentReader): readonly DocumentChange[] {
  const { position } = change;
  const key =
    change.op === 'upsert' ? objectKey(change.object.kind, change.object.id) : objectKey(change.kind, change.id);
  const before = readMeta(documents);
  const wasRemoved = before.removals > 0 && documents.get(removals, key) !== undefined;
  if (change.op === 'upsert') {
    return [
      put(objects, key, position, change.object),
      ...(wasRemoved ? [remove(removals, key)] : []),
      put(meta, meta, '', { ...before, revision: position, removals: before.removals - (wasRemoved ? 1 : 0) }),
    ];
  }
  const oldest = before.removals < maxRemovals ? [] : documents.list(removals, { limit: droppedAtOnce });
  const after: Meta = {
    revision: position,
    removals: before.removals + (wasRemoved ? 0 : 1) - oldest.length,
    dropped: oldest.at(-1)?.sort ?? before.dropped,
  };
  return [
    ...oldest.map(({ id }) => remove(removals, id)),
    remove(objects, key),
    put(removals, key, position, change),
    put(meta, meta, '', after),
  ];
}

const remove = (collection: string, id: string): DocumentChange => ({ op: 'remove', collection, id });

const put = (collection: string, id: string, sort: string, body: unknown): DocumentChange => ({
  op: 'put',
  collection,
  document: { id, sort, labels: [], body },
});

const readMeta = (documents: DocumentReader): Meta => (documents.get(meta, meta)?.body as Meta | undefined) ?? noMeta;

/** `checkpoint` is the projection's, read together with this. */
export function readSnapshot(
  documents: DocumentReader,
  { logId, era, position }: Pick<Checkpoint, 'logId' | 'era' | 'position'>,
): GatewaySnapshot {
  const found = documents.list(objects, { limit: documents.count(objects) });
  const { revision } = readMeta(documents);
  const entries = found.map(({ id, body }) => [id, body as GatewayObject] as const);
  return { format: 2, logId, era, position, revision, objects: Object.fromEntries(entries) };
}

/** One object as gateways have it now. */
export const findObject = <Kind extends ObjectKind>(
  documents: DocumentReader,
  kind: Kind,
  id: string,
): ObjectOfKind<Kind> | undefined =>
  documents.get(objects, objectKey(kind, id))?.body as ObjectOfKind<Kind> | undefined;

/** So many changes stand in one answer. */
const maxChanges = 500;

export type ChangesAfter =
  | { readonly changes: readonly GatewayChange[]; readonly isComplete: boolean }
  | { readonly tooOld: true };

/** Position of the last change of anything. */
export const lastChange = (documents: DocumentReader): Position => readMeta(documents).revision;

/** Gateways with labels run only APIs that share one; an API that has none runs on gateways without. */
const isFor = (object: GatewayObject, tags: readonly string[]): boolean =>
  object.kind !== 'api' || tagsOf(object.body.document).some((tag) => tags.includes(tag));

export const forTags = (all: GatewaySnapshot['objects'], tags: readonly string[]): GatewaySnapshot['objects'] =>
  Object.fromEntries(Object.entries(all).filter(([, object]) => isFor(object, tags)));

/** An object that is for others now is gone for those who ask. */
function seenWith(change: GatewayChange, tags: readonly string[]): GatewayChange {
  if (change.op === 'remove' || tags.length === 0 || isFor(change.object, tags)) return change;
  const { position, object } = change;
  return { op: 'remove', position, kind: object.kind, id: object.id, elsewhere: true };
}

/** In order. Not complete: the next ones are asked for with the position of the last one given. */
export function changesAfter(
  documents: DocumentReader,
  position: Position,
  tags: readonly string[] = [],
): ChangesAfter {
  if (position < readMeta(documents).dropped) return { tooOld: true };
  const query = { after: position, limit: maxChanges + 1 };
  const upserts = documents.list(objects, query).map(({ body }): GatewayChange => {
    const object = body as GatewayObject;
    return { op: 'upsert', position: object.position, object };
  });
  const found = [...upserts, ...documents.list(removals, query).map(({ body }) => body as GatewayChange)];
  found.sort((a, b) => (a.position < b.position ? -1 : 1));
  const changes = found.slice(0, maxChanges).map((change) => seenWith(change, tags));
  return { changes, isComplete: found.length <= maxChanges };
}
