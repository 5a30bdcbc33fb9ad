/** The tables of the SQLite event log, made at the first open; refuses a log that is newer than the program. */
import { EventStoreError, type LogIdentity } from '../../../domain/event-store.ts';
import type { Database } from '../sqlite.ts';

/** Raised when the tables change shape. */
const logFormat = 1;

const tables = `
  CREATE TABLE IF NOT EXISTS log_head (
    one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL, at_ms INTEGER NOT NULL,
    log_id TEXT NOT NULL, era INTEGER NOT NULL, format INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS events (
    position INTEGER PRIMARY KEY, stream TEXT NOT NULL, revision INTEGER NOT NULL,
    event_id TEXT NOT NULL UNIQUE, type TEXT NOT NULL, schema INTEGER NOT NULL, at_ms INTEGER NOT NULL,
    data BLOB NOT NULL, encoding INTEGER NOT NULL,
    meta TEXT NOT NULL, prev_hash BLOB, hash BLOB, UNIQUE (stream, revision)) STRICT;
  CREATE TABLE IF NOT EXISTS streams (
    stream TEXT PRIMARY KEY, head INTEGER NOT NULL, max_age_s INTEGER, max_count INTEGER,
    truncate_before INTEGER) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS commands (
    command_id TEXT PRIMARY KEY, request_hash TEXT NOT NULL, first_position INTEGER, last_position INTEGER,
    response BLOB, at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS commands_with_response ON commands (at_ms) WHERE response IS NOT NULL;
  CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY, version INTEGER NOT NULL, value TEXT NOT NULL, at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

/** `newLogId` is the identity of a log that does not exist yet. */
export type LogMaking = { readonly readOnly?: boolean; readonly newLogId: string };

/** Safe when several processes make the same log at once: one of them wins, all see its identity. */
export function prepareLog(database: Database, { readOnly = false, newLogId }: LogMaking): LogIdentity {
  if (!readOnly && !isPrepared(database)) {
    database.transaction(() => {
      database.exec(tables);
      database
        .prepare('INSERT INTO log_head VALUES (1, 0, 0, ?, 0, ?) ON CONFLICT DO NOTHING')
        .run(newLogId, logFormat);
    });
  }
  const { format, log_id, era } = database.prepare('SELECT format, log_id, era FROM log_head').get() ?? {};
  if (Number(format) > logFormat) {
    throw new EventStoreError(
      'Unsupported',
      `the log has format ${format}, this program knows up to ${logFormat}: update svc`,
    );
  }
  return { logId: String(log_id), era: Number(era) };
}

/** The head is written last, so who sees its row sees everything. A newer log is not touched. */
const isPrepared = (database: Database): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'log_head'").get() !== undefined &&
  database.prepare('SELECT 1 FROM log_head').get() !== undefined;
