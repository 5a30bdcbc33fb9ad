/** Keeps one projection: its lease, the run that readers see, the run that makes it anew beside, and old documents that go. */
import type { EventStore, Position, StoredEvent } from '../../domain/event-store.ts';
import type { Projection } from '../projection.ts';
import type { Lease, ParkedEvent, ReadModelStore } from '../read-model-store.ts';
import { breathe, type Lanes } from './lanes.ts';
import type { Log } from './projection-run.ts';
import { ProjectionError, type ProjectionStatus, type RebuildStatus } from './projection-status.ts';
import type { RebuildLanes } from './rebuild-lanes.ts';
import { type LoopDependencies, pause, RunLoop } from './run-loop.ts';

export type KeeperShared = {
  readonly store: EventStore;
  readonly models: ReadModelStore;
  readonly log: Log;
  readonly now: () => number;
  readonly leaseMs: number;
  readonly mayFold: (name: string) => boolean;
  /** Of the leases of this process. */
  readonly owner: string;
  readonly onMoved: () => void;
  readonly lanes: Lanes;
  readonly rebuildLanes: RebuildLanes;
  readonly signal: AbortSignal;
};

/** Documents that readers do not see any more stay so long. */
const keptMs = 24 * 3_600_000;
const sweepEveryMs = 3_600_000;
const rowsAtOnce = 1_000;

export class ProjectionKeeper {
  readonly #projection: Projection;
  readonly #shared: KeeperShared;
  #loop: RunLoop;
  #rebuild: RunLoop | undefined;
  #dropsAtOnce = false;
  #sweeping: Promise<void> = Promise.resolve();
  readonly #going = new Set<Promise<void>>();

