/** Access keys as they are listed and looked up by their hash; what a list shows is small. */
import type { JsonObject, Recorded } from '../domain/event.ts';
import { type Position, padPosition, shortPosition } from '../domain/event-store.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { KeyHash, OrgId } from '../domain/ids.ts';
import { objectAt, textAt, texts } from '../domain/json.ts';
import type { KeyEvent } from '../domain/key.ts';
import type { Projection } from './projection.ts';
import type { DocumentChange, DocumentReader } from './read-model-store.ts';

/** What a list shows. */
export type KeyEntry = {
  readonly orgId: OrgId;
  readonly keyHash: KeyHash;
  /** Name of a basic user. */
  readonly user?: string;
  readonly prefix: string;
  readonly alias: string;
  readonly policies: readonly string[];
  readonly tags: readonly string[];
  /** Unix seconds; 0 or below: never. */
  readonly expires: number;
  readonly isInactive: boolean;
  readonly createdAt: string;
  readonly createdPosition: Position;
  readonly updatedAt: string;
  /** Of the last event of its stream. */
  readonly revision: string;
  readonly position: Position;
};

export type StoredKey = KeyEntry & { readonly document: JsonObject };

const whole = 'keys';
const entries = 'key_entries';

const every = (orgId: OrgId): string => `org:${orgId}`;
const within = (orgId: OrgId, label: string): string => `org:${orgId}/${label}`;

export const keysProjection: Projection = {
  name: 'keys',
  version: 2,
  collections: [whole, entries],
  filter: { categories: ['key'] },
  onPoison: 'park-by-stream',
  apply,
};

/** Where the list reads, for those who ask what it showed before. */
export const keyListing = { category: 'key', projection: keysProjection, whole, entries } as const;

function apply(recorded: Recorded<DomainEvent>, documents: DocumentReader): readonly DocumentChange[] {
  const { event } = recorded;
  switch (event.type) {
    case 'KeyCreated':
      return put(recorded, event, undefined);
    case 'KeyUpdated':
    case 'KeyDisabled':
      return put(recorded, event, documents.get(whole, event.keyHash)?.body as KeyEntry | undefined);
    case 'KeyQuotaReset':
      return move(recorded, event.keyHash, documents);
    case 'KeyDeleted':
      return [whole, entries].map((collection) => ({ op: 'remove', collection, id: event.keyHash }));
    // The filter lets no other event through.
    default:
      return [];
  }
}

function put(
  { at, position, revision }: Recorded<DomainEvent>,
  { orgId, keyHash, prefix, document }: Extract<KeyEvent, { readonly document: JsonObject }>,
  before: KeyEntry | undefined,
): readonly DocumentChange[] {
  const { expires } = document;
  const user = textAt(document, 'basic_auth_data', 'user');
  const [policies, tags] = [texts(document['apply_policies']), texts(document['tags'])];
  const createdPosition = before?.createdPosition ?? position;
  const time = at.toISOString();
  const entry: KeyEntry = {
    ...(user === undefined ? {} : { user }),
    ...{ orgId, keyHash, prefix, alias: textAt(document, 'alias') ?? '', policies, tags },
    expires: typeof expires === 'number' ? expires : 0,
    isInactive: document['is_inactive'] === true,
    ...{ createdAt: before?.createdAt ?? time, createdPosition, updatedAt: time },
    ...{ revision: String(revision), position },
  };
  const labels = [
    every(orgId),
    ...policies.map((id) => within(orgId, `policy:${id}`)),
    ...tags.map((tag) => within(orgId, `tag:${tag}`)),
    ...Object.keys(objectAt(document, 'access_rights') ?? {}).map((id) => within(orgId, `api:${id}`)),
    ...boundCertificates(document).flatMap((id) => [within(orgId, isBound), within(orgId, `cert:${id}`)]),
  ];
  const place = { id: keyHash, sort: createdPosition };
  return [
    { op: 'put', collection: entries, document: { ...place, labels: [...new Set(labels)], body: entry } },
    { op: 'put', collection: whole, document: { ...place, labels: [], body: { ...entry, document } } },
  ];
}

/** The place in the stream, and with it the tag, is another one; what the key may do is not. */
function move(
  { at, position, revision }: Recorded<DomainEvent>,
  keyHash: KeyHash,
  documents: DocumentReader,
): readonly DocumentChange[] {
  return [whole, entries].flatMap((collection): readonly DocumentChange[] => {
    const found = documents.get(collection, keyHash);
    if (!found) return [];
    const body = { ...(found.body as KeyEntry), updatedAt: at.toISOString(), revision: String(revision), position };
    return [{ op: 'put', collection, document: { ...found, body } }];
  });
}

