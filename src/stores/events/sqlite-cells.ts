/** Shared cells beside the SQLite log: small values with compare-and-set, read and written by the worker thread only. */
import type { Cell } from '../../../domain/shared-cells.ts';
import type { Database } from '../sqlite.ts';

export function readCell(database: Database, key: string): Omit<Cell, 'key'> | undefined {
  const row = database.prepare('SELECT version, value FROM cells WHERE key = ?').get(key);
  return row && { value: String(row['value']), version: BigInt(Number(row['version'])) };
}

export type CellWrite = {
  readonly key: string;
  readonly value: string;
  readonly expected: bigint | 'none';
  /** ms since 1970. */
  readonly nowMs: number;
};

/** One statement decides: of several writers at one version exactly one changes a row. The others get undefined. */
export function writeCell(database: Database, { key, value, expected, nowMs }: CellWrite): bigint | undefined {
  const row = database.transaction(() =>
    expected === 'none'
      ? database
          .prepare('INSERT INTO cells VALUES (?, 1, ?, ?) ON CONFLICT DO NOTHING RETURNING version')
          .get(key, value, nowMs)
      : database
          .prepare(
            'UPDATE cells SET version = version + 1, value = ?2, at_ms = ?3 WHERE key = ?1 AND version = ?4 RETURNING version',
          )
          .get(key, value, nowMs, expected),
  );
  return row && BigInt(Number(row['version']));
}

export function listCells(database: Database, prefix: string): readonly Cell[] {
  return database
    .prepare('SELECT key, version, value FROM cells WHERE key >= ?1 AND substr(key, 1, length(?1)) = ?1 ORDER BY key')
    .all(prefix)
    .map(({ key, version, value }) => ({
      key: String(key),
      value: String(value),
      version: BigInt(Number(version)),
    }));
}

export function removeCell(database: Database, key: string): void {
  database.transaction(() => database.prepare('DELETE FROM cells WHERE key = ?').run(key));
}
