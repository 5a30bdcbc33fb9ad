/** Read models in a SQLite file (or in memory): documents with labels, and the checkpoint they stand at, in one transaction. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import type {
  Checkpoint,
  Document,
  DocumentChange,
  DocumentQuery,
  DocumentReader,
  ParkedEvent,
  ReadModelStore,
} from '../../../projections/read-model-store.ts';
import { type Database, openDatabase, type Row, sqliteFault } from '../sqlite.ts';
import { countQuery, listQuery, type SqlQuery } from './document-queries.ts';

export type SetAside = { readonly path: string; readonly reason: string };

export type SqliteReadModelsOptions = {
  /** Told when an unusable file was renamed to `path` and the read models start from nothing; log it. */
  readonly onSetAside?: (setAside: SetAside) => void;
  /** Told what is doubtful but not refused, such as a file system of unknown type. */
  readonly warn?: (text: string) => void;
};

/** Kept in `user_version`. A file of any other number is rebuilt from the log. */
const format = 1;

const tables = `
  CREATE TABLE documents (
    collection TEXT NOT NULL, id TEXT NOT NULL, sort TEXT NOT NULL, labels TEXT NOT NULL, body TEXT NOT NULL,
    UNIQUE (collection, id)) STRICT;
  CREATE INDEX documents_by_sort ON documents (collection, sort, id);
  CREATE TABLE labels (
    collection TEXT NOT NULL, label TEXT NOT NULL, sort TEXT NOT NULL, id TEXT NOT NULL,
    PRIMARY KEY (collection, label, sort, id)) STRICT, WITHOUT ROWID;
  CREATE TABLE checkpoints (
    projection TEXT PRIMARY KEY, log_id TEXT NOT NULL, era INTEGER NOT NULL, version INTEGER NOT NULL,
    position TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE parked (
    projection TEXT NOT NULL, position TEXT NOT NULL, stream TEXT NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (projection, position)) STRICT, WITHOUT ROWID;
  PRAGMA user_version = ${format};
`;

/** Read models are disposable: a file that is corrupt or of another format is set aside, and an empty one takes its place. */
export function openSqliteReadModels(
  path: string,
  { onSetAside, warn }: SqliteReadModelsOptions = {},
): SqliteReadModels {
  const open = (): Database => openDatabase(path, { synchronous: 'normal', ...(warn && { warn }) });
  try {
    return new SqliteReadModels(prepared(open));
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    const aside = setAside(path);
    const models = new SqliteReadModels(prepared(open));
    onSetAside?.({ path: aside, reason: error.message });
    return models;
  }
}

class Unusable extends Error {}

