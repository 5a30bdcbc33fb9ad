/** Reads events that reactors tell of: on the node that holds the lease, from the place that all nodes remember, none that are older than the first start. */
import type { Recorded } from '../../../domain/event.ts';
import type { EventStore, Filter, Position } from '../../../domain/event-store.ts';
import { type DomainEvent, decodeEvent } from '../../../domain/events.ts';
import type { Lease } from '../../../domain/lease.ts';
import type { SharedCells } from '../../../domain/shared-cells.ts';

export type LeasedReaderOptions = {
  readonly store: EventStore;
  readonly cells: SharedCells;
  /** Of the cell that holds the place. */
  readonly key: string;
  readonly lease: Lease;
  readonly filter: Filter;
  /** False: the read models are behind, it is tried again. */
  readonly isReady: (position: Position) => Promise<boolean>;
  /** Resolves when a kill takes nothing of it any more. */
  readonly take: (recorded: Recorded<DomainEvent>) => Promise<void>;
};

/** Positions mean something within one log and one era only. */
type Place = { readonly logId: string; readonly era: number; readonly position: Position };
/** `version`: of the cell, which may say less. */
type Reached = { readonly position: Position; readonly version: bigint };

const pageEvents = 100;
/** So many events that are none of it may pass before the place is written anew. */
const maxSkippedPages = 20;
/** A third of the life of a lease. */
const renewAfterMs = 5_000;
const askAgainMs = 1_000;

export type LeasedReader = {
  /** What comes from here on is told, also while nobody can read it yet. Of a later start it is nothing. */
  begin(): Promise<void>;
  /** Takes what is new. False: another node does, or it has to be tried again. */
  read(signal: AbortSignal): Promise<boolean>;
};

export function createLeasedReader(options: LeasedReaderOptions): LeasedReader {
  const { store, lease, filter, isReady, take } = options;
  const isHeld = heldFor(lease);
  /** While this node holds the lease nobody else writes the place. Unknown after a failure. */
  let reached: Reached | undefined;

  const readOn = async (from: Reached, signal: AbortSignal): Promise<Reached | undefined> => {
    let at = from;
    for (let skipped = 0; !signal.aborted; ) {
      const { events, next, atHead } = await store.readAll({ after: at.position, limit: pageEvents, filter });
      const last = events.at(-1);
      if (last && !(await isReady(last.position))) return undefined;
      for (const stored of events) {
        await take(decodeEvent(stored));
        // It may not have been taken.
        if (signal.aborted) return undefined;
      }
      skipped = events.length > 0 ? 0 : skipped + 1;
      const isWorthIt: boolean = events.length > 0 || skipped >= maxSkippedPages;
      at = isWorthIt ? await remember(options, next, at.version) : { ...at, position: next };
      if (isWorthIt) skipped = 0;
      if (atHead) return at;
      if (!(await isHeld())) return undefined;
    }
    return undefined;
  };

  return {
    async begin() {
      await known(options);
    },
    async read(signal) {
      const before = reached;
      reached = undefined;
      if (!(await isHeld())) return false;
      reached = await readOn(before ?? (await known(options)), signal);
      return reached !== undefined;
    },
  };
}

/** Asks the cell now and then only: a lease lives longer, and who does not hold it gets it no sooner by asking. */
function heldFor(lease: Lease): () => Promise<boolean> {
  let isHeld = false;
  let sinceMs = Number.NEGATIVE_INFINITY;
  return async () => {
    const askedMs = performance.now();
    if (askedMs - sinceMs < (isHeld ? renewAfterMs : askAgainMs)) return isHeld;
    isHeld = (await lease.hold()) !== undefined;
    sinceMs = askedMs;
    return isHeld;
  };
}

/** What was before the first start, or before the log came back from a backup, is told to nobody. */
async function known(options: LeasedReaderOptions): Promise<Reached> {
  const { store, cells, key } = options;
  const cell = await cells.read(key);
  const place = cell && (JSON.parse(cell.value) as Place);
  const { logId, era } = store.identity;
  if (cell && place?.logId === logId && place.era === era) return { position: place.position, version: cell.version };
  return remember(options, await store.head(), cell?.version ?? 'none');
}

async function remember(
  { store, cells, key }: LeasedReaderOptions,
  position: Position,
  version: bigint | 'none',
): Promise<Reached> {
  const { logId, era } = store.identity;
  const place: Place = { logId, era, position };
  return { position, version: await cells.write(key, JSON.stringify(place), version) };
}
