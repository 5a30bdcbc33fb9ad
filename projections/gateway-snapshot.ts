/** The configuration as gateways hold it: its kinds of objects, snapshots, changes, and `applyChanges`, by which gateways follow. */
import type { ApiDocument, ApiKind } from '../domain/api/definition.ts';
import type { SealedSecrets } from '../domain/document-secrets.ts';
import type { JsonObject } from '../domain/event.ts';
import type { Position } from '../domain/event-store.ts';
import type { ReloadScope } from '../domain/gateway-group.ts';
import type { OrgId } from '../domain/ids.ts';
import type { QuotaBeginning } from '../domain/key-quota.ts';
import type { OrganisationTerms } from '../domain/organisation.ts';
import type { Redelivery } from '../domain/webhook.ts';

/** The document shows masks where secrets stand. */
type WithSecrets = {
  /** Those secrets, for a gateway that can open them. */
  readonly sealed?: SealedSecrets;
  /** Their places, for one that cannot. */
  readonly withheld?: readonly string[];
};

/** One object of the configuration. `revision` is its stream revision as text, `position` that of the event that made it. */
type Of<Kind extends string, Body> = {
  readonly kind: Kind;
  readonly id: string;
  readonly revision: string;
  readonly position: Position;
  /** SHA-256 hex of the document, from the event; '' for what is no document. Same hash, same compiled API. */
  readonly sha256: string;
  readonly body: { readonly orgId: OrgId } & Body;
};

export type ApiObject = Of<'api', { readonly apiKind: ApiKind; readonly document: ApiDocument } & WithSecrets>;

/**
 * Counters of quotas carry an epoch in their names, the position of the last event that began them anew: a reset reaches
 * every gateway with its next configuration and cannot get lost.
 */
export type KeyQuota = {
  readonly epoch: Position;
  /** Where it is another one: by API id, or `ownQuota`. */
  readonly others?: Readonly<Record<string, Position>>;
  /** Where the key's own counter begins; `since`: when that was said. Unix seconds. */
  readonly start?: QuotaBeginning & { readonly since: number };
};

/** The key's own counter; no API has this id. */
export const ownQuota = '';

type KeyBody = { readonly createdAt: string; readonly quota?: KeyQuota; readonly document: JsonObject };

/** By the hash of the key. `createdAt`: RFC 3339. */
export type KeyObject = Of<'key', KeyBody & WithSecrets>;

export type PolicyObject = Of<'policy', { readonly document: JsonObject }>;

export type WebhookObject = Of<'webhook', { readonly document: JsonObject } & WithSecrets>;

export type OrganisationObject = Of<'organisation', { readonly terms: OrganisationTerms }>;

/** The last request to reload for one scope; no configuration, and in no snapshot of the past. */
export type ReloadObject = Of<'reload', { readonly reloadId: string; readonly scope: ReloadScope }>;

/** By the id of the API: the last request to forget its kept answers. No configuration either. */
type CacheFlushObject = Of<'cache-flush', { readonly flushId: string }>;

/** By the id of the webhook: the last requests to send its dead letters again, oldest first. No configuration either. */
export type RedeliveryObject = Of<
  'redelivery',
  { readonly requests: readonly ({ readonly position: Position } & Redelivery)[] }
>;

export type GatewayObject =
  | ApiObject
  | KeyObject
  | PolicyObject
  | WebhookObject
  | OrganisationObject
  | ReloadObject
  | CacheFlushObject
  | RedeliveryObject;
export type ObjectKind = GatewayObject['kind'];
export type ObjectOfKind<Kind extends ObjectKind> = Extract<GatewayObject, { readonly kind: Kind }>;

/**
 * The whole configuration at a position. `position` is the checkpoint of the feed; `revision` the position of the last
 * event that changed the configuration: what requests are stamped with. Format 1 had nothing but APIs.
 */
export type GatewaySnapshot = {
  readonly format: 1 | 2;
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
      readonly kind: ObjectKind;
      readonly id: string;
      /** It is there for gateways with other labels: who never had it has lost nothing. */
      readonly elsewhere?: true;
    };

/** As it leaves the process: of its secrets only where they stand. */
export function withheld<Object extends GatewayObject>(object: Object): Object {
  const { sealed, ...body } = object.body as Object['body'] & WithSecrets;
  return sealed ? { ...object, body: { ...body, withheld: sealed.secrets.map(({ pointer }) => pointer) } } : object;
}

/** What of an object is sealed. */
export const sealedOf = ({ body }: GatewayObject): SealedSecrets | undefined =>
  'sealed' in body ? body.sealed : undefined;

export const objectKey = (kind: ObjectKind, id: string): string => `${kind}:${id}`;

export function* objectsOfKind<Kind extends ObjectKind>(
  objects: GatewaySnapshot['objects'],
  kind: Kind,
): Iterable<readonly [string, ObjectOfKind<Kind>]> {
  for (const entry of Object.entries(objects)) {
    if (entry[1].kind === kind) yield entry as [string, ObjectOfKind<Kind>];
  }
}

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
