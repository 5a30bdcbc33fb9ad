/** The 16 bytes beside a run that say how many numbers it gave out and how many the log holds, so that a kill is countable. */
import { closeSync, fstatSync, openSync, readSync, rmSync, writeSync } from 'node:fs';

export type Sequence = { readonly givenOut: number; readonly stored: number };

/** `changedMs` is when the file was written last, ms since 1970. */
export type SequenceFound = Sequence & { readonly changedMs: number };

const fileBytes = 16;

/** A positional write without sync: the page cache survives the process, and that is all it is for. */
export class SequenceFile implements Disposable {
  readonly #path: string;
  readonly #descriptor: number;
  readonly #buffer = new DataView(new ArrayBuffer(fileBytes));

  constructor(path: string) {
    this.#path = path;
    this.#descriptor = openSync(path, 'w');
  }

  write({ givenOut, stored }: Sequence): void {
    this.#buffer.setBigUint64(0, BigInt(givenOut));
    this.#buffer.setBigUint64(8, BigInt(stored));
    writeSync(this.#descriptor, this.#buffer, 0, fileBytes, 0);
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }

  /** For a run that ended well: nothing is left to count. */
  remove(): void {
    this[Symbol.dispose]();
    rmSync(this.#path, { force: true });
  }
}

/** Undefined when the run never came to write one. */
export function readSequence(path: string): SequenceFound | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const view = new DataView(new ArrayBuffer(fileBytes));
    if (readSync(descriptor, view, 0, fileBytes, 0) < fileBytes) return undefined;
    const { mtimeMs } = fstatSync(descriptor);
    return {
      givenOut: Number(view.getBigUint64(0)),
      stored: Number(view.getBigUint64(8)),
      changedMs: Math.floor(mtimeMs),
    };
  } finally {
    closeSync(descriptor);
  }
}
