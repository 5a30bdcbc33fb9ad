/** Read models in a SQLite file (or in memory): documents with labels, and the checkpoint they stand at, in one transaction. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import type { Position } from '../../../domain/event-store.ts';
import type {
  Checkpoint,
  CommitOptions,
  Document,
  DocumentQuery,
  DocumentReader,
  Fold,
  Generation,
  Lease,
  ParkedEvent,
  ReadModelStore,
} from '../../../projections/read-model-store.ts';
import { type Database, openDatabase, sqliteFault } from '../sqlite.ts';
import { DocumentTables } from './document-tables.ts';
import { FirstFill, fillTable, isTorn } from './first-fill.ts';
import { Generations, generationTables } from './generations.ts';
import { Owners } from './owners.ts';

export type SetAside = { readonly path: string; readonly reason: string };

export type SqliteReadModelsOptions = {
  /** Told when an unusable file was renamed to `path` and the read models start from nothing; log it. */
  readonly onSetAside?: (setAside: SetAside) => void;
  /** Told what is doubtful but not refused, such as a file system of unknown type. */
  readonly warn?: (text: string) => void;
};

/** Kept in `user_version`. A file of any other number is rebuilt from the log. */
const format = 3;

const tables = `${generationTables}${fillTable}
  PRAGMA user_version = ${format};
`;

/** Pages kept in memory while a projection is folded: label rows go to many places at once. */
const cacheKiB = 32 * 1024;

/** Pages in the write-ahead log before it is worked off: the fewer times, the fewer pages are written twice. */
const checkpointPages = 4_000;

/** Read models are disposable: a file that is corrupt or of another format is set aside, and an empty one takes its place. */
export function openSqliteReadModels(
  path: string,
  { onSetAside, warn }: SqliteReadModelsOptions = {},
): SqliteReadModels {
  const open = (): Database => openDatabase(path, { synchronous: 'normal', ...(warn && { warn }) });
  try {
    return new SqliteReadModels(prepared(open), path);
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    const aside = setAside(path);
    const models = new SqliteReadModels(prepared(open), path);
    onSetAside?.({ path: aside, reason: error.message });
    return models;
  }
}

class Unusable extends Error {}

function prepared(open: () => Database): Database {
  let database: Database | undefined;
  try {
    database = open();
    database.exec(`PRAGMA cache_size = -${cacheKiB}; PRAGMA wal_autocheckpoint = ${checkpointPages}`);
    prepareTables(database);
    return database;
  } catch (error) {
    database?.close();
    if (sqliteFault(error) === 'corrupt') throw new Unusable((error as Error).message, { cause: error });
    throw error;
  }
}

function prepareTables(database: Database): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
  if (isEmpty && version === 0) {
    database.transaction(() => database.exec(tables));
    new FirstFill(database).begin();
    return;
  }
  if (version !== format) throw new Unusable(`its format is ${version}, this program uses ${format}`);
  if (isTorn(database)) throw new Unusable('the machine went down while it was filled for the first time');
  const check = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
  if (check !== 'ok') throw new Unusable(String(check));
}

/** One file is kept for a look at it, the latest, so that a disk does not fill with them. */
function setAside(path: string): string {
  const aside = `${path}.set-aside`;
  for (const suffix of ['', '-wal', '-shm']) {
    rmSync(`${aside}${suffix}`, { force: true });
    if (existsSync(`${path}${suffix}`)) renameSync(`${path}${suffix}`, `${aside}${suffix}`);
  }
  return aside;
}

const rowsAtOnce = 100_000;

export class SqliteReadModels implements ReadModelStore, Disposable {
  readonly #database: Database;
  readonly #generations: Generations;
  readonly #tables = new Map<number, DocumentTables>();
  readonly #owners: Owners;
  readonly #now: () => number;
  readonly #firstFill: FirstFill;

  constructor(database: Database, path: string, now: () => number = Date.now) {
    this.#database = database;
    this.#owners = new Owners(path);
    this.#generations = new Generations(database);
    this.#now = now;
    this.#firstFill = new FirstFill(database);
  }

  get(collection: string, id: string): Document | undefined {
    return this.#current(collection)?.get(collection, id);
  }

  list(collection: string, query: DocumentQuery): readonly Document[] {
    return this.#current(collection)?.list(collection, query) ?? [];
  }

