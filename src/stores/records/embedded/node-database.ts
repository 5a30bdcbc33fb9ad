/** The book of one node's directory: its runs (epochs) and their segments, shared by all processes that write there. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, openDatabase, type Row } from '../../sqlite.ts';
import type { SegmentSummary } from './segment.ts';

/** `ended` is undefined while the run lives or nobody has looked after it; `last` is what the log holds of an ended run. */
export type EpochRow = {
  readonly number: number;
  readonly ended: 'clean' | 'crash' | undefined;
  readonly last: number;
  /** How far retention has taken this run: the last number and the last segment that are gone. */
  readonly trimmedLast: number;
  readonly trimmedSegment: number;
};

export type SegmentRow = {
  readonly epoch: number;
  readonly n: number;
  readonly isClosed: boolean;
  readonly frames: number;
  readonly last: number;
  readonly lastMs: number;
  readonly bytes: number;
};

/** Numbers of a dead run that were given out and never stored. */
export type LostRange = {
  readonly epoch: number;
  readonly from: number;
  readonly to: number;
  readonly fromMs: number;
  readonly toMs: number;
};

const schema = `
  CREATE TABLE IF NOT EXISTS epochs (
    number INTEGER PRIMARY KEY, pid INTEGER NOT NULL, started_ms INTEGER NOT NULL, ended TEXT, last INTEGER NOT NULL DEFAULT 0,
    trimmed_last INTEGER NOT NULL DEFAULT 0, trimmed_segment INTEGER NOT NULL DEFAULT 0,
    lost_from INTEGER, lost_to INTEGER, lost_from_ms INTEGER, lost_to_ms INTEGER, claimed_by INTEGER);
  CREATE TABLE IF NOT EXISTS segments (
    epoch INTEGER NOT NULL, n INTEGER NOT NULL, created_ms INTEGER NOT NULL, closed INTEGER NOT NULL DEFAULT 0,
    frames INTEGER NOT NULL DEFAULT 0, first INTEGER NOT NULL DEFAULT 0, last INTEGER NOT NULL DEFAULT 0,
    first_ms INTEGER NOT NULL DEFAULT 0, last_ms INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (epoch, n)) WITHOUT ROWID`;

const path = (nodeDirectory: string): string => join(nodeDirectory, 'node.db');

export const nodeDatabaseExists = (nodeDirectory: string): boolean => existsSync(path(nodeDirectory));

export function openNodeDatabase(nodeDirectory: string): Database {
  const database = openDatabase(path(nodeDirectory), { synchronous: 'normal', isShared: true });
  // Readers come before anything is written; what they find must be a whole schema.
  database.transaction(() => database.exec(schema));
  return database;
}

export const followNodeDatabase = (nodeDirectory: string): Database =>
  openDatabase(path(nodeDirectory), { readOnly: true, isShared: true });

/** A reader may come between the making of the file and that of its tables; then there is nothing to read yet. */
const hasSchema = (database: Database): boolean =>
  database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'segments'").get() !== undefined;

export const epochRows = (database: Database): readonly EpochRow[] =>
  hasSchema(database) ? database.prepare('SELECT * FROM epochs ORDER BY number').all().map(toEpoch) : [];

export const segmentRows = (database: Database): readonly SegmentRow[] =>
  hasSchema(database) ? database.prepare('SELECT * FROM segments ORDER BY epoch, n').all().map(toSegment) : [];

const toEpoch = (row: Row): EpochRow => ({
  number: Number(row['number']),
  ended: row['ended'] === 'clean' || row['ended'] === 'crash' ? row['ended'] : undefined,
  last: Number(row['last']),
  trimmedLast: Number(row['trimmed_last']),
  trimmedSegment: Number(row['trimmed_segment']),
});

const toSegment = (row: Row): SegmentRow => ({
  epoch: Number(row['epoch']),
  n: Number(row['n']),
  isClosed: row['closed'] === 1,
  frames: Number(row['frames']),
  last: Number(row['last']),
  lastMs: Number(row['last_ms']),
  bytes: Number(row['bytes']),
});

