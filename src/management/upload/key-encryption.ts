/** Opens what PKCS#12 and PKCS#8 encrypt with a password (RFC 7292, RFC 8018), within a bound on the work that a file may ask for. */
import { createDecipheriv, createHash, hash, pbkdf2 } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import type forge from 'node-forge';
import { type Asn1, bytesOf, children, integer, oid, readAsn1 } from './asn1.ts';

/** Rounds of key derivation that are left: the sender chooses their number, and we pay for them. */
export type Work = { rounds: number };

/** OpenSSL writes 2,048 for each part of a file, Java 10,000, careful people a million. */
const maxRounds = 3_000_000;

export const createWork = (): Work => ({ rounds: maxRounds });

/** A file that asks for another way, or for more than we give. */
export class EncryptionError extends Error {}

function spend(work: Work, rounds: number): void {
  if (!(rounds >= 1 && rounds <= work.rounds)) throw new EncryptionError(`${rounds} rounds of key derivation`);
  work.rounds -= rounds;
}

/** For an EncryptedPrivateKeyInfo that OpenSSL is to open: whatever the algorithm counts must be within the bound. */
export async function checkWork(der: Uint8Array, work: Work): Promise<void> {
  const [algorithm] = children(await readAsn1(der));
  for (const open = algorithm ? [algorithm] : []; ; ) {
    const node = open.pop();
    if (!node) return;
    if (Array.isArray(node.value)) open.push(...node.value);
    else if (node.type === 2) spend(work, Math.max(1, integer(node)));
  }
}

/** With the bytes of the password in the two forms that the schemes take. */
export type Password = { readonly utf8: Buffer; readonly bmp: Buffer };

/** Two bytes a character, and two zeros; some programs write a password that is empty as nothing at all. */
export function passwordOf(text: string, isBare = false): Password {
  const bmp = isBare ? Buffer.alloc(0) : Buffer.from(`${text}\0`, 'utf16le').swap16();
  return { utf8: Buffer.from(text), bmp };
}

export type Secrets = { readonly password: Password; readonly work: Work };

/** `algorithm`: an AlgorithmIdentifier. Throws when the password is wrong, mostly; else what comes out is noise. */
export async function decrypt(algorithm: Asn1, data: Buffer, secrets: Secrets): Promise<Buffer> {
  const [name, parameters] = children(algorithm);
  const kind = oid(name);
  if (kind === '1.2.840.113549.1.5.13') return decryptPbes2(children(parameters), data, secrets);
  const scheme = pkcs12Schemes[kind];
  if (!scheme) throw new EncryptionError(`encryption ${kind}`);
  const [salt, iterations] = children(parameters);
  const rounds = integer(iterations);
  const material = { hash: 'sha1', salt: bytesOf(salt), rounds };
  const key = await deriveKey(secrets, { ...material, purpose: 1, length: scheme.keyBytes });
  const iv = await deriveKey(secrets, { ...material, purpose: 2, length: 8 });
  return scheme.rc2Bits === undefined
    ? decipher('des-ede3-cbc', tripled(key), iv, data)
    : rc2(scheme.rc2Bits, key, iv, data);
}

type Scheme = { readonly keyBytes: number; readonly rc2Bits?: number };

/** RFC 7292, appendix C. Neither stream cipher is read: nobody writes them. */
const pkcs12Schemes: Readonly<Record<string, Scheme>> = {
  '1.2.840.113549.1.12.1.3': { keyBytes: 24 },
  '1.2.840.113549.1.12.1.4': { keyBytes: 16 },
  '1.2.840.113549.1.12.1.5': { keyBytes: 16, rc2Bits: 128 },
  '1.2.840.113549.1.12.1.6': { keyBytes: 5, rc2Bits: 40 },
};

/** With two keys the third is the first. */
const tripled = (key: Buffer): Buffer => (key.length === 24 ? key : Buffer.concat([key, key.subarray(0, 8)]));

function decipher(name: string, key: Buffer, iv: Buffer, data: Buffer): Buffer {
  const cipher = createDecipheriv(name, key, iv);
  return Buffer.concat([cipher.update(data), cipher.final()]);
}

