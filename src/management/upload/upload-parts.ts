/** What an upload of certificates holds before anything is put together: certificates, keys, and what is ignored. */
import { createPrivateKey, createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { certificateInvalid } from '../../../domain/errors.ts';
import { factsOf, fingerprintOf, keyAlgorithm, keyStrength, readCertificate } from './x509.ts';

export type PrivateKey = { readonly key: KeyObject; readonly publicKey: Buffer };

/** Each once, in the order of the upload; the same key in two forms is one. */
export type UploadParts = {
  readonly certificates: readonly X509Certificate[];
  readonly keys: readonly PrivateKey[];
  /** Public keys that stand alone. */
  readonly publicKeys: readonly KeyObject[];
  /** In words, what of the upload is not used. */
  readonly ignored: readonly string[];
};

export const notDecoded = () => certificateInvalid('Failed to decode certificate. It should be PEM encoded.');
export const keyNotParsed = () => certificateInvalid('tls: failed to parse private key');
const keyNotSupported = (key: KeyObject) => certificateInvalid(`key type not supported: ${keyAlgorithm(key)}`);

/** Collects parts as they are found. */
export function createParts() {
  const certificates = new Map<string, X509Certificate>();
  const keys = new Map<string, PrivateKey>();
  const publicKeys = new Map<string, KeyObject>();
  const ignored = new Set<string>();
  return {
    certificate(der: Uint8Array): void {
      const certificate = parsed(() => readable(der), notDecoded);
      const fingerprint = fingerprintOf(certificate);
      if (!certificates.has(fingerprint)) certificates.set(fingerprint, certificate);
    },
    /** `input`: as `createPrivateKey` takes it. */
    key(input: Parameters<typeof createPrivateKey>[0]): void {
      const key = parsed(() => createPrivateKey(input), keyNotParsed);
      if (keyStrength(key) !== 'supported') throw keyNotSupported(key);
      const publicKey = spkiOf(createPublicKey(key));
      keys.set(publicKey.toString('hex'), { key, publicKey });
    },
    publicKey(der: Buffer): void {
      const key = parsed(() => createPublicKey({ key: der, format: 'der', type: 'spki' }), notDecoded);
      if (keyStrength(key) !== 'supported') throw keyNotSupported(key);
      publicKeys.set(spkiOf(key).toString('hex'), key);
    },
    ignore: (text: string): void => void ignored.add(text),
    done: (): UploadParts => ({
      certificates: [...certificates.values()],
      keys: [...keys.values()],
      publicKeys: [...publicKeys.values()],
      ignored: [...ignored],
    }),
  };
}

export type Parts = ReturnType<typeof createParts>;

export const spkiOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

/** The library opens certificates of which it cannot tell the time or the names. Keys of other kinds are refused with their item. */
function readable(der: Uint8Array): X509Certificate {
  const certificate = readCertificate(der);
  if (keyStrength(certificate.publicKey) !== 'unsupported') factsOf(certificate);
  return certificate;
}

/** What the library says of broken bytes is not for those who sent them. */
function parsed<T>(read: () => T, refusal: () => Error): T {
  try {
    return read();
  } catch {
    throw refusal();
  }
}
