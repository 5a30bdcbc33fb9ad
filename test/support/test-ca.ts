/** Makes certificates for tests: RSA with node-forge, EC and Ed25519 with the program `openssl`. */
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Context } from 'mocha';
import forge from 'node-forge';
import { temporaryFolder } from './temporary.ts';

/** PEM, the key as PKCS#8. */
export type MadeCertificate = { readonly certificate: string; readonly privateKey: string };

export type KeyKind = 'rsa' | 'ec' | 'ed25519' | 'secp256k1' | 'brainpoolP256r1';

export type CertificateParts = {
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly isCa?: boolean;
  readonly bits?: number;
  /** Instead of a new one. PEM. */
  readonly privateKey?: string;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  readonly digest?: 'sha1' | 'sha256';
  /** Further attributes of the subject: node-forge's short name and value. */
  readonly subject?: readonly (readonly [shortName: string, value: string])[];
};

const dayMs = 24 * 3_600 * 1_000;

export function selfSigned(commonName: string, kind: KeyKind = 'rsa', parts: CertificateParts = {}): MadeCertificate {
  return kind === 'rsa' ? signed(undefined, commonName, parts) : opensslSelfSigned(commonName, kind, parts);
}

/** RSA, signed by an RSA certificate. */
export const signedBy = (ca: MadeCertificate, commonName: string, parts: CertificateParts = {}): MadeCertificate =>
  signed(ca, commonName, parts);

export const expired = (commonName: string): MadeCertificate =>
  selfSigned(commonName, 'rsa', {
    notBefore: new Date(Date.now() - 20 * dayMs),
    notAfter: new Date(Date.now() - dayMs),
  });

/** An authority with some intermediates below it: `leaf` first, the root last. */
export function chainOf(commonName: string, intermediates = 1, parts: CertificateParts = {}) {
  let issuer = selfSigned(`root of ${commonName}`, 'rsa', { isCa: true });
  const chain = [issuer];
  for (let depth = 0; depth < intermediates; depth++) {
    issuer = signedBy(issuer, `intermediate ${depth} of ${commonName}`, { isCa: true });
    chain.unshift(issuer);
  }
  return { leaf: signedBy(issuer, commonName, parts), chain };
}

function signed(ca: MadeCertificate | undefined, commonName: string, parts: CertificateParts): MadeCertificate {
  const privateKey = parts.privateKey ?? rsaKey(parts.bits ?? 2048);
  const key = forge.pki.privateKeyFromPem(privateKey);
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.setRsaPublicKey(key.n, key.e);
  // The first bit must be 0, or the number is negative.
  certificate.serialNumber = `4${randomBytes(15).toString('hex').slice(1)}`;
  certificate.validity.notBefore = parts.notBefore ?? new Date(Date.now() - dayMs);
  certificate.validity.notAfter = parts.notAfter ?? new Date(Date.now() + 90 * dayMs);
  const subject = [
    ...(parts.subject ?? []).map(([shortName, value]) => ({ shortName, value, valueTagClass: forge.asn1.Type.UTF8 })),
    { shortName: 'CN', value: commonName },
  ];
  certificate.setSubject(subject as forge.pki.CertificateField[]);
  const issuer = ca && forge.pki.certificateFromPem(ca.certificate);
  certificate.setIssuer(issuer ? issuer.subject.attributes : (subject as forge.pki.CertificateField[]));
  certificate.setExtensions(extensions(parts));
  const signer = ca ? forge.pki.privateKeyFromPem(ca.privateKey) : key;
  certificate.sign(signer, forge.md[parts.digest ?? 'sha256'].create());
  return { certificate: forge.pki.certificateToPem(certificate), privateKey };
}

function extensions({ isCa = false, dnsNames = [], ipAddresses = [] }: CertificateParts): object[] {
  const altNames = [...dnsNames.map((value) => ({ type: 2, value })), ...ipAddresses.map((ip) => ({ type: 7, ip }))];
  return [
    { name: 'basicConstraints', cA: isCa, critical: true },
    ...(altNames.length > 0 ? [{ name: 'subjectAltName', altNames }] : []),
  ];
}

export const rsaKey = (bits = 2048): string =>
  generateKeyPairSync('rsa', { modulusLength: bits }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

const opensslKeys: Readonly<Record<Exclude<KeyKind, 'rsa'>, readonly string[]>> = {
  ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  ed25519: ['-newkey', 'ed25519'],
  secp256k1: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:secp256k1'],
  brainpoolP256r1: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:brainpoolP256r1'],
};

function opensslSelfSigned(commonName: string, kind: Exclude<KeyKind, 'rsa'>, parts: CertificateParts) {
  using folder = temporaryFolder();
  const names = [
    ...(parts.dnsNames ?? []).map((name) => `DNS:${name}`),
    ...(parts.ipAddresses ?? []).map((ip) => `IP:${ip}`),
  ];
  const [keyFile, file] = [folder.file('key.pem'), folder.file('certificate.pem')];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-nodes', '-days', '90', '-subj', `/CN=${commonName}`],
      ...opensslKeys[kind],
      ...['-keyout', keyFile, '-out', file],
      ...(names.length > 0 ? ['-addext', `subjectAltName=${names.join(',')}`] : []),
    ],
    { stdio: 'pipe' },
  );
  return { certificate: readFileSync(file, 'utf8'), privateKey: readFileSync(keyFile, 'utf8') };
}

/** For a suite that needs the program: skips it, or fails when nothing may be skipped. */
export function needsOpenssl(context: Context): void {
  try {
    execFileSync('openssl', ['version'], { stdio: 'pipe' });
  } catch (error) {
    if (process.env['SVC_TEST_REQUIRE'] === 'all') throw error;
    console.log('      skipped: the program openssl is missing');
    context.skip();
  }
}
