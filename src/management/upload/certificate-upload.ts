/** Puts the certificates and keys of an upload together into items: leaf, chain, key (management design 7.2). */
import { createHash, type KeyObject, type X509Certificate } from 'node:crypto';
import type { CertificateFacts } from '../../../domain/certificate.ts';
import { certificateInvalid, type Warning } from '../../../domain/errors.ts';
import { createWork } from './key-encryption.ts';
import { readPem } from './pem-upload.ts';
import { readPkcs12 } from './pkcs12.ts';
import { notDecoded, type PrivateKey, spkiOf, type UploadParts } from './upload-parts.ts';
import { factsOf, fingerprintOf, isIssuedBy, isSelfIssued, keyAlgorithm, keyStrength, publicKeyFacts } from './x509.ts';

export type UploadItem = {
  /** The leaf, or a public key that stands alone. */
  readonly pem: string;
  /** The rest, leaf to root. */
  readonly chain: readonly string[];
  readonly facts: CertificateFacts;
  /** PKCS#8; fits the leaf. */
  readonly privateKeyPem?: string;
  /** Lower-case hex SHA-256 of the DER. */
  readonly fingerprint: string;
};

export type Upload = { readonly items: readonly UploadItem[]; readonly warnings: readonly Warning[] };

export type UploadOptions = {
  readonly now: Date | number;
  /** Of encrypted private keys, and of PKCS#12. */
  readonly passphrase?: string | undefined;
  /** The first certificate is the leaf, and all others stand in its chain; private keys are not looked at. */
  readonly isOneChain?: true;
};

/** Throws `certificate_invalid`, and then nothing of the upload counts. */
export async function readUpload(bytes: Uint8Array, options: UploadOptions): Promise<Upload> {
  const { now, passphrase, isOneChain } = options;
  const parts = await readParts(bytes, passphrase);
  refuseMixtures(parts);
  const { certificates, keys, publicKeys } = parts;
  const items = isOneChain ? oneChain(certificates) : itemsOf(certificates, matchKeys(certificates, keys));
  const warnings = [...ignoredParts(parts), ...checkItems(items, Number(now))];
  return { items: [...items.map(toUploaded), ...publicKeys.map(toUploadedKey)], warnings };
}

/** A DER sequence: PKCS#12, or nothing that is read. */
const derSequence = 0x30;

async function readParts(bytes: Uint8Array, passphrase: string | undefined): Promise<UploadParts> {
  if (bytes.byteLength === 0) throw certificateInvalid('Failed to read response body, body empty.');
  const work = createWork();
  const parts = await readPem(bytes, passphrase, work);
  if (parts) return parts;
  if (bytes[0] === derSequence) return readPkcs12(bytes, passphrase, work);
  throw notDecoded();
}

function refuseMixtures({ certificates, keys, publicKeys }: UploadParts): void {
  if (certificates.length > 0 && publicKeys.length > 0) {
    throw certificateInvalid("Public keys can't be combined with certificates");
  }
  if (certificates.length > 0 || (publicKeys.length > 0 && keys.length === 0)) return;
  throw certificateInvalid("Can't find CERTIFICATE block");
}

/** Certificates with their keys: several may have one key, such as a certificate and its renewal. */
function matchKeys(
  certificates: readonly X509Certificate[],
  keys: readonly PrivateKey[],
): ReadonlyMap<X509Certificate, KeyObject> {
  const keyed = new Map<X509Certificate, KeyObject>();
  if (keys.length === 0) return keyed;
  for (const certificate of certificates) {
    const publicKey = spkiOf(certificate.publicKey);
    const fitting = keys.find((candidate) => candidate.publicKey.equals(publicKey));
    if (fitting) keyed.set(certificate, fitting.key);
  }
  if (keys.length > Math.max(1, keyed.size)) throw certificateInvalid('Found multiple private keys');
  const used = new Set(keyed.values());
  if (keys.some(({ key }) => !used.has(key))) throw certificateInvalid('tls: private key does not match public key');
  return keyed;
}

type Item = {
  readonly leaf: X509Certificate;
  readonly chain: readonly X509Certificate[];
  readonly key?: KeyObject;
};

/** Certificates with a key take their chains; what remains is taken in order. Items stand in the order of their leaves. */
function itemsOf(
  certificates: readonly X509Certificate[],
  keyed: ReadonlyMap<X509Certificate, KeyObject>,
): readonly Item[] {
  const issuers = issuerFinder(certificates);
  const items: Item[] = [...keyed].map(([leaf, key]) => ({ leaf, key, chain: chainOf(leaf, issuers) }));
  const taken = new Set(items.flatMap(({ leaf, chain }) => [leaf, ...chain]));
  for (const group of inOrder(certificates.filter((certificate) => !taken.has(certificate)))) items.push(group);
  return items.toSorted((a, b) => certificates.indexOf(a.leaf) - certificates.indexOf(b.leaf));
}

function oneChain(certificates: readonly X509Certificate[]): readonly Item[] {
  const [leaf] = certificates;
  if (!leaf) return [];
  const chain = chainOf(leaf, issuerFinder(certificates));
  const other = certificates.find((certificate) => certificate !== leaf && !chain.includes(certificate));
  if (other) throw certificateInvalid(`${nameOf(other)} is not in the chain of ${nameOf(leaf)}`);
  return [{ leaf, chain }];
}

