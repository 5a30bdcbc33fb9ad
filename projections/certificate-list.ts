/** The certificate list with parsed metadata (management design 7.1), and one certificate with its chain (7.3). */
import {
  type CertificateFacts,
  type DistinguishedName,
  endOf,
  type NotedEnds,
  notedAfter,
} from '../domain/certificate.ts';
import { certificateForeign } from '../domain/errors.ts';
import type { Recorded, Secret } from '../domain/event.ts';
import type { Position } from '../domain/event-store.ts';
import type { DomainEvent } from '../domain/events.ts';
import { type CertId, type OrgId, toCertId } from '../domain/ids.ts';
import { apisUsing, type CertificateUser, countUses } from './certificate-uses.ts';
import type { Projection } from './projection.ts';
import type { DocumentChange, DocumentReader } from './read-model-store.ts';

/** What lists show; it holds no PEM, so that a page costs what it shows. */
export type CertificateEntry = {
  readonly orgId: OrgId;
  readonly certId: CertId;
  readonly name: string;
  readonly hasPrivate: boolean;
  /** Data key of the private key. */
  readonly kid?: string;
  readonly facts: CertificateFacts;
  readonly chainLength: number;
  readonly createdAt: string;
  /** Of the first import: replacing a chain or attaching a key does not move an entry. */
  readonly createdPosition: Position;
  /** Of the last event of its stream. */
  readonly revision: string;
  readonly position: Position;
  /** Who was told that it ends soon, or has ended. */
  readonly noted: NotedEnds;
};

type Certificate = CertificateEntry & { readonly pem: string; readonly chain: readonly string[] };

const entries = 'certs';
const whole = 'cert_details';

const organisation = (orgId: OrgId): string => `org:${orgId}`;
const withKey = (orgId: OrgId, hasPrivate: boolean): string => `org:${orgId}/${hasPrivate ? 'with_pk' : 'without_pk'}`;

export const certificateList: Projection = {
  name: 'certs',
  version: 3,
  collections: [entries, whole],
  filter: { categories: ['cert'] },
  onPoison: 'park-by-stream',
  apply: applyToList,
};

/** Where the list reads, for those who ask what it showed before. */
export const certificateListing = { category: 'cert', projection: certificateList, whole, entries } as const;

function applyToList(recorded: Recorded<DomainEvent>, documents: DocumentReader): readonly DocumentChange[] {
  const { event } = recorded;
  switch (event.type) {
    case 'CertificateImported': {
      const { orgId, certId, pem, chain, parsed, secret } = event;
      const before = stored(documents, certId);
      return put(recorded, {
        orgId,
        certId,
        name: event.name ?? before?.name ?? '',
        hasPrivate: secret !== undefined || (before?.hasPrivate ?? false),
        ...(before?.kid === undefined ? {} : { kid: before.kid }),
        ...kidOf(secret),
        facts: parsed,
        chainLength: chain.length + 1,
        createdAt: before?.createdAt ?? recorded.at.toISOString(),
        createdPosition: before?.createdPosition ?? recorded.position,
        noted: before?.noted ?? {},
        pem,
        chain,
      });
    }
    case 'CertificateKeyAttached': {
      const before = stored(documents, event.certId);
      return before ? put(recorded, { ...before, hasPrivate: true, ...kidOf(event.secret) }) : [];
    }
    case 'CertificateRenamed': {
      const before = stored(documents, event.certId);
      return before ? put(recorded, { ...before, name: event.name }) : [];
    }
    case 'CertificateExpiringSoon':
    case 'CertificateExpired': {
      const before = stored(documents, event.certId);
      return before ? put(recorded, { ...before, noted: notedAfter(before.noted, event) }) : [];
    }
    case 'CertificateKeyShredded': {
      const before = stored(documents, event.certId);
      // A certificate that came back has another key by now.
      if (before?.kid !== event.kid) return [];
      const { kid: _, ...rest } = before;
      return put(recorded, { ...rest, hasPrivate: false });
    }
    case 'CertificateDeleted':
      return [entries, whole].map((collection) => ({ op: 'remove', collection, id: event.certId }));
    // The filter lets no other event through.
    default:
      return [];
  }
}

