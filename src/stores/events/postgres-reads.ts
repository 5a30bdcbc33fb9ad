/** Reads of the event log in PostgreSQL; each is one statement, so it sees one state of the log. */
import {
  type CommandRecord,
  EventStoreError,
  type Filter,
  type Page,
  type Position,
  type StoredEvent,
} from '../../../domain/event-store.ts';
import type { PostgresDatabase, PostgresRow } from '../postgres.ts';
import { bigFromPosition, maxPageBytes, maxScannedPositions, responseLifeMs, toPosition } from './event-rules.ts';
import { decodePayload } from './payload.ts';

/** Largest number that the server's columns hold; what is asked for beyond it is asked for up to it. */
const largest = 2n ** 63n - 1n;

const columns = `position, stream, revision, event_id, type, schema, at, data, encoding, size, meta`;

/** 64 bits as text, times as ms since 1970. `e` is what `page` gives. */
const selected = `e.position::text AS position, e.stream, e.revision::text AS revision, e.event_id, e.type, e.schema,
  (extract(epoch FROM e.at) * 1000)::bigint::text AS at_ms, e.data, e.encoding, e.size, e.meta, e.found`;

/**
 * P8: of the rows that are found, those that together have at most 16 MiB, and at least one. Only what leaves the server
 * is read in full. `found` tells how many there were.
 */
const page = (rows: string, order: string, limit: string): string =>
  `(SELECT * FROM (
      SELECT ${columns}, row_number() OVER walk AS n, count(*) OVER () AS found, sum(size) OVER walk AS bytes
      FROM (${rows}) found WINDOW walk AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)) measured
    WHERE n <= ${limit} AND (bytes <= ${maxPageBytes} OR n = 1))`;

export type StreamRange = {
  readonly from?: bigint;
  readonly to?: bigint;
  readonly back?: boolean;
  readonly limit: number;
};

export async function readStream(
  { schema, query }: PostgresDatabase,
  stream: string,
  { from = 0n, to = largest, back = false, limit }: StreamRange,
): Promise<readonly StoredEvent[]> {
  const order = `revision ${back ? 'DESC' : 'ASC'}`;
  const rows = `SELECT * FROM ${schema}.events WHERE stream = $1 AND revision >= $2 AND revision <= $3 ORDER BY ${order} LIMIT $4`;
  const found = await query(`SELECT ${selected} FROM ${page(rows, order, '$4')} e ORDER BY e.n`, [
    stream,
    bounded(from),
    bounded(to),
    limit,
  ]);
  return Promise.all(found.map(toEvent));
}

/** Each list is NULL when the filter does not have it. */
const wanted = `AND ($3::text[] IS NULL OR split_part(stream, '-', 1) = ANY ($3))
  AND ($4::text[] IS NULL OR type = ANY ($4)) AND ($5::text[] IS NULL OR stream = ANY ($5))`;

/**
 * Up to the head in the same snapshot: what is committed later stands behind it. A filtered page looks at a bounded number
 * of positions. One row comes even when no event does.
 */
export async function readAll(
  { schema, query }: PostgresDatabase,
  { after, limit, filter }: { readonly after: Position; readonly limit: number; readonly filter?: Filter },
): Promise<Page> {
  const start = bigFromPosition(after);
  const end = filter ? `least(h.position, $1::bigint + ${maxScannedPositions})` : 'h.position';
  const rows = `SELECT * FROM ${schema}.events WHERE position > $1::bigint AND position <= ${end} ${filter ? wanted : ''}
    ORDER BY position LIMIT $2::int + 1`;
  const lists = filter ? [filter.categories ?? null, filter.types ?? null, filter.streams ?? null] : [];
  const found = await query(
    `SELECT h.position::text AS head, ${selected} FROM ${schema}.log_head h
     LEFT JOIN LATERAL ${page(rows, 'position', '$2')} e ON true ORDER BY e.n`,
    // Further than any head, but far enough from the end of the numbers.
    [start < largest / 2n ? start : largest / 2n, limit, ...lists],
  );
  const head = BigInt(String(found[0]?.['head'] ?? 0));
  const events = await Promise.all(found.filter((row) => row['position'] !== null).map(toEvent));
  const isWhole = events.length === Number(found[0]?.['found'] ?? 0);
  const scanned = filter ? smaller(head, start + BigInt(maxScannedPositions)) : head;
  const next = isWhole ? toPosition(scanned > start ? scanned : start) : (events.at(-1)?.position ?? after);
  return { events, next, atHead: bigFromPosition(next) >= head };
}

