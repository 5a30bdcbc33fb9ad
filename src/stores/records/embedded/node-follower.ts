/** Follows the book of one node's directory as a reader: which runs and segments there are. */
import type { Database } from '../../sqlite.ts';
import { type EpochRow, epochRows, followNodeDatabase, type SegmentRow, segmentRows } from './node-database.ts';
import { dataVersion } from './segment.ts';

export class NodeFollower implements Disposable {
  readonly node: string;
  readonly directory: string;
  readonly #book: Database;
  #version = -1;
  #epochs: ReadonlyMap<number, EpochRow> = new Map();
  #segments: ReadonlyMap<number, readonly SegmentRow[]> = new Map();

  constructor(node: string, directory: string) {
    this.node = node;
    this.directory = directory;
    this.#book = followNodeDatabase(directory);
  }

  /** Looks again when another connection has written. */
  refresh(): void {
    const version = dataVersion(this.#book);
    if (version === this.#version) return;
    this.#book.exec('BEGIN');
    try {
      this.#epochs = new Map(epochRows(this.#book).map((row) => [row.number, row]));
      this.#segments = Map.groupBy(segmentRows(this.#book), ({ epoch }) => epoch);
    } finally {
      this.#book.exec('COMMIT');
    }
    this.#version = version;
  }

  get epochs(): readonly EpochRow[] {
    return [...this.#epochs.values()];
  }

  epoch(number: number): EpochRow | undefined {
    return this.#epochs.get(number);
  }

  segments(epoch: number): readonly SegmentRow[] {
    return this.#segments.get(epoch) ?? [];
  }

  [Symbol.dispose](): void {
    this.#book.close();
  }
}
