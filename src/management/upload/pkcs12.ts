/** Reads PKCS#12 (RFC 7292): the seal is checked, then certificates and keys are taken out of their bags. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { certificateInvalid, Refusal } from '../../../domain/errors.ts';
import { type Asn1, bytesOf, children, inner, integer, oid, readAsn1 } from './asn1.ts';
import { decrypt, deriveKey, EncryptionError, passwordOf, type Secrets, type Work } from './key-encryption.ts';
import { createParts, keyNotParsed, notDecoded, type Parts, type UploadParts } from './upload-parts.ts';

const data = '1.2.840.113549.1.7.1';
const encryptedData = '1.2.840.113549.1.7.6';

/** Throws `certificate_invalid`: not decoded for what is no PKCS#12, a key that does not parse for a wrong password. */
export async function readPkcs12(bytes: Uint8Array, passphrase: string | undefined, work: Work): Promise<UploadParts> {
  const { content, seal } = await containerOf(bytes);
  const passwords = passphrase ? [passwordOf(passphrase)] : [passwordOf(''), passwordOf('', true)];
  for (const password of passwords) {
    const secrets = { password, work };
    const isOurs = seal ? await opens(seal, content, secrets) : true;
    if (isOurs) return readContent(content, secrets);
  }
  throw keyNotParsed();
}

type Container = { readonly content: Buffer; readonly seal: Asn1 | undefined };

async function containerOf(bytes: Uint8Array): Promise<Container> {
  try {
    const [version, safe, seal] = children(await readAsn1(bytes));
    const [kind, content] = children(safe);
    if (integer(version) !== 3 || oid(kind) !== data) throw notDecoded();
    return { content: bytesOf(inner(content)), seal };
  } catch {
    throw notDecoded();
  }
}

const digests: Readonly<Record<string, readonly [name: string, bytes: number]>> = {
  '1.3.14.3.2.26': ['sha1', 20],
  '2.16.840.1.101.3.4.2.4': ['sha224', 28],
  '2.16.840.1.101.3.4.2.1': ['sha256', 32],
  '2.16.840.1.101.3.4.2.2': ['sha384', 48],
  '2.16.840.1.101.3.4.2.3': ['sha512', 64],
};

/** Whether the password fits the seal over the content. */
async function opens(seal: Asn1, content: Buffer, secrets: Secrets): Promise<boolean> {
  return readable(async () => {
    const [digestInfo, salt, iterations] = children(seal);
    const [algorithm, expected] = children(digestInfo);
    const kind = oid(inner(algorithm));
    const digest = digests[kind];
    if (!digest) throw new EncryptionError(`seal ${kind}`);
    const [hash, length] = digest;
    const rounds = iterations ? integer(iterations) : 1;
    const key = await deriveKey(secrets, { hash, salt: bytesOf(salt), rounds, purpose: 3, length });
    const found = createHmac(hash, key).update(content).digest();
    const wanted = bytesOf(expected);
    return wanted.length === found.length && timingSafeEqual(wanted, found);
  });
}

const readContent = (content: Buffer, secrets: Secrets): Promise<UploadParts> =>
  readable(async () => {
    const parts = createParts();
    for (const safe of children(await readAsn1(content))) {
      const opened = await safeContents(safe, secrets);
      if (opened) await readBags(opened, parts, secrets);
      else parts.ignore('what is encrypted for a certificate');
    }
    return parts.done();
  });

/** Undefined for what only the holder of another key opens. */
async function safeContents(safe: Asn1, secrets: Secrets): Promise<Asn1 | undefined> {
  const [kind, content] = children(safe);
  if (oid(kind) === data) return readAsn1(bytesOf(inner(content)));
  if (oid(kind) !== encryptedData) return undefined;
  const [, info] = children(inner(content));
  const [, algorithm, encrypted] = children(info);
  if (!algorithm) throw keyNotParsed();
  return readAsn1(await decrypt(algorithm, bytesOf(encrypted), secrets));
}

const bagType = '1.2.840.113549.1.12.10.1';
const x509 = '1.2.840.113549.1.9.22.1';

async function readBags(bags: Asn1, parts: Parts, secrets: Secrets): Promise<void> {
  for (const bag of children(bags)) {
    const [kind, content] = children(bag);
    switch (oid(kind)) {
      case `${bagType}.1`:
        await plainKey(inner(content), parts);
        break;
      case `${bagType}.2`: {
        const [algorithm, encrypted] = children(inner(content));
        if (!algorithm) throw keyNotParsed();
        const der = await decrypt(algorithm, bytesOf(encrypted), secrets);
        parts.key({ key: der, format: 'der', type: 'pkcs8' });
        break;
      }
      case `${bagType}.3`: {
        const [certificateKind, wrapped] = children(inner(content));
        if (oid(certificateKind) === x509) parts.certificate(bytesOf(inner(wrapped)));
        else parts.ignore('a certificate that is not X.509');
        break;
      }
      case `${bagType}.6`:
        await readBags(inner(content), parts, secrets);
        break;
      default:
        parts.ignore('a list of revoked certificates, or a secret that is no key');
    }
  }
}

async function plainKey(node: Asn1, parts: Parts): Promise<void> {
  const { default: library } = await import('node-forge');
  const der = Buffer.from(library.asn1.toDer(node).getBytes(), 'binary');
  parts.key({ key: der, format: 'der', type: 'pkcs8' });
}

/** Noise inside of what was decrypted means that the password was another one. */
async function readable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if (error instanceof EncryptionError) throw certificateInvalid(`PKCS#12 is not supported with ${error.message}`);
    throw keyNotParsed();
  }
}
