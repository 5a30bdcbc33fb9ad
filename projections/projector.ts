/** Runs projections over an event store: starts them, tells where they are, and lets callers wait for a position. */
import type { EventStore, Position } from '../domain/event-store.ts';
import type { Projection } from './projection.ts';
import { type Log, ProjectionRun, type RunState } from './projection-run.ts';
import type { ParkedEvent, ReadModelStore } from './read-model-store.ts';

export type ProjectorOptions = {
  readonly store: EventStore;
  readonly models: ReadModelStore;
  readonly projections: readonly Projection[];
  readonly log: Log;
  /** Stops everything, like `stop`. */
  readonly signal?: AbortSignal;
};

type ProjectionStatus = {
  readonly name: string;
  readonly version: number;
  readonly position: Position;
  /** Events of the log after the position; undefined when the log cannot tell. */
  readonly lag: number | undefined;
  readonly state: RunState;
  /** Why it is stopped or retrying. */
  readonly reason: string | undefined;
  readonly parked: readonly ParkedEvent[];
};

export interface Projector {
  /** True as soon as all of them have reached the position, false after the time. Throws for a name that does not run. */
  waitFor(names: readonly string[], position: Position, timeoutMs: number): Promise<boolean>;
  /** Resolves when this projection has been at the head of the log once; rejects when the projector stops before. */
  caughtUp(name: string): Promise<void>;
  /** All of them have caught up once. */
  readonly ready: Promise<void>;
  status(): Promise<readonly ProjectionStatus[]>;
  /** Calls back after each commit that moved a projection; returns what ends that. */
  changed(listener: () => void): () => void;
  /** Resolves when the last transaction is over. */
  stop(): Promise<void>;
}

export function startProjector({ store, models, projections, log, signal }: ProjectorOptions): Projector {
  const abort = new AbortController();
  const listeners = new Set<() => void>();
  const ring = (): void => {
    for (const listener of [...listeners]) listener();
  };
  const stopping = signal ? AbortSignal.any([signal, abort.signal]) : abort.signal;
  const runs = new Map(
    projections.map((projection) => [
      projection.name,
      new ProjectionRun(projection, { store, models, log, onMoved: ring }, stopping),
    ]),
  );
  const ended = Promise.all([...runs.values()].map((run) => run.run()));
  const named = (name: string): ProjectionRun => {
    const run = runs.get(name);
    if (!run) throw new Error(`no projection ${name}, there are ${[...runs.keys()].join(', ')}`);
    return run;
  };
  const changed = (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const caughtUp = async (name: string): Promise<void> => {
    const run = named(name);
    await holds(() => run.hasCaughtUp, changed, stopping);
    if (!run.hasCaughtUp) throw new Error(`the projector stopped before ${name} had caught up`);
  };
  const ready = Promise.all([...runs.keys()].map(caughtUp)).then(() => undefined);
  // Nobody has to wait for it.
  ready.catch(() => undefined);
  return {
    ready,
    caughtUp,
    changed,
    async waitFor(names, position, timeoutMs) {
      const waited = names.map(named);
      const isThere = (): boolean => waited.every((run) => run.position >= position);
      if (isThere()) return true;
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), timeoutMs);
      await holds(isThere, changed, AbortSignal.any([stopping, deadline.signal]));
      clearTimeout(timer);
      return isThere();
    },
    async status() {
      const head = store.can.gapless ? await store.head().catch(() => undefined) : undefined;
      return [...runs.values()].map((run) => statusOf(run, models, head));
    },
    async stop() {
      abort.abort();
      await ended;
    },
  };
}

function statusOf(run: ProjectionRun, models: ReadModelStore, head: Position | undefined): ProjectionStatus {
  const { projection, position, state, reason } = run;
  const { name, version } = projection;
  const lag = head === undefined ? undefined : Math.max(0, Number(head) - Number(position));
  return { name, version, position, lag, state, reason, parked: models.parked(name) };
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