type FindIssuers = (certificate: X509Certificate) => readonly X509Certificate[];

/** Checks of signatures for one upload; real ones need a few, only one made to keep us busy needs more. */
const maxSignatureChecks = 2_000;

function issuerFinder(certificates: readonly X509Certificate[]): FindIssuers {
  const bySubject = Map.groupBy(certificates, ({ subject }) => subject);
  let checks = 0;
  return (certificate) => {
    if (isSelfIssued(certificate)) return [];
    const candidates = bySubject.get(certificate.issuer) ?? [];
    checks += candidates.length;
    if (checks > maxSignatureChecks) throw certificateInvalid('Too many certificates with the same subject');
    return candidates.filter((candidate) => isIssuedBy(certificate, candidate));
  };
}

/** Issuers first, then theirs: leaf to root, also when an issuer was signed by two. */
function chainOf(leaf: X509Certificate, issuers: FindIssuers): readonly X509Certificate[] {
  const chain = new Set<X509Certificate>();
  let level: readonly X509Certificate[] = [leaf];
  while (level.length > 0) {
    const above = level.flatMap((certificate) => issuers(certificate));
    level = [...new Set(above)].filter((certificate) => certificate !== leaf && !chain.has(certificate));
    for (const certificate of level) chain.add(certificate);
  }
  return [...chain];
}

/** A certificate followed by its issuers is one item; one that did not issue the one before begins another. */
function inOrder(certificates: readonly X509Certificate[]): readonly Item[] {
  const items: Item[] = [];
  for (const certificate of certificates) {
    const last = items.at(-1);
    const before = last?.chain.at(-1) ?? last?.leaf;
    if (last && before && !isSelfIssued(before) && isIssuedBy(before, certificate)) {
      items[items.length - 1] = { ...last, chain: [...last.chain, certificate] };
    } else {
      items.push({ leaf: certificate, chain: [] });
    }
  }
  return items;
}

/** Throws for what no item may have; answers what is only worth a word. */
function checkItems(items: readonly Item[], now: number): readonly Warning[] {
  return items.flatMap(({ leaf, chain }, index) => {
    const number = index + 1;
    const refuse = (text: string) => certificateInvalid(items.length === 1 ? text : `item ${number}: ${text}`);
    if (leaf.validToDate.getTime() < now) throw refuse('certificate is expired');
    for (const certificate of [leaf, ...chain]) {
      if (keyStrength(certificate.publicKey) === 'unsupported') {
        throw refuse(`key type not supported: ${keyAlgorithm(certificate.publicKey)}`);
      }
    }
    const warn = (code: string, text: string): Warning => ({ pointer: '', code, text: `item ${number}: ${text}` });
    const early = leaf.validFromDate.getTime() > now ? [warn('not_yet_valid', `${nameOf(leaf)} is not valid yet`)] : [];
    const late = chain
      .filter(({ validToDate }) => validToDate.getTime() < now)
      .map((certificate) => warn('chain_expired', `${nameOf(certificate)} in the chain is expired`));
    return [...early, ...late, ...[leaf, ...chain].flatMap((certificate) => weaknesses(certificate, warn))];
  });
}

function weaknesses(certificate: X509Certificate, warn: (code: string, text: string) => Warning): readonly Warning[] {
  const key =
    keyStrength(certificate.publicKey) === 'weak'
      ? [warn('weak_key', `${nameOf(certificate)} has a weak key (${keyAlgorithm(certificate.publicKey)})`)]
      : [];
  // The signature of a root is not what makes it trusted.
  const isSha1 = !isSelfIssued(certificate) && /sha1/i.test(certificate.signatureAlgorithm ?? '');
  return isSha1 ? [...key, warn('weak_signature', `${nameOf(certificate)} is signed with SHA-1`)] : key;
}

const nameOf = (certificate: X509Certificate): string => {
  const isReadable = keyStrength(certificate.publicKey) !== 'unsupported';
  const subjectCn = isReadable ? factsOf(certificate).subjectCn : '';
  return subjectCn === '' ? `certificate ${fingerprintOf(certificate).slice(0, 16)}` : subjectCn;
};

const ignoredParts = ({ ignored }: UploadParts): readonly Warning[] =>
  ignored.map((what) => ({ pointer: '', code: 'block_ignored', text: `${what} is ignored` }));

const toUploaded = ({ leaf, chain, key }: Item): UploadItem => ({
  pem: leaf.toString(),
  chain: chain.map(String),
  facts: { ...factsOf(leaf), chainFacts: chain.map(factsOf) },
  ...(key ? { privateKeyPem: key.export({ type: 'pkcs8', format: 'pem' }).toString() } : {}),
  fingerprint: fingerprintOf(leaf),
});

const toUploadedKey = (key: KeyObject): UploadItem => ({
  pem: key.export({ type: 'spki', format: 'pem' }).toString(),
  chain: [],
  facts: publicKeyFacts(key),
  fingerprint: createHash('sha256').update(spkiOf(key)).digest('hex'),
});
