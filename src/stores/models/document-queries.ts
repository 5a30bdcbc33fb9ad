/** The statements over documents and their labels, written so that a page of a list is an index seek. */
import type { DocumentQuery } from '../../../projections/read-model-store.ts';
import type { SqlValue } from '../sqlite.ts';

export type SqlQuery = { readonly sql: string; readonly values: readonly SqlValue[] };

/**
 * Without labels the index on (collection, sort, id) is walked; with labels the rows of the first label, which are in the
 * same order, while the other labels are looked up by key. So name the rarest label first.
 */
export function listQuery(collection: string, query: DocumentQuery): SqlQuery {
  const [first, ...others] = query.labels ?? [];
  const source = first === undefined ? documentSource(collection) : labelSource(collection, first, others);
  const direction = query.descending ? 'DESC' : 'ASC';
  const bounds = [
    ...(query.after === undefined ? [] : [{ sql: 'k.sort > ?', value: query.after }]),
    ...(query.before === undefined ? [] : [{ sql: 'k.sort < ?', value: query.before }]),
  ];
  return {
    sql: `SELECT ${source.columns} FROM ${source.from}
      WHERE ${[...source.where, ...bounds.map(({ sql }) => sql)].join(' AND ')}
      ORDER BY k.sort ${direction}, k.id ${direction} LIMIT ? OFFSET ?`,
    values: [...source.values, ...bounds.map(({ value }) => value), query.limit, query.offset ?? 0],
  };
}

export function countQuery(collection: string, labels: readonly string[] = []): SqlQuery {
  const [first, ...others] = labels;
  if (first === undefined) {
    return { sql: 'SELECT count(*) AS n FROM documents WHERE collection = ?', values: [collection] };
  }
  const { where, values } = labelKeys(collection, first, others);
  return { sql: `SELECT count(*) AS n FROM labels k WHERE ${where.join(' AND ')}`, values };
}

type Source = {
  readonly columns: string;
  readonly from: string;
  readonly where: readonly string[];
  readonly values: readonly SqlValue[];
};

const documentSource = (collection: string): Source => ({
  columns: 'k.id, k.sort, k.labels, k.body',
  from: 'documents k',
  where: ['k.collection = ?'],
  values: [collection],
});

/** CROSS JOIN fixes the order: labels first, then one document per label row. */
const labelSource = (collection: string, first: string, others: readonly string[]): Source => {
  const { where, values } = labelKeys(collection, first, others);
  const columns = 'd.id, d.sort, d.labels, d.body';
  return {
    columns,
    from: 'labels k CROSS JOIN documents d ON d.collection = k.collection AND d.id = k.id',
    where,
    values,
  };
};

const labelKeys = (
  collection: string,
  first: string,
  others: readonly string[],
): { readonly where: readonly string[]; readonly values: readonly SqlValue[] } => ({
  where: ['k.collection = ?', 'k.label = ?', ...others.map(() => hasLabel)],
  values: [collection, first, ...others],
});

const hasLabel = `EXISTS (SELECT 1 FROM labels o
  WHERE o.collection = k.collection AND o.label = ? AND o.sort = k.sort AND o.id = k.id)`;
