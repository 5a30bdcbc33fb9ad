/** Reads an upload of certificates and keys in PEM into items: leaf, chain, key (management design 7.2). */
import { createPrivateKey, createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto';
import type { CertificateFacts } from '../../domain/certificate.ts';
import { certificateInvalid, type Warning } from '../../domain/errors.ts';
import {
  factsOf,
  fingerprintOf,
  isIssuedBy,
  isSelfIssued,
  keyAlgorithm,
  keyStrength,
  readCertificate,
} from './x509.ts';

export type UploadItem = {
  /** The leaf. */
  readonly pem: string;
  /** The rest, leaf to root. */
  readonly chain: readonly string[];
  readonly facts: CertificateFacts;
  /** PKCS#8; fits the leaf. */
  readonly privateKeyPem?: string;
  /** Lower-case hex SHA-256 of the leaf's DER. */
  readonly fingerprint: string;
};

export type Upload = { readonly items: readonly UploadItem[]; readonly warnings: readonly Warning[] };

export type UploadOptions = {
  readonly now: Date | number;
  /** Of encrypted private keys. */
  readonly passphrase?: string | undefined;
};

/** Throws `certificate_invalid`, and then nothing of the upload counts. */
export function readUpload(bytes: Uint8Array, { now, passphrase }: UploadOptions): Upload {
  const blocks = readBlocks(bytes);
  const certificates = readCertificates(blocks);
  const keys = readKeys(blocks, passphrase);
  refuseMixtures(blocks, certificates);
  const keyed = matchKeys(certificates, keys);
  const items = itemsOf(certificates, keyed);
  const warnings = [...ignoredBlocks(blocks), ...checkItems(items, Number(now))];
  return { items: items.map(toUploaded), warnings };
}

type Block = { readonly label: string; readonly pem: string; readonly body: string };

const blockPattern =
  /-----BEGIN (?<label>[A-Z0-9 ]+)-----(?<body>[^-]*(?:-(?!----)[^-]*)*)-----END (?<end>[A-Z0-9 ]+)-----/g;

const keyLabels: ReadonlySet<string> = new Set([
  'RSA PRIVATE KEY',
  'EC PRIVATE KEY',
  'PRIVATE KEY',
  'ENCRYPTED PRIVATE KEY',
]);
const certificateLabel = 'CERTIFICATE';
const publicKeyLabel = 'PUBLIC KEY';

const isKnown = ({ label }: Block): boolean =>
  label === certificateLabel || label === publicKeyLabel || keyLabels.has(label);

const notDecoded = () => certificateInvalid('Failed to decode certificate. It should be PEM encoded.');
const keyNotParsed = () => certificateInvalid('tls: failed to parse private key');

const accepted = 'send PEM: a CERTIFICATE, its chain and, if wanted, its private key';

/** A DER sequence: PKCS#12 or a bare certificate. */
const derSequence = 0x30;

function readBlocks(bytes: Uint8Array): readonly Block[] {
  if (bytes.byteLength === 0) throw certificateInvalid('Failed to read response body, body empty.');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const blocks = [...text.matchAll(blockPattern)].map(({ 0: pem, groups = {} }) => {
    const { label = '', body = '', end } = groups;
    if (label !== end) throw notDecoded();
    return { label, pem, body };
  });
  // An opened block that never ends is a body that was cut off.
  if (text.split('-----BEGIN ').length - 1 !== blocks.length) throw notDecoded();
  if (blocks.some(isKnown)) return blocks;
  if (bytes[0] === derSequence) throw certificateInvalid(`PKCS#12 and DER are not accepted: ${accepted}`);
  throw notDecoded();
}

/** Each once, in the order of the upload. */
function readCertificates(blocks: readonly Block[]): readonly X509Certificate[] {
  const found = new Map<string, X509Certificate>();
  for (const { label, body } of blocks) {
    if (label !== certificateLabel) continue;
    const certificate = parseCertificate(body);
    const fingerprint = fingerprintOf(certificate);
    if (!found.has(fingerprint)) found.set(fingerprint, certificate);
  }
  return [...found.values()];
}

function parseCertificate(body: string): X509Certificate {
  const base64 = body.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw notDecoded();
  try {
    return readCertificate(Buffer.from(base64, 'base64'));
  } catch {
    throw notDecoded();
  }
}

type PrivateKey = { readonly key: KeyObject; readonly publicKey: Buffer };

/** Each once; the same key in two forms is one. */
function readKeys(blocks: readonly Block[], passphrase: string | undefined): readonly PrivateKey[] {
  const found = new Map<string, PrivateKey>();
  for (const { label, pem } of blocks) {
    if (!keyLabels.has(label)) continue;
    const key = parseKey(pem, passphrase);
    if (keyStrength(key) !== 'supported') throw certificateInvalid(`key type not supported: ${keyAlgorithm(key)}`);
    const publicKey = spkiOf(createPublicKey(key));
    found.set(publicKey.toString('hex'), { key, publicKey });
  }
  return [...found.values()];
}

function parseKey(pem: string, passphrase: string | undefined): KeyObject {
  try {
    return createPrivateKey({ key: pem, format: 'pem', ...(passphrase === undefined ? {} : { passphrase }) });
  } catch {
    throw keyNotParsed();
  }
}

const spkiOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

function refuseMixtures(blocks: readonly Block[], certificates: readonly X509Certificate[]): void {
  const hasPublicKey = blocks.some(({ label }) => label === publicKeyLabel);
  if (certificates.length > 0 && hasPublicKey) {
    throw certificateInvalid("Public keys can't be combined with certificates");
  }
  if (certificates.length > 0) return;
  if (blocks.some(({ label }) => keyLabels.has(label))) throw certificateInvalid("Can't find CERTIFICATE block");
  throw certificateInvalid(`A public key alone is not accepted: ${accepted}`);
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
  const { subjectCn } = factsOf(certificate);
  return subjectCn === '' ? `certificate ${fingerprintOf(certificate).slice(0, 16)}` : subjectCn;
};

const ignoredBlocks = (blocks: readonly Block[]): readonly Warning[] =>
  [...new Set(blocks.filter((block) => !isKnown(block)).map(({ label }) => label))].map((label) => ({
    pointer: '',
    code: 'block_ignored',
    text: `PEM block ${label} is ignored`,
  }));

const toUploaded = ({ leaf, chain, key }: Item): UploadItem => ({
  pem: leaf.toString(),
  chain: chain.map(String),
  facts: { ...factsOf(leaf), chainFacts: chain.map(factsOf) },
  ...(key ? { privateKeyPem: key.export({ type: 'pkcs8', format: 'pem' }).toString() } : {}),
  fingerprint: fingerprintOf(leaf),
});
