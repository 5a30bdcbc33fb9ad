/** What lists know of an API: its entry, the labels by which it is found, and the versions that it has. */
import { namedPolicies, namedSchemes } from '../domain/api/access-uses.ts';
import { isActive, isInternal } from '../domain/api/api.ts';
import { grantedAsOf } from '../domain/api/authentication.ts';
import { namedCertificates } from '../domain/api/certificate-uses.ts';
import { canonicalHead } from '../domain/api/classic/codec.ts';
import { type ApiDocument, type ApiKind, gatewayExtension } from '../domain/api/definition.ts';
import { type EventHandler, readEventHandlers } from '../domain/api/event-handlers.ts';
import { tagsOf } from '../domain/api/head.ts';
import { normalHost, normalListenPath } from '../domain/api/paths.ts';
import { selfName } from '../domain/api/read-versioning.ts';
import { expirationOf, listedVersions, type VersionNames, versionNames } from '../domain/api/versioning.ts';
import type { CertificateRole } from '../domain/certificate-use.ts';
import type { Warning } from '../domain/errors.ts';
import type { Position } from '../domain/event-store.ts';
import type { ApiId, OrgId } from '../domain/ids.ts';
import { at, isOn, textAt } from '../domain/json.ts';
import type { DocumentReader } from './read-model-store.ts';

/** The collection of entries. */
export const apiEntries = 'api_entries';

/** What a list shows of an API; positions in the form of the store. */
export type ApiEntry = {
  readonly orgId: OrgId;
  readonly apiId: ApiId;
  readonly kind: ApiKind;
  readonly name: string;
  readonly listenPath: string;
  /** Absent: every host. */
  readonly domain?: string;
  readonly active: boolean;
  readonly internal: boolean;
  /** Of the event stream; the ETag is made of it. */
  readonly revision: number;
  /** Of the last event of the stream. */
  readonly position: Position;
  readonly createdAt: string;
  readonly createdPosition: Position;
  readonly updatedAt: string;
  /** Id of the actor of the last event. */
  readonly updatedBy: string;
  readonly warnings: readonly Warning[];
  /** End of its life as written; absent: none. */
  readonly expiration?: string;
  /** Of an API that lists others as its versions, whether they are switched on or not. */
  readonly versions?: ListedVersions;
  /** Its tags, schemes and policies, as labels. */
  readonly marks?: readonly string[];
  /** Those that blocks name which are enabled; absent: none. */
  readonly certificates?: readonly { readonly certId: string; readonly role: CertificateRole }[];
};

type ListedVersions = VersionNames & { readonly list: ReturnType<typeof listedVersions> };

/** An organisation is a label, alone and with one of the flags, so that each filter is one look-up in an index. */
export const organisation = (orgId: OrgId): string => `org:${orgId}`;
export const withFlag = (orgId: OrgId, flag: string): string => `org:${orgId}/${flag}`;

export const labelsOf = ({
  orgId,
  kind,
  active,
  internal,
  versions,
  certificates = [],
  marks = [],
}: ApiEntry): readonly string[] => [
  organisation(orgId),
  withFlag(orgId, `kind:${kind}`),
  withFlag(orgId, `active:${active}`),
  withFlag(orgId, `internal:${internal}`),
  ...(versions ? [withFlag(orgId, hasVersions)] : []),
  ...new Set((versions?.list ?? []).map(({ id }) => withFlag(orgId, versionLabel(id)))),
  ...(certificates.length > 0 ? [withFlag(orgId, namesCertificates)] : []),
  ...new Set(certificates.map(({ certId }) => withFlag(orgId, certificateLabel(certId)))),
  ...marks.map((mark) => withFlag(orgId, mark)),
];

const hasVersions = 'versions';
const namesCertificates = 'certificates';
export const certificateLabel = (certId: string): string => `cert:${certId}`;
const versionLabel = (id: string): string => `version:${id}`;

export function factsOf(given: ApiDocument) {
  const document = canonicalHead(given);
  const list = listedVersions(document);
  const expiration = expirationOf(document);
  const certificates = namedCertificates(document).map(({ certId, role }) => ({ certId, role }));
  const server = at(document, gatewayExtension, 'server');
  const domain = isOn(at(server, 'customDomain')) ? textAt(server, 'customDomain', 'name') : undefined;
  return {
    name: textAt(document, gatewayExtension, 'info', 'name') ?? '',
    listenPath: normalListenPath(textAt(server, 'listenPath', 'value') ?? '/'),
    ...(domain === undefined ? {} : { domain: normalHost(domain) }),
    active: isActive(document),
    internal: isInternal(document),
    ...(expiration === '' ? {} : { expiration }),
    ...(list.length === 0 ? {} : { versions: { ...versionNames(document), list } }),
    ...(certificates.length === 0 ? {} : { certificates }),
    marks: marksOf(document),
  };
}

