/** Texts sealed for the holder of a key: hybrid public key encryption (RFC 9180, base mode) of X25519, HKDF-SHA-256 and AES-256-GCM. */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';

/** Makes boxes for one recipient. They open in the order in which they were made. */
export type Sealer = {
  /** What the recipient needs beside its key: public, 32 bytes. */
  readonly enc: Uint8Array;
  /** `associated` is authenticated with the text and not kept with it. */
  seal(clear: Uint8Array, associated: Uint8Array): Uint8Array;
};

export type Opener = {
  /** Throws when key, order, associated data or a single bit differ. */
  open(box: Uint8Array, associated: Uint8Array): Uint8Array;
};

export type Pair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };

/** What boxes are for: another purpose has other keys. */
export type Purpose = { readonly context: Uint8Array };

export const purposeOf = (info: Uint8Array): Purpose => ({
  context: Buffer.concat([
    Buffer.from([0]),
    extract(suite, ['psk_id_hash', none]),
    extract(suite, ['info_hash', info]),
  ]),
});

/** `ephemeral` is used once and thrown away. */
export function sealerFor(
  recipient: KeyObject,
  purpose: Purpose,
  ephemeral: Pair = generateKeyPairSync('x25519'),
): Sealer {
  const enc = rawOf(ephemeral.publicKey);
  const dh = diffieHellman({ privateKey: ephemeral.privateKey, publicKey: recipient });
  const { key, nonce } = schedule(dh, Buffer.concat([enc, rawOf(recipient)]), purpose);
  return {
    enc,
    seal(clear, associated) {
      const cipher = createCipheriv(algorithm, key, nonce(), { authTagLength: tagBytes });
      cipher.setAAD(associated);
      return Buffer.concat([cipher.update(clear), cipher.final(), cipher.getAuthTag()]);
    },
  };
}

/** Throws when `enc` is no public key. */
export function openerOf({ publicKey, privateKey }: Pair, enc: Uint8Array, purpose: Purpose): Opener {
  const dh = diffieHellman({ privateKey, publicKey: publicKeyOf(enc) });
  const { key, nonce } = schedule(dh, Buffer.concat([enc, rawOf(publicKey)]), purpose);
  return {
    open(box, associated) {
      if (box.length < tagBytes) throw new Error('a box is longer than its tag');
      const decipher = createDecipheriv(algorithm, key, nonce(), { authTagLength: tagBytes });
      decipher.setAAD(associated);
      decipher.setAuthTag(box.subarray(-tagBytes));
      return Buffer.concat([decipher.update(box.subarray(0, -tagBytes)), decipher.final()]);
    },
  };
}

/** The 32 bytes of an X25519 key. */
export const rawOf = (publicKey: KeyObject): Buffer =>
  Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');

/** Throws when they are none. */
export function publicKeyOf(raw: Uint8Array): KeyObject {
  if (raw.length !== publicKeyBytes) throw new Error(`an X25519 key has ${publicKeyBytes} bytes`);
  const x = Buffer.from(raw).toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' });
}

const algorithm = 'aes-256-gcm';
const tagBytes = 16;
const keyBytes = 32;
const nonceBytes = 12;
const publicKeyBytes = 32;

/** DHKEM(X25519, HKDF-SHA256), and the suite with AES-256-GCM; numbers as registered for RFC 9180. */
const kemSuite = Buffer.from([...Buffer.from('KEM'), 0, 0x20]);
const suite = Buffer.from([...Buffer.from('HPKE'), 0, 0x20, 0, 1, 0, 2]);
const none = Buffer.alloc(0);

/** Key schedule of RFC 9180, 5.1, after the extraction of 4.1. Every box has a nonce of its own. */
function schedule(dh: Uint8Array, kemContext: Uint8Array, { context }: Purpose) {
  const shared = derive(kemSuite, none, ['eae_prk', dh], ['shared_secret', kemContext], keyBytes);
  const key = derive(suite, shared, ['secret', none], ['key', context], keyBytes);
  const base = derive(suite, shared, ['secret', none], ['base_nonce', context], nonceBytes);
  let made = 0;
  return { key, nonce: () => nonceAt(base, made++) };
}

function nonceAt(base: Buffer, sequence: number): Buffer {
  const nonce = Buffer.from(base);
  nonce.writeUInt32BE((nonce.readUInt32BE(nonceBytes - 4) ^ sequence) >>> 0, nonceBytes - 4);
  return nonce;
}

type Labelled = readonly [label: string, bytes: Uint8Array];

/** Labelled extraction and expansion of section 4 in one. */
const derive = (of: Buffer, salt: Uint8Array, from: Labelled, to: Labelled, bytes: number): Buffer =>
  Buffer.from(
    hkdfSync('sha256', labelled(of, from), salt, Buffer.concat([Buffer.from([0, bytes]), labelled(of, to)]), bytes),
  );

const extract = (of: Buffer, from: Labelled): Buffer => createHmac('sha256', none).update(labelled(of, from)).digest();

const labelled = (of: Buffer, [label, bytes]: Labelled): Buffer =>
  Buffer.concat([version, of, Buffer.from(label), bytes]);

const version = Buffer.from('HPKE-v1');
