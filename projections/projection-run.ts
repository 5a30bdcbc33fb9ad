/** One projection on its way through the log: batch, fold and checkpoint in one transaction, parking, and trying again. */
import type { EventStore, Position, StoredEvent } from '../domain/event-store.ts';
import { decodeEvent } from '../domain/events.ts';
import { ProgramTooOld } from '../domain/upcast.ts';
import { PendingChanges } from './pending-changes.ts';
import type { Projection } from './projection.ts';
import type { Checkpoint, DocumentChange, DocumentReader, ReadModelStore } from './read-model-store.ts';

/** Structured log; `fields` never hold a secret. */
export interface Log {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** `stopped`: an event that cannot be taken holds it up. `retrying`: a store does not answer. Both try again. */
export type RunState = 'catching-up' | 'live' | 'stopped' | 'retrying';

export type RunDependencies = {
  readonly store: EventStore;
  readonly models: ReadModelStore;
  readonly log: Log;
  /** Called after each transaction that moved the checkpoint, and on each arrival at the head. */
  readonly onMoved: () => void;
};

/** At most so much payload is folded in one go, so that requests are answered in between. */
const maxSliceBytes = 512 * 1024;

const firstDelayMs = 50;
const maxDelayMs = 10_000;

/** An event that the projection refused, with what stands before it. */
class Poison extends Error {
  readonly event: StoredEvent;
  readonly isParkable: boolean;
  constructor(event: StoredEvent, cause: unknown) {
    super(`${event.type} at position ${event.position} (stream ${event.stream}): ${textOf(cause)}`, { cause });
    this.event = event;
    // An event that is newer than the program is nobody's fault: the program waits for its update.
    this.isParkable = !(cause instanceof ProgramTooOld);
  }
}

/** A failure of the read models inside an `apply`, which is not the event's fault. */
class ReadFailure extends Error {}

/** What became of an event: changes to apply, or the reason why it is parked. */
type Taken = { readonly changes: readonly DocumentChange[] } | { readonly reason: string };

const follower: Taken = { reason: 'follows a parked event of its stream' };

/** Somebody else has moved the checkpoint: read it and go on from there. */
class Overtaken extends Error {}

export class ProjectionRun {
  readonly projection: Projection;
  readonly #deps: RunDependencies;
  readonly #signal: AbortSignal;
  #checkpoint: Checkpoint | undefined;
  #state: RunState = 'catching-up';
  #reason: string | undefined;
  #hasCaughtUp = false;
  #failures = 0;

  constructor(projection: Projection, deps: RunDependencies, signal: AbortSignal) {
    this.projection = projection;
    this.#deps = deps;
    this.#signal = signal;
  }

  get position(): Position {
    return this.#checkpoint?.position ?? '';
  }

  get state(): RunState {
    return this.#state;
  }

  /** Why it is stopped or retrying. */
  get reason(): string | undefined {
    return this.#reason;
  }

  get hasCaughtUp(): boolean {
    return this.#hasCaughtUp;
  }

