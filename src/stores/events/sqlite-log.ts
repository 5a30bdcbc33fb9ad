/** Reads of the SQLite event log and its life; synchronous, run by the worker thread only. Writes stand in `sqlite-append.ts`. */
import { zstdDecompressSync } from 'node:zlib';
import {
  type CommandRecord,
  EventStoreError,
  type Filter,
  type LogIdentity,
  type Position,
  type StoreHealth,
  type Superseding,
  supersededIn,
} from '../../../domain/event-store.ts';
import { type Database, openDatabase, type Row, type SqlValue } from '../sqlite.ts';
import {
  fromPosition,
  maxPageBytes,
  maxScannedPositions,
  responseLifeMs,
  skimmedPositions,
  toPosition,
} from './event-rules.ts';
import { type PackableEvent, type PackedEvents, type PackedPage, packEvents } from './sqlite-page.ts';
import { prepareLog } from './sqlite-schema.ts';
import type { PageRange } from './subscription.ts';

export type SqliteLogOptions = {
  readonly path: string;
  /** UUIDv7, becomes the identity of a log that is new. */
  readonly newLogId: string;
  readonly busyTimeoutMs?: number;
  readonly readOnly?: boolean;
  readonly maxFileBytes?: number;
  readonly warn?: (text: string) => void;
};

export type StreamRange = {
  readonly from?: bigint;
  readonly to?: bigint;
  readonly back?: boolean;
  readonly limit: number;
};

const envelope = 'position, stream, revision, event_id, type, schema, at_ms, encoding, meta';
const columns = `${envelope}, data`;
const place = 'position, stream, type, schema';

/** Each list is NULL when the filter does not have it; lists are JSON arrays so that the statement is always the same. */
const filtered = (selected: string): string => `SELECT ${selected} FROM events WHERE position > ?1 AND position <= ?2
  AND (?3 IS NULL OR CASE instr(stream, '-') WHEN 0 THEN stream ELSE substr(stream, 1, instr(stream, '-') - 1) END
       IN (SELECT value FROM json_each(?3)))
  AND (?4 IS NULL OR type IN (SELECT value FROM json_each(?4)))
  AND (?5 IS NULL OR stream IN (SELECT value FROM json_each(?5)))
  ORDER BY position LIMIT ?6`;

export class SqliteLog {
  readonly identity: LogIdentity;
  readonly database: Database;
  readonly #isReadOnly: boolean;

  constructor({ path, readOnly = false, maxFileBytes, newLogId, ...rest }: SqliteLogOptions) {
    this.#isReadOnly = readOnly;
    this.database = openDatabase(path, {
      ...rest,
      readOnly,
      ...(maxFileBytes !== undefined && { maxBytes: maxFileBytes }),
    });
    try {
      this.identity = prepareLog(this.database, { readOnly, newLogId });
    } catch (error) {
      this.database.close();
      throw error;
    }
  }

  readStream(stream: string, { from = 0n, to = lastRevision, back = false, limit }: StreamRange): PackedEvents {
    const rows = this.database
      .prepare(
        `SELECT ${columns} FROM events WHERE stream = ? AND revision >= ? AND revision <= ?
         ORDER BY revision ${back ? 'DESC' : 'ASC'} LIMIT ?`,
      )
      .iterate(stream, from, to, limit);
    return packEvents(takePage(rows).events);
  }

