/** The API catalogue: the current document of every API with its place in the log, and the list of them. */
import type { SchemeName } from '../domain/api/access-uses.ts';
import type { ApiDocument, ApiKind } from '../domain/api/definition.ts';
import { queryInvalid, type Warning } from '../domain/errors.ts';
import { never, type Recorded } from '../domain/event.ts';
import { shortPosition } from '../domain/event-store.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { OrgId } from '../domain/ids.ts';
import {
  type ApiEntry,
  apiEntries,
  type BaseIdOf,
  baseIds,
  certificateLabel,
  factsOf,
  labelsOf,
  organisation,
  withFlag,
} from './api-entries.ts';
import { apiNames, mentions, nameChange, nameKey, namesOf } from './api-names.ts';
import type { Projection } from './projection.ts';
import type { DocumentChange, DocumentReader } from './read-model-store.ts';

export type CatalogApi = ApiEntry & { readonly document: ApiDocument; readonly docSha256: string };

/** Whole documents by id. Lists read the apiEntries, which are small. */
const apis = 'apis';

export const apiCatalog: Projection = {
  name: 'apis',
  version: 7,
  collections: [apis, apiEntries, apiNames],
  filter: { categories: ['api'] },
  onPoison: 'park-by-stream',
  superseded: 'nothing',
  apply: applyToCatalog,
};

/** Where a list of APIs reads, for those who ask what it showed before. */
export const apiListing = { category: 'api', projection: apiCatalog, whole: apis, entries: apiEntries } as const;

const createdAs = ({ at, position }: Recorded<DomainEvent>, before: CatalogApi | undefined) => ({
  createdAt: before?.createdAt ?? at.toISOString(),
  createdPosition: before?.createdPosition ?? position,
});

function applyToCatalog(recorded: Recorded<DomainEvent>, documents: DocumentReader): readonly DocumentChange[] {
  const { event } = recorded;
  switch (event.type) {
    case 'ApiDefinitionCreated':
    case 'ApiDefinitionImported':
    case 'ApiDefinitionPatched':
    case 'ApiDefinitionReplaced':
    case 'ApiDefinitionRolledBack': {
      const { orgId, apiId, kind, document, docSha256, warnings } = event;
      const isNew = event.type === 'ApiDefinitionCreated' || event.type === 'ApiDefinitionImported';
      const before = isNew ? undefined : stored(documents, apiId);
      const created = createdAs(recorded, before);
      const api = { orgId, apiId, kind, ...factsOf(document), ...placeOf(recorded), ...created, warnings };
      return put({ ...api, document, docSha256 }, before);
    }
    // The document of the same append says the same; only the place in the stream is new.
    case 'ApiActivated':
    case 'ApiDeactivated':
    case 'ApiInternalChanged': {
      const before = stored(documents, event.apiId);
      return before ? put({ ...before, ...placeOf(recorded) }, before) : [];
    }
    case 'ApiDefinitionDeleted':
      return [apis, apiEntries, apiNames].map((collection) => ({ op: 'remove', collection, id: event.apiId }));
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
    case 'CacheFlushRequested':
    case 'TokenIssued':
    case 'TokenUpdated':
    case 'TokenRotated':
    case 'TokenRevoked':
    case 'KeyCreated':
    case 'KeyUpdated':
    case 'KeyDisabled':
    case 'KeyQuotaReset':
    case 'KeyDeleted':
    case 'PolicyCreated':
    case 'PolicyUpdated':
    case 'PolicyDeleted':
    case 'WebhookCreated':
    case 'WebhookUpdated':
    case 'WebhookDeleted':
    case 'WebhookRedeliveryRequested':
    case 'SecretShredded':
      return [];
    default:
      return never(event);
  }
}

const placeOf = ({ revision, position, at: time, meta }: Recorded<DomainEvent>) => ({
  revision: Number(revision),
  position,
  updatedAt: time.toISOString(),
  updatedBy: meta['actorId'] ?? '',
});

