/** Reads the frames of one run in order, from segment to segment, and follows the one that is being written. */
import type { Delivery } from '../../../../domain/record-log.ts';
import { type Database, sqliteFault } from '../../sqlite.ts';
import { type DecodeFrame, FrameError } from '../frame-decoder.ts';
import type { SegmentRow } from './node-database.ts';
import type { NodeFollower } from './node-follower.ts';
import { type Place, pastLastRow, toCursor } from './place.ts';
import { dataVersion, framesAfter, openSegment, type StoredFrame, segmentPath } from './segment.ts';

const framesPerLook = 8;

export class LaneReader implements Disposable {
  readonly #node: NodeFollower;
  readonly #epoch: number;
  readonly #decode: DecodeFrame;
  #place: Place;
  #open: { readonly database: Database; version: number } | undefined;

  constructor(node: NodeFollower, epoch: number, from: Place, decode: DecodeFrame) {
    this.#node = node;
    this.#epoch = epoch;
    this.#place = from;
    this.#decode = decode;
  }

  /** Some of what comes next; nothing when there is nothing yet. */
  *look(): Generator<Delivery> {
    for (;;) {
      const taken = this.#skipTaken();
      if (taken) yield taken;
      if (!this.#enterNext()) return;
      // Asked before the rows: a segment gets no row after a later one has come.
      const hasLater = this.#hasLater();
      let found = 0;
      for (const delivery of this.#read(hasLater)) {
        found += 1;
        yield delivery;
      }
      if (found > 0 || !hasLater) return;
      this.#leave();
    }
  }

  /** Whether the last segment has been entered; to be asked after a look that found nothing. */
  isThrough(lastSegment: number): boolean {
    return this.#place.segment >= lastSegment && !this.#hasTaken();
  }

  [Symbol.dispose](): void {
    this.#open?.database.close();
    this.#open = undefined;
  }

  #skipTaken(): Delivery | undefined {
    if (!this.#hasTaken()) return undefined;
    const { trimmedLast, trimmedSegment } = this.#trimmed();
    const isNew = trimmedLast > this.#place.last;
    this.#place = { last: Math.max(trimmedLast, this.#place.last), segment: trimmedSegment, n: pastLastRow };
    return isNew ? { cursor: this.#cursor(), overtaken: true } : undefined;
  }

  /** An open file is read to its end although retention has taken it from the folder. */
  #hasTaken(): boolean {
    const { trimmedSegment } = this.#trimmed();
    const { segment, n } = this.#place;
    return !this.#open && (trimmedSegment > segment || (trimmedSegment === segment && n < pastLastRow && segment > 0));
  }

  #hasLater(): boolean {
    const { segment } = this.#place;
    return this.#trimmed().trimmedSegment > segment || this.#segments().some(({ n }) => n > segment);
  }

  /** Whether there is a segment to read in. */
  #enterNext(): boolean {
    const { last, segment, n } = this.#place;
    if (segment > 0 && n < pastLastRow) return true;
    const next = this.#segments().find((row) => row.n > segment);
    if (next) this.#place = { last, segment: next.n, n: 0 };
    return next !== undefined;
  }

  #leave(): void {
    this[Symbol.dispose]();
    this.#place = { ...this.#place, n: pastLastRow };
  }

  *#read(hasLater: boolean): Generator<Delivery> {
    try {
      for (const row of this.#rows(hasLater)) yield this.#deliver(row);
    } catch (error) {
      if (sqliteFault(error) !== 'corrupt' && sqliteFault(error) !== 'cannot-open') throw error;
      // Retention changes the book before it takes a file, so a second look tells what was taken from what is broken.
      this.#node.refresh();
      if (!this.#hasTaken()) yield this.#skipBroken(String(error));
    }
  }

  #rows(hasLater: boolean): readonly StoredFrame[] {
    const path = segmentPath(this.#node.directory, this.#epoch, this.#place.segment);
    this.#open ??= { database: openSegment(path), version: -1 };
    const open = this.#open;
    const version = dataVersion(open.database);
    if (version === open.version && !hasLater) return [];
    const rows = framesAfter(open.database, this.#place.n, framesPerLook);
    // A full look may have left rows behind.
    open.version = rows.length < framesPerLook ? version : -1;
    return rows;
  }

  #trimmed(): { readonly trimmedLast: number; readonly trimmedSegment: number } {
    return this.#node.epoch(this.#epoch) ?? { trimmedLast: 0, trimmedSegment: 0 };
  }

  #segments(): readonly SegmentRow[] {
    return this.#node.segments(this.#epoch);
  }

  #deliver(row: StoredFrame): Delivery {
    this.#place = { last: Math.max(row.last, this.#place.last), segment: this.#place.segment, n: row.n };
    const cursor = this.#cursor();
    try {
      return { cursor, frame: this.#decode(row.bytes) };
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      return { cursor, bad: { bytes: row.bytes, reason: `${error.fault}: ${error.message}` } };
    }
  }

  /** A file that SQLite cannot read: what the book says of it is given up as one bad frame. */
  #skipBroken(reason: string): Delivery {
    const { segment, last } = this.#place;
    const row = this.#segments().find(({ n }) => n === segment);
    this[Symbol.dispose]();
    this.#place = { last: Math.max(last, row?.last ?? 0), segment, n: pastLastRow };
    return { cursor: this.#cursor(), bad: { bytes: new Uint8Array(), reason } };
  }

  #cursor() {
    return toCursor(this.#node.node, this.#epoch, this.#place);
  }
}
