/** The envelope around one secret: AES-256-GCM, bound to the place in the event where it stands. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Secret } from '../../../domain/event.ts';

/** A secret as the log holds it. */
export type SealedSecret = Extract<Secret, { readonly kid: string }>;

/** Where a secret stands: moved to another stream, type or field, it does not open. `path` is the field path with dots. */
export type SecretPlace = { readonly stream: string; readonly type: string; readonly path: string };

export type SecretErrorCode =
  | 'key_missing'
  | 'secret_unreadable'
  | 'master_key_missing'
  | 'master_key_wrong'
  | 'master_key_invalid'
  | 'master_key_exposed'
  | 'master_key_outside'
  | 'master_keys_unavailable'
  | 'keyring_unusable';

/** Every failure of the key ring; the texts never hold key or secret. */
export class SecretError extends Error {
  readonly code: SecretErrorCode;
  constructor(code: SecretErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'SecretError';
    this.code = code;
  }
}

/** Length of data keys and key-encryption keys. */
export const keyBytes = 32;
export const ivBytes = 12;
export const tagBytes = 16;

export type Box = { readonly iv: Buffer; readonly ct: Buffer; readonly tag: Buffer };

export function encrypt(key: Uint8Array, clear: Uint8Array, associated: string): Box {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(associated, 'utf8'));
  const ct = Buffer.concat([cipher.update(clear), cipher.final()]);
  return { iv, ct, tag: cipher.getAuthTag() };
}

/** Throws when key, associated data or a single bit differ. */
export function decrypt(key: Uint8Array, { iv, ct, tag }: Box, associated: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(associated, 'utf8'));
  decipher.setAuthTag(tag);
  return Buffer.concat([decipher.update(ct), decipher.final()]);
}

export function sealSecret(dataKey: Uint8Array, kid: string, clear: string, place: SecretPlace): SealedSecret {
  const { iv, ct, tag } = encrypt(dataKey, Buffer.from(clear, 'utf8'), associatedData(kid, place));
  return {
    kid,
    alg: 'A256GCM',
    iv: iv.toString('base64url'),
    ct: ct.toString('base64url'),
    tag: tag.toString('base64url'),
  };
}

export function openSecret(dataKey: Uint8Array, { kid, iv, ct, tag }: SealedSecret, place: SecretPlace): string {
  try {
    const box = {
      iv: Buffer.from(iv, 'base64url'),
      ct: Buffer.from(ct, 'base64url'),
      tag: Buffer.from(tag, 'base64url'),
    };
    return decrypt(dataKey, box, associatedData(kid, place)).toString('utf8');
  } catch (cause) {
    throw new SecretError(
      'secret_unreadable',
      `the secret at ${place.path} of ${place.type} on ${place.stream} does not open: it was changed or moved`,
      { cause },
    );
  }
}

/** Streams, types, paths and kids hold no bar, so two places never give one text. */
function associatedData(kid: string, { stream, type, path }: SecretPlace): string {
  const parts = [stream, type, path, kid];
  if (parts.some((part) => part.includes('|'))) throw new SecretError('secret_unreadable', 'a place holds no bar');
  return parts.join('|');
}