const kidOf = (secret: Secret | undefined): { readonly kid?: string } =>
  secret?.kid === undefined ? {} : { kid: secret.kid };

function put(
  { revision, position }: Recorded<DomainEvent>,
  changed: Omit<Certificate, 'revision' | 'position'>,
): readonly DocumentChange[] {
  const certificate: Certificate = { ...changed, revision: String(revision), position };
  const { pem: _, chain: __, facts, ...entry } = certificate;
  const { subject: ___, issuer: ____, chainFacts: _____, ...listedFacts } = facts;
  const { orgId, certId, createdPosition, hasPrivate } = entry;
  const place = { id: certId, sort: createdPosition };
  const labels = [organisation(orgId), withKey(orgId, hasPrivate)];
  return [
    { op: 'put', collection: entries, document: { ...place, labels, body: { ...entry, facts: listedFacts } } },
    { op: 'put', collection: whole, document: { ...place, labels: [], body: certificate } },
  ];
}

const stored = (documents: DocumentReader, certId: string): Certificate | undefined =>
  documents.get(whole, certId)?.body as Certificate | undefined;

export const certificateFilters = ['omit', 'with_pk', 'without_pk'] as const;
type CertificateFilter = (typeof certificateFilters)[number];

export type CertificateQuery = {
  /** From 1, the default; 0 or below: everything on one page. */
  readonly page?: number;
  /** Default 10. */
  readonly pageSize?: number;
  readonly mode?: 'detailed';
  /** Without effect unless `mode` is `detailed`. */
  readonly filter?: CertificateFilter;
};

/** An element of `cert_basics`; names are those of the wire. */
export type ListedCertificate = {
  readonly id: string;
  readonly dns_names: readonly string[];
  readonly has_private: boolean;
  readonly is_ca: boolean;
  readonly issuer_cn: string;
  readonly subject_cn: string;
  readonly not_before: string;
  readonly not_after: string;
};

/** What `mode=detailed` adds. */
export type CertificateDetails = {
  readonly fingerprint: string;
  readonly name: string;
  readonly serial_number: string;
  readonly key_type: string;
  readonly signature_algorithm: string;
  readonly ip_addresses: readonly string[];
  /** Whole days until `not_after`; negative after it, null for a public key. */
  readonly days_remaining: number | null;
  readonly expired: boolean;
  readonly chain_length: number;
  readonly used_by: number;
  readonly created_at: string;
};

/** Of every organisation, oldest first. `after`: the `createdPosition` of the last one before. */
export const certificatesAfter = (
  documents: DocumentReader,
  after: string,
  limit: number,
): readonly CertificateEntry[] => documents.list(entries, { after, limit }).map(({ body }) => body as CertificateEntry);

export type CertificatePage = {
  readonly cert_basics: readonly (ListedCertificate | (ListedCertificate & CertificateDetails))[];
  readonly pages: number;
};

/** `now` in ms since 1970. */
export function listCertificates(
  documents: DocumentReader,
  orgId: OrgId,
  { page = 1, pageSize = 10, mode, filter = 'omit' }: CertificateQuery,
  now: number,
): CertificatePage {
  const isDetailed = mode === 'detailed';
  const label = isDetailed && filter !== 'omit' ? withKey(orgId, filter === 'with_pk') : organisation(orgId);
  const count = documents.count(entries, [label]);
  const window = page <= 0 ? { limit: count } : { limit: pageSize, offset: (page - 1) * pageSize };
  const found = documents.list(entries, { labels: [label], ...window }).map(({ body }) => body as CertificateEntry);
  const countOf = isDetailed ? countUses(documents, orgId, found.length) : () => 0;
  return {
    cert_basics: found.map((entry) =>
      isDetailed ? { ...basics(entry), ...details(entry, now), used_by: countOf(entry.certId) } : basics(entry),
    ),
    pages: page <= 0 ? 1 : Math.max(1, Math.ceil(count / pageSize)),
  };
}

const basics = ({ certId, hasPrivate, facts }: CertificateEntry): ListedCertificate => ({
  id: certId,
  dns_names: facts.dnsNames,
  has_private: hasPrivate,
  is_ca: facts.isCa,
  issuer_cn: facts.issuerCn,
  subject_cn: facts.subjectCn,
  not_before: facts.notBefore,
  not_after: facts.notAfter,
});