export const highestEpoch = (database: Database): number =>
  Number(database.prepare('SELECT coalesce(max(number), 0) AS n FROM epochs').get()?.['n']);

export function addEpoch(database: Database, number: number, nowMs: number): void {
  database.prepare('INSERT INTO epochs (number, pid, started_ms) VALUES (?, ?, ?)').run(number, process.pid, nowMs);
}

export function endEpoch(database: Database, number: number, ended: 'clean' | 'crash', last: number): void {
  database.prepare('UPDATE epochs SET ended = ?, last = ? WHERE number = ?').run(ended, last, number);
}

export const noteLoss = (database: Database, lost: LostRange): void => {
  database
    .prepare('UPDATE epochs SET lost_from = ?, lost_to = ?, lost_from_ms = ?, lost_to_ms = ? WHERE number = ?')
    .run(lost.from, lost.to, lost.fromMs, lost.toMs, lost.epoch);
};

/**
 * The losses that no run has reported yet, now to be reported by `claimer`. A run that claimed them and died before its
 * first frame was stored has reported nothing, so they are free again.
 */
export function claimLosses(database: Database, claimer: number): readonly LostRange[] {
  const rows = database
    .prepare(`UPDATE epochs SET claimed_by = ? WHERE ended = 'crash' AND lost_from IS NOT NULL AND (claimed_by IS NULL
      OR EXISTS (SELECT 1 FROM epochs c WHERE c.number = epochs.claimed_by AND c.ended IS NOT NULL AND c.trimmed_segment = 0
        AND NOT EXISTS (SELECT 1 FROM segments s WHERE s.epoch = c.number AND s.frames > 0)))
      RETURNING number, lost_from, lost_to, lost_from_ms, lost_to_ms`)
    .all(claimer);
  return rows
    .map((row) => ({
      epoch: Number(row['number']),
      from: Number(row['lost_from']),
      to: Number(row['lost_to']),
      fromMs: Number(row['lost_from_ms']),
      toMs: Number(row['lost_to_ms']),
    }))
    .sort((a, b) => a.epoch - b.epoch);
}

/** Only its own process adds segments to a run, so the number stays free until `addSegment`. */
export function nextSegment(database: Database, epoch: number): number {
  const row = database
    .prepare(`SELECT max(coalesce((SELECT max(n) FROM segments WHERE epoch = ?1), 0),
      coalesce((SELECT trimmed_segment FROM epochs WHERE number = ?1), 0)) + 1 AS n`)
    .get(epoch);
  return Number(row?.['n']);
}

export function addSegment(database: Database, epoch: number, n: number, nowMs: number): void {
  database.prepare('INSERT INTO segments (epoch, n, created_ms) VALUES (?, ?, ?)').run(epoch, n, nowMs);
}

export function closeSegmentRow(
  database: Database,
  { epoch, n, bytes }: { readonly epoch: number; readonly n: number; readonly bytes: number },
  summary: SegmentSummary | undefined,
): void {
  const { frames, first, last, firstMs, lastMs } = summary ?? { frames: 0, first: 0, last: 0, firstMs: 0, lastMs: 0 };
  database
    .prepare(`UPDATE segments SET closed = 1, frames = ?, first = ?, last = ?, first_ms = ?, last_ms = ?, bytes = ?
      WHERE epoch = ? AND n = ?`)
    .run(frames, first, last, firstMs, lastMs, bytes, epoch, n);
}

/** Takes the segment out of the book; what is left is how far its run was taken. */
export function forgetSegment(database: Database, { epoch, n, last }: SegmentRow): void {
  database
    .prepare(
      'UPDATE epochs SET trimmed_last = max(trimmed_last, ?), trimmed_segment = max(trimmed_segment, ?) WHERE number = ?',
    )
    .run(last, n, epoch);
  database.prepare('DELETE FROM segments WHERE epoch = ? AND n = ?').run(epoch, n);
}
