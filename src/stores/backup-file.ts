/** The backup file of an embedded installation: a whole copy of the log's database with the key ring's as one more table. */
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder } from '../../gateway/feed/sync-folder.ts';
import { copyDatabase, openDatabase, sqliteFault } from './sqlite.ts';

export type BackupFacts = {
  /** RFC 3339. */
  readonly createdAt: string;
  readonly logId: string;
  readonly era: number;
  /** Digits without leading zeros. */
  readonly head: string;
  readonly hasRing: boolean;
};

/** Raised when the table changes shape. */
const format = 1;

const table = `CREATE TABLE backup (
  one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, created_at TEXT NOT NULL, keyring BLOB) STRICT`;

/** The ring is copied after the log, so it holds the key of every secret in the copy. */
export async function backUpLog(log: string, ring: string | undefined, to: string): Promise<BackupFacts> {
  await copyDatabase(log, to);
  const keys = ring === undefined ? undefined : await bytesOf(ring, `${to}.ring`);
  using copy = openDatabase(to, { journal: 'truncate' });
  copy.transaction(() => {
    copy.exec(table);
    copy.prepare('INSERT INTO backup VALUES (1, ?, ?, ?)').run(format, new Date().toISOString(), keys ?? null);
  });
  return factsOf(to);
}

async function bytesOf(ring: string, work: string): Promise<Uint8Array> {
  try {
    await copyDatabase(ring, work);
    return readFileSync(work);
  } finally {
    rmSync(work, { force: true });
  }
}

/** Takes a backup apart into two new files. Throws when it is none, or damaged. */
export async function openBackup(
  from: string,
  to: { readonly log: string; readonly ring: string },
): Promise<BackupFacts> {
  if (!existsSync(from)) throw new Error(`${from} does not exist`);
  const facts = factsOf(from);
  await copyDatabase(from, to.log);
  using log = openDatabase(to.log, { journal: 'truncate' });
  const keys = log.prepare('SELECT keyring FROM backup').get()?.['keyring'];
  if (keys instanceof Uint8Array) writeFileSync(to.ring, keys, { mode: 0o600, flag: 'wx', flush: true });
  log.transaction(() => log.exec('DROP TABLE backup'));
  return facts;
}

type Replacement = {
  readonly by: string;
  /** The old file is kept under its name and this. */
  readonly suffix: string;
  /** As it is opened otherwise. */
  readonly journal: 'wal' | 'truncate';
};

/**
 * Puts a database in the place of another in one step: whoever is killed leaves the old one or the new one, whole. Answers
 * what was kept of the old one.
 */
export function replaceDatabase(file: string, { by, suffix, journal }: Replacement): readonly string[] {
  const kept = freeName(`${file}${suffix}`);
  const isThere = existsSync(file);
  if (isThere) settle(file, journal);
  // SQLite would take what is beside a file for a part of the new one.
  for (const end of ['-wal', '-shm', '-journal']) {
    if (existsSync(`${file}${end}`)) renameSync(`${file}${end}`, `${kept}${end}`);
  }
  if (isThere) keep(file, kept);
  renameSync(by, file);
  syncFolder(dirname(file));
  return isThere ? [kept] : [];
}

/** What a killed process left beside the file goes into it. A damaged one keeps it beside. */
function settle(file: string, journal: 'wal' | 'truncate'): void {
  try {
    using database = openDatabase(file, { journal });
    database.prepare('SELECT count(*) AS count FROM sqlite_schema').get();
  } catch {
    // It is replaced because it is damaged, perhaps.
  }
}

/** What was kept at the same moment stays. */
function freeName(name: string): string {
  let free = name;
  for (let number = 2; existsSync(free); number++) free = `${name}-${number}`;
  return free;
}

/** A second name, where the file system has such. */
function keep(file: string, kept: string): void {
  try {
    linkSync(file, kept);
  } catch {
    renameSync(file, kept);
  }
}

function factsOf(path: string): BackupFacts {
  try {
    using backup = openDatabase(path, { readOnly: true });
    const row = backup
      .prepare(
        `SELECT backup.format, created_at, keyring IS NOT NULL AS has_ring, log_id, era, position
         FROM backup JOIN log_head USING (one)`,
      )
      .get();
    if (row && Number(row['format']) > format) throw new Error(`${path} has format ${row['format']}: update svc`);
    if (!row) throw new Error(`${path} is empty`);
    return {
      createdAt: String(row['created_at']),
      logId: String(row['log_id']),
      era: Number(row['era']),
      head: String(row['position']),
      hasRing: row['has_ring'] === 1,
    };
  } catch (cause) {
    if (sqliteFault(cause) === undefined && !/no such table/.test(String(cause))) throw cause;
    throw new Error(`${path} is no backup that svc store backup made, or it is damaged`, { cause });
  }
}
