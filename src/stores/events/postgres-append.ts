/** The write path of the event log in PostgreSQL: one transaction behind the lock on the head, which makes positions gapless. */
import type { Appended, AppendOptions, Write } from '../../../domain/event-store.ts';
import type { PostgresDatabase, PostgresQuery } from '../postgres.ts';
import {
  checkExpectation,
  commandReuse,
  cutOf,
  type KnownEvent,
  type RetentionRule,
  repeatOf,
  toPosition,
} from './event-rules.ts';
import { type EncodedPayload, hashBytes } from './payload.ts';

export type AppendRequest = {
  readonly writes: readonly Write[];
  /** One per event, in order. */
  readonly payloads: readonly EncodedPayload[];
  readonly options: Omit<AppendOptions, 'timeoutMs'>;
};

/** `nowMs`: ms since 1970; null = the clock of the server. */
export type WriteLimits = { readonly timeoutMs: number; readonly nowMs: number | null };

/** What is needed inside a transaction that holds the lock. */
type Locked = { readonly schema: string; readonly query: PostgresQuery; readonly nowMs: number | null };

/** Rung inside the transaction, so that it is heard after the commit and not without it. */
export const channelOf = (schema: string): string => `${schema.slice(1, -1)}_log`;

export const append = (database: PostgresDatabase, request: AppendRequest, limits: WriteLimits): Promise<Appended> =>
  withLock(database, limits, (log) => appendLocked(log, request));

/** Sets the stream's rule, which later appends apply as well, and applies it. */
export const retain = (
  database: PostgresDatabase,
  stream: string,
  rule: RetentionRule,
  limits: WriteLimits,
): Promise<void> =>
  withLock(database, limits, async (log) => {
    // A stream may get its rule before its first event; a head of -1 counts as missing.
    await log.query(
      `INSERT INTO ${log.schema}.streams (stream, head, max_age_s, max_count, truncate_before)
       VALUES ($1, -1, $2, $3, $4)
       ON CONFLICT (stream) DO UPDATE SET max_age_s = $2, max_count = $3, truncate_before = $4`,
      [stream, rule.maxAgeS ?? null, rule.maxCount ?? null, rule.before ?? null],
    );
    const state = await lookAround(log, { ids: [], streams: [stream], commandId: '' });
    await applyRetention(log, state, stream, state.heads.get(stream) ?? -1n);
  });

/** A commit that changes nothing. */
export const probe = (database: PostgresDatabase, limits: WriteLimits): Promise<void> =>
  withLock(database, limits, async ({ schema, query }) => {
    await query(`UPDATE ${schema}.log_head SET era = era`);
  });

/** The only lock, and always the first thing: nobody can wait in a circle. */
const withLock = <T>(
  database: PostgresDatabase,
  { timeoutMs, nowMs }: WriteLimits,
  work: (log: Locked) => Promise<T>,
): Promise<T> => {
  const { schema } = database;
  const first = `SELECT position FROM ${schema}.log_head FOR UPDATE`;
  return database.transaction({ timeoutMs, first }, (query) => work({ schema, query, nowMs }));
};

async function appendLocked(log: Locked, request: AppendRequest): Promise<Appended> {
  const { writes, options } = request;
  const state = await lookAround(log, {
    ids: writes.flatMap(({ events }) => events.map(({ id }) => id)),
    streams: writes.map(({ stream }) => stream),
    commandId: options.commandId,
  });
  const repeat = repeatOf(writes, (id) => state.known.get(id));
  if (repeat) return { position: toPosition(repeat.position), heads: repeat.heads, duplicate: true };
  if (state.command !== undefined) {
    if (writes.some(({ events }) => events.length > 0)) throw commandReuse(options.commandId);
    return { position: toPosition(state.command), heads: new Map(), duplicate: true };
  }
  for (const { stream, expected } of writes) checkExpectation(stream, expected, state.heads.get(stream));
  const appended = await write(log, state, request);
  for (const [stream, head] of appended.heads) await applyRetention(log, state, stream, head);
  return appended;
}

/** What an append is judged by. */
type State = {
  readonly position: bigint;
  /** The clock, and what the next events are stamped with. ms since 1970. */
  readonly nowMs: number;
  readonly atMs: number;
  readonly known: ReadonlyMap<string, KnownEvent>;
  /** Of streams that had events. */
  readonly heads: ReadonlyMap<string, bigint>;
  readonly rules: ReadonlyMap<string, RetentionRule>;
  /** The last position of the command, when it ran before. */
  readonly command: bigint | undefined;
};

type StateRow = {
  readonly position: string;
  readonly now_ms: string;
  readonly at_ms: string;
  readonly known: readonly { id: string; stream: string; type: string; revision: string; position: string }[] | null;
  readonly streams:
    | readonly { stream: string; head: string; age: number | null; count: string | null; before: string | null }[]
    | null;
  readonly command: string | null;
};