/** Certificates that a key is good with only. */
export const boundCertificates = (document: JsonObject): readonly string[] =>
  [textAt(document, 'certificate') ?? '', ...texts(document['mtls_static_certificate_bindings'])].filter(
    (id) => id !== '',
  );

export function findKey(documents: DocumentReader, orgId: OrgId, keyHash: KeyHash): StoredKey | undefined {
  const found = documents.get(whole, keyHash)?.body as StoredKey | undefined;
  return found?.orgId === orgId ? found : undefined;
}

/** Hashes of the keys that name a policy. */
export function keysWithPolicy(documents: DocumentReader, orgId: OrgId, policyId: string): readonly KeyHash[] {
  const labels = [within(orgId, `policy:${policyId}`)];
  return documents.list(entries, { labels, limit: documents.count(entries, labels) }).map(({ id }) => id as KeyHash);
}

const isBound = 'bound';

/** How many keys are bound to a certificate. Most installations have none: then no certificate costs a look-up. */
export const keyCounter = (documents: DocumentReader, orgId: OrgId): ((certId: string) => number) =>
  documents.count(entries, [within(orgId, isBound)]) === 0
    ? () => 0
    : (certId) => documents.count(entries, [within(orgId, `cert:${certId}`)]);

/** Hashes of the keys that are bound to a certificate. */
export function keysWithCertificate(documents: DocumentReader, orgId: OrgId, certId: string): readonly KeyHash[] {
  const labels = [within(orgId, `cert:${certId}`)];
  return documents.list(entries, { labels, limit: documents.count(entries, labels) }).map(({ id }) => id as KeyHash);
}

/** Hashes of the keys that open an API by themselves, or by one of these policies. */
export function keysOfApi(
  documents: DocumentReader,
  orgId: OrgId,
  apiId: string,
  policies: readonly string[],
): ReadonlySet<string> {
  const labels = [`api:${apiId}`, ...policies.map((id) => `policy:${id}`)].map((label) => [within(orgId, label)]);
  const idsWith = (label: readonly string[]): readonly string[] =>
    documents.list(entries, { labels: label, limit: documents.count(entries, label) }).map(({ id }) => id);
  return new Set(labels.flatMap(idsWith));
}

export type KeyQuery = {
  /** Part of the alias, the prefix or the name of a basic user. */
  readonly q?: string;
  readonly policy?: string;
  readonly api?: string;
  readonly tag?: string;
  readonly expired?: boolean;
  readonly inactive?: boolean;
  readonly after?: string;
  readonly limit?: number;
};

export type KeyPage = { readonly keys: readonly KeyEntry[]; readonly next: string | null; readonly total: number };

/** Oldest first. `next`: the cursor of the following page, null at the end. `now` in ms since 1970. */
export function listKeys(documents: DocumentReader, orgId: OrgId, query: KeyQuery, now: number): KeyPage {
  const { policy, api, tag, after, limit = 50 } = query;
  const named = Object.entries({ policy, api, tag }).filter(([, value]) => value !== undefined);
  const labels = named.length === 0 ? [every(orgId)] : named.map(([name, value]) => within(orgId, `${name}:${value}`));
  const found = documents
    .list(entries, { labels, limit: documents.count(entries, labels) })
    .map(({ body }) => body as KeyEntry)
    .filter((entry) => isWanted(entry, query, now));
  const start = after === undefined ? '' : padPosition(after);
  const rest = found.filter(({ createdPosition }) => createdPosition > start);
  const keys = rest.slice(0, limit);
  const last = keys.at(-1);
  const next = last && rest.length > limit ? shortPosition(last.createdPosition) : null;
  return { keys, next, total: found.length };
}

function isWanted(entry: KeyEntry, { q = '', expired, inactive }: KeyQuery, now: number): boolean {
  const { alias, prefix, user = '', expires, isInactive } = entry;
  const isExpired = expires > 0 && expires * 1_000 <= now;
  return (
    [alias, prefix, user].some((place) => place.toLowerCase().includes(q.toLowerCase())) &&
    (expired ?? isExpired) === isExpired &&
    (inactive ?? isInactive) === isInactive
  );
}
