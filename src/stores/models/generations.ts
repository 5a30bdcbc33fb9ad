/** What the read models file knows of each projection: its generations with their checkpoints, its lease, its parked events. */
import type {
  Checkpoint,
  CommitOptions,
  Generation,
  Lease,
  ParkedEvent,
} from '../../../projections/read-model-store.ts';
import type { Database, Row } from '../sqlite.ts';

/** `position` is NULL until the first commit. A generation is in at most one state; at most one of a projection is current. */
export const generationTables = `
  CREATE TABLE generations (
    number INTEGER PRIMARY KEY AUTOINCREMENT, projection TEXT NOT NULL, state TEXT NOT NULL, whole INTEGER NOT NULL,
    log_id TEXT, era INTEGER, version INTEGER, position TEXT, since_ms INTEGER NOT NULL) STRICT;
  CREATE UNIQUE INDEX current_generation ON generations (projection) WHERE state = 'current';
  CREATE TABLE collections (
    generation INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (name, generation)) STRICT, WITHOUT ROWID;
  CREATE TABLE leases (
    projection TEXT PRIMARY KEY, owner TEXT NOT NULL, epoch INTEGER NOT NULL, expires_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE parked (
    projection TEXT NOT NULL, position TEXT NOT NULL, stream TEXT NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (projection, position)) STRICT, WITHOUT ROWID;
`;

const columns = 'number, state, whole, log_id, era, version, position, since_ms';

export class Generations {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  all(projection: string): readonly Generation[] {
    return this.#database
      .prepare(`SELECT ${columns} FROM generations WHERE projection = ? ORDER BY number`)
      .all(projection)
      .map(toGeneration);
  }

  current(projection: string): Generation | undefined {
    const row = this.#database
      .prepare(`SELECT ${columns} FROM generations WHERE projection = ? AND state = 'current'`)
      .get(projection);
    return row && toGeneration(row);
  }

  /** The generation that readers of a collection see. */
  ofCollection(collection: string): number | undefined {
    const row = this.#database
      .prepare(
        `SELECT c.generation AS number FROM collections c JOIN generations g ON g.number = c.generation
         WHERE c.name = ? AND g.state = 'current'`,
      )
      .get(collection);
    return row && Number(row['number']);
  }

  /** Everything that readers see has been at the head of the log. */
  areWhole(): boolean {
    const part = "SELECT 1 FROM generations WHERE state = 'current' AND whole = 0";
    return this.#database.prepare(part).get() === undefined;
  }

  one(projection: string, number: number): Generation | undefined {
    const row = this.#database
      .prepare(`SELECT ${columns} FROM generations WHERE number = ? AND projection = ?`)
      .get(number, projection);
    return row && toGeneration(row);
  }

  add(projection: string, nowMs: number): number {
    const state = this.current(projection) ? 'filling' : 'current';
    const row = this.#database
      .prepare('INSERT INTO generations (projection, state, whole, since_ms) VALUES (?, ?, 0, ?) RETURNING number')
      .get(projection, state, nowMs);
    return Number(row?.['number']);
  }

  move(number: number, { logId, era, version, position }: Checkpoint, isWhole: boolean): void {
    this.#database
      .prepare(
        `UPDATE generations SET log_id = ?, era = ?, version = ?, position = ?, whole = max(whole, ?) WHERE number = ?`,
      )
      .run(logId, era, version, position, isWhole ? 1 : 0, number);
  }

  /** Readers see this one from here on. Events that were parked are in it. */
  flip(projection: string, number: number, nowMs: number): void {
    this.#database
      .prepare(`UPDATE generations SET state = 'retired', since_ms = ? WHERE projection = ? AND state = 'current'`)
      .run(nowMs, projection);
    this.#database
      .prepare(`UPDATE generations SET state = 'current', since_ms = ? WHERE number = ?`)
      .run(nowMs, number);
    this.#database.prepare('DELETE FROM parked WHERE projection = ?').run(projection);
  }

  remove(number: number): void {
    this.#database.prepare('DELETE FROM generations WHERE number = ?').run(number);
  }

  leaseOf(projection: string): Lease | undefined {
    const row = this.#database
      .prepare('SELECT owner, epoch, expires_ms FROM leases WHERE projection = ?')
      .get(projection);
    return (
      row && {
        owner: String(row['owner']),
        epoch: Number(row['epoch']),
        expiresAtMs: Number(row['expires_ms']),
      }
    );
  }

  /** An owner that let its lease expire keeps its epoch when nobody came in between. The lease of the dead one is free. */
  lease(
    projection: string,
    owner: string,
    { nowMs, lifeMs, dead }: { readonly nowMs: number; readonly lifeMs: number; readonly dead: string | undefined },
  ): Lease | undefined {
    const held = this.leaseOf(projection);
    const isTaken = held && held.owner !== owner && held.owner !== dead && held.expiresAtMs > nowMs;
    if (isTaken) return undefined;
    const epoch = held?.owner === owner ? held.epoch : (held?.epoch ?? 0) + 1;
    const lease = { owner, epoch, expiresAtMs: nowMs + lifeMs };
    this.#database
      .prepare('INSERT OR REPLACE INTO leases (projection, owner, epoch, expires_ms) VALUES (?, ?, ?, ?)')
      .run(projection, owner, epoch, lease.expiresAtMs);
    return lease;
  }

  isHeld(projection: string, { owner, epoch }: NonNullable<CommitOptions['lease']>): boolean {
    const held = this.leaseOf(projection);
    return held?.owner === owner && held.epoch === epoch;
  }

  release(projection: string, owner: string): void {
    this.#database
      .prepare('UPDATE leases SET expires_ms = 0 WHERE projection = ? AND owner = ?')
      .run(projection, owner);
  }

  park({ projection, stream, position, reason }: ParkedEvent): void {
    this.#database
      .prepare('INSERT OR REPLACE INTO parked (projection, position, stream, reason) VALUES (?, ?, ?, ?)')
      .run(projection, position, stream, reason);
  }

  unpark(projection: string, position: string): void {
    this.#database.prepare('DELETE FROM parked WHERE projection = ? AND position = ?').run(projection, position);
  }

  unparkAll(projection: string): void {
    this.#database.prepare('DELETE FROM parked WHERE projection = ?').run(projection);
  }

  parked(projection: string): readonly ParkedEvent[] {
    return this.#database
      .prepare('SELECT position, stream, reason FROM parked WHERE projection = ? ORDER BY position')
      .all(projection)
      .map(({ position, stream, reason }) => ({
        projection,
        stream: String(stream),
        position: String(position),
        reason: String(reason),
      }));
  }
}

const toGeneration = (row: Row): Generation => ({
  number: Number(row['number']),
  state: String(row['state']) as Generation['state'],
  isWhole: row['whole'] === 1,
  checkpoint:
    row['position'] === null
      ? undefined
      : {
          logId: String(row['log_id']),
          era: Number(row['era']),
          version: Number(row['version']),
          position: String(row['position']),
        },
  sinceMs: Number(row['since_ms']),
});