function prepared(open: () => Database): Database {
  let database: Database | undefined;
  try {
    database = open();
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
    return;
  }
  if (version !== format) throw new Unusable(`its format is ${version}, this program uses ${format}`);
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

type DocumentRow = {
  readonly collection: string;
  readonly id: string;
  readonly sort: string;
  readonly labels: string;
  readonly body: string;
};

export class SqliteReadModels implements ReadModelStore, Disposable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  get(collection: string, id: string): Document | undefined {
    const row = this.#database
      .prepare('SELECT id, sort, labels, body FROM documents WHERE collection = ? AND id = ?')
      .get(collection, id);
    return row && toDocument(row);
  }

  list(collection: string, query: DocumentQuery): readonly Document[] {
    return this.#all(listQuery(collection, query)).map(toDocument);
  }

  count(collection: string, labels?: readonly string[]): number {
    return Number(this.#all(countQuery(collection, labels))[0]?.['n']);
  }

  checkpoint(projection: string): Checkpoint | undefined {
    const row = this.#database
      .prepare('SELECT log_id, era, version, position FROM checkpoints WHERE projection = ?')
      .get(projection);
    return (
      row && {
        logId: String(row['log_id']),
        era: Number(row['era']),
        version: Number(row['version']),
        position: String(row['position']),
      }
    );
  }

  commit(
    projection: string,
    from: Checkpoint | undefined,
    to: Checkpoint,
    fold: (documents: DocumentReader, apply: (changes: readonly DocumentChange[]) => void) => void,
  ): boolean {
    return this.#database.transaction(() => {
      if (!sameCheckpoint(this.checkpoint(projection), from)) return false;
      fold(this, (changes) => {
        for (const change of changes) this.#apply(change);
      });
      this.#database
        .prepare(
          'INSERT OR REPLACE INTO checkpoints (projection, log_id, era, version, position) VALUES (?, ?, ?, ?, ?)',
        )
        .run(projection, to.logId, to.era, to.version, to.position);
      return true;
    });
  }

  reset(projection: string, collections: readonly string[]): void {
    this.#database.transaction(() => {
      this.#database.prepare('DELETE FROM checkpoints WHERE projection = ?').run(projection);
      this.#database.prepare('DELETE FROM parked WHERE projection = ?').run(projection);
      for (const collection of collections) {
        this.#database.prepare('DELETE FROM documents WHERE collection = ?').run(collection);
        this.#database.prepare('DELETE FROM labels WHERE collection = ?').run(collection);
      }
    });
  }

  park({ projection, stream, position, reason }: ParkedEvent): void {
    this.#database
      .prepare('INSERT OR REPLACE INTO parked (projection, position, stream, reason) VALUES (?, ?, ?, ?)')
      .run(projection, position, stream, reason);
  }

  parked(projection: string): readonly ParkedEvent[] {
    return this.#database
      .prepare('SELECT position, stream, reason FROM parked WHERE projection = ? ORDER BY position')
      .all(projection)
      .map(({ position, stream, reason }) => ({
        projection,
        stream: String(stream),
        position: String(position),
        reason: String(reason),
      }));
  }

  close(): void {
    this.#database.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #all({ sql, values }: SqlQuery): readonly Row[] {
    return this.#database.prepare(sql).all(...values);
  }

  #apply(change: DocumentChange): void {
    if (change.op === 'remove') {
      this.#remove(change.collection, change.id);
      return;
    }
    this.#put(change.collection, change.document);
  }

  /** Most puts are of a new document or change the body alone: then no other row is touched. */
  #put(collection: string, { id, sort, labels: given, body }: Document): void {
    const labels = [...new Set(given)];
    const row = { collection, id, sort, labels: JSON.stringify(labels), body: JSON.stringify(body) };
    if (!this.#insert(row)) {
      if (this.#replaceBody(row)) return;
      this.#remove(collection, id);
      this.#insert(row);
    }
    for (const label of labels) {
      this.#database
        .prepare('INSERT INTO labels (collection, label, sort, id) VALUES (?, ?, ?, ?)')
        .run(collection, label, sort, id);
    }
  }

  #insert({ collection, id, sort, labels, body }: DocumentRow): boolean {
    const { changes } = this.#database
      .prepare(
        'INSERT INTO documents (collection, id, sort, labels, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      )
      .run(collection, id, sort, labels, body);
    return changes > 0;
  }

  #replaceBody({ collection, id, sort, labels, body }: DocumentRow): boolean {
    const { changes } = this.#database
      .prepare('UPDATE documents SET body = ? WHERE collection = ? AND id = ? AND sort = ? AND labels = ?')
      .run(body, collection, id, sort, labels);
    return changes > 0;
  }

  /** The document knows its labels and its place, so each label row is found by its whole key. */
  #remove(collection: string, id: string): void {
    const old = this.#database
      .prepare('DELETE FROM documents WHERE collection = ? AND id = ? RETURNING sort, labels')
      .get(collection, id);
    if (!old) return;
    for (const label of labelsOf(old)) {
      this.#database
        .prepare('DELETE FROM labels WHERE collection = ? AND label = ? AND sort = ? AND id = ?')
        .run(collection, label, old['sort'] ?? null, id);
    }
  }
}

const sameCheckpoint = (a: Checkpoint | undefined, b: Checkpoint | undefined): boolean =>
  a === b || (a?.logId === b?.logId && a?.era === b?.era && a?.version === b?.version && a?.position === b?.position);

const labelsOf = (row: Row): readonly string[] => JSON.parse(String(row['labels'])) as readonly string[];

const toDocument = (row: Row): Document => ({
  id: String(row['id']),
  sort: String(row['sort']),
  labels: labelsOf(row),
  body: JSON.parse(String(row['body'])),
});
