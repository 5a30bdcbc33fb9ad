/** The key ring in a SQLite file of its own, where what was removed is overwritten. */
import { chmodSync, existsSync } from 'node:fs';
import { type Database, openDatabase, type Row, sqliteFault } from '../sqlite.ts';
import { type KeyRing, type KeyTable, type KidEntry, type MasterKeys, openRing, type WrappedKey } from './keyring.ts';
import { SecretError } from './seal.ts';

export type SqliteKeyRingOptions = {
  /** `keyring.db`; belongs to the backup set together with the master key. */
  readonly path: string;
  /** Closed with the ring. */
  readonly masters: MasterKeys;
  /** Told what is doubtful but not refused, such as a file system of unknown type. */
  readonly warn?: (text: string) => void;
};

/** Raised when the tables change shape. */
const format = 2;

const tables = `
  CREATE TABLE ring (one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, master_id TEXT) STRICT;
  CREATE TABLE keys (
    kid TEXT PRIMARY KEY, master_id TEXT NOT NULL, wrapped BLOB NOT NULL, created_ms INTEGER NOT NULL) STRICT;
`;

/** Makes the ring at the first start, and a master key where there is none yet. */
export async function openKeyRing({ path, masters, warn }: SqliteKeyRingOptions): Promise<KeyRing> {
  try {
    return await openRing(path, openKeyTable({ path, ...(warn && { warn }) }), masters);
  } catch (error) {
    masters.close();
    throw error;
  }
}

/** The wrapped keys alone, for whoever copies them. */
export function openKeyTable({ path, warn }: Omit<SqliteKeyRingOptions, 'masters'>): KeyTable {
  let database: Database | undefined;
  try {
    const isNew = path !== ':memory:' && !existsSync(path);
    // Not WAL: a deleted key would live on in the log beside the file.
    database = openDatabase(path, {
      journal: 'truncate',
      synchronous: 'full',
      secureDelete: true,
      ...(warn && { warn }),
    });
    if (isNew && process.platform !== 'win32') chmodSync(path, 0o600);
    prepare(database, path);
    return told(path, sqliteKeyTable(database));
  } catch (error) {
    database?.close();
    if (sqliteFault(error) !== 'corrupt') throw error;
    throw new SecretError('keyring_unusable', `${path} is damaged: restore it from a backup`, { cause: error });
  }
}

function prepare(database: Database, path: string): void {
  database.transaction(() => {
    const hasTables = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'ring'").get();
    if (!hasTables) {
      database.exec(tables);
      database.prepare('INSERT INTO ring VALUES (1, ?, NULL)').run(format);
      return;
    }
    const found = Number(database.prepare('SELECT format FROM ring').get()?.['format']);
    if (found > format) {
      throw new SecretError('keyring_unusable', `${path} has format ${found}, known is ${format}: update svc`);
    }
    if (found === 1) joinParts(database);
  });
}

/** Format 1 kept initialisation vector, ciphertext and tag in columns of their own. */
function joinParts(database: Database): void {
  const ring = database.prepare('SELECT master_id FROM ring').get();
  const keys = database.prepare('SELECT * FROM keys').all();
  database.exec(`DROP TABLE ring; DROP TABLE keys; ${tables}`);
  database.prepare('INSERT INTO ring VALUES (1, ?, ?)').run(format, ring?.['master_id'] ?? null);
  for (const { kid, master_id, iv, wrapped, tag, created_ms } of keys as Record<string, string | Uint8Array>[]) {
    const joined = Buffer.concat([iv, wrapped, tag] as Uint8Array[]);
    database
      .prepare('INSERT INTO keys VALUES (?, ?, ?, ?)')
      .run(kid ?? '', master_id ?? '', joined, Number(created_ms));
  }
}

/** Calls of SQLite end before they return, so each of these is one step for every other one. */
function sqliteKeyTable(database: Database): KeyTable {
  const current = (): string | undefined =>
    (database.prepare('SELECT master_id FROM ring').get()?.['master_id'] as string | null) ?? undefined;
  const get = (kid: string): Row | undefined => database.prepare('SELECT * FROM keys WHERE kid = ?').get(kid);
  return {
    current: async () => current(),
    advance: async (from, to) =>
      database.transaction(
        () => database.prepare('UPDATE ring SET master_id = ? WHERE master_id IS ?').run(to, from ?? null).changes > 0,
      ),
    get: async (kid) => {
      const row = get(kid);
      return row && wrappedKeyOf(row);
    },
    add: async ({ kid, masterId, wrapped, createdMs }) =>
      database.transaction(() => {
        if (current() !== masterId) return 'stale';
        if (get(kid)) return 'exists';
        database.prepare('INSERT INTO keys VALUES (?, ?, ?, ?)').run(kid, masterId, wrapped, createdMs);
        return 'added';
      }),
    replace: async (keys) =>
      database.transaction(() => {
        const update = database.prepare('UPDATE keys SET master_id = ?, wrapped = ? WHERE kid = ? AND master_id = ?');
        for (const { key, from } of keys) update.run(key.masterId, key.wrapped, key.kid, from);
      }),
    remove: async (kid) =>
      database.transaction(() => database.prepare('DELETE FROM keys WHERE kid = ?').run(kid).changes > 0),
    page: async (after, limit) =>
      database.prepare('SELECT * FROM keys WHERE kid > ? ORDER BY kid LIMIT ?').all(after, limit).map(entryOf),
    close: async () => database.close(),
  };
}

/** What SQLite refuses comes as an error of the ring: a full disk, a file that went away. */
function told(path: string, table: KeyTable): KeyTable {
  const telling =
    <Given extends unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      try {
        return await call(...given);
      } catch (error) {
        const fault = sqliteFault(error);
        // Another process may hold the file: the operator's commands say so themselves.
        if (fault === undefined || fault === 'busy') throw error;
        throw new SecretError('keyring_unusable', `${path} cannot be used: ${fault}`, { cause: error });
      }
    };
  return {
    current: telling(table.current),
    advance: telling(table.advance),
    get: telling(table.get),
    add: telling(table.add),
    replace: telling(table.replace),
    remove: telling(table.remove),
    page: telling(table.page),
    close: table.close,
  };
}

const entryOf = (row: Row): KidEntry => ({
  kid: String(row['kid']),
  masterId: String(row['master_id']),
  createdMs: Number(row['created_ms']),
});

const wrappedKeyOf = (row: Row): WrappedKey => ({ ...entryOf(row), wrapped: row['wrapped'] as Uint8Array });