  constructor(projection: Projection, shared: KeeperShared) {
    this.#projection = projection;
    this.#shared = shared;
    this.#loop = new RunLoop(
      projection,
      this.#dependencies(() => this.#opened()),
    );
  }

  /** Of what readers see. */
  get position(): Position {
    const { run } = this.#loop;
    return run.isFilling ? (this.#shared.models.checkpoint(this.#name)?.position ?? '') : run.position;
  }

  get hasCaughtUp(): boolean {
    return this.#loop.run.hasCaughtUp;
  }

  /** Until the first fold is over there is nothing to read, unless an event stops it: then what is there is all there is. */
  get isReadable(): boolean {
    return (
      this.hasCaughtUp || this.#loop.state === 'stopped' || this.#shared.models.checkpoint(this.#name) !== undefined
    );
  }

  /** Resolves when everything has come to rest after the signal. */
  async run(): Promise<void> {
    const { signal, models, owner, leaseMs } = this.#shared;
    const renewing = setInterval(() => this.#renew(), leaseMs / 3);
    const sweeping = setInterval(() => this.#sweep(), sweepEveryMs);
    this.#start(this.#loop);
    await aborted(signal);
    await Promise.all(this.#going);
    clearInterval(renewing);
    clearInterval(sweeping);
    await this.#sweeping;
    if (signal.aborted) this.#quietly(() => models.release(this.#name, owner));
  }

  /** As `RunLoop.failingSinceMs`. */
  get failingSinceMs(): number | undefined {
    return this.#loop.failingSinceMs;
  }

  status(head: Position | undefined): ProjectionStatus {
    const { models, now, store } = this.#shared;
    const { run, state, reason } = this.#loop;
    const { position } = this;
    const lag = head === undefined || !store.can.gapless ? undefined : Math.max(0, Number(head) - Number(position));
    const isBehind = head === undefined || position < head;
    return {
      name: this.#name,
      version: models.checkpoint(this.#name)?.version ?? this.#projection.version,
      position,
      lag,
      lagSeconds: isBehind ? Math.max(0, now() - run.atHeadMs) / 1_000 : 0,
      state,
      isLate: this.#projection.isLate ?? false,
      reason,
      parked: models.parked(this.#name),
      rebuild: this.#rebuildStatus(head),
    };
  }

  rebuild(dropsAtOnce: boolean, head: Position | undefined): RebuildStatus {
    this.#demandLease();
    if (!this.#loop.run.isFilling && !this.#rebuild) this.#startRebuild();
    this.#dropsAtOnce ||= dropsAtOnce;
    const status = this.#rebuildStatus(head);
    if (!status) throw new Error(`${this.#name} is not made anew`);
    return status;
  }

  async retry(): Promise<{ readonly folded: number; readonly left: number }> {
    this.#demandLease();
    const { models } = this.#shared;
    this.#loop.wake();
    this.#rebuild?.wake();
    for (let folded = 0; ; ) {
      const parked = models.parked(this.#name);
      // Documents that are about to be replaced hold no room for an event of the past.
      if (parked.length === 0 || this.#loop.run.isFilling) return { folded, left: parked.length };
      const events = await this.#eventsOf(parked);
      this.#demandLease();
      const tried = this.#loop.run.retry(events);
      folded += tried.folded;
      if (tried.left > 0 || tried.folded === 0) return { folded, left: models.parked(this.#name).length };
    }
  }

  skip(position: Position): void {
    this.#demandLease();
    const { models, log } = this.#shared;
    if (models.parked(this.#name).some((event) => event.position === position)) {
      models.unpark(this.#name, position);
      this.#loop.run.readParked();
      log.warn('parked event is given up as an operator asked', { projection: this.#name, position });
      return;
    }
    const stopped = [this.#loop, this.#rebuild].find((loop) => loop?.stoppedAt === position);
    if (!stopped) {
      throw new ProjectionError(
        'event_not_parked',
        `${this.#name} has neither parked the event at this position nor stopped at it`,
      );
    }
    stopped.run.skip(position);
    stopped.wake();
  }

  get #name(): string {
    return this.#projection.name;
  }

  #dependencies(onOpened: () => void): LoopDependencies {
    const { models, owner, now, leaseMs, mayFold, onMoved } = this.#shared;
    const takeLease = (): Lease | undefined =>
      mayFold(this.#name) ? models.lease(this.#name, owner, now(), leaseMs) : undefined;
    const onMovedOn = (): void => {
      this.#swap();
      onMoved();
    };
    return { ...this.#shared, takeLease, onOpened, onMoved: onMovedOn };
  }

  #start(loop: RunLoop): void {
    const going = loop.go();
    this.#going.add(going);
    void going.finally(() => this.#going.delete(going));
  }

  /** Documents that were being made anew when the process ended are made on. */
  #opened(): void {
    const { models } = this.#shared;
    const { run } = this.#loop;
    const isLeft = models
      .generations(this.#name)
      .some(({ state, checkpoint }) => state === 'filling' && run.fits(checkpoint));
    if (isLeft && !run.isFilling && !this.#rebuild) this.#startRebuild();
    this.#sweep();
  }

  #startRebuild(): void {
    this.#rebuild = new RunLoop(
      this.#projection,
      this.#dependencies(() => undefined),
      { isRebuild: true },
    );
    this.#start(this.#rebuild);
  }

  /** Once readers see the new documents, the run that made them is the one that follows. */
  #swap(): void {
    const rebuild = this.#rebuild;
    if (rebuild?.isHolder && rebuild.run.generation > 0 && !rebuild.run.isFilling) {
      this.#rebuild = undefined;
      this.#loop.stop();
      this.#loop = rebuild;
      this.#sweep();
    }
  }

  #rebuildStatus(head: Position | undefined): RebuildStatus | undefined {
    const loop = this.#rebuild ?? (this.#loop.run.isFilling ? this.#loop : undefined);
    if (!loop) return undefined;
    const { position, generation } = loop.run;
    const canTell = head !== undefined && this.#shared.store.can.gapless;
    return {
      generation,
      version: this.#projection.version,
      position,
      progress: canTell ? Math.min(1, Number(position) / Math.max(1, Number(head))) : undefined,
      state: loop.isWaiting ? 'waiting' : loop.state,
      reason: loop.reason,
    };
  }

  #renew(): void {
    const { models, owner, now, leaseMs } = this.#shared;
    if (!this.#loop.isHolder) return;
    this.#quietly(() => {
      if (models.lease(this.#name, owner, now(), leaseMs)) return;
      this.#loop.lookAgain();
      this.#rebuild?.lookAgain();
    });
  }

  #demandLease(): void {
    if (this.#loop.isHolder) return;
    throw new ProjectionError('projection_elsewhere', `another process runs ${this.#name}: ask that one`);
  }

  async #eventsOf(parked: readonly ParkedEvent[]): Promise<readonly StoredEvent[]> {
    const { store } = this.#shared;
    const wanted = new Set(parked.map(({ position }) => position));
    const last = parked.at(-1)?.position ?? '';
    const found: StoredEvent[] = [];
    for (const stream of new Set(parked.map((event) => event.stream))) {
      for (let from = 0n; ; ) {
        const page = await store.readStream(stream, { from, limit: 500 });
        found.push(...page.filter(({ position }) => wanted.has(position)));
        const end = page.at(-1);
        if (!end || end.position >= last) break;
        from = end.revision + 1n;
      }
    }
    return found.toSorted((a, b) => (a.position < b.position ? -1 : 1));
  }

  /** In small steps, because readers wait for each of them. */
  #sweep(): void {
    this.#sweeping = this.#sweeping.then(async () => {
      const { models, now, signal, log } = this.#shared;
      try {
        for (const { number, state, sinceMs, checkpoint } of models.generations(this.#name)) {
          const isOld =
            state === 'retired'
              ? this.#dropsAtOnce || sinceMs <= now() - keptMs
              : state === 'filling' && !this.#loop.run.fits(checkpoint);
          while (isOld && this.#loop.isHolder && !signal.aborted) {
            if (models.dropGeneration(this.#name, number, rowsAtOnce)) break;
            await breathe();
          }
        }
        if (!this.#rebuild) this.#dropsAtOnce = false;
      } catch (error) {
        log.warn('old documents of a projection stay for now', { projection: this.#name, reason: String(error) });
      }
    });
  }

  #quietly(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#shared.log.warn('the lease of a projection could not be written', {
        projection: this.#name,
        reason: String(error),
      });
    }
  }
}

const aborted = (signal: AbortSignal): Promise<void> => pause(2 ** 31 - 1, signal);
