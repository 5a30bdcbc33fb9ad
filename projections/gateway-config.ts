/** The configuration that gateways run from: snapshot types, the fold of events into it, and `applyChange`, which gateways use too. */
import type { ApiDocument, ApiKind } from '../domain/api/definition.ts';
import { tagsOf } from '../domain/api/oas.ts';
import type { SealedSecrets } from '../domain/document-secrets.ts';
import { never, type Recorded } from '../domain/event.ts';
import type { Position } from '../domain/event-store.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { OrgId } from '../domain/ids.ts';
import type { Projection } from './projection.ts';
import type { Checkpoint, DocumentChange, DocumentReader } from './read-model-store.ts';

/** One object of the configuration. `revision` is its stream revision as text, `position` that of the event that made it. */
export type GatewayObject = {
  readonly kind: 'api';
  readonly id: string;
  readonly revision: string;
  readonly position: Position;
  /** SHA-256 hex of the document, from the event. Same hash, same compiled API. */
  readonly sha256: string;
  readonly body: {
    readonly orgId: OrgId;
    readonly apiKind: ApiKind;
    /** Shows masks where secrets stand. */
    readonly document: ApiDocument;
    /** Those secrets, for a gateway that can open them. */
    readonly sealed?: SealedSecrets;
    /** Their places, for one that cannot. */
    readonly withheld?: readonly string[];
  };
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
  | {
      readonly op: 'remove';
      readonly position: Position;
      readonly kind: 'api';
      readonly id: string;
      /** It is there for gateways with other labels: who never had it has lost nothing. */
      readonly elsewhere?: true;
    };

/** As it leaves the process: of its secrets only where they stand. */
export function withheld(object: GatewayObject): GatewayObject {
  const { sealed, ...body } = object.body;
  return sealed ? { ...object, body: { ...body, withheld: sealed.secrets.map(({ pointer }) => pointer) } } : object;
}

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
    else if (change.elsewhere && !Object.hasOwn(objects, objectKey(change.kind, change.id))) continue;
    else delete objects[objectKey(change.kind, change.id)];
    revision = change.position;
  }
  return { ...snapshot, objects, revision, position };
}

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

export const gatewayConfig: Projection = {
  name: 'gateway_config',
  version: 2,
  collections: [objects, removals, meta],
  filter: { categories: ['api'] },
  onPoison: 'stop',
  apply: (recorded, documents) => {
    const change = changeOf(recorded, documents);
    return change ? keep(change, documents) : [];
  },
};

function changeOf(recorded: Recorded<DomainEvent>, documents: DocumentReader): GatewayChange | undefined {
  const { event, position } = recorded;
  const revision = String(recorded.revision);
  switch (event.type) {
    case 'ApiDefinitionCreated':
    case 'ApiDefinitionImported':
    case 'ApiDefinitionPatched':
    case 'ApiDefinitionReplaced':
    case 'ApiDefinitionRolledBack': {
      const { type, orgId, apiId: id, kind: apiKind, document, docSha256: sha256, secrets } = event;
      const body = { orgId, apiKind, document, ...(secrets ? { sealed: { type, secrets } } : {}) };
      return { op: 'upsert', position, object: { kind: 'api', id, revision, position, sha256, body } };
    }
    // The document of the same append says the same; the object's revision must be the one of the ETag all the same.
    case 'ApiActivated':
    case 'ApiDeactivated':
    case 'ApiInternalChanged': {
      const object = documents.get(objects, objectKey('api', event.apiId))?.body as GatewayObject | undefined;
      return object && { op: 'upsert', position, object: { ...object, revision, position } };
    }
    case 'ApiDefinitionDeleted':
      return { op: 'remove', position, kind: 'api', id: event.apiId };
    case 'CertificateImported':
    case 'CertificateKeyAttached':
    case 'CertificateRenamed':
    case 'CertificateExpiringSoon':
    case 'CertificateExpired':
    case 'CertificateDeleted':
    case 'CertificateKeyShredded':
    case 'OrganisationCreated':
    case 'OrganisationUpdated':
    case 'ConfigRestored':
    case 'NameReserved':
    case 'NameReleased':
    case 'AuditAnchored':
    case 'GatewayRegistered':
    case 'GatewayDeregistered':
    case 'GatewayConfigApplied':
    case 'GatewayReloadRequested':
    case 'TokenIssued':
    case 'TokenUpdated':
    case 'TokenRotated':
    case 'TokenRevoked':
    case 'KeyCreated':
    case 'KeyUpdated':
    case 'KeyDisabled':
    case 'KeyDeleted':
    case 'PolicyCreated':
    case 'PolicyUpdated':
    case 'PolicyDeleted':
    case 'WebhookCreated':
    case 'WebhookUpdated':
    case 'WebhookDeleted':
    case 'SecretShredded':
      return undefined;
    default:
      return never(event);
  }
}

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
  return { format: 1, logId, era, position, revision, objects: Object.fromEntries(entries) };
}

/** So many changes stand in one answer. */
const maxChanges = 500;

export type ChangesAfter =
  | { readonly changes: readonly GatewayChange[]; readonly isComplete: boolean }
  | { readonly tooOld: true };

/** Position of the last change of anything. */
export const lastChange = (documents: DocumentReader): Position => readMeta(documents).revision;

/** Gateways with labels run only what shares one; what has none runs on gateways without. */
const isFor = ({ body }: GatewayObject, tags: readonly string[]): boolean =>
  tagsOf(body.document).some((tag) => tags.includes(tag));

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
