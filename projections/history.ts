/** The history: one document per event, saying who changed what, when, why and in which words (management design 12). */
import { isActive, isInternal, nameOfApi } from '../domain/api/api.ts';
import { type JsonObject, never, type Recorded } from '../domain/event.ts';
import { categoryOf, type Position, type StoredEvent } from '../domain/event-store.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { OrgId } from '../domain/ids.ts';
import { textAt } from '../domain/json.ts';
import { summarise } from './change-summary.ts';
import { listedAfter } from './listed-state.ts';
import type { Projection } from './projection.ts';
import type { Document, DocumentChange, DocumentReader } from './read-model-store.ts';

export type Actor = { readonly type: string; readonly id: string };

/** One event as it is kept. */
export type Entry = {
  readonly position: Position;
  readonly at: string;
  readonly type: DomainEvent['type'];
  /** `kind` is the category of the stream, `id` the rest of its name. */
  readonly aggregate: { readonly kind: string; readonly id: string; readonly name: string };
  readonly revision: number;
  readonly actor: Actor;
  readonly authMethod: string;
  readonly comment: string;
  readonly requestId: string;
  readonly commandId: string;
  /** The caller's address, and who a proxy said it was, as the log holds them: sealed. */
  readonly ip?: string;
  readonly actorDetail?: string;
  readonly userAgentHash: string;
  readonly summary: readonly string[];
  readonly hash: string;
  readonly state: AggregateState;
};

/**
 * An entry whose event a later one of the first fold superseded: what the envelope tells that lists look for. The rest stands
 * in the log (`whole-entries.ts`).
 */
export type ShortEntry = Pick<Entry, 'position' | 'at' | 'revision' | 'commandId' | 'requestId' | 'comment'> & {
  readonly stream: string;
};

/** What later events of a stream do not repeat. `listed`: what a list shows of it; absent for what is gone. */
export type AggregateState = {
  readonly name: string;
  readonly docSha256?: string;
  readonly active?: boolean;
  readonly internal?: boolean;
  readonly listed?: Document;
};

/** The state of a stream now, with the place of its last event. Sorted by the position of its first one. */
export type AggregateNow = AggregateState & {
  readonly orgId: OrgId;
  readonly position: Position;
  readonly revision: number;
  readonly commandId: string;
};

export const isShort = (entry: Entry | ShortEntry): entry is ShortEntry => !('state' in entry);

export const history = 'history';
const aggregates = 'history_aggregates';

export const organisation = (orgId: string): string => `org:${orgId}`;
/** Labels hold the organisation too, so that every filter alone is one look-up in an index. */
export const within = (orgId: string, label: string): string => `org:${orgId}/${label}`;

export const historyProjection: Projection = {
  name: 'history',
  version: 5,
  collections: [history, aggregates],
  filter: { categories: ['api', 'cert', 'org', 'uniq', 'audit', 'token', 'key', 'policy', 'webhook', 'gwgroup'] },
  onPoison: 'park-by-stream',
  superseded: shortEntry,
  // One document per event: all others together are there in a fraction of the time.
  isLate: true,
  apply: applyToHistory,
};

function applyToHistory(recorded: Recorded<DomainEvent>, documents: DocumentReader): readonly DocumentChange[] {
  const { event, stream, position } = recorded;
  const { orgId } = event;
  const known = documents.get(aggregates, stream);
  const before = known && stateOf(known.body as AggregateNow);
  const state = stateAfter(recorded, before);
  const entry = entryOf(recorded, state, summarise(event, before?.listed !== undefined));
  const { revision, commandId } = entry;
  const now: AggregateNow = { ...state, orgId, position, revision, commandId };
  const kind = within(orgId, `kind:${entry.aggregate.kind}`);
  const place = { id: stream, sort: known?.sort ?? position, labels: [kind] };
  return [
    put(history, { id: position, sort: position, labels: labelsOf(orgId, recorded, event.type), body: entry }),
    put(aggregates, { ...place, body: now }),
  ];
}

/** Without its place. */
const stateOf = ({ orgId: _, position: __, revision: ___, commandId: ____, ...state }: AggregateNow): AggregateState =>
  state;

/** Of an event whose stream is not known yet its payload must tell whose it is. */
function shortEntry(stored: StoredEvent, documents: DocumentReader): readonly DocumentChange[] | undefined {
  const { stream, position, revision, at, meta, type } = stored;
  const now = documents.get(aggregates, stream)?.body as AggregateNow | undefined;
  if (!now) return undefined;
  const place = { position, at: at.toISOString(), revision: Number(revision), commandId: meta['commandId'] ?? '' };
  const { requestId = '', comment = '' } = meta;
  const entry: ShortEntry = { ...place, requestId, comment, stream };
  const labels = labelsOf(now.orgId, stored, type);
  return [put(history, { id: position, sort: position, labels, body: entry })];
}

