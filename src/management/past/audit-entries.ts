/** Entries of the audit as people read them: names of actors, addresses that can still be opened, what one event changed, and lines of CSV. */

import type { Json, JsonObject } from '../../../domain/event.ts';
import type { EventStore, Position } from '../../../domain/event-store.ts';
import { decodeEvent } from '../../../domain/events.ts';
import type { CertId } from '../../../domain/ids.ts';
import { type OrgId, type TokenId, toApiId, toKeyHash, toPolicyId, toWebhookId } from '../../../domain/ids.ts';
import { type AuditEntry, findAuditEntry } from '../../../projections/history-lists.ts';
import type { DocumentReader } from '../../../projections/read-model-store.ts';
import { findToken } from '../../../projections/tokens.ts';
import { comparable } from '../derived-fields.ts';
import { maskedObject } from '../held-secrets.ts';
import { loadKey, loadOrganisation, loadPolicy, loadToken, loadWebhook } from '../load.ts';
import type { PersonalData, PersonalName, ReadPersonal } from '../personal-data.ts';
import { documentDifference } from './config-diff.ts';
import { certificateAtRevision, certificateDocument } from './config-objects.ts';
import { apiAtRevision } from './time-travel.ts';

type Reads = { readonly models: DocumentReader; readonly personal: Pick<PersonalData, 'reader'> };

/** The entries of a page. Few actors do most of what stands there, under few keys: each is looked up once. */
export function readableEntries(
  { models, personal }: Reads,
  orgId: OrgId,
  entries: readonly AuditEntry[],
): Promise<readonly JsonObject[]> {
  const named = new Map<string, JsonObject>();
  const nameOnce: NameActor = (actor) => {
    const key = `${actor.type} ${actor.id}`;
    const known = named.get(key) ?? namedActor(models, orgId, actor);
    named.set(key, known);
    return known;
  };
  const read = personal.reader();
  return Promise.all(entries.map((entry) => readableEntry(read, nameOnce, entry)));
}

type NameActor = (actor: AuditEntry['actor']) => JsonObject;

/** With the caller's address and name in the place of sealed texts, and without them once their key is gone. */
async function readableEntry(
  read: ReadPersonal,
  nameActor: NameActor,
  { ip, actorDetail, ...entry }: AuditEntry,
): Promise<JsonObject> {
  const { aggregate, type, actor } = entry;
  const stream = `${aggregate.kind}-${aggregate.id}`;
  const open = async (name: PersonalName, sealed: string | undefined) =>
    sealed === undefined ? undefined : read(sealed, { stream, type, name });
  const [address, person] = [await open('ip', ip), await open('actorDetail', actorDetail)];
  const shown = { ...nameActor(actor), ...(person === undefined ? {} : { detail: person }) };
  return { ...entry, actor: shown, ...(address === undefined ? {} : { ip: address }) };
}

/** Names change and are not in the log; the one of now helps people, the id is what counts. Those of others stay theirs. */
export function namedActor(models: DocumentReader, orgId: OrgId, { type, id }: AuditEntry['actor']): JsonObject {
  const found = type === 'token' ? findToken(models, id as TokenId) : undefined;
  const name = found?.orgId === orgId ? found.terms.name : undefined;
  return { type, id, ...(name === undefined ? {} : { name }) };
}

/** One event with its own members and what it changed, secrets masked; undefined when the organisation has none there. */
export async function wholeEntry(
  services: Reads & { readonly store: EventStore },
  orgId: OrgId,
  position: Position,
): Promise<JsonObject | undefined> {
  const { store } = services;
  const entry = await findAuditEntry(services, orgId, position);
  if (!entry) return undefined;
  const { kind, id } = entry.aggregate;
  const revision = BigInt(entry.revision);
  const [stored] = await store.readStream(`${kind}-${id}`, { from: revision, to: revision, limit: 1 });
  if (!stored) return undefined;
  const after = await documentAt(store, orgId, kind, id, revision);
  const before = revision === 0n ? undefined : await documentAt(store, orgId, kind, id, revision - 1n);
  const difference = documentDifference(kind === 'cert' ? 'cert' : 'api', before ?? {}, after ?? {});
  const { summary, ...diff } = difference;
  const data = maskedObject(membersOf(decodeEvent(stored).event as unknown as JsonObject));
  const [readable = {}] = await readableEntries(services, orgId, [entry]);
  return { ...readable, ...diff, groups: summary as unknown as Json, data };
}

/** Those that are told otherwise, or that nobody needs to see. */
const told: ReadonlySet<string> = new Set(['type', 'document', 'diff', 'diffOmitted', 'hash', 'salt', 'pem', 'chain']);

const membersOf = (event: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(event).filter(([name]) => !told.has(name)));

/** What the object was after an event of its stream; undefined when it was not there, or is of a kind without a document. */
async function documentAt(
  store: EventStore,
  orgId: OrgId,
  kind: string,
  id: string,
  revision: bigint,
): Promise<JsonObject | undefined> {
  switch (kind) {
    case 'api': {
      const api = await apiAtRevision(store, orgId, toApiId(id), revision);
      return api && comparable(api);
    }
    case 'cert': {
      const content = await certificateAtRevision(store, `cert-${id as CertId}`, revision);
      return content && certificateDocument(content);
    }
    case 'key':
    case 'policy': {
      const load =
        kind === 'key' ? loadKey(store, toKeyHash(id), revision) : loadPolicy(store, toPolicyId(id), revision);
      const { state } = await load;
      return state.exists ? comparable(state) : undefined;
    }
    case 'webhook': {
      const { state } = await loadWebhook(store, toWebhookId(id), revision);
      return state.exists ? comparable(state) : undefined;
    }
    case 'token': {
      const { state } = await loadToken(store, id as TokenId, revision);
      return state.exists ? { ...state.terms, apis: state.terms.apis ?? null } : undefined;
    }
    case 'org': {
      const { state } = await loadOrganisation(store, id as OrgId, revision);
      return state.terms && { ...state.terms };
    }
    default:
      return undefined;
  }
}

const columns: readonly (readonly [title: string, cell: (entry: JsonObject) => Json | undefined])[] = [
  ...['position', 'at', 'type'].map((name) => [name, (entry: JsonObject) => entry[name]] as const),
  ...['kind', 'id', 'name'].map(
    (name) => [name, ({ aggregate }: JsonObject) => (aggregate as JsonObject)[name]] as const,
  ),
  ['revision', ({ revision }) => revision],
  ['actor_type', ({ actor }) => (actor as JsonObject)['type']],
  ['actor_id', ({ actor }) => (actor as JsonObject)['id']],
  ['actor_name', ({ actor }) => (actor as JsonObject)['name']],
  ['auth_method', ({ authMethod }) => authMethod],
  ['comment', ({ comment }) => comment],
  ['request_id', ({ requestId }) => requestId],
  ['command_id', ({ commandId }) => commandId],
  ['ip', ({ ip }) => ip],
  ['summary', ({ summary }) => (summary as readonly string[]).join('; ')],
  ['hash', ({ hash }) => hash],
  ['actor_detail', ({ actor }) => (actor as JsonObject)['detail']],
];

/** RFC 4180, with a line of titles. */
export async function* csvLines(entries: readonly JsonObject[]): AsyncGenerator<string> {
  yield `${columns.map(([title]) => title).join(',')}\r\n`;
  for (const entry of entries) yield `${columns.map(([, cell]) => csvCell(cell(entry))).join(',')}\r\n`;
}

/** What a spreadsheet would run as a formula is marked as text. */
function csvCell(value: Json | undefined): string {
  const text = value === undefined || value === null ? '' : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
