/** Where the embedded log begins and ends, and how far a consumer is behind. */
import { join } from 'node:path';
import { type Cursor, laneOf, lastSequenceOf, type RecordLogStats } from '../../../../domain/record-log.ts';
import { type EpochRow, epochRows, followNodeDatabase, type SegmentRow, segmentRows } from './node-database.ts';
import { nodesIn } from './nodes-in.ts';
import { type Place, pastLastRow, toCursor, toPlace } from './place.ts';
import { openSegment, segmentBytes, segmentExists, segmentPath, summarise, timeAfter } from './segment.ts';

type Run = {
  readonly node: string;
  readonly nodeDirectory: string;
  readonly epoch: EpochRow;
  readonly segments: readonly SegmentRow[];
};

export const edgeOf = (directory: string, at: 'start' | 'end'): readonly Cursor[] =>
  runsIn(directory).flatMap((run) => {
    const place = at === 'start' ? startOf(run) : endOf(run);
    return place ? [toCursor(run.node, run.epoch.number, place)] : [];
  });

export function statsOf(directory: string, marks: readonly Cursor[], nowMs: number): RecordLogStats {
  const markOf = new Map(marks.map((cursor) => [cursor.lane, cursor]));
  let lagRecords = 0;
  let oldestMs = nowMs;
  let bytes = 0;
  for (const run of runsIn(directory)) {
    bytes += bytesOf(run);
    const mark = markOf.get(laneOf(run.node, run.epoch.number));
    const behind = (endOf(run)?.last ?? 0) - (mark ? lastSequenceOf(mark) : 0);
    if (behind <= 0) continue;
    lagRecords += behind;
    oldestMs = Math.min(oldestMs, oldestUnread(run, mark && toPlace(mark.pos)) ?? nowMs);
  }
  return { lagRecords, lagSeconds: (nowMs - oldestMs) / 1000, bytes };
}

function runsIn(directory: string): readonly Run[] {
  return nodesIn(directory).flatMap((node) => {
    const nodeDirectory = join(directory, node);
    using book = followNodeDatabase(nodeDirectory);
    const segments = Map.groupBy(segmentRows(book), ({ epoch }) => epoch);
    return epochRows(book).map((epoch) => ({ node, nodeDirectory, epoch, segments: segments.get(epoch.number) ?? [] }));
  });
}

const startOf = ({ epoch }: Run): Place | undefined =>
  epoch.trimmedSegment > 0 ? { last: epoch.trimmedLast, segment: epoch.trimmedSegment, n: pastLastRow } : undefined;

function endOf(run: Run): Place | undefined {
  for (const { n, isClosed, frames, last } of run.segments.toReversed()) {
    if (isClosed && frames > 0) return { last, segment: n, n: frames };
    const summary = isClosed ? undefined : inSegment(run, n, summarise);
    if (summary) return { last: summary.last, segment: n, n: summary.frames };
  }
  return startOf(run);
}

function oldestUnread(run: Run, mark: Place | undefined): number | undefined {
  for (const { n } of run.segments) {
    if (mark && (n < mark.segment || (n === mark.segment && mark.n === pastLastRow))) continue;
    const time = inSegment(run, n, (segment) => timeAfter(segment, n === mark?.segment ? mark.n : 0));
    if (time !== undefined) return time;
  }
  return undefined;
}

/** Undefined also when retention has just taken the file. */
function inSegment<T>(
  { nodeDirectory, epoch }: Run,
  n: number,
  ask: (segment: ReturnType<typeof openSegment>) => T,
): T | undefined {
  const path = segmentPath(nodeDirectory, epoch.number, n);
  if (!segmentExists(path)) return undefined;
  using segment = openSegment(path);
  return ask(segment);
}

const bytesOf = ({ nodeDirectory, epoch, segments }: Run): number =>
  segments.reduce(
    (sum, { n, isClosed, bytes }) =>
      sum + (isClosed ? bytes : segmentBytes(segmentPath(nodeDirectory, epoch.number, n))),
    0,
  );
