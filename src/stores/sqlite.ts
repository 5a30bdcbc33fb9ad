/** The seam over `node:sqlite`, its only importer: a few calls, the version floor and the refusal of network file systems. */
import { mkdirSync, rmSync, statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { backup, DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { fileSystemOf } from './file-systems.ts';

export type SqlValue = null | number | bigint | string | Uint8Array;
export type Row = Readonly<Record<string, SqlValue>>;

export type OpenOptions = {
  /** `wal` for logs and read models; `truncate` where deleted content must not live on in a log beside the file. */
  readonly journal?: 'wal' | 'truncate';
  /** Several processes share the file by design: below the floor it has no write-ahead log, where others belong to the first. */
  readonly isShared?: boolean;
  /** `full` survives a loss of power, `normal` may lose the last transactions but never the file. */
  readonly synchronous?: 'full' | 'normal';
  /** How long a writer waits for another connection's write lock. Default 5,000. */
  readonly busyTimeoutMs?: number;
  readonly readOnly?: boolean;
  /** Overwrites deleted content with zeros. */
  readonly secureDelete?: boolean;
  /** The file never grows beyond this; a write that would answers `full`. */
  readonly maxBytes?: number;
  /** Told what is doubtful but not refused. */
  readonly warn?: (text: string) => void;
  /** What the kernel says about a folder; for tests. */
  readonly fileSystemMagic?: (folder: string) => number;
  /** Version of the SQLite library; for tests. */
  readonly sqliteVersion?: string;
};

const floor = '3.51.3';

/**
 * Whether several connections may use one file. Older libraries can corrupt a write-ahead log when a checkpoint races a
 * writer; fixed in 3.51.3 and 3.53.0, while 3.52.x was withdrawn.
 */
export function severalConnectionsAreSafe(version: string = process.versions['sqlite'] ?? '0'): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  if (major !== 3) return major > 3;
  return minor > 52 || (minor === 51 && patch >= 3);
}

/** For whoever needs several processes on one data directory: throws with the version found and what to install. */
export function demandSeveralConnections(version: string = process.versions['sqlite'] ?? '0'): void {
  if (severalConnectionsAreSafe(version)) return;
  throw new Error(
    `SQLite ${version} is not safe with several processes on one file (needs ${floor}, or 3.53 and newer): install Node 24.15 or newer`,
  );
}

/** Why SQLite refused; undefined for errors that are not about the file, such as a wrong statement. */
export type SqliteFault = 'full' | 'busy' | 'readonly' | 'corrupt' | 'io' | 'cannot-open';

const faults: ReadonlyMap<number, SqliteFault> = new Map([
  [5, 'busy'],
  [6, 'busy'],
  [8, 'readonly'],
  [10, 'io'],
  [11, 'corrupt'],
  [13, 'full'],
  [14, 'cannot-open'],
  [26, 'corrupt'],
]);

export function sqliteFault(error: unknown): SqliteFault | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return faults.get(error.errcode & 0xff);
}

/** A prepared statement. Integers are numbers; one beyond 2^53 throws. */
export type Statement = {
  run(...values: SqlValue[]): { readonly changes: number; readonly lastRowid: number };
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
  iterate(...values: SqlValue[]): IterableIterator<Row>;
};

/** Opens or makes the database at the path (`:memory:` for none) with its folder, and sets it up as the options say. */
export function openDatabase(path: string, options: OpenOptions = {}): Database {
  if (path !== ':memory:') prepareFolder(dirname(resolve(path)), options);
  const database = new Database(path, options);
  try {
    setUp(database, options);
    return database;
  } catch (error) {
    database.close();
    throw explained(error, options);
  }
}

/** A file that belongs to another process below the floor says so, and what would help. */
function explained(error: unknown, options: OpenOptions): unknown {
  if (sqliteFault(error) !== 'busy' || !isOwned(options)) return error;
  try {
    demandSeveralConnections(options.sqliteVersion);
    return error;
  } catch (reason) {
    const text = reason instanceof Error ? reason.message : String(reason);
    return new Error(`another process has the file: ${text}, or stop that process`, { cause: error });
  }
}

const isOwned = ({ journal = 'wal', isShared = false, sqliteVersion }: OpenOptions): boolean =>
  journal === 'wal' && !isShared && !severalConnectionsAreSafe(sqliteVersion);

function prepareFolder(folder: string, { readOnly, warn, fileSystemMagic }: OpenOptions): void {
  if (!readOnly) mkdirSync(folder, { recursive: true });
  // The numbers are those of Linux; elsewhere statfs speaks of something else.
  if (process.platform !== 'linux' && !fileSystemMagic) return;
  const { name, kind } = fileSystemOf((fileSystemMagic ?? magicOf)(folder));
  if (kind === 'network') {
    throw new Error(`${folder} is on ${name}, a network file system, where SQLite loses data: use a local disk`);
  }
  if (kind !== 'local') warn?.(`${folder} is on ${name}; SQLite is safe on a local disk only`);
}

const magicOf = (folder: string): number => statfsSync(folder).type;

