/** Read models that are folded for the first time need no fsync: whoever loses power meanwhile starts anew. */
import { readFileSync } from 'node:fs';
import type { Database } from '../sqlite.ts';

/** A row says that the file was written without waiting for the disk, and during which run of the machine. */
export const fillTable =
  'CREATE TABLE first_fill (one INTEGER PRIMARY KEY CHECK (one = 1), machine_run TEXT NOT NULL) STRICT;';

/** Whether the machine went down while the file was filled: its pages may be of different times. */
export function isTorn(database: Database): boolean {
  const row = database.prepare('SELECT machine_run FROM first_fill').get();
  return row !== undefined && (machineRun() === undefined || row['machine_run'] !== machineRun());
}

export class FirstFill {
  readonly #database: Database;
  #isOn = false;

  /** Goes on with a fill that another process has begun. */
  constructor(database: Database) {
    this.#database = database;
    if (database.prepare('SELECT 1 FROM first_fill').get()) this.#switchOn();
  }

  /** Before anything is written to a new file; without knowing the run of the machine everything waits for the disk. */
  begin(): void {
    const run = machineRun();
    if (run === undefined) return;
    this.#database.prepare('INSERT OR REPLACE INTO first_fill (one, machine_run) VALUES (1, ?)').run(run);
    this.#switchOn();
  }

  /**
   * Everything is on the disk from here on. A checkpoint that had something to copy has synchronised the whole file; one
   * that a reader of another process holds up is tried again the next time.
   */
  end(): void {
    if (!this.#isOn) return;
    this.#database.exec('PRAGMA synchronous = NORMAL; UPDATE first_fill SET machine_run = machine_run');
    const { log, checkpointed } = this.#database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() ?? {};
    if (log !== checkpointed) return;
    this.#database.exec('DELETE FROM first_fill');
    this.#isOn = false;
  }

  /** Whoever opened the file while it was filled waits for the disk again once another has ended the fill. */
  lookAgain(): void {
    if (!this.#isOn || this.#database.prepare('SELECT 1 FROM first_fill').get()) return;
    this.#database.exec('PRAGMA synchronous = NORMAL');
    this.#isOn = false;
  }

  #switchOn(): void {
    this.#isOn = true;
    this.#database.exec('PRAGMA synchronous = OFF');
  }
}

/** Differs after each start of the machine; undefined where the system does not tell. */
function machineRun(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}
