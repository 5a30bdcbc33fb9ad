/** Follows the configuration: last good generation from disk, then the snapshot, then changes by position. Hands over whole snapshots. */
import { setTimeout as pause } from 'node:timers/promises';
import { applyChanges, type GatewayObject, type GatewaySnapshot } from '../../projections/gateway-config.ts';
import type { Clock, Log } from '../ports.ts';
import type { Feed } from './feed.ts';
import type { Generation, Generations } from './generations.ts';
import { areChanges, isSnapshot } from './snapshot-shape.ts';

export type SnapshotSource = 'disk' | 'feed';

export type SubscriptionOptions = {
  readonly feed: Feed;
  readonly generations: Generations;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Called with each new snapshot, at most once per `swapEveryMs`. Answers the good objects that go on running in place
   * of those that it had to reject. `kept` are those of the generation on disk.
   */
  readonly apply: (generation: Generation, source: SnapshotSource) => Readonly<Record<string, GatewayObject>>;
  /** The log has moved on without a change. */
  readonly advance: (position: string) => void;
  readonly swapEveryMs?: number;
  readonly pauseMs?: { readonly first: number; readonly longest: number };
};

const defaultPauseMs = { first: 100, longest: 5_000 };

export class Subscription {
  readonly #options: SubscriptionOptions;
  readonly #ending = new AbortController();
  #snapshot: GatewaySnapshot | undefined;
  #applied: GatewaySnapshot | undefined;
  #swapTimer: NodeJS.Timeout | undefined;
  #lastSwapMs = Number.NEGATIVE_INFINITY;
  #toSave: Generation | undefined;
  #saving: Promise<void> | undefined;
  #following: Promise<void> | undefined;
  #lastContactMs: number | undefined;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
  }

  /** Resolves when the disk has been looked at; the feed is followed in the background. */
  async start(): Promise<void> {
    const generation = await this.#options.generations.load();
    if (generation) {
      this.#snapshot = generation.snapshot;
      this.#swap(generation.kept, 'disk');
    }
    this.#following = this.#follow();
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    clearTimeout(this.#swapTimer);
    await this.#following;
    await this.#saving;
  }

  /** Takes a fresh snapshot now and applies what it says. Throws when the feed does not answer. */
  async refresh(): Promise<void> {
    if (this.#takeSnapshot(await this.#options.feed.snapshot(this.#ending.signal))) this.#swapNow();
  }

  /** Ms since the feed answered last; undefined before the first time. */
  get silentMs(): number | undefined {
    return this.#lastContactMs === undefined ? undefined : this.#options.clock.monotonic() - this.#lastContactMs;
  }

  async #follow(): Promise<void> {
    const { feed, log } = this.#options;
    const { signal } = this.#ending;
    const { first, longest } = this.#options.pauseMs ?? defaultPauseMs;
    let pauseMs = first;
    let hasSnapshot = false;
    while (!signal.aborted) {
      try {
        if (!hasSnapshot) hasSnapshot = this.#takeSnapshot(await feed.snapshot(signal));
        const before = this.#snapshot;
        hasSnapshot = await this.#takeChanges();
        if (hasSnapshot) pauseMs = first;
        // A feed that answers at once with nothing new must not keep this process busy.
        if (this.#snapshot === before) await pause(first, undefined, { signal }).catch(ignore);
        this.#lastContactMs = this.#options.clock.monotonic();
      } catch (error) {
        if (signal.aborted) return;
        log.warn('the configuration feed failed; what runs goes on', { error });
        await pause(pauseMs, undefined, { signal }).catch(ignore);
        pauseMs = Math.min(pauseMs * 2, longest);
      }
    }
  }

  /** Throws on an answer that is not to be believed. */
  #takeSnapshot(answer: unknown): boolean {
    if (!isSnapshot(answer)) throw new Error('the feed answered with something that is no snapshot');
    const current = this.#snapshot;
    if (current) {
      if (answer.logId !== current.logId) {
        throw new Error(`the feed belongs to another log (${answer.logId}, not ${current.logId})`);
      }
      if (answer.era < current.era) throw new Error(`the feed is of an earlier era (${answer.era})`);
      if (answer.era === current.era && answer.position < current.position) {
        throw new Error('the feed is behind what this node runs');
      }
      // The same place again says nothing new; what runs may hold kept objects that the answer does not.
      if (answer.era === current.era && answer.position === current.position) return true;
    }
    this.#alarmOnShrink(answer);
    this.#snapshot = answer;
    this.#swapSoon();
    return true;
  }

  /** False: a new snapshot is needed. */
  async #takeChanges(): Promise<boolean> {
    const { feed } = this.#options;
    const current = this.#snapshot;
    if (!current) return false;
    const answer = await feed.changes(current.position, this.#ending.signal);
    if (typeof answer !== 'object' || answer === null) throw new Error('the feed answered with nothing');
    if ('tooOld' in answer) return false;
    const { changes, next } = answer;
    if (!areChanges(changes, next) || next < current.position) {
      throw new Error('the feed answered with something that is no list of changes');
    }
    // A refresh may have moved on meanwhile.
    if (this.#snapshot !== current || next === current.position) return true;
    const moved = applyChanges(current, changes, next);
    this.#alarmOnShrink(moved);
    this.#snapshot = moved;
    if (moved.revision !== current.revision) this.#swapSoon();
    else if (this.#swapTimer === undefined) this.#advance(moved);
    return true;
  }

  #advance(snapshot: GatewaySnapshot): void {
    this.#applied = snapshot;
    this.#options.advance(snapshot.position);
  }

  /** A valid answer that takes most of the APIs away is applied, and said aloud. */
  #alarmOnShrink(next: GatewaySnapshot): void {
    const before = this.#snapshot ? Object.keys(this.#snapshot.objects).length : 0;
    const after = Object.keys(next.objects).length;
    if (before > 1 && after < before / 2) {
      this.#options.log.error('the configuration lost more than half of its objects', { before, after });
    }
  }

  /** The first change of a burst at once, the rest together. */
  #swapSoon(): void {
    if (this.#swapTimer !== undefined) return;
    const { clock, swapEveryMs = 75 } = this.#options;
    const waitMs = this.#lastSwapMs + swapEveryMs - clock.monotonic();
    if (waitMs <= 0) this.#swapNow();
    else this.#swapTimer = setTimeout(() => this.#swapNow(), waitMs);
  }

  #swapNow(): void {
    clearTimeout(this.#swapTimer);
    this.#swapTimer = undefined;
    if (!this.#ending.signal.aborted) this.#swap({}, 'feed');
  }

  #swap(kept: Readonly<Record<string, GatewayObject>>, source: SnapshotSource): void {
    const snapshot = this.#snapshot;
    if (!snapshot || snapshot === this.#applied) return;
    const { clock, apply, log } = this.#options;
    this.#lastSwapMs = clock.monotonic();
    this.#applied = snapshot;
    try {
      const keptNow = apply({ snapshot, kept }, source);
      if (source === 'feed') this.#save({ snapshot, kept: keptNow });
    } catch (error) {
      log.error('a configuration could not be applied; what runs goes on', { position: snapshot.position, error });
    }
  }

  /** One write at a time; of several that wait the newest counts. */
  #save(generation: Generation): void {
    this.#toSave = generation;
    this.#saving ??= this.#saveAll().finally(() => {
      this.#saving = undefined;
    });
  }

  async #saveAll(): Promise<void> {
    const { generations, log } = this.#options;
    while (this.#toSave) {
      const generation = this.#toSave;
      this.#toSave = undefined;
      await generations.save(generation).catch((error: unknown) => {
        log.error('the configuration could not be kept on disk', { error });
      });
    }
  }
}

/** An aborted pause is over, nothing more. */
const ignore = (): void => {};
