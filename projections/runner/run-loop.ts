/** Keeps a run going: takes the lease, follows the log, waits and tries again, stands by while another process has the lease. */
import type { Position } from '../../domain/event-store.ts';
import type { Projection } from '../projection.ts';
import type { Lease } from '../read-model-store.ts';
import { Incomplete, Overtaken, Poison, textOf } from './fold-failures.ts';
import type { Lanes } from './lanes.ts';
import { ProjectionRun, type RunDependencies, type RunState } from './projection-run.ts';
import type { RebuildLanes } from './rebuild-lanes.ts';

export type LoopDependencies = RunDependencies & {
  readonly lanes: Lanes;
  readonly rebuildLanes: RebuildLanes;
  readonly signal: AbortSignal;
  /** Undefined: somebody else has it. */
  readonly takeLease: () => Lease | undefined;
  /** After the run has looked where its documents stand. */
  readonly onOpened: () => void;
};

const firstDelayMs = 50;
const maxDelayMs = 10_000;
const standbyMs = 200;
/** While there is nothing whole to read, people wait for it. */
const impatientMs = 50;

export class RunLoop {
  readonly run: ProjectionRun;
  readonly #deps: LoopDependencies;
  readonly #end = new AbortController();
  readonly #signal: AbortSignal;
  #trouble: 'stopped' | 'retrying' | undefined;
  #reason: string | undefined;
  #stoppedAt: Position | undefined;
  #isHolder = false;
  #isWaiting = false;
  #failures = 0;
  #failingSinceMs: number | undefined;
  #wake = new AbortController();
  #givePlaceBack: (() => void) | undefined;

  constructor(projection: Projection, deps: LoopDependencies, options: { readonly isRebuild?: boolean } = {}) {
    this.#deps = deps;
    this.#signal = AbortSignal.any([deps.signal, this.#end.signal]);
    this.run = new ProjectionRun(projection, { ...deps, onMoved: () => this.#moved() }, options);
  }

  get state(): RunState {
    if (this.#trouble) return this.#trouble;
    if (!this.#isHolder) return this.run.hasCaughtUp ? 'standby' : 'catching-up';
    if (this.run.isFilling) return 'rebuilding';
    return this.run.isAtHead ? 'live' : 'catching-up';
  }

  get reason(): string | undefined {
    return this.#reason;
  }

  /** Since when it cannot go on, ms since 1970; undefined while it can. */
  get failingSinceMs(): number | undefined {
    return this.#failingSinceMs;
  }

  /** The event at which it has stopped. */
  get stoppedAt(): Position | undefined {
    return this.#stoppedAt;
  }

  /** It has the lease. */
  get isHolder(): boolean {
    return this.#isHolder;
  }

  /** For a place among those that are made anew. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Resolves when the signal aborts or the loop is stopped. */
  async go(): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        await this.#once();
      } catch (error) {
        const isAtOnce = error instanceof Overtaken || error instanceof Incomplete;
        if (!this.#signal.aborted && !isAtOnce) await this.#waitAfter(error);
      } finally {
        this.#returnPlace();
      }
    }
  }

  /** Tries again now. */
  wake(): void {
    this.#wake.abort();
    this.#wake = new AbortController();
  }

  /** Looks anew who has the lease. */
  lookAgain(): void {
    this.#deps.lanes.leave(this.run);
  }

  stop(): void {
    this.#end.abort();
    this.#deps.lanes.leave(this.run);
  }

  async #once(): Promise<void> {
    const lease = this.#deps.takeLease();
    this.#isHolder = lease !== undefined;
    if (!lease) {
      this.run.watch();
      await pause(this.run.hasCaughtUp ? standbyMs : impatientMs, this.#signal);
      return;
    }
    this.run.open(lease);
    this.#deps.onOpened();
    if (this.run.isFilling && !(await this.#takePlace())) return;
    await this.#deps.lanes.follow(this.run);
  }

  async #takePlace(): Promise<boolean> {
    this.#isWaiting = true;
    this.#givePlaceBack = await this.#deps.rebuildLanes.take(this.#signal);
    this.#isWaiting = false;
    return this.#givePlaceBack !== undefined;
  }

  #returnPlace(): void {
    this.#givePlaceBack?.();
    this.#givePlaceBack = undefined;
  }

  #moved(): void {
    this.#failures = 0;
    if (this.#trouble) {
      const { projection, position } = this.run;
      this.#deps.log.info('projection goes on', { projection: projection.name, position });
    }
    this.#trouble = undefined;
    this.#failingSinceMs = undefined;
    this.#reason = undefined;
    this.#stoppedAt = undefined;
    if (!this.run.isFilling) this.#returnPlace();
    this.#deps.onMoved();
  }

  async #waitAfter(error: unknown): Promise<void> {
    const isPoison = error instanceof Poison;
    const delayMs = Math.min(maxDelayMs, firstDelayMs * 2 ** this.#failures);
    this.#failures += 1;
    this.#failingSinceMs ??= this.#deps.now();
    this.#trouble = isPoison ? 'stopped' : 'retrying';
    this.#stoppedAt = isPoison ? error.event.position : undefined;
    this.#reason = textOf(error);
    const { projection, position } = this.run;
    const fields = { projection: projection.name, position, reason: this.#reason, againInMs: delayMs };
    this.#deps.log.error(
      isPoison ? 'projection stops at an event that it cannot take' : 'projection cannot go on',
      fields,
    );
    await pause(delayMs, AbortSignal.any([this.#signal, this.#wake.signal]));
  }
}

export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
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