/** One statement, whose snapshot is younger than the lock. Integers of 64 bits travel as text, also inside json. */
async function lookAround(
  { schema, query, nowMs }: Locked,
  { ids, streams, commandId }: { ids: readonly string[]; streams: readonly string[]; commandId: string },
): Promise<State> {
  const [found] = await query(
    `SELECT h.position::text AS position, c.ms::text AS now_ms,
       greatest(c.ms, (extract(epoch FROM h.at) * 1000)::bigint)::text AS at_ms,
       (SELECT json_agg(json_build_object('id', event_id, 'stream', stream, 'type', type,
          'revision', revision::text, 'position', position::text)) FROM ${schema}.events WHERE event_id = ANY ($1)) AS known,
       (SELECT json_agg(json_build_object('stream', stream, 'head', head::text, 'age', max_age_s,
          'count', max_count::text, 'before', truncate_before::text)) FROM ${schema}.streams WHERE stream = ANY ($2)) AS streams,
       (SELECT last_position::text FROM ${schema}.commands WHERE command_id = $3) AS command
     FROM ${schema}.log_head h,
       (SELECT coalesce($4::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS ms) c`,
    [ids, streams, commandId, nowMs],
  );
  const row = found as StateRow;
  const list = row.streams ?? [];
  return {
    position: BigInt(row.position),
    nowMs: Number(row.now_ms),
    atMs: Number(row.at_ms),
    known: new Map(
      row.known?.map(({ id, revision, position, ...event }) => [
        id,
        { ...event, revision: BigInt(revision), position: BigInt(position) },
      ]),
    ),
    heads: new Map(list.filter(({ head }) => !head.startsWith('-')).map(({ stream, head }) => [stream, BigInt(head)])),
    rules: new Map(list.map(({ stream, age, count, before }) => [stream, ruleOf(age, count, before)])),
    command: row.command === null ? undefined : BigInt(row.command),
  };
}

const ruleOf = (age: number | null, count: string | null, before: string | null): RetentionRule => ({
  ...(age !== null && { maxAgeS: age }),
  ...(count !== null && { maxCount: Number(count) }),
  ...(before !== null && { before: BigInt(before) }),
});

/** Everything is allowed by now. The position counter is in the log itself: commit order is position order. */
async function write(
  { schema, query }: Locked,
  state: State,
  { writes, payloads, options }: AppendRequest,
): Promise<Appended> {
  const heads = new Map(
    writes
      .filter(({ events }) => events.length > 0)
      .map(({ stream, events }) => [stream, (state.heads.get(stream) ?? -1n) + BigInt(events.length)]),
  );
  const last = state.position + BigInt(payloads.length);
  await query(writing(schema), [
    state.position,
    state.atMs,
    ...eventColumns(writes, payloads, state.heads),
    [...heads.keys()],
    [...heads.values()],
    last,
    options.commandId,
    options.requestHash ?? '',
    options.response ?? null,
    channelOf(schema),
  ]);
  return { position: toPosition(last), heads, duplicate: false };
}

/** Rows, heads, counter, record and doorbell in one statement; its order follows the numbers of the values in `write`. */
const writing = (schema: string): string => `
  WITH stored AS (
    INSERT INTO ${schema}.events (position, stream, revision, event_id, type, schema, at, data, encoding, size, meta, prev_hash, hash)
    SELECT $1::bigint + n, stream, revision, event_id, type, schema, to_timestamp($2::bigint / 1000.0),
      data, encoding, size, meta, prev_hash, hash
    FROM unnest($3::text[], $4::bigint[], $5::text[], $6::text[], $7::int[], $8::bytea[], $9::smallint[], $10::int[],
      $11::json[], $12::bytea[], $13::bytea[])
      WITH ORDINALITY AS e (stream, revision, event_id, type, schema, data, encoding, size, meta, prev_hash, hash, n)),
  headed AS (
    INSERT INTO ${schema}.streams (stream, head) SELECT * FROM unnest($14::text[], $15::bigint[])
    ON CONFLICT (stream) DO UPDATE SET head = excluded.head),
  counted AS (
    UPDATE ${schema}.log_head SET position = $16, at = to_timestamp($2::bigint / 1000.0) WHERE $16 > $1::bigint),
  recorded AS (
    INSERT INTO ${schema}.commands (command_id, request_hash, first_position, last_position, response, at)
    VALUES ($17, $18, CASE WHEN $16 > $1::bigint THEN $1::bigint + 1 END, $16, $19, to_timestamp($2::bigint / 1000.0)))
  SELECT pg_notify($20, $16::bigint::text) WHERE $16 > $1::bigint`;

/** One array per column, from `stream` to `hash`. */
function eventColumns(
  writes: readonly Write[],
  payloads: readonly EncodedPayload[],
  heads: ReadonlyMap<string, bigint>,
): readonly (readonly unknown[])[] {
  const events = writes.flatMap(({ stream, events }) => {
    const first = (heads.get(stream) ?? -1n) + 1n;
    return events.map((event, index) => ({ ...event, stream, revision: first + BigInt(index) }));
  });
  return [
    events.map(({ stream }) => stream),
    events.map(({ revision }) => revision),
    events.map(({ id }) => id),
    events.map(({ type }) => type),
    events.map(({ schema }) => schema),
    payloads.map(({ data }) => data),
    payloads.map(({ encoding }) => encoding),
    payloads.map(({ size }) => size),
    events.map(({ meta }) => JSON.stringify(meta)),
    events.map(({ meta }) => hashBytes(meta['prevHash'])),
    events.map(({ meta }) => hashBytes(meta['hash'])),
  ];
}

async function applyRetention({ schema, query }: Locked, state: State, stream: string, head: bigint): Promise<void> {
  const rule = state.rules.get(stream) ?? {};
  if (Object.keys(rule).length === 0) return;
  const cut = cutOf(rule, head, state.nowMs);
  await query(
    `DELETE FROM ${schema}.events
     WHERE stream = $1 AND (revision < $2 OR at < to_timestamp($3::double precision / 1000))`,
    [stream, cut.before, cut.olderThanMs],
  );
}
