/** One segment file of a run: a frame per row, written by one connection and followed by any number of readers. */
import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, openDatabase } from '../../sqlite.ts';

export type StoredFrame = {
  readonly n: number;
  readonly first: number;
  readonly last: number;
  readonly bytes: Uint8Array;
};

/** What a segment holds. `frames` is the number of its last row; times in ms since 1970. */
export type SegmentSummary = {
  readonly frames: number;
  readonly first: number;
  readonly last: number;
  readonly firstMs: number;
  readonly lastMs: number;
};

export const epochText = (epoch: number): string => String(epoch).padStart(10, '0');

export const segmentPath = (nodeDirectory: string, epoch: number, segment: number): string =>
  join(nodeDirectory, `${epochText(epoch)}-${String(segment).padStart(6, '0')}.db`);

/** Makes the file. Every connection but this one reads only. */
export function createSegment(path: string, isSynced: boolean): Database {
  // The page size must be set while the file is empty and not yet in WAL mode.
  const database = openDatabase(path, { journal: 'truncate', synchronous: isSynced ? 'full' : 'normal' });
  database.exec(`
    PRAGMA page_size = 16384;
    PRAGMA journal_mode = wal;
    CREATE TABLE IF NOT EXISTS frames (
      n INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL,
      at_ms INTEGER NOT NULL, records INTEGER NOT NULL, bytes BLOB NOT NULL)`);
  return database;
}

export const openSegment = (path: string): Database => openDatabase(path, { journal: 'truncate', readOnly: true });

export const segmentExists = (path: string): boolean => existsSync(path);

/** Frames after row `n`, in order. */
export function framesAfter(segment: Database, n: number, limit: number): readonly StoredFrame[] {
  const rows = segment.prepare('SELECT n, first, last, bytes FROM frames WHERE n > ? ORDER BY n LIMIT ?').all(n, limit);
  return rows.map((row) => ({
    n: Number(row['n']),
    first: Number(row['first']),
    last: Number(row['last']),
    bytes: row['bytes'] as Uint8Array,
  }));
}

/** When the first frame after row `n` was made; undefined when there is none. */
export function timeAfter(segment: Database, n: number): number | undefined {
  const row = segment.prepare('SELECT at_ms FROM frames WHERE n > ? ORDER BY n LIMIT 1').get(n);
  return row && Number(row['at_ms']);
}

/** Undefined for a segment without frames. */
export function summarise(segment: Database): SegmentSummary | undefined {
  const row = segment
    .prepare(`SELECT f.first, f.at_ms AS first_ms, l.n, l.last, l.at_ms AS last_ms FROM frames f, frames l
      WHERE f.n = (SELECT min(n) FROM frames) AND l.n = (SELECT max(n) FROM frames)`)
    .get();
  if (!row) return undefined;
  return {
    frames: Number(row['n']),
    first: Number(row['first']),
    last: Number(row['last']),
    firstMs: Number(row['first_ms']),
    lastMs: Number(row['last_ms']),
  };
}

/** A number that changes whenever another connection has committed to the file. */
export const dataVersion = (database: Database): number =>
  Number(database.prepare('PRAGMA data_version').get()?.['data_version']);

export const segmentBytes = (path: string): number => fileBytes(path) + fileBytes(`${path}-wal`);

const fileBytes = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Readers that have the file open keep it until they are through. */
export function removeSegment(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true });
}
