/** The statements over the tables of one collection, written so that a page of a list is an index seek. */
import type { DocumentQuery } from '../../../projections/read-model-store.ts';
import type { SqlValue } from '../sqlite.ts';

export type SqlQuery = { readonly sql: string; readonly values: readonly SqlValue[] };

/** Quoted names of the tables of a collection. `names`: the texts of labels, which stand elsewhere by their numbers. */
export type TableNames = { readonly documents: string; readonly labels: string; readonly names: string };

/** Names are written into statements, so they hold nothing but letters, digits and underscores. */
export function tableNames(collection: string, generation: number): TableNames {
  if (!/^[a-z][a-z0-9_]{0,60}$/.test(collection)) throw new Error(`"${collection}" is no name of a collection`);
  const name = `${collection}_g${generation}`;
  return { documents: `"${name}"`, labels: `"${name}_labels"`, names: `"${name}_names"` };
}

/** Label rows name labels and documents by their numbers, so that they stay small: they are most of all rows. */
export const createTables = ({ documents, labels, names }: TableNames): string => `
  CREATE TABLE ${documents} (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, sort TEXT NOT NULL, labels TEXT NOT NULL, body TEXT NOT NULL) STRICT;
  CREATE INDEX ${documents.replace(/"$/, '_by_sort"')} ON ${documents} (sort, id);
  CREATE TABLE ${names} (number INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE ${labels} (
    label INTEGER NOT NULL, sort TEXT NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (label, sort, number)) STRICT, WITHOUT ROWID;`;

/**
 * Without labels the index on (sort, id) is walked; with labels the rows of the first label, which are in the same order,
 * while the other labels are looked up by key. So name the rarest label first.
 */
export function listQuery(tables: TableNames, query: DocumentQuery): SqlQuery {
  const [first, ...others] = query.labels ?? [];
  const source = first === undefined ? documentSource(tables) : labelSource(tables, first, others);
  const direction = query.descending ? 'DESC' : 'ASC';
  const bounds = [
    ...(query.after === undefined ? [] : [{ sql: 'k.sort > ?', value: query.after }]),
    ...(query.before === undefined ? [] : [{ sql: 'k.sort < ?', value: query.before }]),
  ];
  const sieve = query.holding === undefined ? [] : [{ sql: `instr(${source.body}, ?) > 0`, value: query.holding }];
  const conditions = [...bounds, ...sieve];
  const where = [...source.where, ...conditions.map(({ sql }) => sql)];
  const { limit, offset = 0 } = query;
  const order = `ORDER BY k.sort ${direction}, ${source.tie} ${direction}`;
  const rest = `${where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''} ${order} LIMIT ? OFFSET ?`;
  const values = [...source.values, ...conditions.map(({ value }) => value), limit, offset];
  if (first === undefined || offset === 0 || sieve.length > 0)
    return { sql: `SELECT ${source.columns} FROM ${source.from} ${rest}`, values };
  // What stands before the page is passed over by its labels alone, without a look at the documents.
  const page = `(SELECT k.sort, k.number FROM ${tables.labels} k ${rest})`;
  return { sql: `SELECT ${source.columns} FROM ${page} k ${toDocument(tables)} ${order}`, values };
}

/** CROSS JOIN fixes the order: labels first, then one document per label row. */
const toDocument = ({ documents }: TableNames): string => `CROSS JOIN ${documents} d ON d.number = k.number`;

export function countQuery(tables: TableNames, labels: readonly string[] = []): SqlQuery {
  const [first, ...others] = labels;
  if (first === undefined) return { sql: `SELECT count(*) AS n FROM ${tables.documents}`, values: [] };
  const { where, values } = labelKeys(tables, first, others);
  return { sql: `SELECT count(*) AS n FROM ${tables.labels} k WHERE ${where.join(' AND ')}`, values };
}

type Source = {
  readonly columns: string;
  readonly body: string;
  readonly from: string;
  readonly where: readonly string[];
  /** Orders documents of one place. */
  readonly tie: string;
  readonly values: readonly SqlValue[];
};

const documentSource = ({ documents }: TableNames): Source => ({
  columns: 'k.id, k.sort, k.labels, k.body',
  body: 'k.body',
  from: `${documents} k`,
  where: [],
  tie: 'k.id',
  values: [],
});

const labelSource = (tables: TableNames, first: string, others: readonly string[]): Source => {
  const { where, values } = labelKeys(tables, first, others);
  return {
    columns: 'd.id, d.sort, d.labels, d.body',
    body: 'd.body',
    from: `${tables.labels} k ${toDocument(tables)}`,
    where,
    tie: 'k.number',
    values,
  };
};

const labelKeys = (
  { labels, names }: TableNames,
  first: string,
  others: readonly string[],
): { readonly where: readonly string[]; readonly values: readonly SqlValue[] } => {
  const numbered = `(SELECT number FROM ${names} WHERE label = ?)`;
  return {
    where: [
      `k.label = ${numbered}`,
      ...others.map(
        () =>
          `EXISTS (SELECT 1 FROM ${labels} o WHERE o.label = ${numbered} AND o.sort = k.sort AND o.number = k.number)`,
      ),
    ],
    values: [first, ...others],
  };
};
