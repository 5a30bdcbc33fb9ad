/** Who uses a certificate: APIs by what they use it for, and access keys that are bound to it (management design 7.4). */
import type { ApiKind } from '../domain/api/definition.ts';
import type { CertificateRole } from '../domain/certificate-use.ts';
import type { CertId, KeyHash, OrgId } from '../domain/ids.ts';
import { type ApiEntry, apisNaming, apisWithCertificates, countApisNaming } from './api-entries.ts';
import { keyCounter, keysWithCertificate } from './keys.ts';
import type { DocumentReader } from './read-model-store.ts';

/** An element of `apis` and `used_by`; names are those of the wire. */
export type CertificateUser = {
  readonly api_id: string;
  readonly name: string;
  readonly usage_type: readonly CertificateRole[];
  readonly svc_api_type: string;
};

const kindNames: Readonly<Partial<Record<string, string>>> = { oas: 'OAS', streams: 'Streams', classic: 'Classic' };

const kindName = (kind: ApiKind): string => kindNames[kind] ?? kind;

const toUser =
  (certId: CertId) =>
  ({ apiId, name, kind, certificates = [] }: ApiEntry): CertificateUser => {
    const roles = certificates.filter((use) => use.certId === certId).map(({ role }) => role);
    return { api_id: apiId, name, usage_type: [...new Set(roles)], svc_api_type: kindName(kind) };
  };

/** More certificates than this are counted in one pass over the APIs. */
const maxLookUps = 500;

/** How many APIs and keys use each of so many certificates. */
export function countUses(documents: DocumentReader, orgId: OrgId, certificates: number): (certId: CertId) => number {
  const countKeys = keyCounter(documents, orgId);
  if (certificates <= maxLookUps) {
    return (certId) => countApisNaming(documents, orgId, certId) + countKeys(certId);
  }
  const counts = new Map<string, number>();
  for (const { certificates: named = [] } of apisWithCertificates(documents, orgId)) {
    for (const certId of new Set(named.map((use) => use.certId))) counts.set(certId, (counts.get(certId) ?? 0) + 1);
  }
  return (certId) => (counts.get(certId) ?? 0) + countKeys(certId);
}

/** Oldest first. */
export const apisUsing = (documents: DocumentReader, orgId: OrgId, certId: CertId): readonly CertificateUser[] =>
  apisNaming(documents, orgId, certId).map(toUser(certId));

export type CertificateUsersPage = {
  readonly cert_id: string;
  readonly pages: number;
  readonly apis: readonly CertificateUser[];
};

/** `page` from 1; 0 or below: everything on one page. */
export function pageOfUsers(
  documents: DocumentReader,
  orgId: OrgId,
  certId: CertId,
  { page, pageSize }: { readonly page: number; readonly pageSize: number },
): CertificateUsersPage {
  const count = countApisNaming(documents, orgId, certId);
  const window = page <= 0 ? { limit: count } : { limit: pageSize, offset: (page - 1) * pageSize };
  return {
    cert_id: certId,
    pages: page <= 0 ? 1 : Math.max(1, Math.ceil(count / pageSize)),
    apis: apisNaming(documents, orgId, certId, window).map(toUser(certId)),
  };
}

/** The body of `GET /api/certs/dependencies/{certId}`. `key_cert`: the hash of a key that is bound to it, or nothing. */
export function dependenciesOf(documents: DocumentReader, orgId: OrgId, certId: CertId) {
  const users = apisUsing(documents, orgId, certId);
  const as = (role: CertificateRole) => users.filter(({ usage_type }) => usage_type.includes(role));
  const ids = (role: CertificateRole) => as(role).map(({ api_id }) => api_id);
  const names = (role: CertificateRole) => as(role).map(({ name }) => name);
  const [key = ''] = keysWithCertificate(documents, orgId, certId);
  return {
    certID: certId,
    ...{ client_cert_apis: ids('client'), client_cert_api_names: names('client') },
    ...{ upstream_cert_apis: ids('upstream'), upstream_cert_api_names: names('upstream') },
    ...{ server_cert_apis: ids('server'), server_cert_api_names: names('server') },
    ...{ pin_apis: ids('pin'), pin_api_names: names('pin') },
    key_cert: key as KeyHash | '',
  };
}

/** One line for each that would miss the certificate; with `roles` those APIs only that use it so, and no keys. */
export function usesInWords(
  documents: DocumentReader,
  orgId: OrgId,
  certId: CertId,
  roles?: readonly CertificateRole[],
): readonly string[] {
  const isWanted = (role: CertificateRole): boolean => roles?.includes(role) ?? true;
  const apis = apisUsing(documents, orgId, certId)
    .map(({ api_id, usage_type }) => ({ api_id, wanted: usage_type.filter(isWanted) }))
    .filter(({ wanted }) => wanted.length > 0)
    .map(({ api_id, wanted }) => `API ${api_id} (${wanted.join(', ')})`);
  return roles ? apis : [...apis, ...keysWithCertificate(documents, orgId, certId).map((hash) => `key ${hash}`)];
}
