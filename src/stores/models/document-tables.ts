/** The documents of one generation of a projection in SQLite: three tables per collection, made at the first write. */
import type { Document, DocumentChange, DocumentQuery, DocumentReader } from '../../../projections/read-model-store.ts';
import type { Database, Row } from '../sqlite.ts';
import { countQuery, createTables, listQuery, type SqlQuery, type TableNames, tableNames } from './document-queries.ts';
import { LabelNames } from './label-names.ts';

/** The statements of a collection, prepared once, and the label rows that wait to be written together. */
type Statements = ReturnType<typeof statementsFor> & { readonly waiting: LabelRow[]; readonly names: LabelNames };

type LabelRow = readonly [label: number, sort: string, number: number];

/** A call costs more than a row of it. */
const labelsAtOnce = 64;

function statementsFor(database: Database, { documents, labels }: TableNames) {
  return {
    get: database.prepare(`SELECT id, sort, labels, body FROM ${documents} WHERE id = ?`),
    insert: database.prepare(
      `INSERT INTO ${documents} (id, sort, labels, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    replaceBody: database.prepare(`UPDATE ${documents} SET body = ? WHERE id = ? AND sort = ? AND labels = ?`),
    remove: database.prepare(`DELETE FROM ${documents} WHERE id = ? RETURNING number, sort, labels`),
    label: database.prepare(`INSERT INTO ${labels} (label, sort, number) VALUES (?, ?, ?)`),
    manyLabels: database.prepare(
      `INSERT INTO ${labels} (label, sort, number) VALUES ${Array(labelsAtOnce).fill('(?, ?, ?)').join(', ')}`,
    ),
    unlabel: database.prepare(`DELETE FROM ${labels} WHERE label = ? AND sort = ? AND number = ?`),
  };
}

export class DocumentTables implements DocumentReader {
  readonly #database: Database;
  readonly #generation: number;
  readonly #statements = new Map<string, Statements>();

  constructor(database: Database, generation: number) {
    this.#database = database;
    this.#generation = generation;
  }

  get(collection: string, id: string): Document | undefined {
    const statements = this.#of(collection);
    const row = statements?.get.get(id);
    return statements && row && toDocument(row, statements.names);
  }

  list(collection: string, query: DocumentQuery): readonly Document[] {
    const statements = this.#of(collection);
    if (!statements) return [];
    const rows = this.#all(listQuery(tableNames(collection, this.#generation), query));
    return rows.map((row) => toDocument(row, statements.names));
  }

  count(collection: string, labels?: readonly string[]): number {
    if (!this.#of(collection)) return 0;
    return Number(this.#all(countQuery(tableNames(collection, this.#generation), labels))[0]?.['n']);
  }

  /** In the caller's transaction. */
  apply(changes: readonly DocumentChange[]): void {
    for (const change of changes) {
      if (change.op === 'put') this.#put(this.#made(change.collection), change.document);
      else this.#remove(this.#of(change.collection), change.id);
    }
    for (const statements of this.#statements.values()) writeLabels(statements);
  }

  /** Forgets which tables there are: a transaction that made some was rolled back. */
  forget(): void {
    this.#statements.clear();
  }

  /** Removes about `limit` rows at most, in a transaction of its own; false while rows are left. */
  drop(limit: number): boolean {
    return this.#database.transaction(() => {
      const collections = this.#database
        .prepare('SELECT name FROM collections WHERE generation = ?')
        .all(this.#generation)
        .map(({ name }) => String(name));
      for (const name of collections) {
        const { documents, labels, names } = tableNames(name, this.#generation);
        const first = `SELECT label, sort, number FROM ${labels} LIMIT ?`;
        if (
          this.#database.prepare(`DELETE FROM ${labels} WHERE (label, sort, number) IN (${first})`).run(limit).changes >
          0
        )
          return false;
        const some = `SELECT number FROM ${documents} LIMIT ?`;
        if (this.#database.prepare(`DELETE FROM ${documents} WHERE number IN (${some})`).run(limit).changes > 0)
          return false;
        this.#database.forget();
        this.#database.exec(`DROP TABLE ${labels}; DROP TABLE ${documents}; DROP TABLE ${names}`);
        this.#database.prepare('DELETE FROM collections WHERE generation = ? AND name = ?').run(this.#generation, name);
      }
      this.forget();
      return true;
    });
  }

  #all({ sql, values }: SqlQuery): readonly Row[] {
    return this.#database.prepare(sql).all(...values);
  }

  /** Undefined when nothing was ever written there. */
  #of(collection: string): Statements | undefined {
    const known = this.#statements.get(collection);
    if (known) return known;
    const isThere = this.#database
      .prepare('SELECT 1 FROM collections WHERE generation = ? AND name = ?')
      .get(this.#generation, collection);
    if (!isThere) return undefined;
    const tables = tableNames(collection, this.#generation);
    const names = new LabelNames(this.#database, tables);
    const statements = { ...statementsFor(this.#database, tables), waiting: [], names };
    this.#statements.set(collection, statements);
    return statements;
  }

  #made(collection: string): Statements {
    const known = this.#of(collection);
    if (known) return known;
    this.#database.exec(createTables(tableNames(collection, this.#generation)));
    this.#database
      .prepare('INSERT INTO collections (generation, name) VALUES (?, ?)')
      .run(this.#generation, collection);
    const made = this.#of(collection);
    if (!made) throw new Error(`the tables of ${collection} were not made`);
    return made;
  }

  /** Most puts are of a new document or change the body alone: then no other row is touched. */
  #put(statements: Statements, { id, sort, labels: given, body }: Document): void {
    const labels = (given.length > 1 ? [...new Set(given)] : given).map((label) => statements.names.numberOf(label));
    const labelText = `[${labels.join(',')}]`;
    const bodyText = JSON.stringify(body);
    let inserted = statements.insert.run(id, sort, labelText, bodyText);
    if (inserted.changes === 0) {
      if (statements.replaceBody.run(bodyText, id, sort, labelText).changes > 0) return;
      this.#remove(statements, id);
      inserted = statements.insert.run(id, sort, labelText, bodyText);
    }
    for (const label of labels) statements.waiting.push([label, sort, inserted.lastRowid]);
  }

  /** The document knows its labels and its place, so each label row is found by its whole key. */
  #remove(statements: Statements | undefined, id: string): void {
    const old = statements?.remove.get(id);
    if (!statements || !old) return;
    writeLabels(statements);
    for (const label of numbersOf(old)) statements.unlabel.run(label, old['sort'] ?? null, old['number'] ?? null);
  }
}

/** Those of one label together, because they stand together. */
function writeLabels({ waiting, label, manyLabels }: Statements): void {
  waiting.sort(([a], [b]) => a - b);
  let from = 0;
  for (; from + labelsAtOnce <= waiting.length; from += labelsAtOnce) {
    manyLabels.run(...waiting.slice(from, from + labelsAtOnce).flat());
  }
  for (const row of waiting.slice(from)) label.run(...row);
  waiting.length = 0;
}

const numbersOf = (row: Row): readonly number[] => JSON.parse(String(row['labels'])) as readonly number[];

const toDocument = (row: Row, names: LabelNames): Document => ({
  id: String(row['id']),
  sort: String(row['sort']),
  labels: row['labels'] === '[]' ? [] : numbersOf(row).map((number) => names.labelOf(number)),
  body: JSON.parse(String(row['body'])),
});
