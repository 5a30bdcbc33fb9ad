/** The write path of the SQLite event log: a group of appends in one transaction, each with its own outcome. */
import { zstdCompressSync } from 'node:zlib';
import {
  type Appended,
  type AppendOptions,
  EventStoreError,
  type NewEvent,
  type Write,
} from '../../../domain/event-store.ts';
import type { Database } from '../sqlite.ts';
import {
  checkExpectation,
  commandReuse,
  cutOf,
  type KnownEvent,
  type RetentionRule,
  repeatOf,
  toPosition,
} from './event-rules.ts';
import { compressAboveBytes, hashBytes } from './payload.ts';
import { toStoreError } from './sqlite-errors.ts';

export type AppendRequest = {
  readonly writes: readonly Write[];
  readonly options: Omit<AppendOptions, 'timeoutMs'>;
  readonly nowMs: number;
};

/**
 * One commit for all; nobody is answered before it. When the disk is full for the group, each append is tried alone, so
 * that a large one does not take the others with it.
 */
export function appendGroup(
  database: Database,
  requests: readonly AppendRequest[],
): readonly (Appended | EventStoreError)[] {
  try {
    return database.transaction(() => requests.map((request) => attempt(database, request)));
  } catch (error) {
    const failure = toStoreError(error, 'append');
    if (requests.length > 1 && failure.code === 'StoreFull') {
      return requests.flatMap((request) => appendGroup(database, [request]));
    }
    return requests.map(() => failure);
  }
}

/** Sets the stream's rule, which later appends apply as well, and applies it. */
export function retain(database: Database, stream: string, rule: RetentionRule, nowMs: number): void {
  database.transaction(() => {
    // A stream may get its rule before its first event; a head of -1 counts as missing.
    database
      .prepare(
        `INSERT INTO streams (stream, head, max_age_s, max_count, truncate_before) VALUES (?1, -1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET max_age_s = ?2, max_count = ?3, truncate_before = ?4`,
      )
      .run(stream, rule.maxAgeS ?? null, rule.maxCount ?? null, rule.before ?? null);
    applyRetention(database, stream, nowMs);
  });
}

/** A refusal undoes this append only; every other failure undoes the group. */
function attempt(database: Database, request: AppendRequest): Appended | EventStoreError {
  try {
    return database.savepoint(() => appendOne(database, request));
  } catch (error) {
    if (error instanceof EventStoreError) return error;
    throw error;
  }
}

function appendOne(database: Database, { writes, options, nowMs }: AppendRequest): Appended {
  const repeat = repeatOf(writes, (id) => knownEvent(database, id));
  if (repeat) return { position: toPosition(repeat.position), heads: repeat.heads, duplicate: true };
  const before = database.prepare('SELECT last_position FROM commands WHERE command_id = ?').get(options.commandId);
  if (before) {
    if (writes.some(({ events }) => events.length > 0)) throw commandReuse(options.commandId);
    return { position: toPosition(Number(before['last_position'])), heads: new Map(), duplicate: true };
  }
  const heads = new Map(writes.map(({ stream }) => [stream, headOf(database, stream)]));
  for (const { stream, expected } of writes) checkExpectation(stream, expected, heads.get(stream));
  return write(database, { writes, options, nowMs }, heads);
}

/** Everything is allowed by now. The position counter is in the log itself: commit order is position order. */
function write(
  database: Database,
  { writes, options, nowMs }: AppendRequest,
  before: ReadonlyMap<string, bigint | undefined>,
): Appended {
  const log = database.prepare('SELECT position, at_ms FROM log_head').get();
  const first = Number(log?.['position']) + 1;
  const atMs = Math.max(nowMs, Number(log?.['at_ms']));
  const heads = new Map<string, bigint>();
  let position = first;
  for (const { stream, events } of writes) {
    let revision = before.get(stream) ?? -1n;
    for (const event of events)
      insertEvent(database, event, { stream, revision: ++revision, position: position++, atMs });
    if (events.length === 0) continue;
    heads.set(stream, revision);
    database
      .prepare('INSERT INTO streams (stream, head) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET head = ?2')
      .run(stream, revision);
    applyRetention(database, stream, nowMs);
  }
  const last = position - 1;
  if (heads.size > 0) database.prepare('UPDATE log_head SET position = ?, at_ms = ?').run(last, atMs);
  database
    .prepare('INSERT INTO commands VALUES (?, ?, ?, ?, ?, ?)')
    .run(
      options.commandId,
      options.requestHash ?? '',
      last < first ? null : first,
      last,
      options.response ?? null,
      atMs,
    );
  return { position: toPosition(last), heads, duplicate: false };
}

type Place = { readonly stream: string; readonly revision: bigint; readonly position: number; readonly atMs: number };

function insertEvent(database: Database, event: NewEvent, { stream, revision, position, atMs }: Place): void {
  const { data, encoding } = encode(event.data);
  database
    .prepare(
      `INSERT INTO events (position, stream, revision, event_id, type, schema, at_ms, data, encoding, meta, prev_hash, hash)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      position,
      stream,
      revision,
      event.id,
      event.type,
      event.schema,
      atMs,
      data,
      encoding,
      JSON.stringify(event.meta),
      hashBytes(event.meta['prevHash']),
      hashBytes(event.meta['hash']),
    );
}

/** 0 = plain, 1 = zstd. */
function encode(data: Uint8Array): { data: Uint8Array; encoding: 0 | 1 } {
  if (data.byteLength <= compressAboveBytes) return { data, encoding: 0 };
  const compressed = zstdCompressSync(data);
  return compressed.byteLength < data.byteLength ? { data: compressed, encoding: 1 } : { data, encoding: 0 };
}

function knownEvent(database: Database, id: string): KnownEvent | undefined {
  const row = database.prepare('SELECT stream, type, revision, position FROM events WHERE event_id = ?').get(id);
  return (
    row && {
      stream: String(row['stream']),
      type: String(row['type']),
      revision: BigInt(Number(row['revision'])),
      position: BigInt(Number(row['position'])),
    }
  );
}

function headOf(database: Database, stream: string): bigint | undefined {
  const head = database.prepare('SELECT head FROM streams WHERE stream = ?').get(stream)?.['head'];
  return head === undefined || Number(head) < 0 ? undefined : BigInt(Number(head));
}

function applyRetention(database: Database, stream: string, nowMs: number): void {
  const row = database
    .prepare('SELECT head, max_age_s, max_count, truncate_before FROM streams WHERE stream = ?')
    .get(stream);
  const rule = {
    ...(row?.['max_age_s'] != null && { maxAgeS: Number(row['max_age_s']) }),
    ...(row?.['max_count'] != null && { maxCount: Number(row['max_count']) }),
    ...(row?.['truncate_before'] != null && { before: BigInt(Number(row['truncate_before'])) }),
  };
  if (Object.keys(rule).length === 0) return;
  const cut = cutOf(rule, BigInt(Number(row?.['head'])), nowMs);
  database
    .prepare('DELETE FROM events WHERE stream = ? AND (revision < ? OR at_ms < ?)')
    .run(stream, cut.before, cut.olderThanMs);
}
