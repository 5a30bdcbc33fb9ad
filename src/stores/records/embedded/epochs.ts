/** Hands out a node's run numbers and counts what earlier runs that were killed took with them. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { isLocked, type ProcessLock, takeLock } from '../../process-lock.ts';
import type { Database } from '../../sqlite.ts';
import {
  addEpoch,
  claimLosses,
  closeSegmentRow,
  endEpoch,
  epochRows,
  highestEpoch,
  type LostRange,
  noteLoss,
  segmentRows,
} from './node-database.ts';
import {
  epochText,
  openSegment,
  type SegmentSummary,
  segmentBytes,
  segmentExists,
  segmentPath,
  summarise,
} from './segment.ts';
import { readSequence } from './sequence-file.ts';

export type TakenEpoch = {
  readonly number: number;
  readonly previous: number;
  readonly lost: readonly LostRange[];
  readonly lock: ProcessLock;
};

export const lockPath = (nodeDirectory: string, epoch: number): string =>
  join(nodeDirectory, `${epochText(epoch)}.lock`);

export const sequencePath = (nodeDirectory: string, epoch: number): string =>
  join(nodeDirectory, `${epochText(epoch)}.seq`);

/**
 * Takes the next run number. Everything happens inside one write transaction of the node's book, so that two processes
 * that start together get two numbers and a number is never seen without its lock.
 */
export function takeEpoch(database: Database, nodeDirectory: string, nowMs: number): TakenEpoch {
  const taken = database.transaction(() => {
    const previous = highestEpoch(database);
    const number = previous + 1;
    const lock = takeLock(lockPath(nodeDirectory, number));
    if (!lock) throw new Error(`${lockPath(nodeDirectory, number)} is held by another process`);
    try {
      const dead = settleDead(database, nodeDirectory);
      addEpoch(database, number, nowMs);
      return { number, previous, lost: claimLosses(database, number), lock, dead };
    } catch (error) {
      lock.release();
      throw error;
    }
  });
  removeTraces(nodeDirectory, taken.dead);
  return taken;
}

/** Ends the runs of the node whose process is gone. Answers whether no run of the node is alive any more. */
export function settleNode(database: Database, nodeDirectory: string): boolean {
  const dead = database.transaction(() => settleDead(database, nodeDirectory));
  removeTraces(nodeDirectory, dead);
  return epochRows(database).every(({ ended }) => ended !== undefined);
}

function settleDead(database: Database, nodeDirectory: string): readonly number[] {
  const dead = epochRows(database)
    .filter(({ number, ended }) => ended === undefined && !isLocked(lockPath(nodeDirectory, number)))
    .map(({ number }) => number);
  for (const epoch of dead) settle(database, nodeDirectory, epoch);
  return dead;
}

/** What was given out and is in no segment is lost. */
function settle(database: Database, nodeDirectory: string, epoch: number): void {
  const held = closeSegments(database, nodeDirectory, epoch);
  const trimmedLast = epochRows(database).find(({ number }) => number === epoch)?.trimmedLast ?? 0;
  const stored = Math.max(trimmedLast, ...held.map(({ last }) => last));
  endEpoch(database, epoch, 'crash', stored);
  const sequence = readSequence(sequencePath(nodeDirectory, epoch));
  if (!sequence || sequence.givenOut <= stored) return;
  const toMs = sequence.changedMs;
  const fromMs = Math.min(toMs, held.at(-1)?.lastMs ?? toMs);
  noteLoss(database, { epoch, from: stored + 1, to: sequence.givenOut, fromMs, toMs });
}

function closeSegments(database: Database, nodeDirectory: string, epoch: number): readonly SegmentSummary[] {
  const summaries: SegmentSummary[] = [];
  for (const { n } of segmentRows(database).filter((row) => row.epoch === epoch)) {
    const path = segmentPath(nodeDirectory, epoch, n);
    const summary = readSummary(path);
    closeSegmentRow(database, { epoch, n, bytes: segmentBytes(path) }, summary);
    if (summary) summaries.push(summary);
  }
  return summaries;
}

/** Undefined also for a file that the dying process left without its table. */
function readSummary(path: string): SegmentSummary | undefined {
  if (!segmentExists(path)) return undefined;
  try {
    using segment = openSegment(path);
    return summarise(segment);
  } catch {
    return undefined;
  }
}

function removeTraces(nodeDirectory: string, epochs: readonly number[]): void {
  for (const epoch of epochs) {
    for (const path of [lockPath(nodeDirectory, epoch), sequencePath(nodeDirectory, epoch)])
      rmSync(path, { force: true });
  }
}
