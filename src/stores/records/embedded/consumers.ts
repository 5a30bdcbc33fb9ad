/** What consumers of the embedded log leave behind: marks and ledgers in one file, dead letters in another. */
import { join } from 'node:path';
import type { AnalyticsRecord } from '../../../../domain/analytics-record.ts';
import { recordId } from '../../../../domain/analytics-record.ts';
import {
  addLedgers,
  type ConsumerId,
  type Cursor,
  type DeadLetter,
  emptyLedger,
  type ForgottenLetters,
  type LedgerDelta,
} from '../../../../domain/record-log.ts';
import { type Database, openDatabase, type Row } from '../../sqlite.ts';

/** Thrown by a commit when the marks are not where this log left them: another pump runs the same sink. */
class MarksMoved extends Error {
  constructor(consumer: ConsumerId, lane: string) {
    super(`another process has moved the mark of ${consumer} on ${lane}; one pump only may run a sink`);
    this.name = 'MarksMoved';
  }
}

const consumersSchema = `
  CREATE TABLE IF NOT EXISTS ledgers (
    consumer TEXT PRIMARY KEY, produced INTEGER NOT NULL, delivered INTEGER NOT NULL, filtered INTEGER NOT NULL,
    dead_lettered INTEGER NOT NULL, overtaken INTEGER NOT NULL, lost TEXT NOT NULL, unexplained INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS marks (
    consumer TEXT NOT NULL, lane TEXT NOT NULL, pos TEXT NOT NULL, PRIMARY KEY (consumer, lane)) WITHOUT ROWID`;

export class Consumers implements Disposable {
  readonly #database: Database;
  /** Where this process believes the marks to be, by consumer and lane. */
  readonly #known = new Map<ConsumerId, Map<string, string>>();

  constructor(directory: string) {
    this.#database = openDatabase(join(directory, 'consumers.db'), { synchronous: 'normal', isShared: true });
    this.#database.transaction(() => this.#database.exec(consumersSchema));
  }

  /** Undefined for a consumer that never committed. */
  marks(consumer: ConsumerId): readonly Cursor[] | undefined {
    const marks = this.#marks(consumer);
    return marks.length === 0 && !this.#ledger(consumer) ? undefined : marks;
  }

  /** The marks from which the consumer reads on; commits are refused once somebody else has moved them. */
  take(consumer: ConsumerId): readonly Cursor[] | undefined {
    const marks = this.marks(consumer);
    this.#known.set(consumer, new Map(marks?.map(({ lane, pos }) => [lane, pos])));
    return marks;
  }

  #marks(consumer: ConsumerId): readonly Cursor[] {
    const rows = this.#database.prepare('SELECT lane, pos FROM marks WHERE consumer = ?').all(consumer);
    return rows.map((row) => ({ lane: String(row['lane']), pos: String(row['pos']) }));
  }

  /** Marks only ever move forward; the ledger changes with them or not at all. */
  commit(consumer: ConsumerId, upTo: readonly Cursor[], delta: LedgerDelta): void {
    const known = this.#known.get(consumer) ?? new Map(this.#marks(consumer).map(({ lane, pos }) => [lane, pos]));
    const moves = [...highest(upTo)].map(([lane, pos]) => ({ lane, pos }));
    const forward = moves.filter(({ lane, pos }) => pos > (known.get(lane) ?? ''));
    this.#database.transaction(() => {
      for (const cursor of forward) this.#move(consumer, cursor, known.get(cursor.lane));
      this.#add(consumer, delta);
    });
    this.#known.set(consumer, new Map([...known, ...forward.map(({ lane, pos }) => [lane, pos] as const)]));
  }

  ledger(consumer: ConsumerId): LedgerDelta {
    return this.#ledger(consumer) ?? emptyLedger;
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  #move(consumer: ConsumerId, { lane, pos }: Cursor, from: string | undefined): void {
    const { changes } =
      from === undefined
        ? this.#database.prepare('INSERT OR IGNORE INTO marks VALUES (?, ?, ?)').run(consumer, lane, pos)
        : this.#database
            .prepare('UPDATE marks SET pos = ? WHERE consumer = ? AND lane = ? AND pos = ?')
            .run(pos, consumer, lane, from);
    if (changes === 1) return;
    this.#known.delete(consumer);
    throw new MarksMoved(consumer, lane);
  }

  #add(consumer: ConsumerId, delta: LedgerDelta): void {
    const sum = addLedgers(this.ledger(consumer), delta);
    this.#database
      .prepare('INSERT OR REPLACE INTO ledgers VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
      .run(
        consumer,
        sum.produced,
        sum.delivered,
        sum.filtered,
        sum.deadLettered,
        sum.overtaken,
        JSON.stringify(sum.lost),
        sum.unexplained,
      );
  }

  #ledger(consumer: ConsumerId): LedgerDelta | undefined {
    const row = this.#database.prepare('SELECT * FROM ledgers WHERE consumer = ?').get(consumer);
    return row && toLedger(row);
  }
}