function setUp(database: Database, options: OpenOptions): void {
  if (options.secureDelete) database.exec('PRAGMA secure_delete = ON');
  const isUnsafe = !severalConnectionsAreSafe(options.sqliteVersion);
  if (!options.readOnly) {
    // Below the floor one connection holds the file for itself; must be said before the first look into the log.
    if (isOwned(options)) database.exec('PRAGMA locking_mode = EXCLUSIVE');
    const journal = isUnsafe && options.isShared ? 'truncate' : (options.journal ?? 'wal');
    setJournal(database, journal, options.busyTimeoutMs ?? defaultBusyTimeoutMs);
  } else if (isOwned(options)) look(database);
  database.exec(`PRAGMA synchronous = ${options.synchronous ?? 'full'}; PRAGMA foreign_keys = ON`);
  if (options.maxBytes !== undefined) {
    const { page_size } = database.prepare('PRAGMA page_size').get() ?? {};
    database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(options.maxBytes / Number(page_size)))}`);
  }
}

/** Whether the file may be read at all. */
const look = (database: Pick<Database, 'prepare'>): unknown => database.prepare('SELECT 1 FROM sqlite_schema').get();

/** More pages than a file can have: a copy in one step is one read transaction, which no writer makes start again. */
const allPages = 2_147_483_647;

/**
 * A whole and checked copy of a database at one moment, in a new file, while others go on writing. Throws when the copy
 * exists already. Never a copy of files: what stands in the log beside the file would be missing.
 */
export async function copyDatabase(path: string, to: string): Promise<void> {
  const source = new DatabaseSync(path, { readOnly: true, timeout: defaultBusyTimeoutMs });
  let isMade = false;
  try {
    const copy = openDatabase(to, { journal: 'truncate' });
    isMade = copy.prepare('SELECT count(*) AS count FROM sqlite_schema').get()?.['count'] === 0;
    copy.close();
    if (!isMade) throw new Error(`${to} exists already`);
    source.prepare('SELECT 1 FROM sqlite_schema').get();
    await backup(source, to, { rate: allPages });
    checkCopy(to);
  } catch (error) {
    if (isMade) rmSync(to, { force: true });
    throw explained(error, {});
  } finally {
    source.close();
  }
}

/** Leaves one file: the copy says that it has a write-ahead log, but nothing is in it. */
function checkCopy(path: string): void {
  using copy = openDatabase(path, { journal: 'truncate' });
  const found = copy.prepare('PRAGMA integrity_check').get()?.['integrity_check'];
  if (found !== 'ok') throw new Error(`the copy ${path} is damaged: ${found}`);
}

const defaultBusyTimeoutMs = 5_000;

/** Several processes that make one file at once get BUSY here without the usual wait, so the wait is ours. */
function setJournal(database: Database, journal: string, busyTimeoutMs: number): void {
  const deadline = performance.now() + busyTimeoutMs;
  for (;;) {
    try {
      database.exec(`PRAGMA journal_mode = ${journal}`);
      return;
    } catch (error) {
      if (sqliteFault(error) !== 'busy' || performance.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/** An open database file. Statements are prepared once per text. */
export class Database implements Disposable {
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(path: string, { busyTimeoutMs = defaultBusyTimeoutMs, readOnly = false }: OpenOptions) {
    this.#connection = new DatabaseSync(path, { timeout: busyTimeoutMs, readOnly });
  }

  exec(sql: string): void {
    this.#connection.exec(sql);
  }

  prepare(sql: string): Statement {
    const statement = this.#statements.get(sql) ?? this.#connection.prepare(sql);
    this.#statements.set(sql, statement);
    return {
      run: (...values) => {
        const { changes, lastInsertRowid } = statement.run(...(values as SQLInputValue[]));
        return { changes: Number(changes), lastRowid: Number(lastInsertRowid) };
      },
      get: (...values) => statement.get(...(values as SQLInputValue[])) as Row | undefined,
      all: (...values) => statement.all(...(values as SQLInputValue[])) as Row[],
      iterate: (...values) => statement.iterate(...(values as SQLInputValue[])) as IterableIterator<Row>,
    };
  }

  /**
   * Runs the work in one write transaction; what it throws rolls back. Always immediate: a deferred transaction that
   * becomes a writer later can fail with BUSY at once.
   */
  transaction<T>(work: () => T): T {
    this.#connection.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#connection.exec('COMMIT');
      return result;
    } catch (error) {
      // A full disk may have rolled back already.
      if (this.#connection.isTransaction) this.#connection.exec('ROLLBACK');
      throw error;
    }
  }

  /** Runs the work inside a transaction so that what it throws undoes its own part only. */
  savepoint<T>(work: () => T): T {
    this.#connection.exec('SAVEPOINT part');
    try {
      const result = work();
      this.#connection.exec('RELEASE part');
      return result;
    } catch (error) {
      if (this.#connection.isTransaction) this.#connection.exec('ROLLBACK TO part; RELEASE part');
      throw error;
    }
  }

  /** Lets prepared statements go: those of a table must not be used once it is dropped. */
  forget(): void {
    this.#statements.clear();
  }

  close(): void {
    this.#statements.clear();
    if (this.#connection.isOpen) this.#connection.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
