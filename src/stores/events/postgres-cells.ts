/** Shared cells beside the event log in PostgreSQL: small values with compare-and-set, each call one statement. */
import { type Cell, CellConflict, checkCell, type SharedCells } from '../../../domain/shared-cells.ts';
import type { PostgresDatabase, PostgresRow } from '../postgres.ts';

type Runner = <T>(work: () => Promise<T>) => Promise<T>;

/** Every call is told to the store, so that it knows what is under way and says its own errors: `change` for writes. */
export type CellOptions = {
  readonly run: Runner;
  readonly change: Runner;
  /** ms since 1970; null = the clock of the server. */
  readonly nowMs: () => number | null;
};

const clock = (parameter: string): string => `coalesce(to_timestamp(${parameter}::bigint / 1000.0), clock_timestamp())`;

const inserting = (schema: string): string =>
  `INSERT INTO ${schema}.cells (key, version, value, at) VALUES ($1, 1, $2, ${clock('$3')})
   ON CONFLICT DO NOTHING RETURNING version::text AS version`;

const updating = (schema: string): string =>
  `UPDATE ${schema}.cells SET version = version + 1, value = $2, at = ${clock('$3')} WHERE key = $1 AND version = $4
   RETURNING version::text AS version`;

/** One statement decides: of several writers at one version exactly one changes a row. */
export function postgresCells(database: PostgresDatabase, { run, change, nowMs }: CellOptions): SharedCells {
  const { schema, query } = database;
  return {
    async read(key) {
      checkCell(key);
      const [row] = await run(() =>
        query(`SELECT version::text AS version, value FROM ${schema}.cells WHERE key = $1`, [key]),
      );
      return row && { value: String(row['value']), version: versionOf(row) };
    },
    async write(key, value, expected) {
      checkCell(key, value);
      const [row] = await change(() =>
        expected === 'none'
          ? database.change(inserting(schema), [key, value, nowMs()])
          : database.change(updating(schema), [key, value, nowMs(), expected]),
      );
      if (!row) throw new CellConflict(key, expected);
      return versionOf(row);
    },
    async list(prefix) {
      const rows = await run(() =>
        query(
          `SELECT key, version::text AS version, value FROM ${schema}.cells
           WHERE key >= $1 AND left(key, length($1)) = $1 ORDER BY key`,
          [prefix],
        ),
      );
      return rows.map(
        (row): Cell => ({ key: String(row['key']), value: String(row['value']), version: versionOf(row) }),
      );
    },
    async remove(key) {
      checkCell(key);
      await change(() => database.change(`DELETE FROM ${schema}.cells WHERE key = $1`, [key]));
    },
  };
}

const versionOf = (row: PostgresRow): bigint => BigInt(String(row['version']));