function highest(cursors: readonly Cursor[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { lane, pos } of cursors) if (pos > (found.get(lane) ?? '')) found.set(lane, pos);
  return found;
}

const toLedger = (row: Row): LedgerDelta => ({
  produced: Number(row['produced']),
  delivered: Number(row['delivered']),
  filtered: Number(row['filtered']),
  deadLettered: Number(row['dead_lettered']),
  overtaken: Number(row['overtaken']),
  lost: JSON.parse(String(row['lost'])) as LedgerDelta['lost'],
  unexplained: Number(row['unexplained']),
});

const lettersSchema = `
  CREATE TABLE IF NOT EXISTS letters (
    consumer TEXT NOT NULL, lane TEXT NOT NULL, pos TEXT NOT NULL, id TEXT NOT NULL, reason TEXT NOT NULL,
    attempts INTEGER NOT NULL, at_ms INTEGER NOT NULL, record TEXT, bytes BLOB, PRIMARY KEY (consumer, lane, pos, id)) WITHOUT ROWID`;

const beyondNewest = `(lane, pos, id) IN
  (SELECT lane, pos, id FROM letters WHERE consumer = ?1 ORDER BY at_ms DESC, id DESC LIMIT -1 OFFSET ?2)`;

export class DeadLetters implements Disposable {
  readonly #database: Database;

  constructor(directory: string) {
    this.#database = openDatabase(join(directory, 'dead-letters.db'), { synchronous: 'normal', isShared: true });
    this.#database.transaction(() => this.#database.exec(lettersSchema));
  }

  /** A letter that comes again after a restart replaces itself. */
  add(consumer: ConsumerId, { cursor, record, reason, attempts, at, bytes }: DeadLetter): void {
    const id = record ? recordId(record.ext) : '';
    const text = record ? JSON.stringify(record) : null;
    this.#database
      .prepare('INSERT OR REPLACE INTO letters VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
      .run(consumer, cursor.lane, cursor.pos, id, reason, attempts, at, text, bytes ?? null);
  }

  list(consumer: ConsumerId): readonly DeadLetter[] {
    const rows = this.#database.prepare('SELECT * FROM letters WHERE consumer = ? ORDER BY at_ms, id').all(consumer);
    return rows.map((row) => ({
      cursor: { lane: String(row['lane']), pos: String(row['pos']) },
      reason: String(row['reason']),
      attempts: Number(row['attempts']),
      at: Number(row['at_ms']),
      ...(row['record'] === null ? {} : { record: JSON.parse(String(row['record'])) as AnalyticsRecord }),
      ...(row['bytes'] === null ? {} : { bytes: row['bytes'] as Uint8Array }),
    }));
  }

  forget(consumer: ConsumerId, which: ForgottenLetters): number {
    const remove = (where: string, value: string | number): number =>
      this.#database.prepare(`DELETE FROM letters WHERE consumer = ?1 AND ${where}`).run(consumer, value).changes;
    if ('beforeMs' in which) return remove('at_ms < ?2', which.beforeMs);
    if ('butNewest' in which) return remove(beyondNewest, which.butNewest);
    return this.#database.transaction(() => which.records.reduce((sum, id) => sum + remove('id = ?2', id), 0));
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}