const details = (entry: CertificateEntry, now: number): Omit<CertificateDetails, 'used_by'> => ({
  fingerprint: entry.certId.slice(entry.orgId.length),
  name: entry.name,
  ...technicalFacts(entry.facts, now),
  chain_length: entry.chainLength,
  created_at: entry.createdAt,
});

const dayMs = 24 * 3_600 * 1_000;

function technicalFacts(facts: CertificateFacts, now: number) {
  const end = endOf(facts);
  return {
    serial_number: facts.serial,
    key_type: facts.keyAlg,
    signature_algorithm: facts.signatureAlgorithm,
    ip_addresses: facts.ipAddresses,
    days_remaining: end === undefined ? null : Math.floor((end - now) / dayMs),
    expired: end !== undefined && end < now,
  };
}

/** Names as the wire has them. */
const wireName = (name: DistinguishedName | undefined, commonName: string) => ({
  CommonName: name?.commonName ?? commonName,
  SerialNumber: name?.serialNumber ?? '',
  Country: name?.country ?? [],
  Organization: name?.organization ?? [],
  OrganizationalUnit: name?.organizationalUnit ?? [],
  Locality: name?.locality ?? [],
  Province: name?.province ?? [],
  StreetAddress: name?.streetAddress ?? [],
  PostalCode: name?.postalCode ?? [],
});

const names = ({ subject, subjectCn, issuer, issuerCn }: CertificateFacts) => ({
  issuer: wireName(issuer, issuerCn),
  subject: wireName(subject, subjectCn),
});

/** What is known of a certificate of the chain: the PEM alone when the event brought no facts of it. */
const link = (facts: CertificateFacts | undefined, pem: string, now: number) =>
  facts === undefined
    ? { pem }
    : {
        fingerprint: facts.fingerprint ?? '',
        ...names(facts),
        dns_names: facts.dnsNames,
        is_ca: facts.isCa,
        not_before: facts.notBefore,
        not_after: facts.notAfter,
        ...technicalFacts(facts, now),
        pem,
      };

export type ShownCertificate = ListedCertificate &
  Omit<CertificateDetails, 'used_by'> &
  ReturnType<typeof names> & {
    /** APIs; keys that are bound to it stand among its dependencies. */
    readonly used_by: readonly CertificateUser[];
    readonly pem: string;
    readonly chain: readonly ReturnType<typeof link>[];
  };

/**
 * The body of `GET /api/certs/{certId}`; undefined when it is unknown. `certId` may be a fingerprint alone. Throws
 * `certificate_foreign` when the id itself names another organisation. `now` in ms since 1970. `users`: where APIs stand.
 */
export function getCertificate(
  documents: DocumentReader,
  orgId: OrgId,
  text: string,
  now: number,
  users: DocumentReader = documents,
): ShownCertificate | undefined {
  const certificate = stored(documents, ownCertId(orgId, text));
  if (certificate?.orgId !== orgId) return undefined;
  const { certId, facts, pem, chain } = certificate;
  return {
    ...basics(certificate),
    ...names(facts),
    ...details(certificate, now),
    used_by: apisUsing(users, orgId, certId),
    pem,
    chain: chain.map((text, index) => link(facts.chainFacts?.[index], text, now)),
  };
}

export function findCertificate(documents: DocumentReader, orgId: OrgId, certId: CertId): CertificateEntry | undefined {
  const found = stored(documents, certId);
  return found?.orgId === orgId ? found : undefined;
}

/** Where the last event of a certificate stands. */
export const placeOfCertificate = (
  documents: DocumentReader,
  certId: string,
): Pick<CertificateEntry, 'revision' | 'position'> | undefined => stored(documents, certId);

/** The id of a certificate of this organisation, also from the fingerprint alone. */
export function ownCertId(orgId: OrgId, text: string): CertId {
  const { owner, fingerprint } = /^(?<owner>.*)(?<fingerprint>[0-9a-f]{64})$/s.exec(text)?.groups ?? {};
  if (fingerprint === undefined) return text as CertId;
  if (owner !== '' && owner !== orgId) throw certificateForeign();
  return toCertId(orgId, fingerprint);
}
