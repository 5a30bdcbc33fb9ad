/** The key ring in a table of PostgreSQL, for several management nodes that share one log. */
import { openPostgres, type PostgresDatabase, type PostgresRow, postgresAddress } from '../postgres.ts';
import { type Migration, migrate } from '../postgres-migrate.ts';
import { type KeyRing, type KeyTable, type KidEntry, type MasterKeys, openRing, type WrappedKey } from './keyring.ts';

export type PostgresKeyRingOptions = {
  /** As of a log: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME`. */
  readonly url: string;
  /** Closed with the ring. */
  readonly masters: MasterKeys;
};

const maxConnections = 2;

const tables: Migration = (schema) => `
  CREATE TABLE ${schema}.ring (one boolean PRIMARY KEY DEFAULT true CHECK (one), master_id text);
  INSERT INTO ${schema}.ring (master_id) VALUES (NULL);
  CREATE TABLE ${schema}.keyring (
    kid text COLLATE "C" PRIMARY KEY, master_id text NOT NULL, wrapped bytea NOT NULL, created_ms bigint NOT NULL);
`;

const migrations: readonly Migration[] = [tables];

/** Makes the tables at the first start, and a master key where there is none yet. */
export async function openPostgresKeyRing({ url, masters }: PostgresKeyRingOptions): Promise<KeyRing> {
  try {
    return await openRing('the key ring in PostgreSQL', await openPostgresKeyTable(url), masters);
  } catch (error) {
    masters.close();
    throw error;
  }
}

/** The wrapped keys alone, for whoever copies them. */
export async function openPostgresKeyTable(url: string): Promise<KeyTable> {
  const database = await openPostgres(postgresAddress(url), maxConnections);
  try {
    await migrate(database, 'keyring', migrations);
    return postgresKeyTable(database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Each call is one statement, or a transaction that holds the row of the ring. */
function postgresKeyTable(database: PostgresDatabase): KeyTable {
  const { schema, query, change } = database;
  return {
    current: async () => {
      const [row] = await query(`SELECT master_id FROM ${schema}.ring`);
      return (row?.['master_id'] as string | null) ?? undefined;
    },
    advance: async (from, to) => {
      const rows = await change(
        `UPDATE ${schema}.ring SET master_id = $2 WHERE master_id IS NOT DISTINCT FROM $1 RETURNING one`,
        [from ?? null, to],
      );
      return rows.length > 0;
    },
    get: async (kid) => {
      const [row] = await query(`SELECT ${columns}, wrapped FROM ${schema}.keyring WHERE kid = $1`, [kid]);
      return row && wrappedKeyOf(row);
    },
    add: (key) => add(database, key),
    replace: async (keys) => {
      const all = keys.map(({ key, from }) => ({ ...key, from }));
      await change(
        `UPDATE ${schema}.keyring k SET master_id = n.master_id, wrapped = n.wrapped
         FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) AS n (kid, was, master_id, wrapped)
         WHERE k.kid = n.kid AND k.master_id = n.was`,
        [
          all.map(({ kid }) => kid),
          all.map(({ from }) => from),
          all.map(({ masterId }) => masterId),
          all.map(({ wrapped }) => Buffer.from(wrapped)),
        ],
      );
    },
    remove: async (kid) => {
      const rows = await change(`DELETE FROM ${schema}.keyring WHERE kid = $1 RETURNING kid`, [kid]);
      return rows.length > 0;
    },
    page: async (after, limit) => {
      const rows = await query(`SELECT ${columns} FROM ${schema}.keyring WHERE kid > $1 ORDER BY kid LIMIT $2`, [
        after,
        limit,
      ]);
      return rows.map(entryOf);
    },
    close: () => database.close(),
  };
}

/** The lock on the ring's row makes a rotation wait until the key is there, or this until the rotation has begun. */
const add = (
  database: PostgresDatabase,
  { kid, masterId, wrapped, createdMs }: WrappedKey,
): Promise<'added' | 'exists' | 'stale'> =>
  database.transaction({ timeoutMs: 30_000 }, async (query) => {
    const { schema } = database;
    const [ring] = await query(`SELECT master_id FROM ${schema}.ring FOR SHARE`);
    if (ring?.['master_id'] !== masterId) return 'stale';
    const rows = await query(
      `INSERT INTO ${schema}.keyring (kid, master_id, wrapped, created_ms) VALUES ($1, $2, $3, $4)
       ON CONFLICT DO NOTHING RETURNING kid`,
      [kid, masterId, Buffer.from(wrapped), createdMs],
    );
    return rows.length > 0 ? 'added' : 'exists';
  });

const columns = 'kid, master_id, created_ms::text AS created_ms';

const entryOf = (row: PostgresRow): KidEntry => ({
  kid: String(row['kid']),
  masterId: String(row['master_id']),
  createdMs: Number(row['created_ms']),
});

const wrappedKeyOf = (row: PostgresRow): WrappedKey => ({
  ...entryOf(row),
  wrapped: new Uint8Array(row['wrapped'] as Uint8Array),
});
