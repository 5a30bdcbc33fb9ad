/** One projection on its way through the log: events folded into changes that are held back, written with the checkpoint. */
import type { EventStore, Position, StoredEvent } from '../../domain/event-store.ts';
import { canPassOver, type Projection, passes } from '../projection.ts';
import type { Checkpoint, DocumentChange, Lease, ParkedEvent, ReadModelStore } from '../read-model-store.ts';
import { Decoded } from './decoded.ts';
import { Incomplete, Overtaken, Poison, ReadFailure, telling } from './fold-failures.ts';
import { PendingChanges } from './pending-changes.ts';

/** Structured log; `fields` never hold a secret. */
export interface Log {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/**
 * `stopped`: an event that cannot be taken holds it up. `retrying`: a store does not answer. Both try again. `rebuilding`:
 * readers see the documents of before. `standby`: another process folds into the same read models.
 */
export type RunState = 'catching-up' | 'live' | 'rebuilding' | 'standby' | 'stopped' | 'retrying';

export type RunDependencies = {
  readonly store: EventStore;
  readonly models: ReadModelStore;
  readonly log: Log;
  readonly now: () => number;
  /** Called after each transaction that moved the checkpoint, and on each arrival at the head. */
  readonly onMoved: () => void;
};

/** While it catches up, changes are held back up to here: written in one go they stay below what a request may wait. */
const maxPendingBytes = 8 * 1024 * 1024;
const maxPendingChanges = 1500;
const maxPendingEvents = 20_000;

/** What became of an event: changes to write, or the reason why it is parked, or nothing at all. */
type Taken = { readonly changes: readonly DocumentChange[] } | { readonly reason: string };

const follower: Taken = { reason: 'follows a parked event of its stream' };
const nothing: Taken = { changes: [] };

export class ProjectionRun {
  readonly projection: Projection;
  readonly #deps: RunDependencies;
  readonly #isRebuild: boolean;
  #lease: Pick<Lease, 'owner' | 'epoch'> | undefined;
  #generation = 0;
  #isFilling = false;
  #checkpoint: Checkpoint | undefined;
  #pending: PendingChanges;
  #parked: readonly ParkedEvent[] = [];
  #parkedStreams = new Set<string>();
  /** Folded up to here, written up to the checkpoint. */
  #reached: Position = '';
  #held = 0;
  #skipped: Position | undefined;
  #isAtHead = false;
  #hasCaughtUp = false;
  #atHeadMs: number;
  #isFirstFold = false;
  /** Something went wrong while events were passed over: from there on none is. */
  #isThorough = false;
  /** In a batch of which later events supersede earlier ones: it is written as a whole. */
  #isSkimming = false;

  constructor(projection: Projection, deps: RunDependencies, { isRebuild = false } = {}) {
    this.projection = projection;
    this.#deps = deps;
    this.#isRebuild = isRebuild;
    this.#pending = new PendingChanges(deps.models);
    this.#atHeadMs = deps.now();
    this.#checkpoint = deps.models.checkpoint(projection.name);
  }

  /** What is written. */
  get position(): Position {
    return this.#checkpoint?.position ?? '';
  }

  get generation(): number {
    return this.#generation;
  }

  /** Its documents are not the ones that readers see. */
  get isFilling(): boolean {
    return this.#isFilling;
  }

  /** While its documents are made for the first time, events that later ones supersede need not be folded. */
  get mayPassOver(): boolean {
    return this.#isFirstFold && !this.#isThorough && this.#parkedStreams.size === 0 && canPassOver(this.projection);
  }

  /** What readers see has been at the head of the log once. */
  get hasCaughtUp(): boolean {
    return this.#hasCaughtUp;
  }

  get isAtHead(): boolean {
    return this.#isAtHead;
  }

  /** When it was at the head the last time, ms since 1970. */
  get atHeadMs(): number {
    return this.#atHeadMs;
  }

