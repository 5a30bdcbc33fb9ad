/** The text of an access key: how one is made, its hash, what is shown of it, and how a path names it. */
import { randomBytes } from 'node:crypto';
import { invalidId } from '../../../domain/errors.ts';
import { type KeyHash, toKeyHash } from '../../../domain/ids.ts';
import { isKeyText, keyMark } from '../../../domain/key-text.ts';
import { sha256Hex } from '../derived-fields.ts';

const shownLength = 4;

export const newKeyText = (): string => `${keyMark}${randomBytes(32).toString('base64url')}`;

export const keyHashOf = (text: string): KeyHash => toKeyHash(sha256Hex(text));

/** The first characters, by which people know the key. Of a key that somebody made up, nothing is shown. */
export const keyPrefixOf = (text: string): string =>
  isKeyText(text) ? text.slice(0, keyMark.length + shownLength) : '';

/** The hash, or the key itself, which the log shows of no path. What could be either is the hash. */
export function keyOfPath(text: string): KeyHash {
  if (/^[0-9a-f]{64}$/.test(text)) return toKeyHash(text);
  if (/^[\x21-\x7e]{16,512}$/.test(text)) return keyHashOf(text);
  throw invalidId();
}
