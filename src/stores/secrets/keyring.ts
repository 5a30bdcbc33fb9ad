/** The key ring: one wrapped data key per secret, outside the log, so that a secret can be shredded without touching events. */
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync } from 'node:fs';
import { v7 } from 'uuid';
import { type Database, openDatabase, sqliteFault } from '../sqlite.ts';
import { type MasterKey, makeMasterKey, readMasterKey } from './master-key.ts';
import {
  decrypt,
  encrypt,
  keyBytes,
  openSecret,
  type SealedSecret,
  SecretError,
  type SecretPlace,
  sealSecret,
} from './seal.ts';

export type KeyRingOptions = {
  /** `keyring.db`; belongs to the backup set together with the master key. */
  readonly path: string;
  /** `store.secrets.master_key_file`. */
  readonly masterKeyFile: string;
  /** Told what is doubtful but not refused, such as a file system of unknown type. */
  readonly warn?: (text: string) => void;
};

export interface KeyRing extends Disposable {
  /**
   * Seals under a new key, or under `kid` when the secret is the one that already has it. When this returns, the key
   * survives a loss of power, so the event that names it may be appended.
   */
  seal(clear: string, place: SecretPlace, kid?: string): SealedSecret;
  /** Throws `key_missing` after a shred, `secret_unreadable` when the secret was changed or stands elsewhere. */
  open(secret: SealedSecret, place: SecretPlace): string;
  has(kid: string): boolean;
  /** Removes the key for good: no event that holds the secret opens any more. False when there was none. */
  shred(kid: string): boolean;
  close(): void;
}

/** Raised when the tables change shape. */
const format = 1;

const tables = `
  CREATE TABLE ring (one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, master_id TEXT NOT NULL) STRICT;
  CREATE TABLE keys (
    kid TEXT PRIMARY KEY, master_id TEXT NOT NULL, iv BLOB NOT NULL, wrapped BLOB NOT NULL, tag BLOB NOT NULL,
    created_ms INTEGER NOT NULL) STRICT;
`;

/**
 * Makes ring and master key at the first start. A ring whose master key is missing is an error: a new key would look like
 * a start from nothing while every secret in the log is lost.
 */
export function openKeyRing({ path, masterKeyFile, warn }: KeyRingOptions): KeyRing {
  const isNew = path !== ':memory:' && !existsSync(path);
  let database: Database | undefined;
  try {
    // Not WAL: a deleted key would live on in the log beside the file.
    database = openDatabase(path, {
      journal: 'truncate',
      synchronous: 'full',
      secureDelete: true,
      ...(warn && { warn }),
    });
    if (isNew && process.platform !== 'win32') chmodSync(path, 0o600);
    return new SqliteKeyRing(database, prepare(database, path, masterKeyFile));
  } catch (error) {
    database?.close();
    if (sqliteFault(error) !== 'corrupt') throw error;
    throw new SecretError('keyring_unusable', `${path} is damaged: restore it from a backup`, { cause: error });
  }
}

function prepare(database: Database, path: string, masterKeyFile: string): MasterKey {
  return database.transaction(() => {
    const ring = readRing(database);
    if (!ring) {
      const made = readMasterKey(masterKeyFile) ?? makeMasterKey(masterKeyFile);
      database.exec(tables);
      database.prepare('INSERT INTO ring VALUES (1, ?, ?)').run(format, made.id);
      return made;
    }
    if (Number(ring['format']) > format) {
      throw new SecretError('keyring_unusable', `${path} has format ${ring['format']}, known is ${format}: update svc`);
    }
    const master = readMasterKey(masterKeyFile);
    if (!master) {
      throw new SecretError(
        'master_key_missing',
        `${masterKeyFile} is missing, but ${path} holds keys wrapped with it: restore the file from the backup, or set store.secrets.master_key_file to where it is`,
      );
    }
    if (master.id !== ring['master_id']) {
      throw new SecretError(
        'master_key_wrong',
        `${masterKeyFile} is not the key that ${path} is wrapped with: restore the right one, store.secrets.master_key_file says which file is read`,
      );
    }
    return master;
  });
}

const readRing = (database: Database): Readonly<Record<string, unknown>> | undefined =>
  database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'ring'").get() &&
  database.prepare('SELECT format, master_id FROM ring').get();

class SqliteKeyRing implements KeyRing {
  readonly #database: Database;
  readonly #master: MasterKey;

  constructor(database: Database, master: MasterKey) {
    this.#database = database;
    this.#master = master;
  }

  seal(clear: string, place: SecretPlace, kid?: string): SealedSecret {
    if (kid !== undefined) return sealSecret(this.#dataKey(kid), kid, clear, place);
    const made = this.#makeKey();
    return sealSecret(made.key, made.kid, clear, place);
  }

  open(secret: SealedSecret, place: SecretPlace): string {
    return openSecret(this.#dataKey(secret.kid), secret, place);
  }

  has(kid: string): boolean {
    return this.#database.prepare('SELECT 1 FROM keys WHERE kid = ?').get(kid) !== undefined;
  }

  shred(kid: string): boolean {
    return this.#database.transaction(
      () => this.#database.prepare('DELETE FROM keys WHERE kid = ?').run(kid).changes > 0,
    );
  }

  close(): void {
    this.#database.close();
    this.#master.key.fill(0);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #makeKey(): { readonly kid: string; readonly key: Uint8Array } {
    const kid = v7();
    const key = randomBytes(keyBytes);
    const { iv, ct, tag } = encrypt(this.#master.key, key, wrapping(kid));
    this.#database.transaction(() =>
      this.#database
        .prepare('INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?)')
        .run(kid, this.#master.id, iv, ct, tag, Date.now()),
    );
    return { kid, key };
  }

  /** Read from the file each time, so that a shred in another process holds at once. */
  #dataKey(kid: string): Uint8Array {
    const row = this.#database.prepare('SELECT iv, wrapped, tag FROM keys WHERE kid = ?').get(kid);
    if (!row)
      throw new SecretError(
        'key_missing',
        `the key ring has no key ${kid}: it was shredded, or the ring is not the one of this log`,
      );
    const blob = (name: string): Buffer => Buffer.from(row[name] as Uint8Array);
    try {
      return decrypt(this.#master.key, { iv: blob('iv'), ct: blob('wrapped'), tag: blob('tag') }, wrapping(kid));
    } catch (cause) {
      throw new SecretError(
        'keyring_unusable',
        `the key ${kid} in the ring is damaged: restore the ring from a backup`,
        { cause },
      );
    }
  }
}

/** A wrapped key under another kid does not open. */
const wrapping = (kid: string): string => `keyring|${kid}`;