  /** Reads where the documents stand. Those of another log or era are of no use; of another version, readers keep them. */
  open(lease: Lease): void {
    this.#lease = lease;
    const { models, now } = this.#deps;
    const { name } = this.projection;
    this.#forgetForeign();
    const current = models.generations(name).find(({ state }) => state === 'current');
    this.#isFilling = current !== undefined && (this.#isRebuild || !this.fits(current.checkpoint));
    const found = this.#isFilling
      ? models.generations(name).find(({ state, checkpoint }) => state === 'filling' && this.fits(checkpoint))
      : current;
    this.#generation = found?.number ?? models.addGeneration(name, now());
    this.#checkpoint = found?.checkpoint;
    this.#reached = this.position;
    this.#pending = new PendingChanges(telling(models.generation(name, this.#generation)));
    this.#held = 0;
    this.#parked = [];
    this.#parkedStreams = new Set(this.#isFilling ? [] : models.parked(name).map(({ stream }) => stream));
    // Documents of the version before are whole, if old; those of this version may be far behind.
    this.#hasCaughtUp ||= this.#isFilling && (current?.isWhole ?? false);
    this.#isAtHead = false;
    this.#isFirstFold = !found?.isWhole;
    this.#isSkimming = false;
  }

  /** Whether documents at this checkpoint are of this log and this version. */
  fits(checkpoint: Checkpoint | undefined): boolean {
    if (!checkpoint) return true;
    const { logId, era } = this.#deps.store.identity;
    return checkpoint.logId === logId && checkpoint.era === era && checkpoint.version === this.projection.version;
  }

  /** Another process folds: what it has written is where this one stands. */
  watch(): void {
    const { models, onMoved, now } = this.#deps;
    const current = models.generations(this.projection.name).find(({ state }) => state === 'current');
    const hasMoved = current?.checkpoint?.position !== this.#checkpoint?.position;
    this.#lease = undefined;
    this.#checkpoint = current?.checkpoint;
    const hasCaughtUp = this.#hasCaughtUp || (current?.isWhole ?? false);
    const isNews = hasMoved || hasCaughtUp !== this.#hasCaughtUp;
    this.#hasCaughtUp = hasCaughtUp;
    if (hasMoved) this.#atHeadMs = now();
    if (isNews) onMoved();
  }