/** OpenSSL has put RC2 among what it opens only on request. */
async function rc2(bits: number, key: Buffer, iv: Buffer, data: Buffer): Promise<Buffer> {
  const { default: library } = await import('node-forge');
  const { rc2: cipherOf } = library as unknown as { readonly rc2: Rc2 };
  const cipher = cipherOf.createDecryptionCipher(key.toString('binary'), bits);
  cipher.start(iv.toString('binary'));
  cipher.update(library.util.createBuffer(data.toString('binary')));
  if (!cipher.finish()) throw new EncryptionError('padding');
  return Buffer.from(cipher.output.getBytes(), 'binary');
}

/** The part of the library that its types leave out. */
type Rc2 = {
  createDecryptionCipher(
    key: string,
    bits: number,
  ): {
    start(iv: string): void;
    update(input: forge.util.ByteStringBuffer): void;
    finish(): boolean;
    readonly output: forge.util.ByteStringBuffer;
  };
};

const prfs: Readonly<Record<string, string>> = {
  '1.2.840.113549.2.7': 'sha1',
  '1.2.840.113549.2.8': 'sha224',
  '1.2.840.113549.2.9': 'sha256',
  '1.2.840.113549.2.10': 'sha384',
  '1.2.840.113549.2.11': 'sha512',
};

const ciphers: Readonly<Record<string, readonly [name: string, keyBytes: number]>> = {
  '2.16.840.1.101.3.4.1.2': ['aes-128-cbc', 16],
  '2.16.840.1.101.3.4.1.22': ['aes-192-cbc', 24],
  '2.16.840.1.101.3.4.1.42': ['aes-256-cbc', 32],
  '1.2.840.113549.3.7': ['des-ede3-cbc', 24],
};

async function decryptPbes2(
  [derivation, encryption]: readonly Asn1[],
  data: Buffer,
  { password, work }: Secrets,
): Promise<Buffer> {
  const [derivationName, derivationParameters] = children(derivation);
  if (oid(derivationName) !== '1.2.840.113549.1.5.12') throw new EncryptionError(`derivation ${oid(derivationName)}`);
  const [salt, iterations, ...rest] = children(derivationParameters);
  const prf = rest.find(({ value }) => Array.isArray(value));
  const digest = prf ? prfs[oid(children(prf)[0])] : 'sha1';
  const [cipherName, iv] = children(encryption);
  const cipher = ciphers[oid(cipherName)];
  if (!digest || !cipher) throw new EncryptionError(`cipher ${oid(cipherName)}`);
  const [name, keyBytes] = cipher;
  const rounds = integer(iterations);
  spend(work, rounds);
  const key = await promisify(pbkdf2)(password.utf8, bytesOf(salt), rounds, keyBytes, digest);
  return decipher(name, key, bytesOf(iv), data);
}

/** `purpose`: 1 key, 2 initial vector, 3 key of the seal. */
type Material = {
  readonly hash: string;
  readonly salt: Buffer;
  readonly rounds: number;
  readonly purpose: 1 | 2 | 3;
  readonly length: number;
};

/** Other requests get their turn between so many rounds. */
const roundsAtOnce = 20_000;

/** RFC 7292, appendix B.2. */
export async function deriveKey({ password, work }: Secrets, material: Material): Promise<Buffer> {
  const { hash: algorithm, salt, rounds, purpose, length } = material;
  const block = /sha(384|512)/.test(algorithm) ? 128 : 64;
  const filled = (bytes: Buffer): Buffer =>
    Buffer.alloc(block * Math.ceil(bytes.length / block), bytes.length === 0 ? undefined : bytes);
  const input = Buffer.concat([filled(salt), filled(password.bmp)]);
  const diversifier = Buffer.alloc(block, purpose);
  const pieces: Buffer[] = [];
  for (let have = 0; have < length; ) {
    spend(work, rounds);
    let digest = createHash(algorithm).update(diversifier).update(input).digest();
    for (let round = 1; round < rounds; round++) {
      digest = hash(algorithm, digest, 'buffer');
      if (round % roundsAtOnce === 0) await setImmediate();
    }
    pieces.push(digest);
    have += digest.length;
    addToEach(input, Buffer.alloc(block, digest));
  }
  return Buffer.concat(pieces).subarray(0, length);
}

/** Adds the number and one to every block of the input, as big numbers without the carry at their ends. */
function addToEach(input: Buffer, number: Buffer): void {
  for (let start = 0; start < input.length; start += number.length) {
    let carry = 1;
    for (let index = number.length - 1; index >= 0; index--) {
      const sum = (input[start + index] ?? 0) + (number[index] ?? 0) + carry;
      input[start + index] = sum & 0xff;
      carry = sum >> 8;
    }
  }
}