const put = (collection: string, document: Document): DocumentChange => ({ op: 'put', collection, document });

function labelsOf(
  orgId: OrgId,
  { stream, meta }: Pick<StoredEvent, 'stream' | 'meta'>,
  type: string,
): readonly string[] {
  const { actorId = '', requestId = '' } = meta;
  return [
    organisation(orgId),
    within(orgId, `kind:${categoryOf(stream)}`),
    within(orgId, `stream:${stream}`),
    within(orgId, `actor:${actorId}`),
    within(orgId, `type:${type}`),
    ...(requestId === '' ? [] : [within(orgId, requestLabel(requestId))]),
  ];
}

const requestGroups = 256;

/** A label for each of the requests would be most of all labels: they share some, and lists look at the id itself. */
export function requestLabel(requestId: string): string {
  let sum = 0;
  for (let index = 0; index < requestId.length; index++) sum = (sum * 31 + requestId.charCodeAt(index)) % 1_000_003;
  return `request:${sum % requestGroups}`;
}

/** What a stream is after one more event, and what lists show of it. */
export function stateAfter(recorded: Recorded<DomainEvent>, before: AggregateState | undefined): AggregateState {
  const { event } = recorded;
  // A certificate that comes back does not have the name of the one that was deleted.
  const isNew = event.type === 'CertificateImported' && !before?.listed;
  const { listed: _, ...without } = factsAfter(isNew ? undefined : before, event);
  const listed = listedAfter(recorded, before?.listed);
  return listed === undefined ? without : { ...without, listed };
}

export function entryOf(
  { event, stream, revision, position, at, meta }: Recorded<DomainEvent>,
  state: AggregateState,
  summary: readonly string[],
): Entry {
  const kind = categoryOf(stream);
  return {
    position,
    at: at.toISOString(),
    type: event.type,
    aggregate: { kind, id: stream.slice(kind.length + 1), name: state.name },
    revision: Number(revision),
    actor: { type: meta['actorType'] ?? '', id: meta['actorId'] ?? '' },
    authMethod: meta['authMethod'] ?? '',
    comment: meta['comment'] ?? '',
    requestId: meta['requestId'] ?? '',
    commandId: meta['commandId'] ?? '',
    ...(meta['ip'] === undefined ? {} : { ip: meta['ip'] }),
    ...(meta['actorDetail'] === undefined ? {} : { actorDetail: meta['actorDetail'] }),
    userAgentHash: meta['userAgentHash'] ?? '',
    summary,
    hash: meta['hash'] ?? '',
    state,
  };
}

function factsAfter(before: AggregateState = { name: '' }, event: DomainEvent): AggregateState {
  switch (event.type) {
    case 'ApiDefinitionCreated':
    case 'ApiDefinitionImported':
    case 'ApiDefinitionPatched':
    case 'ApiDefinitionReplaced':
    case 'ApiDefinitionRolledBack':
      return apiAfter(event);
    case 'ApiActivated':
    case 'ApiDeactivated':
      return { ...before, active: event.type === 'ApiActivated' };
    case 'ApiInternalChanged':
      return { ...before, internal: event.internal };
    case 'ApiDefinitionDeleted':
      return { ...before, docSha256: event.docSha256, active: false };
    case 'CertificateImported':
      return { name: (event.name ?? before.name) || event.parsed.subjectCn || 'public key' };
    case 'CertificateRenamed':
    case 'OrganisationCreated':
    case 'OrganisationUpdated':
    case 'TokenIssued':
    case 'TokenUpdated':
      return { name: event.name };
    case 'CertificateKeyAttached':
    case 'CertificateExpiringSoon':
    case 'CertificateExpired':
    case 'CertificateDeleted':
    case 'CertificateKeyShredded':
    case 'ConfigRestored':
    case 'SecretShredded':
    case 'TokenRotated':
    case 'TokenRevoked':
    case 'KeyQuotaReset':
    case 'WebhookRedeliveryRequested':
      return before;
    case 'NameReserved':
    case 'NameReleased':
      return { name: event.value.replace('\n', event.kind === 'name' ? ' ' : '') };
    case 'GatewayRegistered':
    case 'GatewayDeregistered':
    case 'GatewayConfigApplied':
      return { name: event.nodeId };
    case 'GatewayReloadRequested':
    case 'CacheFlushRequested':
    case 'AuditAnchored':
      return { name: event.type === 'AuditAnchored' ? 'anchors' : 'reloads' };
    case 'KeyCreated':
    case 'KeyUpdated':
    case 'KeyDisabled':
      return { name: keyName(event), docSha256: event.docSha256 };
    case 'PolicyCreated':
    case 'PolicyUpdated':
    case 'WebhookCreated':
    case 'WebhookUpdated':
      return { name: textAt(event.document, 'name') ?? '', docSha256: event.docSha256 };
    case 'KeyDeleted':
    case 'PolicyDeleted':
    case 'WebhookDeleted':
      return { ...before, docSha256: event.docSha256 };
    default:
      return never(event);
  }
}