  readAll({ after, limit, filter, superseding }: PageRange): PackedPage {
    const start = fromPosition(after);
    const head = this.headNumber();
    const scanned = superseding ? skimmedPositions(superseding) : maxScannedPositions;
    const end = filter ? Math.min(head, start + scanned) : head;
    const { events, isWhole } = superseding
      ? this.#skim({ start, end, limit, filter }, superseding)
      : takePage(this.#range(columns, { start, end, limit, filter }).iterate(), limit);
    const last = Number(events.at(-1)?.row['position'] ?? start);
    const next = isWhole ? Math.max(start, end) : last;
    return { packed: packEvents(events), next: next === start ? after : toPosition(next), atHead: next >= head };
  }

  #range(selected: string, { start, end, limit, filter }: RowRange): Bound {
    const { categories, types, streams } = filter ?? {};
    const lists = [categories, types, streams].map((list) => (list ? JSON.stringify(list) : null));
    const all = `SELECT ${selected} FROM events WHERE position > ? AND position <= ? ORDER BY position LIMIT ?`;
    const values = filter ? [start, end, ...lists, limit + 1] : [start, end, limit + 1];
    const statement = this.database.prepare(filter ? filtered(selected) : all);
    return { iterate: () => statement.iterate(...values), all: () => statement.all(...values) };
  }

  /** Events that no later one of the page supersedes are read whole, of the others the envelope at most. */
  #skim(range: RowRange, superseding: Superseding): TakenPage {
    const { isOmitted = false } = superseding;
    const rows = this.#range(`${isOmitted ? place : envelope}, length(data) AS bytes`, range).all();
    const taken = rows.slice(0, range.limit);
    const kept = (): readonly { readonly row: Row; readonly isKept: boolean }[] => {
      const passed = supersededIn(taken.map(toPlace), superseding);
      return taken.map((row, index) => ({ row, isKept: !passed.has(index) }));
    };
    let page = kept();
    // A shorter page supersedes less, so what is kept is looked up anew.
    while (taken.length > 1 && bytesOf(page) > maxPageBytes) {
      taken.splice(taken.length >> 1);
      page = kept();
    }
    const whole = this.#at(page.filter(({ isKept }) => isKept).map(({ row }) => Number(row['position'])));
    const events = page.flatMap(({ row, isKept }): readonly PackableEvent[] => {
      if (!isKept) return isOmitted ? [] : [{ row, data: nothing }];
      const found = whole.get(Number(row['position'])) ?? row;
      return [{ row: found, data: decode(found) }];
    });
    return { events, isWhole: taken.length === rows.length };
  }

  #at(positions: readonly number[]): ReadonlyMap<number, Row> {
    const all = `SELECT ${columns} FROM events WHERE position IN (SELECT value FROM json_each(?))`;
    return new Map(
      this.database
        .prepare(all)
        .all(JSON.stringify(positions))
        .map((row) => [Number(row['position']), row]),
    );
  }

  /** Times never go back with positions, so the place is found by halving; holes that retention left do not matter. */
  positionAt(timeMs: number): Position {
    const head = this.database.prepare('SELECT position, at_ms FROM log_head').get();
    if (Number(head?.['at_ms']) <= timeMs) return toPosition(Number(head?.['position']));
    const lastUpTo = this.database.prepare(
      'SELECT position, at_ms FROM events WHERE position <= ? ORDER BY position DESC LIMIT 1',
    );
    let low = 0;
    let high = Number(head?.['position']);
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const found = lastUpTo.get(middle);
      if (!found || Number(found['at_ms']) <= timeMs) low = middle;
      else high = Number(found['position']) - 1;
    }
    return toPosition(Number(lastUpTo.get(low)?.['position'] ?? 0));
  }

  command(id: string, nowMs: number): CommandRecord | undefined {
    const row = this.database
      .prepare('SELECT request_hash, last_position, response, at_ms FROM commands WHERE command_id = ?')
      .get(id);
    if (!row) return undefined;
    const response = Number(row['at_ms']) > nowMs - responseLifeMs ? row['response'] : null;
    return {
      requestHash: String(row['request_hash']),
      position: toPosition(Number(row['last_position'])),
      ...(response instanceof Uint8Array && { response }),
    };
  }

  /** Lets stored answers of commands go after their time; the records stay, so that a repeat is still known. */
  forgetResponses(nowMs: number): void {
    if (this.#isReadOnly) return;
    this.database.transaction(() => {
      this.database
        .prepare('UPDATE commands SET response = NULL WHERE response IS NOT NULL AND at_ms <= ?')
        .run(nowMs - responseLifeMs);
    });
  }

  /** Positions of another era are not comparable any more. This connection keeps the era with which it was opened. */
  bumpEra(): number {
    const row = this.database.transaction(() =>
      this.database.prepare('UPDATE log_head SET era = era + 1 RETURNING era').get(),
    );
    return Number(row?.['era']);
  }

  head(): Position {
    return toPosition(this.headNumber());
  }

  headNumber(): number {
    return Number(this.database.prepare('SELECT position FROM log_head').get()?.['position']);
  }

  /**
   * Reads. After a failed write (`isSuspect`) it also commits as much as an append would, and takes it away again, because
   * only a real commit shows whether the disk takes writes again.
   */
  health(isSuspect: boolean): StoreHealth {
    const head = this.headNumber();
    if (this.#isReadOnly)
      return { writable: false, readable: true, detail: `sqlite, opened for reading, head ${head}` };
    try {
      if (isSuspect) this.#tryWrite();
      return { writable: true, readable: true, detail: `sqlite, head ${head}` };
    } catch (error) {
      return { writable: false, readable: true, detail: error instanceof Error ? error.message : String(error) };
    }
  }

  #tryWrite(): void {
    const insert = this.database.prepare('INSERT INTO cells VALUES (?, 1, ?, 0) ON CONFLICT DO UPDATE SET value = ?2');
    this.database.transaction(() => insert.run(probeCell, '.'.repeat(probeBytes)));
    this.database.transaction(() => this.database.prepare('DELETE FROM cells WHERE key = ?').run(probeCell));
  }

  /** Changes when another connection has committed. */
  dataVersion(): number {
    return Number(this.database.prepare('PRAGMA data_version').get()?.['data_version']);
  }

  close(): void {
    this.database.close();
  }
}

