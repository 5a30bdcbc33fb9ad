/** Brings the tables of a part of the store (the log, the key ring) to the newest shape, one numbered step after the other. */
import { type PostgresDatabase, PostgresError, type PostgresQuery } from './postgres.ts';

/** A step in SQL; its place in the list is its number, so steps are only ever added at the end. */
export type Migration = (schema: string) => string;

const limits = { timeoutMs: 60_000, lockTimeoutMs: 60_000 };

/**
 * Safe when several processes start at once: one does the steps, the others wait for it. What is up to date is only
 * looked at, which needs no right to change anything. A schema that is newer than the program is refused, untouched.
 */
export async function migrate(
  database: PostgresDatabase,
  part: 'log' | 'keyring',
  migrations: readonly Migration[],
  { readOnly = false }: { readonly readOnly?: boolean } = {},
): Promise<void> {
  const found = await knownTo(database.query, database.schema, part, migrations);
  if (found === migrations.length) return;
  if (readOnly) {
    const what = found === 0 ? `there is no ${part} in schema ${database.schema}` : `the ${part} has format ${found}`;
    throw new PostgresError('Unsupported', `${what}: open it for writing first`);
  }
  const { schema } = database;
  const first = `SELECT pg_advisory_xact_lock(hashtextextended('svc migrations of ${schema.slice(1, -1)}', 0))`;
  await database.transaction({ ...limits, first }, async (query) => {
    await makeTable(query, schema);
    const done = await knownTo(query, schema, part, migrations);
    for (const [index, migration] of migrations.entries()) {
      if (index < done) continue;
      await query(migration(schema));
      await query(`INSERT INTO ${schema}.migrations (part, number) VALUES ($1, $2)`, [part, index + 1]);
    }
  });
}

/** Whether the schema may be made is only asked when it is not there. */
async function makeTable(query: PostgresQuery, schema: string): Promise<void> {
  const [found] = await query('SELECT to_regnamespace($1) IS NOT NULL AS has', [schema]);
  if (found?.['has'] !== true) await query(`CREATE SCHEMA ${schema}`);
  await query(`CREATE TABLE IF NOT EXISTS ${schema}.migrations (
    part text NOT NULL, number int NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (part, number))`);
}

/** How many steps were done. */
async function knownTo(
  query: PostgresQuery,
  schema: string,
  part: string,
  { length: known }: readonly Migration[],
): Promise<number> {
  const [table] = await query('SELECT to_regclass($1) IS NOT NULL AS has', [`${schema}.migrations`]);
  if (table?.['has'] !== true) return 0;
  const [row] = await query(`SELECT coalesce(max(number), 0) AS done FROM ${schema}.migrations WHERE part = $1`, [
    part,
  ]);
  const done = Number(row?.['done']);
  if (done > known) {
    throw new PostgresError(
      'Unsupported',
      `the ${part} has format ${done}, this program knows up to ${known}: update svc`,
    );
  }
  return done;
}