function put(api: CatalogApi, before: ApiEntry | undefined): readonly DocumentChange[] {
  const { document: _, docSha256: __, ...entry } = api;
  const place = { id: api.apiId, sort: api.createdPosition };
  return [
    { op: 'put', collection: apis, document: { ...place, labels: [], body: api } },
    { op: 'put', collection: apiEntries, document: { ...place, labels: labelsOf(entry), body: entry } },
    ...nameChange(entry, before),
  ];
}

const stored = (documents: DocumentReader, apiId: string): CatalogApi | undefined =>
  documents.get(apis, apiId)?.body as CatalogApi | undefined;

/** The API as it is now; undefined when it is unknown, deleted, or of another organisation. */
export function getApi(documents: DocumentReader, orgId: OrgId, apiId: string): CatalogApi | undefined {
  const api = stored(documents, apiId);
  return api?.orgId === orgId ? api : undefined;
}

const apiSorts = ['name', '-name', 'created', '-created', 'updated', '-updated'] as const;
type ApiSort = (typeof apiSorts)[number];

export type ApiQuery = {
  /** A part of the name, id or listen path; case does not count. */
  readonly q?: string;
  readonly kind?: ApiKind;
  readonly active?: boolean;
  readonly internal?: boolean;
  /** For gateways with this tag. */
  readonly tag?: string;
  /** Asks for this scheme; `keyless`: for none. */
  readonly auth?: SchemeName;
  /** Names this certificate. */
  readonly cert?: string;
  /** These ids only. */
  readonly only?: ReadonlySet<string>;
  /** Default `-created`. */
  readonly sort?: ApiSort;
  /** Default 50. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly after?: string;
};

/** A row of `GET /api/apis`; positions without leading zeros. */
type ListedApi = {
  readonly id: string;
  readonly name: string;
  readonly kind: ApiKind;
  readonly listenPath: string;
  readonly domain: string | null;
  readonly active: boolean;
  readonly internal: boolean;
  /** Versions are APIs of their own; an API without a base has none. */
  readonly baseId: string | null;
  readonly revision: number;
  readonly position: string;
  readonly updatedAt: string;
  readonly updatedBy: string;
  readonly warnings: readonly Warning[];
};

export type ApiPage = { readonly apis: readonly ListedApi[]; readonly next: string | null; readonly total: number };

/** Throws `query_invalid` when `after` is no cursor of such a list. */
export function listApis(documents: DocumentReader, orgId: OrgId, query: ApiQuery = {}): ApiPage {
  const { q = '', sort = '-created', limit = 50 } = query;
  const cursor = query.after === undefined ? undefined : readCursor(query.after);
  const labels = labelsWanted(orgId, query);
  const total = documents.count(apiEntries, labels);
  if (q === '' && !query.only && sort.endsWith('created')) {
    // The order of the documents themselves: only the page is read.
    const [place] = cursor?.split('\n') ?? [];
    const isDescending = sort === '-created';
    const bound = place === undefined ? {} : isDescending ? { before: place } : { after: place };
    const found = documents.list(apiEntries, { labels, ...bound, descending: isDescending, limit: limit + 1 });
    return pageOf(
      found.map(({ body }) => keyed(body as ApiEntry, sort)),
      limit,
      total,
      baseIds(documents, orgId),
    );
  }
  const isOfAll = labels.length === 1 && labels[0] === organisation(orgId);
  const names = isOfAll && !sort.endsWith('updated') ? namesOf(documents, orgId, total) : undefined;
  const entryOf = (id: string): ApiEntry => documents.get(apiEntries, id)?.body as ApiEntry;
  if (names && q === '' && !query.only && sort.endsWith('name')) {
    const found = names.page({ cursor, descending: sort === '-name', limit: limit + 1 });
    const rows = found.map(({ id, sort: key }): Keyed => ({ key, entry: () => entryOf(id) }));
    return pageOf(rows, limit, total, baseIds(documents, orgId));
  }
  const text = q.toLowerCase();
  const rows = names
    ? names.mentioning(text).map(({ apiId, byName, byAge }): Found => {
        return { apiId, key: sort.endsWith('name') ? byName : byAge, entry: () => entryOf(apiId) };
      })
    : documents
        .list(apiEntries, { labels, limit: total })
        .map(({ body }) => body as ApiEntry)
        .filter((entry) => mentions(entry, text))
        .map((entry): Found => ({ ...keyed(entry, sort), apiId: entry.apiId }));
  const wanted = rows.filter(({ apiId }) => query.only?.has(apiId) ?? true);
  wanted.sort((a, b) => order(a.key, b.key, sort));
  const rest = cursor === undefined ? wanted : wanted.filter(({ key }) => order(key, cursor, sort) > 0);
  return pageOf(rest, limit, wanted.length, baseIds(documents, orgId));
}

function labelsWanted(orgId: OrgId, { kind, internal, active, tag, auth, cert }: ApiQuery): readonly string[] {
  // The rarest first: the read model store walks the rows of the first label.
  const flags = [
    ...(cert === undefined ? [] : [certificateLabel(cert)]),
    ...(tag === undefined ? [] : [`tag:${tag}`]),
    ...(auth === undefined ? [] : [`auth:${auth}`]),
    ...(internal === undefined ? [] : [`internal:${internal}`]),
    ...(active === undefined ? [] : [`active:${active}`]),
    ...(kind === undefined ? [] : [`kind:${kind}`]),
  ];
  return flags.length === 0 ? [organisation(orgId)] : flags.map((flag) => withFlag(orgId, flag));
}

/** `entry`: asked for the rows of a page only. */
type Keyed = { readonly entry: () => ApiEntry; readonly key: string };
type Found = Keyed & { readonly apiId: string };

const keyed = (entry: ApiEntry, sort: ApiSort): Keyed => ({ entry: () => entry, key: keyOf(entry, sort) });

type Place = Pick<ApiEntry, 'name' | 'apiId' | 'createdPosition' | 'position'>;

function keyOf({ name, apiId, createdPosition, position }: Place, sort: ApiSort): string {
  if (sort.endsWith('name')) return nameKey(name, apiId);
  return `${sort.endsWith('created') ? createdPosition : position}\n${apiId}`;
}

const order = (a: string, b: string, sort: ApiSort): number => {
  const ascending = a === b ? 0 : a < b ? -1 : 1;
  return sort.startsWith('-') ? -ascending : ascending;
};

function pageOf(rows: readonly Keyed[], limit: number, total: number, baseId: BaseIdOf): ApiPage {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const next = last && rows.length > limit ? encodeURIComponent(last.key) : null;
  return { apis: page.map(({ entry }) => entry()).map((entry) => listed(entry, baseId(entry.apiId))), next, total };
}

function readCursor(text: string): string {
  try {
    const cursor = decodeURIComponent(text);
    if (cursor.includes('\n')) return cursor;
  } catch {
    // Broken percent encoding: refused below like any other text that is no cursor.
  }
  throw queryInvalid('after', 'is no cursor of this list');
}

const listed = (entry: ApiEntry, baseId: string | null): ListedApi => {
  const { apiId, name, kind, listenPath, domain, active, internal, revision } = entry;
  const { position, updatedAt, updatedBy, warnings } = entry;
  const place = { revision, position: shortPosition(position), updatedAt, updatedBy, warnings };
  return { id: apiId, name, kind, listenPath, domain: domain ?? null, active, internal, baseId, ...place };
};

const pageOfAll = 500;

/** All of them with their documents, oldest first; one after the other, because together they may be large. */
export function* eachApi(documents: DocumentReader, orgId: OrgId): Generator<CatalogApi> {
  for (let after: string | null | undefined; after !== null; ) {
    const place = after === undefined ? {} : { after };
    const page = listApis(documents, orgId, { sort: 'created', limit: pageOfAll, ...place });
    for (const { id } of page.apis) {
      const api = getApi(documents, orgId, id);
      if (api) yield api;
    }
    after = page.next;
  }
}
