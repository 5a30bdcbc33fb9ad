/** Master keys at hand: versions in a file of mode 0600 or from the environment, the newest first. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { readKeyFile, writeKeyFile } from '../../../gateway/feed/key-file.ts';
import type { MasterKeys } from './keyring.ts';
import { type Box, decrypt, encrypt, ivBytes, keyBytes, SecretError, tagBytes } from './seal.ts';

/** `id` names the key without telling anything about it. */
type MasterKey = { readonly id: string; readonly key: Uint8Array };

/** One key a line, the newest first, as 43 characters of base64url; a line that begins with `#` is a remark. */
export function masterKeyFile(path: string): MasterKeys {
  const read = (): readonly MasterKey[] => readKeys(path) ?? [];
  return masterKeys(read, {
    advice: `restore ${path} from the backup, or let store.secrets.master_key_file name the file that holds the key`,
    renew: () => addMasterKey(path),
  });
}

/** `store.secrets.master_keys`: the same texts from the environment, the newest first. */
export function givenMasterKeys(texts: readonly string[]): MasterKeys {
  const advice = 'store.secrets.master_keys must hold the key, in its first place or behind newer ones';
  const keys = texts.map((text, index) => parse(`store.secrets.master_keys[${index}]`, text));
  return masterKeys(() => keys, {
    advice,
    renew: () => {
      throw new SecretError(
        'master_key_outside',
        'the master keys come from store.secrets.master_keys: put a new one in front of the others there, restart every node, then rotate',
      );
    },
  });
}

/** A new text for a file or the environment. */
export const newMasterKeyText = (): string => randomBytes(keyBytes).toString('base64url');

function masterKeys(
  read: () => readonly MasterKey[],
  { advice, renew }: { readonly advice: string; readonly renew: () => string },
): MasterKeys {
  let kept = read();
  // Read again for a version that is not known yet: another process may have made it.
  const keyOf = (version: string): Uint8Array => {
    const find = () => kept.find(({ id }) => id === version);
    const known = find();
    if (known) return known.key;
    kept = read();
    const found = find();
    if (!found) throw new SecretError('master_key_missing', `master key ${version} is not at hand: ${advice}`);
    return found.key;
  };
  return {
    advice,
    versions: async () => {
      kept = read();
      return kept.map(({ id }) => id);
    },
    wrap: async (version, key, associated) => {
      const { iv, ct, tag } = encrypt(keyOf(version), key, associated);
      return Buffer.concat([iv, ct, tag]);
    },
    unwrap: async (version, wrapped, associated) => {
      const key = keyOf(version);
      try {
        return decrypt(key, boxOf(wrapped), associated);
      } catch (cause) {
        throw new SecretError('keyring_unusable', 'a wrapped key was changed', { cause });
      }
    },
    renew: async () => renew(),
    close: () => {
      for (const { key } of kept) key.fill(0);
      kept = [];
    },
  };
}

/** A wrapped key is initialisation vector, ciphertext and tag in one. */
function boxOf(wrapped: Uint8Array): Box {
  const bytes = Buffer.from(wrapped);
  return {
    iv: bytes.subarray(0, ivBytes),
    ct: bytes.subarray(ivBytes, -tagBytes),
    tag: bytes.subarray(-tagBytes),
  };
}

/** undefined when there is no file. */
function readKeys(path: string): readonly MasterKey[] | undefined {
  const message = `every user may open the master key ${path}: run chmod 600 on it`;
  const text = readKeyFile(path, () => new SecretError('master_key_exposed', message));
  if (text === undefined) return undefined;
  const lines = linesOf(text);
  if (lines.length === 0) throw invalid(path);
  return lines.map((line) => parse(path, line));
}

const linesOf = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

/** Puts a new key in front; answers its id. What stood there stays, since keys and backups may need it. */
function addMasterKey(path: string): string {
  mkdirSync(dirname(resolve(path)), { recursive: true });
  const before = readKeyFile(path);
  writeKeyFile(path, `${newMasterKeyText()}\n${before ?? ''}`, { isFirst: before === undefined });
  const newest = readKeys(path)?.[0];
  if (!newest) throw new SecretError('master_key_missing', `the master key ${path} was removed while it was made`);
  return newest.id;
}

function parse(place: string, text: string): MasterKey {
  const key = Buffer.from(text.trim(), 'base64url');
  if (key.byteLength !== keyBytes || !/^[\w-]{43}$/.test(text.trim())) throw invalid(place);
  return { id: createHash('sha256').update('svc master key').update(key).digest('hex').slice(0, 32), key };
}

const invalid = (place: string): SecretError =>
  new SecretError('master_key_invalid', `${place} is no master key: it is 43 characters of base64url`);
