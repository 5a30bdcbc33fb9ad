/** Declarative sets: objects as files hold them, the one form in which two of them are compared, and who owns what. Pure. */
import { isClassic } from './api/classic/codec.ts';
import { type ApiDocument, type ApiKind, gatewayExtension } from './api/definition.ts';
import type { Json, JsonObject } from './event.ts';
import { isObject, objectAt, sameJson, withMember, withoutMember } from './json.ts';
import type { Labels } from './labels.ts';

/** What others name comes first: a set is applied in this order. */
export const setKinds = ['cert', 'webhook', 'api', 'policy', 'key'] as const;
export type SetKind = (typeof setKinds)[number];

/** One object of a set. `id` of a certificate: it follows from the certificate itself where it is left out. */
export type SetObject = {
  readonly kind: SetKind;
  readonly id: string;
  readonly document: JsonObject;
  /** Of an API. */
  readonly apiKind?: ApiKind;
  /** Of a key: its first characters, by which people know it. */
  readonly prefix?: string;
  /** Wins over the owner of the set. */
  readonly labels?: Labels;
};

export const defaultOwner = 'default';

/** Ids of the storage and of the organisation are the server's. */
export function portableApi(document: ApiDocument): ApiDocument {
  if (isClassic(document)) {
    const { id: _, org_id: __, ...own } = document;
    return own;
  }
  const extension = objectAt(document, gatewayExtension);
  const info = objectAt(extension, 'info');
  if (!extension || !info) return document;
  const { dbId: _, orgId: __, ...own } = info;
  return { ...document, [gatewayExtension]: { ...extension, info: own } };
}

/** Names of APIs in rights are filled in by the server, and so is what it knows of the object's life. */
function portableAccess(document: JsonObject): JsonObject {
  const { org_id: _, date_created: __, last_updated: ___, ...own } = document;
  const rights = objectAt(own, 'access_rights');
  if (!rights) return own;
  const entries = Object.entries(rights).map(([id, right]): readonly [string, Json] => {
    if (!isObject(right)) return [id, right];
    const { api_id: ____, api_name: _____, ...rest } = right;
    return [id, rest];
  });
  return { ...own, access_rights: Object.fromEntries(entries) };
}

/** What is read from the certificate is in the certificate. */
export const portableCertificate = (document: JsonObject): JsonObject => withoutMember(document, 'parsed');

function portableWebhook({ id: _, org_id: __, updatedAt: ___, ...own }: JsonObject): JsonObject {
  return own;
}

/** As files hold it. */
export function portable(kind: SetKind, document: JsonObject): JsonObject {
  switch (kind) {
    case 'api':
      return portableApi(document);
    case 'cert':
      return portableCertificate(document);
    case 'webhook':
      return portableWebhook(document);
    default:
      return portableAccess(document);
  }
}

/**
 * Whether two documents of one kind mean the same: whatever the order of members, and with lists that are empty or absent
 * where the gateway's own part says nothing else by them. What OpenAPI says stays to the letter: an empty `security` means
 * something there.
 */
export const sameMeaning = (kind: SetKind, a: JsonObject, b: JsonObject): boolean =>
  sameJson(canonical(kind, a), canonical(kind, b));

function canonical(kind: SetKind, document: JsonObject): JsonObject {
  const own = portable(kind, document);
  if (kind !== 'api') return withoutEmptyLists(own) as JsonObject;
  const extension = objectAt(own, gatewayExtension);
  return extension ? withMember(own, [gatewayExtension], withoutEmptyLists(extension)) : own;
}

function withoutEmptyLists(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutEmptyLists);
  if (!isObject(value)) return value;
  const members = Object.entries(value)
    .filter(([, member]) => !(Array.isArray(member) && member.length === 0))
    .map(([name, member]): readonly [string, Json] => [name, withoutEmptyLists(member)]);
  return Object.fromEntries(members);
}

export type Ownership =
  /** The label is written: with a change, or alone because the object is taken over. */
  | { readonly may: true; readonly labels: Labels; readonly isTakenOver: boolean }
  | { readonly may: false; readonly owner: string };

/**
 * Nobody's objects become the set's when it changes them; those of another owner stay his unless they are taken over, which is
 * a change by itself.
 */
export function ownership(
  held: Labels | undefined,
  wanted: string,
  { takeOver, isChanged }: { readonly takeOver: boolean; readonly isChanged: boolean },
): Ownership {
  const owner = held?.owner;
  if (owner === wanted) return { may: true, labels: { owner: wanted }, isTakenOver: false };
  if (takeOver) return { may: true, labels: { owner: wanted }, isTakenOver: true };
  if (owner === undefined) return { may: true, labels: isChanged ? { owner: wanted } : {}, isTakenOver: false };
  // To name another one's object as it is is no claim to it.
  return isChanged ? { may: false, owner } : { may: true, labels: { owner }, isTakenOver: false };
}