const apiAfter = ({ document, docSha256 }: { readonly document: JsonObject; readonly docSha256: string }) => ({
  ...{ name: nameOfApi(document) ?? '', docSha256, active: isActive(document), internal: isInternal(document) },
});

const keyName = ({ document, prefix }: Extract<DomainEvent, { type: 'KeyCreated' | 'KeyUpdated' | 'KeyDisabled' }>) =>
  textAt(document, 'alias') || textAt(document, 'basic_auth_data', 'user') || prefix;

/** Every stream of a kind that the organisation had up to a position, as it is now, in the order of first events. */
export function listAggregates(
  documents: DocumentReader,
  orgId: OrgId,
  kind: string,
  position: Position,
): readonly { readonly stream: string; readonly now: AggregateNow }[] {
  const labels = [within(orgId, `kind:${kind}`)];
  const found = documents.list(aggregates, {
    labels,
    before: justAfter(position),
    limit: documents.count(aggregates, labels),
  });
  return found.map(({ id, body }) => ({ stream: id, now: body as AggregateNow }));
}

/** A stream as it is now. */
export const findAggregate = (documents: DocumentReader, stream: string): AggregateNow | undefined =>
  documents.get(aggregates, stream)?.body as AggregateNow | undefined;

const deletions: Readonly<Record<string, DomainEvent['type']>> = {
  ...{ api: 'ApiDefinitionDeleted', cert: 'CertificateDeleted', key: 'KeyDeleted', policy: 'PolicyDeleted' },
  webhook: 'WebhookDeleted',
};
const deletionsPerLookUp = 500;

/** Streams of a kind that the organisation gave up after a position, and that another one has taken since. */
export function* lostStreams(
  documents: DocumentReader,
  orgId: OrgId,
  kind: string,
  position: Position,
): Generator<string> {
  const told = new Set<string>();
  const own = within(orgId, `kind:${kind}`);
  const labels = [own, within(orgId, `type:${deletions[kind]}`)];
  for (let after: string | undefined = justAfter(position); after !== undefined; ) {
    const found = documents.list(history, { labels, after, limit: deletionsPerLookUp });
    for (const { body } of found) {
      const stream = `${kind}-${(body as Entry).aggregate.id}`;
      if (told.has(stream) || documents.get(aggregates, stream)?.labels.includes(own)) continue;
      told.add(stream);
      yield stream;
    }
    after = found.length < deletionsPerLookUp ? undefined : found.at(-1)?.sort;
  }
}

/** The last event at or before a position, of the whole organisation: one look-up in an index, like the next ones. */
export const lastEntryAt = (
  documents: DocumentReader,
  orgId: OrgId,
  position: Position,
): Entry | ShortEntry | undefined => lastEntry(documents, [organisation(orgId)], position);

export const lastEntryOfStream = (
  documents: DocumentReader,
  orgId: OrgId,
  stream: string,
  position: Position,
): Entry | ShortEntry | undefined => lastEntry(documents, [within(orgId, `stream:${stream}`)], position);

export const lastEntryOfKind = (
  documents: DocumentReader,
  orgId: OrgId,
  kind: string,
  position: Position,
): Entry | ShortEntry | undefined => lastEntry(documents, [within(orgId, `kind:${kind}`)], position);

export const lastEntryOfType = (
  documents: DocumentReader,
  orgId: OrgId,
  stream: string,
  type: DomainEvent['type'],
  position: Position,
): Entry | ShortEntry | undefined =>
  lastEntry(documents, [within(orgId, `type:${type}`), within(orgId, `stream:${stream}`)], position);

function lastEntry(
  documents: DocumentReader,
  labels: readonly string[],
  position: Position,
): Entry | ShortEntry | undefined {
  const [found] = documents.list(history, {
    labels,
    before: justAfter(position),
    descending: true,
    limit: 1,
  });
  return found?.body as Entry | ShortEntry | undefined;
}

/** Texts between a position and its neighbours, because the bounds of a list are exclusive. */
export const justAfter = (position: Position): string => (position === '' ? '' : `${position}~`);
