/** Reads frames of all runs of an embedded log backwards, the newest first, for who looks at the last of them only: no marks, no following. */
import { join } from 'node:path';
import type { Database, Statement } from '../../sqlite.ts';
import { epochRows, followNodeDatabase, type SegmentRow, segmentRows } from './node-database.ts';
import { nodesIn } from './nodes-in.ts';
import { pastLastRow } from './place.ts';
import { openSegment, segmentExists, segmentPath } from './segment.ts';

type Open = { readonly database: Database; readonly before: Statement; readonly bytes: Statement };

/** A run, read from its end. */
class LaneBackwards implements Disposable {
  readonly #pathOf: (segment: number) => string;
  /** The last one at the end. */
  readonly #segments: number[];
  readonly #sinceMs: number;
  readonly #skipped: (reason: string) => void;
  #open: Open | undefined;
  #row: { readonly n: number; readonly atMs: number } | undefined;

  constructor(
    pathOf: (segment: number) => string,
    segments: readonly number[],
    { sinceMs, skipped }: { readonly sinceMs: number; readonly skipped: (reason: string) => void },
  ) {
    this.#pathOf = pathOf;
    this.#segments = [...segments];
    this.#sinceMs = sinceMs;
    this.#skipped = skipped;
    this.#advance(pastLastRow);
  }

  /** When the next frame was made; undefined at the end. */
  get atMs(): number | undefined {
    return this.#row?.atMs;
  }

  /** The next frame; undefined when its file cannot be read any further. */
  take(): Uint8Array | undefined {
    const [open, row] = [this.#open, this.#row];
    if (!open || !row) return undefined;
    const bytes = this.#asked(() => open.bytes.get(row.n)?.['bytes'] as Uint8Array | undefined);
    this.#advance(row.n);
    return bytes;
  }

  [Symbol.dispose](): void {
    this.#open?.database.close();
    this.#open = undefined;
    this.#row = undefined;
  }

  #advance(from: number): void {
    this.#row = undefined;
    for (let n = from; ; n = pastLastRow) {
      this.#open ??= this.#enter();
      const open = this.#open;
      if (!open) return;
      const row = this.#asked(() => open.before.get(n));
      if (row) {
        const atMs = Number(row['at_ms']);
        if (atMs < this.#sinceMs) this[Symbol.dispose]();
        else this.#row = { n: Number(row['n']), atMs };
        return;
      }
      this[Symbol.dispose]();
    }
  }

  #enter(): Open | undefined {
    for (let segment = this.#segments.pop(); segment !== undefined; segment = this.#segments.pop()) {
      const path = this.#pathOf(segment);
      // Retention has taken it meanwhile, and with it all that came before.
      if (!segmentExists(path)) return undefined;
      const open = this.#asked(() => opened(path));
      if (open) return open;
    }
    return undefined;
  }

  /** A file that cannot be read takes no other frames with it. */
  #asked<T>(ask: () => T): T | undefined {
    try {
      return ask();
    } catch (error) {
      this.#skipped(String(error));
      return undefined;
    }
  }
}

function opened(path: string): Open {
  const database = openSegment(path);
  try {
    return {
      database,
      before: database.prepare('SELECT n, at_ms FROM frames WHERE n < ? ORDER BY n DESC LIMIT 1'),
      bytes: database.prepare('SELECT bytes FROM frames WHERE n = ?'),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** `sinceMs`: frames that were made before are left out, with all before them. `skipped` is told of what cannot be read. */
export function* newestFrames(
  directory: string,
  sinceMs: number,
  skipped: (reason: string) => void,
): Generator<Uint8Array> {
  using lanes = new DisposableStack();
  const runs = nodesIn(directory).flatMap((node) =>
    runsOf(join(directory, node), sinceMs).map(({ pathOf, segments }) =>
      lanes.use(new LaneBackwards(pathOf, segments, { sinceMs, skipped })),
    ),
  );
  for (;;) {
    // Of frames of one moment, that of the later run.
    const newest = runs.reduce<LaneBackwards | undefined>(
      (one, other) => (other.atMs !== undefined && other.atMs >= (one?.atMs ?? 0) ? other : one),
      undefined,
    );
    if (newest === undefined) return;
    const bytes = newest.take();
    if (bytes) yield bytes;
  }
}

type Run = { readonly pathOf: (segment: number) => string; readonly segments: readonly number[] };

function runsOf(nodeDirectory: string, sinceMs: number): readonly Run[] {
  using book = followNodeDatabase(nodeDirectory);
  const isWanted = ({ isClosed, frames, lastMs }: SegmentRow): boolean =>
    !isClosed || (frames > 0 && lastMs >= sinceMs);
  const segments = Map.groupBy(segmentRows(book).filter(isWanted), ({ epoch }) => epoch);
  return epochRows(book).flatMap(({ number }) => {
    const own = segments.get(number) ?? [];
    if (own.length === 0) return [];
    return [{ pathOf: (n: number) => segmentPath(nodeDirectory, number, n), segments: own.map(({ n }) => n) }];
  });
}
