/** Reads facts out of X.509 certificates with `node:crypto`: names, alternative names, times, kinds of keys. */
import { createHash, type KeyObject, X509Certificate } from 'node:crypto';
import { SocketAddress } from 'node:net';
import { type CertificateFacts, type DistinguishedName, zeroTime } from '../../../domain/certificate.ts';

/**
 * A certificate from PEM or DER; throws when it cannot be read. Its public key is looked at before anything else of it: where
 * that cannot be decoded, `toLegacyObject` of Node ends the whole process.
 */
export function readCertificate(pemOrDer: string | Uint8Array): X509Certificate {
  const certificate = new X509Certificate(pemOrDer);
  if (certificate.publicKey.type !== 'public') throw new Error('a certificate without a public key');
  return certificate;
}

/** Lower-case hex SHA-256 of the DER. */
export const fingerprintOf = (certificate: X509Certificate): string =>
  createHash('sha256').update(certificate.raw).digest('hex');

/**
 * Throws for a certificate whose key is of a kind that is refused: `toLegacyObject` ends the whole process for curves that have
 * no name of NIST.
 */
export function factsOf(certificate: X509Certificate): CertificateFacts {
  const { publicKey } = certificate;
  if (keyStrength(publicKey) === 'unsupported') throw new Error(`no facts of a key of kind ${keyAlgorithm(publicKey)}`);
  const legacy = certificate.toLegacyObject();
  const subject = distinguishedName(legacy.subject);
  const issuer = distinguishedName(legacy.issuer);
  const { dnsNames, ipAddresses } = alternativeNames(certificate.subjectAltName ?? '');
  return {
    subjectCn: subject.commonName,
    issuerCn: issuer.commonName,
    dnsNames,
    ipAddresses,
    notBefore: seconds(certificate.validFromDate),
    notAfter: seconds(certificate.validToDate),
    isCa: certificate.ca,
    serial: certificate.serialNumber.toLowerCase(),
    keyAlg: keyAlgorithm(publicKey),
    signatureAlgorithm: certificate.signatureAlgorithm ?? '',
    subject,
    issuer,
    fingerprint: fingerprintOf(certificate),
  };
}

/** Of a public key that stands alone: it has no names, and no time at which it ends. */
export const publicKeyFacts = (key: KeyObject): CertificateFacts => ({
  ...{ subjectCn: '', issuerCn: '', dnsNames: [], ipAddresses: [], notBefore: zeroTime, notAfter: zeroTime },
  ...{ isCa: false, serial: '', keyAlg: keyAlgorithm(key), signatureAlgorithm: '' },
});

const seconds = (time: Date): string => time.toISOString().replace(/\.\d{3}Z$/, 'Z');

/**
 * The decoded attributes, by OpenSSL's short names. The text form (`certificate.subject`) is not used: there a name that
 * holds a line break or a comma cannot be told from two.
 */
function distinguishedName(attributes: object): DistinguishedName {
  const values = (name: string): readonly string[] => {
    const value: unknown = Object.hasOwn(attributes, name) ? Reflect.get(attributes, name) : [];
    return (Array.isArray(value) ? value : [value]).map(String);
  };
  return {
    commonName: values('CN').at(-1) ?? '',
    serialNumber: values('serialNumber').at(-1) ?? '',
    country: values('C'),
    organization: values('O'),
    organizationalUnit: values('OU'),
    locality: values('L'),
    province: values('ST'),
    streetAddress: values('street'),
    postalCode: values('postalCode'),
  };
}

/** `DNS:a.example, IP Address:127.0.0.1, DNS:"odd, name"`: a value that holds more than plain characters is a JSON text. */
const alternativeName = /(?<kind>[A-Za-z0-9 .]+):(?:(?<quoted>"(?:[^"\\]|\\.)*")|(?<plain>[^,]*))(?:, |$)/gy;

export function alternativeNames(text: string): {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
} {
  const found = [...text.matchAll(alternativeName)].map(({ groups = {} }) => ({
    kind: groups['kind'] ?? '',
    value: groups['quoted'] === undefined ? (groups['plain'] ?? '') : String(JSON.parse(groups['quoted'])),
  }));
  const valuesOf = (wanted: string): readonly string[] =>
    found.filter(({ kind }) => kind === wanted).map(({ value }) => value);
  return { dnsNames: valuesOf('DNS'), ipAddresses: valuesOf('IP Address').map(shortAddress) };
}

/** OpenSSL writes `0:0:0:0:0:0:0:1`; everybody else `::1`. */
function shortAddress(address: string): string {
  if (!address.includes(':')) return address;
  try {
    return new SocketAddress({ address, family: 'ipv6' }).address;
  } catch {
    return address;
  }
}

const curves: Readonly<Record<string, string>> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' };

/** `RSA 2048`, `EC P-256`, `Ed25519`; other kinds by OpenSSL's name. */
export function keyAlgorithm(key: KeyObject): string {
  const { modulusLength, namedCurve = '' } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return `RSA ${modulusLength}`;
    case 'ec':
      return `EC ${curves[namedCurve] ?? namedCurve}`;
    case 'ed25519':
      return 'Ed25519';
    default:
      return key.asymmetricKeyType ?? 'unknown';
  }
}

const minRsaBits = 2048;

export type KeyStrength = 'supported' | 'weak' | 'unsupported';

/** RSA from 2048 bits on, EC P-256, P-384 and P-521, Ed25519; shorter RSA keys are weak. */
export function keyStrength(key: KeyObject): KeyStrength {
  const { modulusLength = 0, namedCurve = '' } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return modulusLength >= minRsaBits ? 'supported' : 'weak';
    case 'ec':
      return Object.hasOwn(curves, namedCurve) ? 'supported' : 'unsupported';
    case 'ed25519':
      return 'supported';
    default:
      return 'unsupported';
  }
}

/** Whether `issuer` signed the certificate, by name and signature. */
export function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  if (certificate.issuer !== issuer.subject) return false;
  try {
    return certificate.verify(issuer.publicKey);
  } catch {
    // A key of a kind that cannot have made this signature.
    return false;
  }
}

export const isSelfIssued = (certificate: X509Certificate): boolean => certificate.issuer === certificate.subject;
