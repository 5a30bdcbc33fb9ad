/** Writes the frames of one run into its segments; lives in the writer thread. */
import { closeSync, fdatasyncSync, openSync } from 'node:fs';
import type { Database } from '../../sqlite.ts';
import { addSegment, closeSegmentRow, endEpoch, nextSegment, openNodeDatabase } from './node-database.ts';
import { type Retention, trimSegments } from './retention.ts';
import { createSegment, type SegmentSummary, segmentBytes, segmentPath } from './segment.ts';

/** `none` survives a killed process; a number of ms bounds what a power cut takes; `always` waits for the disk. */
export type FsyncMode = 'none' | 'always' | number;

export type WriterSettings = Retention & {
  readonly nodeDirectory: string;
  readonly epoch: number;
  readonly fsync: FsyncMode;
  readonly segmentMaxBytes: number;
  readonly segmentMaxAgeMs: number;
};

export type EncodedFrame = {
  readonly bytes: Uint8Array;
  readonly first: number;
  readonly last: number;
  readonly atMs: number;
  readonly records: number;
  readonly isDurable: boolean;
};

type OpenSegment = {
  readonly n: number;
  readonly database: Database;
  readonly log: number;
  readonly openedMs: number;
  bytes: number;
  summary: SegmentSummary | undefined;
};

export class SegmentWriter {
  readonly #settings: WriterSettings;
  readonly #book: Database;
  #segment: OpenSegment | undefined;
  #syncTimer: NodeJS.Timeout | undefined;

  constructor(settings: WriterSettings) {
    this.#settings = settings;
    this.#book = openNodeDatabase(settings.nodeDirectory);
  }

  /** One transaction for all of them: either all are kept or none. */
  write(frames: readonly EncodedFrame[]): void {
    const segment = this.#segment ?? this.#open();
    const insert = segment.database.prepare(
      'INSERT INTO frames (n, first, last, at_ms, records, bytes) VALUES (?, ?, ?, ?, ?, ?)',
    );
    let n = segment.summary?.frames ?? 0;
    segment.database.transaction(() => {
      for (const frame of frames) {
        n += 1;
        insert.run(n, frame.first, frame.last, frame.atMs, frame.records, frame.bytes);
      }
    });
    for (const frame of frames) note(segment, frame);
    this.#sync(
      segment,
      frames.some(({ isDurable }) => isDurable),
    );
    if (segment.bytes >= this.#settings.segmentMaxBytes) this.#roll();
  }

  /** What is due by the clock: a segment that is an hour old is closed, and retention looks at the directory. */
  tidy(nowMs: number): void {
    const segment = this.#segment;
    if (segment?.summary && nowMs - segment.openedMs >= this.#settings.segmentMaxAgeMs) this.#closeSegment();
    trimSegments(this.#book, this.#settings.nodeDirectory, this.#settings, nowMs);
  }

  /** Ends the run when `last` is given; without, the run counts as killed. */
  close(last: number | undefined): void {
    this.#closeSegment();
    if (last !== undefined) endEpoch(this.#book, this.#settings.epoch, 'clean', last);
    this.#book.close();
  }

  #open(): OpenSegment {
    const { nodeDirectory, epoch, fsync } = this.#settings;
    const n = nextSegment(this.#book, epoch);
    const path = segmentPath(nodeDirectory, epoch, n);
    const database = createSegment(path, fsync === 'always');
    const log = openSync(`${path}-wal`, 'r');
    // After the file: a reader that finds the row finds the table too.
    addSegment(this.#book, epoch, n, Date.now());
    this.#segment = { n, database, log, openedMs: Date.now(), bytes: 0, summary: undefined };
    return this.#segment;
  }

  #sync(segment: OpenSegment, isDurable: boolean): void {
    const { fsync } = this.#settings;
    if (fsync === 'always') return;
    if (isDurable) fdatasyncSync(segment.log);
    else if (fsync !== 'none') this.#syncTimer ??= setTimeout(() => this.#syncNow(), fsync);
  }

  #syncNow(): void {
    clearTimeout(this.#syncTimer);
    this.#syncTimer = undefined;
    if (this.#segment) fdatasyncSync(this.#segment.log);
  }

  #roll(): void {
    this.#closeSegment();
    trimSegments(this.#book, this.#settings.nodeDirectory, this.#settings, Date.now());
  }

  #closeSegment(): void {
    const segment = this.#segment;
    if (!segment) return;
    const { nodeDirectory, epoch, fsync } = this.#settings;
    if (fsync !== 'none') this.#syncNow();
    this.#segment = undefined;
    // Best effort: a reader in the middle of a frame keeps the log for later.
    segment.database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    closeSync(segment.log);
    segment.database.close();
    const bytes = segmentBytes(segmentPath(nodeDirectory, epoch, segment.n));
    closeSegmentRow(this.#book, { epoch, n: segment.n, bytes }, segment.summary);
  }
}

function note(segment: OpenSegment, { bytes, first, last, atMs }: EncodedFrame): void {
  const { summary } = segment;
  segment.bytes += bytes.byteLength;
  segment.summary = {
    frames: (summary?.frames ?? 0) + 1,
    first: summary?.first ?? first,
    last,
    firstMs: summary?.firstMs ?? atMs,
    lastMs: atMs,
  };
}
