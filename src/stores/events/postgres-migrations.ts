/** The tables of the event log in PostgreSQL, and the identity that a new log gets. */
import type { LogIdentity } from '../../../domain/event-store.ts';
import type { PostgresDatabase } from '../postgres.ts';
import { type Migration, migrate } from '../postgres-migrate.ts';

/**
 * `size` is the length of the payload before compression, by which pages are measured. `meta` is json, not jsonb, which
 * refuses characters that other engines take. Text is compared byte by byte (C), like everywhere else in the program.
 */
const tables: Migration = (schema) => `
  CREATE TABLE ${schema}.log_head (
    one boolean PRIMARY KEY DEFAULT true CHECK (one), position bigint NOT NULL, at timestamptz NOT NULL,
    log_id text NOT NULL, era int NOT NULL);
  CREATE TABLE ${schema}.events (
    position bigint PRIMARY KEY, stream text COLLATE "C" NOT NULL, revision bigint NOT NULL,
    event_id text COLLATE "C" NOT NULL UNIQUE, type text COLLATE "C" NOT NULL, schema int NOT NULL,
    at timestamptz NOT NULL, data bytea NOT NULL, encoding smallint NOT NULL, size int NOT NULL,
    meta json NOT NULL, prev_hash bytea, hash bytea, UNIQUE (stream, revision));
  CREATE INDEX events_at ON ${schema}.events (at, position);
  CREATE TABLE ${schema}.streams (
    stream text COLLATE "C" PRIMARY KEY, head bigint NOT NULL, max_age_s double precision, max_count bigint,
    truncate_before bigint);
  CREATE TABLE ${schema}.commands (
    command_id text COLLATE "C" PRIMARY KEY, request_hash text NOT NULL, first_position bigint,
    last_position bigint NOT NULL, response bytea, at timestamptz NOT NULL);
  CREATE INDEX commands_with_response ON ${schema}.commands (at) WHERE response IS NOT NULL;
  CREATE TABLE ${schema}.cells (
    key text COLLATE "C" PRIMARY KEY, version bigint NOT NULL, value text NOT NULL, at timestamptz NOT NULL);
`;

const migrations: readonly Migration[] = [tables];

/** Of several processes that make the same log at once one gives it its identity, and all see that. */
export async function prepareLog(
  database: PostgresDatabase,
  { newLogId, readOnly = false }: { readonly newLogId: string; readonly readOnly?: boolean | undefined },
): Promise<LogIdentity> {
  await migrate(database, 'log', migrations, { readOnly });
  const found = await identityOf(database);
  if (found) return found;
  await database.change(
    `INSERT INTO ${database.schema}.log_head (position, at, log_id, era) VALUES (0, to_timestamp(0), $1, 0)
     ON CONFLICT DO NOTHING`,
    [newLogId],
  );
  const made = await identityOf(database);
  if (!made) throw new Error('the log has no head');
  return made;
}

async function identityOf(database: PostgresDatabase): Promise<LogIdentity | undefined> {
  const [row] = await database.query(`SELECT log_id, era FROM ${database.schema}.log_head`);
  return row && { logId: String(row['log_id']), era: Number(row['era']) };
}