  /**
   * Folds events that follow each other up to the checkpoint, without those that it has folded before. `isSkimmed`: some
   * are superseded by others of the batch, so that nothing is written before its last part.
   */
  fold(events: readonly Decoded[], checkpoint: Position, { isSkimmed = false, isLast = true } = {}): void {
    this.#isSkimming = isSkimmed;
    for (const event of events) {
      const { stored } = event;
      if (stored.position <= this.#reached || !passes(this.projection.filter, stored)) continue;
      this.#hold(event, this.#taken(event));
      this.#reached = stored.position;
      this.#held += 1;
    }
    if (checkpoint > this.#reached) this.#reached = checkpoint;
    if (isSkimmed && !isLast) return;
    this.#isSkimming = false;
    if (this.#isAtHead || this.#isDue()) this.write();
  }

  /** At the head of the log. */
  arrive(checkpoint: Position): void {
    if (checkpoint > this.#reached) this.#reached = checkpoint;
    this.#isAtHead = true;
    this.#atHeadMs = this.#deps.now();
    this.write();
    if (!this.#isFilling) this.#hasCaughtUp = true;
    this.#deps.onMoved();
  }

  /** Writes what is held back. Throws `Overtaken` when it may not. */
  write(): void {
    if (this.#isSkimming) throw new Incomplete();
    const { models, store, onMoved } = this.#deps;
    const { name, version } = this.projection;
    const to = { ...store.identity, version, position: this.#reached };
    const isWhole = this.#isAtHead && (this.#isFilling || !this.#hasCaughtUp);
    const isNew = to.position !== this.#checkpoint?.position || this.#pending.size > 0 || isWhole;
    if (!isNew || !this.#lease) return;
    const changes = this.#pending.take();
    const parked = this.#parked;
    this.#parked = [];
    const isMoved = models.commit(
      name,
      this.#checkpoint,
      { logId: to.logId, era: to.era, version, position: to.position },
      (_, apply) => {
        apply(changes);
        // In the transaction of the fold, so that an event is either folded or parked.
        for (const event of parked) models.park(event);
      },
      { generation: this.#generation, lease: this.#lease, isWhole, becomesCurrent: this.#isFilling && isWhole },
    );
    if (!isMoved) throw new Overtaken();
    this.#checkpoint = { logId: to.logId, era: to.era, version, position: to.position };
    this.#held = 0;
    if (this.#isFilling && isWhole) this.#lookForFlip();
    onMoved();
  }

  /** Passes over an event at which it has stopped; the fold goes on behind it. */
  skip(position: Position): void {
    this.#skipped = position;
  }

  /** Runs parked events again, in order; those that fail again stay parked with the rest of their stream. */
  retry(events: readonly StoredEvent[]): { readonly folded: number; readonly left: number } {
    this.write();
    const { models } = this.#deps;
    const { name } = this.projection;
    const failed = new Set<string>();
    const folded: Position[] = [];
    const stillParked: ParkedEvent[] = [];
    for (const stored of events) {
      const taken = failed.has(stored.stream) ? follower : this.#attempt(new Decoded(stored));
      if ('changes' in taken) {
        this.#pending.add(taken.changes, stored.data.byteLength);
        folded.push(stored.position);
        continue;
      }
      failed.add(stored.stream);
      stillParked.push(this.#parkedEvent(stored, taken.reason));
    }
    const changes = this.#pending.take();
    const at = this.#checkpoint;
    const options = { generation: this.#generation, ...(this.#lease ? { lease: this.#lease } : {}) };
    const isDone =
      at !== undefined &&
      models.commit(
        name,
        at,
        at,
        (_, apply) => {
          apply(changes);
          for (const position of folded) models.unpark(name, position);
          for (const event of stillParked) models.park(event);
        },
        options,
      );
    if (!isDone) throw new Overtaken();
    this.#parkedStreams = new Set(models.parked(name).map(({ stream }) => stream));
    return { folded: folded.length, left: stillParked.length };
  }

  /** After parked events were taken away by hand. */
  readParked(): void {
    this.#parkedStreams = new Set(this.#deps.models.parked(this.projection.name).map(({ stream }) => stream));
  }

  #forgetForeign(): void {
    const { models, store, log } = this.#deps;
    const { name } = this.projection;
    const { logId, era } = store.identity;
    const stored = models.checkpoint(name);
    if (!stored || (stored.logId === logId && stored.era === era)) return;
    log.info('projection is folded anew', { projection: name, was: stored, logId, era });
    models.reset(name);
    this.#hasCaughtUp = false;
  }

  #isDue(): boolean {
    const { size, bytes } = this.#pending;
    return size > maxPendingChanges || bytes > maxPendingBytes || this.#held > maxPendingEvents;
  }

  #hold({ stored }: Decoded, taken: Taken): void {
    if ('changes' in taken) {
      this.#pending.add(taken.changes, stored.data.byteLength);
      return;
    }
    this.#parked = [...this.#parked, this.#parkedEvent(stored, taken.reason)];
    this.#parkedStreams.add(stored.stream);
  }

  #parkedEvent({ stream, position }: StoredEvent, reason: string): ParkedEvent {
    return { projection: this.projection.name, stream, position, reason };
  }

  #taken(event: Decoded): Taken {
    if (this.#parkedStreams.has(event.stored.stream)) return follower;
    if (event.stored.position === this.#skipped) {
      this.#deps.log.warn('event is skipped as an operator asked', this.#fields(event.stored));
      return nothing;
    }
    const taken = this.#attempt(event);
    if ('reason' in taken) {
      const message =
        this.projection.onPoison === 'skip' ? 'event is skipped' : 'event is parked with the rest of its stream';
      this.#deps.log.error(message, { ...this.#fields(event.stored), reason: taken.reason });
    }
    return 'reason' in taken && this.projection.onPoison === 'skip' ? nothing : taken;
  }

  /** Writes what stands before an event at which it has to stop. */
  #attempt(event: Decoded): Taken {
    try {
      return { changes: this.#changesOf(event) };
    } catch (error) {
      if (error instanceof ReadFailure) throw error;
      if (this.#isSkimming) {
        this.#isThorough = true;
        throw new Incomplete();
      }
      const poison = new Poison(event.stored, error);
      if (!this.#isFilling && this.projection.onPoison !== 'stop' && poison.isParkable)
        return { reason: poison.message };
      this.write();
      throw poison;
    }
  }

  #changesOf(event: Decoded): readonly DocumentChange[] {
    if (!event.isSuperseded) return this.projection.apply(event.recorded(), this.#pending);
    const { superseded } = this.projection;
    const left = superseded === 'nothing' ? [] : superseded?.(event.stored, this.#pending);
    if (left) return left;
    throw new Incomplete();
  }

  #fields({ position }: StoredEvent): Readonly<Record<string, unknown>> {
    return { projection: this.projection.name, position };
  }

  #lookForFlip(): void {
    const generation = this.#deps.models
      .generations(this.projection.name)
      .find(({ number }) => number === this.#generation);
    if (generation?.state !== 'current') return;
    this.#isFilling = false;
    this.#hasCaughtUp = true;
    this.#deps.log.info('readers see the new documents of a projection', {
      projection: this.projection.name,
      version: this.projection.version,
      generation: this.#generation,
    });
  }
}