/** Times never go back with positions, so the last by time is the last by position. */
export async function positionAt({ schema, query }: PostgresDatabase, timeMs: number): Promise<Position> {
  const [row] = await query(
    `SELECT CASE WHEN h.at <= t.time THEN h.position ELSE
       (SELECT position FROM ${schema}.events WHERE at <= t.time ORDER BY at DESC, position DESC LIMIT 1) END::text AS position
     FROM ${schema}.log_head h, (SELECT to_timestamp($1::double precision / 1000) AS time) t`,
    [Math.max(0, timeMs)],
  );
  return toPosition(BigInt(String(row?.['position'] ?? 0)));
}

export async function commandRecord(
  { schema, query }: PostgresDatabase,
  id: string,
  nowMs: number | null,
): Promise<CommandRecord | undefined> {
  const [row] = await query(
    `SELECT request_hash, last_position::text AS position, CASE WHEN at > ${responseAge('$2')} THEN response END AS response
     FROM ${schema}.commands WHERE command_id = $1`,
    [id, nowMs],
  );
  if (!row) return undefined;
  const { response } = row;
  return {
    requestHash: String(row['request_hash']),
    position: toPosition(BigInt(String(row['position']))),
    ...(response instanceof Uint8Array && { response: new Uint8Array(response) }),
  };
}

/** Lets stored answers of commands go after their time; the records stay, so that a repeat is still known. */
export async function forgetResponses({ schema, query }: PostgresDatabase, nowMs: number | null): Promise<void> {
  await query(
    `UPDATE ${schema}.commands SET response = NULL WHERE response IS NOT NULL AND at <= ${responseAge('$1')}`,
    [nowMs],
  );
}

/** Older answers are given out no more. */
const responseAge = (now: string): string =>
  `coalesce(to_timestamp(${now}::bigint / 1000.0), clock_timestamp()) - interval '${responseLifeMs / 1_000} seconds'`;

export type HeadState = { readonly position: Position; readonly isReadOnly: boolean };

export async function headState({ schema, query }: PostgresDatabase): Promise<HeadState> {
  const [row] = await query(
    `SELECT position::text AS position, current_setting('transaction_read_only')::bool AS is_read_only FROM ${schema}.log_head`,
  );
  return { position: toPosition(BigInt(String(row?.['position'] ?? 0))), isReadOnly: row?.['is_read_only'] === true };
}

/** Positions of another era are not comparable any more. Stores that are open keep the era with which they were opened. */
export async function raiseEra({ schema, change }: PostgresDatabase): Promise<number> {
  const [row] = await change(`UPDATE ${schema}.log_head SET era = era + 1 RETURNING era`);
  return Number(row?.['era']);
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);

const bounded = (revision: bigint): bigint => smaller(revision, largest);

async function toEvent(row: PostgresRow): Promise<StoredEvent> {
  return {
    id: String(row['event_id']),
    type: String(row['type']),
    schema: Number(row['schema']),
    data: await payloadOf(row),
    meta: row['meta'] as Record<string, string>,
    stream: String(row['stream']),
    revision: BigInt(String(row['revision'])),
    position: toPosition(BigInt(String(row['position']))),
    at: new Date(Number(row['at_ms'])),
  };
}

async function payloadOf({ position, data, encoding, size }: PostgresRow): Promise<Uint8Array> {
  try {
    if (!(data instanceof Uint8Array) || (encoding !== 0 && encoding !== 1)) throw new TypeError('not a payload');
    return await decodePayload({ data, encoding, size: Number(size) });
  } catch (cause) {
    throw new EventStoreError('Corrupt', `the payload at position ${position} cannot be read`, { cause });
  }
}
