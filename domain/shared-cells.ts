/** The port to small values that several management nodes share and that are no history: leases, checkpoints of reactors, last-seen times. */

/** `version` grows by one or more with each write; a cell that was removed and made again starts anew. */
export type Cell = { readonly key: string; readonly value: string; readonly version: bigint };

/** Keys: 1 to 200 characters of `a-z A-Z 0-9 . _ / : -`. Values: text of at most 64 KiB. */
export interface SharedCells {
  read(key: string): Promise<Omit<Cell, 'key'> | undefined>;
  /**
   * Writes when the cell stands at `expected` (`none`: does not exist); answers the new version. Throws `CellConflict` when
   * another writer came first, and an `EventStoreError` as the log does.
   */
  write(key: string, value: string, expected: bigint | 'none'): Promise<bigint>;
  /** Every cell whose key begins with `prefix`, in text order of the keys. */
  list(prefix: string): Promise<readonly Cell[]>;
  /** A cell that is not there is no error. */
  remove(key: string): Promise<void>;
}

/** The cell is not at the version that the writer expected. */
export class CellConflict extends Error {
  readonly key: string;
  readonly expected: bigint | 'none';
  constructor(key: string, expected: bigint | 'none') {
    super(`cell ${key} is not at version ${expected} any more`);
    this.name = 'CellConflict';
    this.key = key;
    this.expected = expected;
  }
}

const keyPattern = /^[A-Za-z0-9._/:-]{1,200}$/;
const maxValueBytes = 64 * 1024;

/** For adapters, before anything is written: throws a `RangeError` for a key or value that no engine takes. */
export function checkCell(key: string, value = ''): void {
  if (!keyPattern.test(key)) throw new RangeError(`cell key ${JSON.stringify(key)} must match ${keyPattern.source}`);
  // A character of text takes up to three bytes in UTF-8.
  if (value.length > maxValueBytes / 3 && new TextEncoder().encode(value).byteLength > maxValueBytes) {
    throw new RangeError(`cell ${key}: a value has at most ${maxValueBytes} bytes`);
  }
}