  /** Ends when the signal aborts. */
  async run(): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        this.#open();
        await this.#follow();
      } catch (error) {
        if (!this.#signal.aborted && !(error instanceof Overtaken)) await this.#waitAfter(error);
      }
    }
  }

  /** Documents of another log, era or version are of no use: they are folded anew. */
  #open(): void {
    const { models, store, log } = this.#deps;
    const { name, version, collections } = this.projection;
    const stored = models.checkpoint(name);
    const { logId, era } = store.identity;
    const fits = stored?.logId === logId && stored.era === era && stored.version === version;
    if (stored && !fits) {
      log.info('projection is folded anew', { projection: name, was: stored, version, logId, era });
      models.reset(name, collections);
    }
    this.#checkpoint = fits ? stored : undefined;
  }

  async #follow(): Promise<void> {
    const { store, onMoved } = this.#deps;
    const { filter } = this.projection;
    for await (const batch of store.subscribe({ after: this.position, filter, signal: this.#signal })) {
      if ('caughtUp' in batch) {
        this.#move([], batch.checkpoint);
        this.#arrive();
        onMoved();
        continue;
      }
      for (const { events, checkpoint } of slices(batch.events, batch.checkpoint)) {
        this.#fold(events, checkpoint);
        if (events.length > 0) this.#goOn();
        onMoved();
        await breathe();
        if (this.#signal.aborted) return;
      }
    }
    if (!this.#signal.aborted) throw new Error('the subscription ended');
  }

  #arrive(): void {
    this.#goOn();
    this.#state = 'live';
    this.#hasCaughtUp = true;
  }

  #goOn(): void {
    this.#failures = 0;
    if (this.#reason === undefined) return;
    this.#deps.log.info('projection goes on', { projection: this.projection.name, position: this.position });
    this.#state = 'catching-up';
    this.#reason = undefined;
  }

  /** Folds what stands before an event that is refused, then says which it was. */
  #fold(events: readonly StoredEvent[], checkpoint: Position): void {
    try {
      this.#move(events, checkpoint);
    } catch (error) {
      if (!(error instanceof Poison)) throw error;
      const before = events.slice(0, events.indexOf(error.event));
      const last = before.at(-1);
      if (last) this.#move(before, last.position);
      throw error;
    }
  }

  #move(events: readonly StoredEvent[], position: Position): void {
    if (position === this.#checkpoint?.position) return;
    const { models, store } = this.#deps;
    const { name, version } = this.projection;
    const { logId, era } = store.identity;
    const to = { logId, era, version, position };
    const isMoved = models.commit(name, this.#checkpoint, to, (documents, apply) => {
      const pending = new PendingChanges(telling(documents), apply);
      const parked = new Set(models.parked(name).map(({ stream }) => stream));
      for (const event of events) {
        const taken = parked.has(event.stream) ? follower : this.#take(event, pending);
        if ('changes' in taken) pending.add(taken.changes);
        else {
          // In the transaction of the fold, so that an event is either folded or parked.
          models.park({ projection: name, stream: event.stream, position: event.position, reason: taken.reason });
          parked.add(event.stream);
        }
      }
      pending.write();
    });
    if (!isMoved) throw new Overtaken();
    this.#checkpoint = to;
  }

  #take(stored: StoredEvent, documents: DocumentReader): Taken {
    try {
      return { changes: this.projection.apply(decodeEvent(stored), documents) };
    } catch (error) {
      if (error instanceof ReadFailure) throw error;
      const poison = new Poison(stored, error);
      if (this.projection.onPoison === 'stop' || !poison.isParkable) throw poison;
      this.#deps.log.error('event is parked with the rest of its stream', this.#fields(poison));
      return { reason: poison.message };
    }
  }

  #fields(error: unknown): Readonly<Record<string, unknown>> {
    return { projection: this.projection.name, position: this.position, reason: textOf(error) };
  }

  async #waitAfter(error: unknown): Promise<void> {
    const isPoison = error instanceof Poison;
    const delayMs = Math.min(maxDelayMs, firstDelayMs * 2 ** this.#failures);
    this.#failures += 1;
    this.#state = isPoison ? 'stopped' : 'retrying';
    this.#reason = textOf(error);
    const message = isPoison ? 'projection stops at an event that it cannot take' : 'projection cannot go on';
    this.#deps.log.error(message, { ...this.#fields(error), againInMs: delayMs });
    await pause(delayMs, this.#signal);
  }
}

/** Failures of the reader are marked, so that no event is parked for them. */
function telling(documents: DocumentReader): DocumentReader {
  const tell = <T>(read: () => T): T => {
    try {
      return read();
    } catch (error) {
      throw new ReadFailure(textOf(error), { cause: error });
    }
  };
  return {
    get: (collection, id) => tell(() => documents.get(collection, id)),
    list: (collection, query) => tell(() => documents.list(collection, query)),
    count: (collection, labels) => tell(() => documents.count(collection, labels)),
  };
}

type Slice = { readonly events: readonly StoredEvent[]; readonly checkpoint: Position };

/** Parts of a batch with a bounded payload; the last one carries the checkpoint of the batch. */
function* slices(events: readonly StoredEvent[], checkpoint: Position): Generator<Slice> {
  let start = 0;
  let bytes = 0;
  for (const [index, event] of events.entries()) {
    bytes += event.data.byteLength;
    if (bytes < maxSliceBytes || index === events.length - 1) continue;
    yield { events: events.slice(start, index + 1), checkpoint: event.position };
    start = index + 1;
    bytes = 0;
  }
  yield { events: events.slice(start), checkpoint };
}

/** Lets the event loop serve what waits; a promise alone would not. */
const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, delayMs);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
