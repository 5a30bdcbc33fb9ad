/** Reads the log for projections: those that stand at the same place share one subscription, and each event is decoded once. */
import { apiSuperseding } from '../../domain/api/superseding.ts';
import { type Batch, type EventStore, type Position, supersededIn } from '../../domain/event-store.ts';
import { leavesNothing, unionOf } from '../projection.ts';
import { Decoded } from './decoded.ts';
import type { ProjectionRun } from './projection-run.ts';

/** So much is folded between two looks at the clock. */
const sliceEvents = 50;
const sliceBytes = 256 * 1024;

/** After so long others are served. */
const maxBusyMs = 12;

type Seat = { readonly leave: (error?: unknown) => void };

export class Lanes {
  readonly #store: EventStore;
  readonly #signal: AbortSignal;
  readonly #boarding = new Map<string, Lane>();
  readonly #lanes = new Map<ProjectionRun, Lane>();
  readonly #running = new Set<Promise<void>>();

  constructor(store: EventStore, signal: AbortSignal) {
    this.#store = store;
    this.#signal = signal;
  }

  /** Folds from the position of the run until the signal aborts or the run leaves; rejects with what stopped it. */
  async follow(run: ProjectionRun): Promise<void> {
    const lane = this.#boarding.get(placeOf(run)) ?? this.#open(run);
    this.#lanes.set(run, lane);
    try {
      await lane.board(run);
    } finally {
      this.#lanes.delete(run);
    }
  }

  /** Resolves when nothing is read any more; after the signal. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  leave(run: ProjectionRun): void {
    this.#lanes.get(run)?.leave(run);
  }

  /** Waits for one turn of the event loop, so that runs which start together sit together. */
  #open(run: ProjectionRun): Lane {
    const place = placeOf(run);
    const lane = new Lane(this.#store, run, this.#signal);
    this.#boarding.set(place, lane);
    setImmediate(() => {
      this.#boarding.delete(place);
      const running = lane.run();
      this.#running.add(running);
      void running.finally(() => this.#running.delete(running));
    });
    return lane;
  }
}

/** Those that may pass over what is superseded sit with each other only. */
const placeOf = ({ position, mayPassOver }: ProjectionRun): string => `${position} ${mayPassOver}`;

class Lane {
  readonly #store: EventStore;
  readonly #after: Position;
  /** Until it has caught up for the first time. */
  #passesOver: boolean;
  readonly #end = new AbortController();
  readonly #stopping: AbortSignal;
  readonly #signal: AbortSignal;
  readonly #seats = new Map<ProjectionRun, Seat>();
  #busySince = 0;

  constructor(
    store: EventStore,
    { position, mayPassOver }: Pick<ProjectionRun, 'position' | 'mayPassOver'>,
    signal: AbortSignal,
  ) {
    this.#store = store;
    this.#after = position;
    this.#passesOver = mayPassOver;
    this.#stopping = signal;
    this.#signal = AbortSignal.any([signal, this.#end.signal]);
  }

  board(run: ProjectionRun): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#seats.set(run, { leave: (error) => (error === undefined ? resolve() : reject(error)) });
    });
  }

  leave(run: ProjectionRun, error?: unknown): void {
    const seat = this.#seats.get(run);
    this.#seats.delete(run);
    seat?.leave(error);
    if (this.#seats.size === 0) this.#end.abort();
  }

  /** Never rejects: whoever sits in it hears why it ended. */
  async run(): Promise<void> {
    let reason: unknown;
    try {
      await this.#read();
      if (!this.#signal.aborted) throw new Error('the subscription ended');
    } catch (error) {
      // Whoever still sits here must hear it: without a reason he would come back at once, again and again.
      reason = this.#stopping.aborted ? undefined : error;
    }
    for (const run of [...this.#seats.keys()]) this.leave(run, reason);
  }

  async #read(): Promise<void> {
    const filter = unionOf([...this.#seats.keys()].map(({ projection }) => projection.filter));
    const isOmitted = [...this.#seats.keys()].every(({ projection }) => leavesNothing(projection));
    const superseding = this.#passesOver ? { superseding: { ...apiSuperseding, isOmitted } } : {};
    const batches = this.#store
      .subscribe({ after: this.#after, ...(filter && { filter }), ...superseding, signal: this.#signal })
      [Symbol.asyncIterator]();
    let next = batches.next();
    try {
      for (;;) {
        const { value, done } = await next;
        if (done || this.#signal.aborted) return;
        // The log is read on while this batch is folded.
        next = batches.next();
        next.catch(() => undefined);
        await this.#take(value);
      }
    } finally {
      this.#end.abort();
      await batches.return?.();
    }
  }

  async #take(batch: Batch): Promise<void> {
    this.#busySince = performance.now();
    if ('caughtUp' in batch) {
      this.#passesOver = false;
      await this.#each((run) => run.arrive(batch.checkpoint));
      return;
    }
    const superseded = this.#passesOver ? supersededIn(batch.events, apiSuperseding) : new Set();
    const decoded = batch.events.map((stored, index) => new Decoded(stored, { isSuperseded: superseded.has(index) }));
    for (const { events, checkpoint, isLast } of slices(decoded, batch.checkpoint)) {
      // What is missing altogether cannot be seen.
      await this.#each((run) => run.fold(events, checkpoint, { isSkimmed: this.#passesOver, isLast }));
      if (this.#signal.aborted) return;
    }
  }

  /** One that cannot go on leaves; the others do not notice. */
  async #each(work: (run: ProjectionRun) => void): Promise<void> {
    for (const run of [...this.#seats.keys()]) {
      if (this.#signal.aborted) return;
      if (!this.#seats.has(run)) continue;
      try {
        work(run);
      } catch (error) {
        this.leave(run, error);
      }
      if (performance.now() - this.#busySince < maxBusyMs) continue;
      await breathe();
      this.#busySince = performance.now();
    }
  }
}

type Slice = { readonly events: readonly Decoded[]; readonly checkpoint: Position; readonly isLast: boolean };

/** Parts of a batch; the last one carries the checkpoint of the batch. */
function* slices(events: readonly Decoded[], checkpoint: Position): Generator<Slice> {
  let start = 0;
  let bytes = 0;
  for (const [index, { stored }] of events.entries()) {
    bytes += stored.data.byteLength;
    const isFull = bytes >= sliceBytes || index - start + 1 >= sliceEvents;
    if (!isFull || index === events.length - 1) continue;
    yield { events: events.slice(start, index + 1), checkpoint: stored.position, isLast: false };
    start = index + 1;
    bytes = 0;
  }
  yield { events: events.slice(start), checkpoint, isLast: true };
}

/** Lets the event loop serve what waits; a promise alone would not. */
export const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
