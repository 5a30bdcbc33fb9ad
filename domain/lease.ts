/** A lease over a shared cell: of several management nodes one holds it at a time, so that each reactor runs once. */
import { CellConflict, type SharedCells } from './shared-cells.ts';

export type LeaseOptions = {
  readonly cells: SharedCells;
  /** Key of the cell. */
  readonly key: string;
  /** Names this process and this start of it. */
  readonly owner: string;
  /** ms since 1970; nodes whose clocks differ by more than the life of a lease may both believe to hold it. */
  readonly now: () => number;
  /** ms of a clock that nobody sets; default that of the process. */
  readonly monotonic?: () => number;
  /** Default 15,000. A holder renews well before. */
  readonly lifeMs?: number;
};

export interface Lease {
  /**
   * Takes or renews the lease. Answers the epoch, which grows with each change of the holder, or undefined when another
   * holds it. Throws what the cells throw; then nobody may take the lease for held.
   */
  hold(): Promise<bigint | undefined>;
  /** Lets another take it at once. */
  release(): Promise<void>;
}

type Holding = { readonly owner: string; readonly epoch: string; readonly untilMs: number };

const defaultLifeMs = 15_000;

export function createLease(options: LeaseOptions): Lease {
  const { cells, key, owner, now, monotonic = () => performance.now(), lifeMs = defaultLifeMs } = options;
  let seen = { version: -1n, sinceMs: 0 };
  /** By our own clock: its end may be far away when a clock was wrong as the lease was taken, or was set back since. */
  const isAbandoned = (version: bigint): boolean => {
    if (seen.version !== version) seen = { version, sinceMs: monotonic() };
    return monotonic() - seen.sinceMs >= lifeMs;
  };
  const write = async (holding: Holding, expected: bigint | 'none'): Promise<boolean> => {
    try {
      await cells.write(key, JSON.stringify(holding), expected);
      return true;
    } catch (error) {
      if (error instanceof CellConflict) return false;
      throw error;
    }
  };
  return {
    async hold() {
      const cell = await cells.read(key);
      const before = cell && (JSON.parse(cell.value) as Holding);
      const isOurs = before?.owner === owner;
      if (cell && before && !isOurs && before.untilMs > now() && !isAbandoned(cell.version)) return undefined;
      const epoch = BigInt(before?.epoch ?? 0) + (isOurs ? 0n : 1n);
      const holding = { owner, epoch: String(epoch), untilMs: now() + lifeMs };
      return (await write(holding, cell?.version ?? 'none')) ? epoch : undefined;
    },
    async release() {
      const cell = await cells.read(key);
      const before = cell && (JSON.parse(cell.value) as Holding);
      // The cell stays, because the next epoch follows from it.
      if (cell && before?.owner === owner) await write({ ...before, owner: '', untilMs: 0 }, cell.version);
    },
  };
}