const probeCell = 'health/probe';
const probeBytes = 64 * 1024;

const lastRevision = 2n ** 63n - 1n;

type RowRange = Pick<PageRange, 'limit'> & {
  readonly start: number;
  readonly end: number;
  readonly filter: Filter | undefined;
};

/** A query with its values. */
type Bound = { readonly iterate: () => Iterable<Row>; readonly all: () => readonly Row[] };

const nothing = new Uint8Array();

const toPlace = (row: Row) => ({
  stream: String(row['stream']),
  type: String(row['type']),
  schema: Number(row['schema']),
});

const bytesOf = (page: readonly { readonly row: Row; readonly isKept: boolean }[]): number =>
  page.reduce((sum, { row, isKept }) => sum + (isKept ? Number(row['bytes']) : 0), 0);

/** `isWhole` says that no row was left. */
type TakenPage = { readonly events: readonly PackableEvent[]; readonly isWhole: boolean };

/** P8: at most `limit` events and 16 MiB, but at least one. */
function takePage(rows: Iterable<Row>, limit = Number.POSITIVE_INFINITY): TakenPage {
  const events: PackableEvent[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (events.length === limit) return { events, isWhole: false };
    const data = decode(row);
    bytes += data.byteLength;
    if (events.length > 0 && bytes > maxPageBytes) return { events, isWhole: false };
    events.push({ row, data });
  }
  return { events, isWhole: true };
}

function decode({ position, data, encoding }: Row): Uint8Array {
  if (!(data instanceof Uint8Array)) throw corrupt(position);
  if (encoding === 0) return data;
  if (encoding !== 1) throw corrupt(position);
  try {
    return zstdDecompressSync(data);
  } catch (cause) {
    throw corrupt(position, cause);
  }
}

const corrupt = (position: SqlValue | undefined, cause?: unknown): EventStoreError =>
  new EventStoreError('Corrupt', `the payload at position ${position} cannot be read`, { cause });
