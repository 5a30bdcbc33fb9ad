/** The objects of a configuration at a position: which there were, and each with its document, secrets masked. */
import type { ApiKind } from '../../../domain/api/definition.ts';
import type { CertificateEvent } from '../../../domain/certificate.ts';
import { maskedNames } from '../../../domain/document-secrets.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { type EventStore, type Position, shortPosition } from '../../../domain/event-store.ts';
import { decodeEvent } from '../../../domain/events.ts';
import { type OrgId, toApiId, toKeyHash, toPolicyId, toWebhookId } from '../../../domain/ids.ts';
import { type Labels, labelled } from '../../../domain/labels.ts';
import { type CertificateContent, certificateContent } from '../../../domain/restore.ts';
import { objectsAt, type PastObject } from '../../../projections/past.ts';
import type { HistoryReads } from '../../../projections/whole-entries.ts';
import { comparable, documentSha256 } from '../derived-fields.ts';
import { maskedObject } from '../held-secrets.ts';
import { loadKey, loadPolicy, loadWebhook } from '../load.ts';
import { gather } from './gather.ts';
import { apiAtRevision, eventsUpTo } from './time-travel.ts';

/** The kinds that a configuration holds, in the order in which they are shown. */
export const configKinds = ['cert', 'api', 'policy', 'webhook', 'key'] as const;
export type ConfigKind = (typeof configKinds)[number];

/** What a restore brings back unless it is told more: a key that was revoked must not return by accident. */
export const restoredKinds: readonly ConfigKind[] = ['cert', 'api', 'policy', 'webhook'];

export type ConfigObject = {
  readonly kind: ConfigKind;
  readonly id: string;
  readonly name: string;
  /** Of an API. */
  readonly apiKind?: ApiKind;
  readonly revision: number;
  readonly position: string;
  /** SHA-256 hex of the RFC 8785 form of the document with each secret replaced by the name of its key. */
  readonly sha256: string;
  readonly labels?: Labels;
  /** Of a key: its first characters. */
  readonly prefix?: string;
  readonly document: JsonObject;
};

export type Named = PastObject & { readonly kind: ConfigKind };

/** By kind and id. */
export async function configAt(
  reads: HistoryReads,
  orgId: OrgId,
  position: Position,
  kinds: readonly ConfigKind[] = configKinds,
): Promise<readonly Named[]> {
  const found: Named[] = [];
  for (const kind of configKinds.filter((one) => kinds.includes(one))) {
    const objects = await gather(objectsAt(reads, orgId, kind, position));
    const named = objects.map((object): Named => ({ ...object, kind }));
    found.push(...named.toSorted((a, b) => (a.id < b.id ? -1 : 1)));
  }
  return found;
}

/** Reads the document from the log at the object's revision. */
export async function loadObject(store: EventStore, orgId: OrgId, object: Named): Promise<ConfigObject> {
  const found = await loadComparable(store, orgId, object);
  return { ...found, document: maskedNames(found.document) as JsonObject };
}

/** The same for a difference: secrets of a document stand there by the names of their keys. */
export async function loadComparable(store: EventStore, orgId: OrgId, object: Named): Promise<ConfigObject> {
  const { kind, id, name, revision, position } = object;
  const place = { kind, id, name, revision, position: shortPosition(position) };
  if (kind === 'cert') {
    const content = await certificateAtRevision(store, object.stream, BigInt(revision));
    const document = content ? certificateDocument(content) : {};
    return { ...place, sha256: documentSha256(document), document };
  }
  if (kind === 'key' || kind === 'policy') {
    const { state } = await loadAccess(store, kind, id, BigInt(revision));
    if (!state.exists)
      throw new Error(`${object.stream} has no state at revision ${revision}, though the history knows it`);
    const prefix = 'prefix' in state && typeof state.prefix === 'string' ? { prefix: state.prefix } : {};
    return { ...place, sha256: state.docSha256, ...labelled(state.labels), ...prefix, document: comparable(state) };
  }
  if (kind === 'webhook') {
    const { state } = await loadWebhook(store, toWebhookId(id), BigInt(revision));
    if (!state.exists)
      throw new Error(`${object.stream} has no state at revision ${revision}, though the history knows it`);
    return { ...place, sha256: state.docSha256, ...labelled(state.labels), document: comparable(state) };
  }
  const api = await apiAtRevision(store, orgId, toApiId(id), BigInt(revision));
  if (!api) throw new Error(`${object.stream} has no state at revision ${revision}, though the history knows it`);
  const document = comparable(api);
  return { ...place, apiKind: api.kind, sha256: api.docSha256, ...labelled(api.labels), document };
}

const loadAccess = (store: EventStore, kind: 'key' | 'policy', id: string, revision: bigint) =>
  kind === 'key' ? loadKey(store, toKeyHash(id), revision) : loadPolicy(store, toPolicyId(id), revision);

export async function certificateAtRevision(
  store: EventStore,
  stream: string,
  revision: bigint,
): Promise<CertificateContent | undefined> {
  const events = await eventsUpTo(store, stream, revision);
  return certificateContent(events.map((stored) => decodeEvent(stored).event as CertificateEvent));
}

export function certificateDocument({ name, pem, chain, parsed, key }: CertificateContent): JsonObject {
  const secret = key ? { secret: key.secret as unknown as JsonObject } : {};
  return maskedObject({ name, pem, chain, parsed: parsed as unknown as JsonObject, ...secret });
}