/** By what else it is found. */
const marksOf = (document: ApiDocument): readonly string[] => [
  ...new Set(tagsOf(document).map((tag) => `tag:${tag}`)),
  ...namedSchemes(document).map((scheme) => `auth:${scheme}`),
  ...namedPolicies(document).map((id) => `policy:${id}`),
  ...new Set(handlersOf(document).map(({ trigger }) => handling(trigger))),
  ...(grantedAsOf(document) ? [isGrantedAs] : []),
];

const handling = (trigger: string): string => `event:${trigger}`;
const isGrantedAs = 'grantedAs';

/** The event handlers of a definition in any written form, secrets masked. */
export const handlersOf = (document: ApiDocument): readonly EventHandler[] =>
  readEventHandlers(at(canonicalHead(document), gatewayExtension, 'server', 'eventHandlers'));

/** Ids of the APIs with a handler for the trigger, oldest first; of those that keys reach as versions of others too, or of all. */
export function apisHandling(
  documents: DocumentReader,
  orgId: OrgId,
  trigger: string,
  which: 'all' | 'grantedAs' = 'all',
): readonly string[] {
  const labels = [withFlag(orgId, handling(trigger)), ...(which === 'all' ? [] : [withFlag(orgId, isGrantedAs)])];
  return documents.list(apiEntries, { labels, limit: documents.count(apiEntries, labels) }).map(({ id }) => id);
}

/** Ids of the APIs that name a policy. */
export function apisNamingPolicy(documents: DocumentReader, orgId: OrgId, policyId: string): readonly string[] {
  const labels = [withFlag(orgId, `policy:${policyId}`)];
  return documents.list(apiEntries, { labels, limit: documents.count(apiEntries, labels) }).map(({ id }) => id);
}

/** How many APIs name a certificate. */
export const countApisNaming = (documents: DocumentReader, orgId: OrgId, certId: string): number =>
  documents.count(apiEntries, [withFlag(orgId, certificateLabel(certId))]);

/** Every API that names a certificate, oldest first. */
export const apisWithCertificates = (documents: DocumentReader, orgId: OrgId): readonly ApiEntry[] =>
  documents
    .list(apiEntries, { labels: [withFlag(orgId, namesCertificates)], limit: documents.count(apiEntries) })
    .map(({ body }) => body as ApiEntry);

/** Those that name one, oldest first. */
export const apisNaming = (
  documents: DocumentReader,
  orgId: OrgId,
  certId: string,
  window: { readonly limit: number; readonly offset?: number } = { limit: documents.count(apiEntries) },
): readonly ApiEntry[] =>
  documents
    .list(apiEntries, { labels: [withFlag(orgId, certificateLabel(certId))], ...window })
    .map(({ body }) => body as ApiEntry);

/** Ids of the APIs that list this one as a version: one at most, unless two commands crossed. */
export const basesOf = (documents: DocumentReader, orgId: OrgId, apiId: string): readonly string[] =>
  documents
    .list(apiEntries, { labels: [withFlag(orgId, versionLabel(apiId))], limit: 10 })
    .map(({ body }) => (body as ApiEntry).apiId);

/** A row of the versions of an API. */
export type ListedVersion = {
  readonly id: string;
  readonly name: string;
  /** Empty for an API without versions. */
  readonly versionName: string;
  readonly internal: boolean;
  /** As written; empty when it has none. */
  readonly expirationDate: string;
  readonly isDefaultVersion: boolean;
};

/** The API itself, then its versions by name; those that do not exist any more are left out. Undefined: no such API. */
export function listVersions(
  documents: DocumentReader,
  orgId: OrgId,
  apiId: string,
): { readonly kind: ApiKind; readonly versions: readonly ListedVersion[] } | undefined {
  const entryOf = (id: string): ApiEntry | undefined => {
    const entry = documents.get(apiEntries, id)?.body as ApiEntry | undefined;
    return entry?.orgId === orgId ? entry : undefined;
  };
  const base = entryOf(apiId);
  if (!base) return undefined;
  const { base: ownName, default: wanted, list } = base.versions ?? { base: '', default: '', list: [] };
  const isOwnDefault = wanted !== '' && (wanted === selfName || wanted === ownName);
  const versions = list.flatMap(({ id, name }) => {
    const entry = entryOf(id);
    return entry ? [versionRow(entry, name, name === wanted)] : [];
  });
  const byName = versions.toSorted((a, b) => (a.versionName < b.versionName ? -1 : 1));
  return { kind: base.kind, versions: [versionRow(base, ownName, isOwnDefault), ...byName] };
}

const versionRow = (
  { apiId: id, name, internal, expiration: expirationDate = '' }: ApiEntry,
  versionName: string,
  isDefaultVersion: boolean,
): ListedVersion => ({ id, name, versionName, internal, expirationDate, isDefaultVersion });

export type BaseIdOf = (apiId: string) => string | null;

/** Most installations have no versions: then no row costs a look-up. */
export const baseIds = (documents: DocumentReader, orgId: OrgId): BaseIdOf =>
  documents.count(apiEntries, [withFlag(orgId, hasVersions)]) === 0
    ? () => null
    : (apiId) => basesOf(documents, orgId, apiId)[0] ?? null;