  count(collection: string, labels?: readonly string[]): number {
    return this.#current(collection)?.count(collection, labels) ?? 0;
  }

  checkpoint(projection: string): Checkpoint | undefined {
    return this.#generations.current(projection)?.checkpoint;
  }

  commit(
    projection: string,
    from: Checkpoint | undefined,
    to: Checkpoint,
    fold: Fold,
    options: CommitOptions = {},
  ): boolean {
    const { lease, isWhole = false, becomesCurrent = false } = options;
    this.#firstFill.lookAgain();
    const isMoved = this.#transaction(() => {
      if (lease && !this.#generations.isHeld(projection, lease)) return false;
      const current = this.#generations.current(projection);
      const number = options.generation ?? current?.number ?? this.#generations.add(projection, this.#now());
      const generation = this.#generations.one(projection, number);
      if (!generation || !sameCheckpoint(generation.checkpoint, from)) return false;
      const documents = this.#of(number);
      fold(documents, (changes) => documents.apply(changes));
      this.#generations.move(number, to, isWhole);
      const isBehind =
        current?.checkpoint && sameLog(current.checkpoint, to) && current.checkpoint.position > to.position;
      if (becomesCurrent && generation.state === 'filling' && !isBehind) {
        this.#generations.flip(projection, number, this.#now());
      }
      return true;
    });
    // Another connection may write what is not whole yet.
    if (isMoved && isWhole && this.#generations.areWhole()) this.#firstFill.end();
    return isMoved;
  }

  generations(projection: string): readonly Generation[] {
    return this.#generations.all(projection);
  }

  addGeneration(projection: string, nowMs: number): number {
    return this.#transaction(() => this.#generations.add(projection, nowMs));
  }

  generation(_: string, number: number): DocumentReader {
    return this.#of(number);
  }

  dropGeneration(projection: string, number: number, limit: number): boolean {
    if (!this.#generations.one(projection, number)) return true;
    if (!this.#of(number).drop(limit)) return false;
    this.#tables.delete(number);
    this.#transaction(() => this.#generations.remove(number));
    return true;
  }

  lease(projection: string, owner: string, nowMs: number, lifeMs: number): Lease | undefined {
    this.#firstFill.lookAgain();
    const held = this.#generations.leaseOf(projection)?.owner;
    const dead = held !== undefined && held !== owner && this.#owners.isDead(held) ? held : undefined;
    this.#owners.live(owner);
    const lease = this.#transaction(() => this.#generations.lease(projection, owner, { nowMs, lifeMs, dead }));
    if (lease && dead !== undefined) this.#owners.bury(dead);
    return lease;
  }

  release(projection: string, owner: string): void {
    this.#generations.release(projection, owner);
  }

  leaseOf(projection: string): Lease | undefined {
    return this.#generations.leaseOf(projection);
  }

  reset(projection: string): void {
    for (const { number } of this.#generations.all(projection)) {
      while (!this.dropGeneration(projection, number, rowsAtOnce));
    }
    this.#generations.unparkAll(projection);
  }

  park(event: ParkedEvent): void {
    this.#generations.park(event);
  }

  unpark(projection: string, position: Position): void {
    this.#generations.unpark(projection, position);
  }

  parked(projection: string): readonly ParkedEvent[] {
    return this.#generations.parked(projection);
  }

  close(): void {
    this.#owners.close();
    this.#database.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Looked up each time: another process may have made another generation current. */
  #current(collection: string): DocumentTables | undefined {
    const number = this.#generations.ofCollection(collection);
    return number === undefined ? undefined : this.#of(number);
  }

  #of(number: number): DocumentTables {
    const tables = this.#tables.get(number) ?? new DocumentTables(this.#database, number);
    this.#tables.set(number, tables);
    return tables;
  }

  #transaction<T>(work: () => T): T {
    try {
      return this.#database.transaction(work);
    } catch (error) {
      for (const tables of this.#tables.values()) tables.forget();
      throw error;
    }
  }
}

const sameCheckpoint = (a: Checkpoint | undefined, b: Checkpoint | undefined): boolean =>
  a === b || (a?.logId === b?.logId && a?.era === b?.era && a?.version === b?.version && a?.position === b?.position);

const sameLog = (a: Checkpoint, b: Checkpoint): boolean => a.logId === b.logId && a.era === b.era;
