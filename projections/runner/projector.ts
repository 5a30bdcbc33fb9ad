/** Runs projections over an event store: starts them, tells where they are, lets callers wait for a position, builds them anew. */
import type { EventStore, Position } from '../../domain/event-store.ts';
import type { Projection } from '../projection.ts';
import type { ReadModelStore } from '../read-model-store.ts';
import { Lanes } from './lanes.ts';
import { ProjectionKeeper } from './projection-keeper.ts';
import type { Log } from './projection-run.ts';
import { ProjectionError, type ProjectionStatus, type RebuildStatus } from './projection-status.ts';
import { RebuildLanes } from './rebuild-lanes.ts';

export type ProjectorOptions = {
  readonly store: EventStore;
  readonly models: ReadModelStore;
  readonly projections: readonly Projection[];
  readonly log: Log;
  /** Stops everything, like `stop`. */
  readonly signal?: AbortSignal;
  /** ms since 1970. Default: the clock of the machine. */
  readonly now?: () => number;
  /** How long a lease holds when it is not renewed. Default 15,000. */
  readonly leaseMs?: number;
  /** While it is false for a projection, somebody else folds that one, and nothing is asked of it but where it is. */
  readonly mayFold?: (name: string) => boolean;
};

export interface Projector {
  /** True as soon as all of them have reached the position, false after the time. Throws for a name that does not run. */
  waitFor(names: readonly string[], position: Position, timeoutMs: number): Promise<boolean>;
  /** True as soon as there is something to read in all of them, or an event stops them from getting there; false after the time. */
  readable(names: readonly string[], timeoutMs: number): Promise<boolean>;
  /** Resolves when what readers see has been at the head of the log once; rejects when the projector stops before. */
  caughtUp(name: string): Promise<void>;
  /** All of them have caught up once. */
  readonly ready: Promise<void>;
  status(): Promise<readonly ProjectionStatus[]>;
  /** How long what readers see may have been out of date, ms: the log does not answer, or an event stops a projection. 0: it is not. */
  staleMs(): number;
  /** Calls back after each commit that moved a projection; returns what ends that. */
  changed(listener: () => void): () => void;
  /** Makes the documents anew beside those that readers see. `drop`: those of before go at once, not a day later. */
  rebuild(name: string, options?: { readonly drop?: boolean }): Promise<RebuildStatus>;
  /** Tries parked events again, or the one at which it has stopped. Answers how many were folded and are still parked. */
  retry(name: string): Promise<{ readonly folded: number; readonly left: number }>;
  /** Gives up one event: a parked one, or the one at which it has stopped. */
  skip(name: string, position: Position): Promise<void>;
  /** Resolves when the last transaction is over. */
  stop(): Promise<void>;
}

const defaultLeaseMs = 15_000;

export function startProjector(options: ProjectorOptions): Projector {
  const { store, models, projections, log, signal, now = Date.now, leaseMs = defaultLeaseMs } = options;
  const { mayFold = () => true } = options;
  const abort = new AbortController();
  const stopping = signal ? AbortSignal.any([signal, abort.signal]) : abort.signal;
  const listeners = new Set<() => void>();
  const onMoved = (): void => {
    for (const listener of [...listeners]) listener();
  };
  const shared = {
    ...{ store, models, log, now, leaseMs, mayFold, onMoved },
    owner: crypto.randomUUID(),
    lanes: new Lanes(store, stopping),
    rebuildLanes: new RebuildLanes(),
    signal: stopping,
  };
  const keepers = new Map(
    projections.map((projection) => [projection.name, new ProjectionKeeper(projection, shared)] as const),
  );
  const ended = Promise.all([...keepers.values()].map((keeper) => keeper.run()));
  const named = (name: string): ProjectionKeeper => {
    const keeper = keepers.get(name);
    if (keeper) return keeper;
    throw new ProjectionError(
      'projection_unknown',
      `no projection ${name}, there are ${[...keepers.keys()].join(', ')}`,
    );
  };
  const changed = (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const caughtUp = async (name: string): Promise<void> => {
    const keeper = named(name);
    await holds(() => keeper.hasCaughtUp, changed, stopping);
    if (!keeper.hasCaughtUp) throw new Error(`the projector stopped before ${name} had caught up`);
  };
  const headNow = (): Promise<Position | undefined> => store.head().catch(() => undefined);
  const ready = Promise.all([...keepers.keys()].map(caughtUp)).then(() => undefined);
  // Nobody has to wait for it.
  ready.catch(() => undefined);
  return {
    ready,
    caughtUp,
    changed,
    async waitFor(names, position, timeoutMs) {
      const waited = names.map(named);
      return holdsWithin(timeoutMs, () => waited.every((keeper) => keeper.position >= position), changed, stopping);
    },
    async readable(names, timeoutMs) {
      const waited = names.map(named);
      return holdsWithin(timeoutMs, () => waited.every((keeper) => keeper.isReadable), changed, stopping);
    },
    async status() {
      const head = await headNow();
      return [...keepers.values()].map((keeper) => keeper.status(head));
    },
    staleMs() {
      const since = Math.min(
        ...[...keepers.values()].map((keeper) => keeper.failingSinceMs ?? Number.POSITIVE_INFINITY),
      );
      return Number.isFinite(since) ? Math.max(0, shared.now() - since) : 0;
    },
    rebuild: async (name, { drop = false } = {}) => named(name).rebuild(drop, await headNow()),
    retry: async (name) => named(name).retry(),
    skip: async (name, position) => named(name).skip(position),
    async stop() {
      abort.abort();
      await ended;
      await shared.lanes.ended();
    },
  };
}

/** Whether the condition holds before the time is over. */
async function holdsWithin(
  timeoutMs: number,
  isTrue: () => boolean,
  changed: Projector['changed'],
  signal: AbortSignal,
): Promise<boolean> {
  if (isTrue()) return true;
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  await holds(isTrue, changed, AbortSignal.any([signal, deadline.signal]));
  clearTimeout(timer);
  return isTrue();
}

/** Resolves when the condition holds after a change, or when the signal aborts. */
function holds(isTrue: () => boolean, changed: Projector['changed'], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (isTrue() || signal.aborted) return resolve();
    const look = (): void => {
      if (!isTrue() && !signal.aborted) return;
      end();
      signal.removeEventListener('abort', look);
      resolve();
    };
    const end = changed(look);
    signal.addEventListener('abort', look);
  });
}
