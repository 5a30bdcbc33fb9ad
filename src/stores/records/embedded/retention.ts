/** Takes whole closed segments from a node's directory when it is too large or they are too old. */
import type { Database } from '../../sqlite.ts';
import { forgetSegment, type SegmentRow, segmentRows } from './node-database.ts';
import { removeSegment, segmentBytes, segmentPath } from './segment.ts';

export type Retention = { readonly maxBytes: number; readonly maxAgeMs: number };

/**
 * Oldest first, so that within a run only a beginning is ever missing. The book is changed before the files go: a reader
 * that finds no file finds the reason.
 */
export function trimSegments(database: Database, nodeDirectory: string, retention: Retention, nowMs: number): void {
  const taken = database.transaction(() => {
    const rows = segmentRows(database);
    const doomed = chooseSegments(rows, retention, nowMs, (row) => sizeOf(nodeDirectory, row));
    for (const row of doomed) forgetSegment(database, row);
    return doomed;
  });
  for (const { epoch, n } of taken) removeSegment(segmentPath(nodeDirectory, epoch, n));
}

function chooseSegments(
  rows: readonly SegmentRow[],
  { maxBytes, maxAgeMs }: Retention,
  nowMs: number,
  sizeOfRow: (row: SegmentRow) => number,
): readonly SegmentRow[] {
  let bytes = rows.reduce((sum, row) => sum + sizeOfRow(row), 0);
  const doomed: SegmentRow[] = [];
  const held = new Set<number>();
  for (const row of rows) {
    const isDue = bytes > maxBytes || row.lastMs < nowMs - maxAgeMs;
    // An open segment holds back those behind it in its run.
    if (!row.isClosed || held.has(row.epoch) || !isDue) {
      held.add(row.epoch);
      continue;
    }
    bytes -= sizeOfRow(row);
    doomed.push(row);
  }
  return doomed;
}

const sizeOf = (nodeDirectory: string, { epoch, n, isClosed, bytes }: SegmentRow): number =>
  isClosed ? bytes : segmentBytes(segmentPath(nodeDirectory, epoch, n));
