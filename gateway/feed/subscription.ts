/** Follows the configuration: last good generation from disk, then the snapshot, then changes by position. Hands over whole snapshots. */
import { setTimeout as pause } from 'node:timers/promises';
import type { GatewaySnapshot } from '../../projections/gateway-snapshot.ts';
import type { Clock, Log } from '../ports.ts';
import { type Feed, FeedRefusal, type SnapshotSource } from './feed.ts';
import type { Generation, Provenance } from './generation.ts';
import { GenerationWriter } from './generation-writer.ts';
import type { Generations } from './generations.ts';
import { follow, type HeldSnapshot, hold, shrinkingOf } from './held.ts';
import { isLong, provenanceOf, withStep } from './provenance.ts';
import type { SignedSnapshot } from './signed.ts';
import { areChanges, isSnapshot } from './snapshot-shape.ts';

export type SubscriptionOptions = {
  readonly feed: Feed;
  readonly generations: Generations;
  /** A snapshot to start from when the disk has none. Rejects when it is not to be believed. */
  readonly seed?: (() => Promise<SignedSnapshot>) | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Called with each new snapshot, at most once per `swapEveryMs`. Answers the good objects that go on running in place
   * of those that it had to reject, and what the rules let through. What it is given of them is of the generation on disk.
   */
  readonly apply: (generation: Generation, source: SnapshotSource) => Judged;
  /** Awaited before anything is applied, with what is to be when it is of the disk. */
  readonly prepare?: (onDisk?: Generation) => Promise<void>;
  /** Grows when secrets were opened that were closed before. Default: never. */
  readonly opened?: () => number;
  /** The log has moved on without a change. */
  readonly advance: (position: string) => void;
  readonly swapEveryMs?: number;
  readonly pauseMs?: { readonly first: number; readonly longest: number };
};

type Judged = Pick<Generation, 'kept' | 'checked'>;

/** Why the feed is not followed right now, and since when (monotonic ms). */
export type FeedTrouble = { readonly code: string; readonly message: string; readonly sinceMs: number };

const defaultPauseMs = { first: 100, longest: 5_000 };

/** The same failure again is said aloud so rarely. */
const sameAgain = 20;

/** The disk learns so often that what it has is still current. */
const confirmEveryMs = 30_000;

export class Subscription {
  readonly #options: SubscriptionOptions;
  readonly #ending = new AbortController();
  #snapshot: HeldSnapshot | undefined;
  #provenance: Provenance | undefined;
  #applied: HeldSnapshot | undefined;
  /** At the last swap. */
  #opened = 0;
  #lastSwapMs = Number.NEGATIVE_INFINITY;
  readonly #writer: GenerationWriter;
  #loading: Promise<void> | undefined;
  #following: Promise<void> | undefined;
  #lastContactMs: number | undefined;
  #confirmedMs = Number.NEGATIVE_INFINITY;
  /** Of what came from disk, wall clock. */
  #currentMs: number | undefined;
  #trouble: FeedTrouble | undefined;
  #failures = 0;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
    this.#writer = new GenerationWriter({ ...options, signal: this.#ending.signal });
  }

  /** Resolves when what the disk has is applied. */
  load(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /** Loads if nobody did, and looks at the seed if there was nothing. Then the feed is followed in the background. */
  async start(askAfterMs = 0): Promise<void> {
    await this.load();
    if (!this.#snapshot) await this.#takeSeed();
    this.#following = this.#follow(askAfterMs);
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#following;
    await this.#writer.settled();
  }

  /** Follows no more; what runs goes on. */
  quit(reason: FeedRefusal): void {
    this.#note(reason);
    this.#ending.abort(reason);
  }

  /** Takes a fresh snapshot now and applies what it says. Throws when the feed does not answer. */
  async refresh(): Promise<void> {
    await this.#askSnapshot();
  }

  /** Ms since the feed answered last; undefined before the first time. */
  get silentMs(): number | undefined {
    return this.#lastContactMs === undefined ? undefined : this.#options.clock.monotonic() - this.#lastContactMs;
  }

  /** Ms since it was known that this configuration is the newest one; undefined without any. */
  get ageMs(): number | undefined {
    if (!this.#snapshot) return undefined;
    if (this.silentMs !== undefined) return this.silentMs;
    return this.#currentMs === undefined ? undefined : Math.max(0, this.#options.clock.now() - this.#currentMs);
  }

  /** Why the disk does not have what runs; undefined when it has. */
  get unkept(): string | undefined {
    return this.#writer.unkept;
  }

  get trouble(): FeedTrouble | undefined {
    return this.#trouble;
  }

  async #load(): Promise<void> {
    const generation = await this.#options.generations.load();
    if (!generation) return;
    await this.#options.prepare?.(generation);
    this.#snapshot = generation.snapshot;
    this.#provenance = generation.provenance;
    this.#currentMs = generation.currentMs;
    this.#swap(generation, 'disk');
  }

  async #takeSeed(): Promise<void> {
    const { seed, prepare, log, clock } = this.#options;
    if (!seed) return;
    try {
      await prepare?.();
      const answer = await seed();
      this.#snapshot = hold(answer);
      this.#provenance = provenanceOf(answer);
      this.#currentMs = Math.min(Date.parse(answer.createdAt) || 0, clock.now());
      this.#swap(nothingKept, 'seed');
    } catch (error) {
      log.error('the configuration to start from (gateway.config_seed) is not used', { error });
    }
  }

  async #follow(afterMs: number): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#ending;
    if (afterMs > 0) await pause(afterMs, undefined, { signal }).catch(ignore);
    const { first, longest } = this.#options.pauseMs ?? defaultPauseMs;
    let pauseMs = first;
    let hasSnapshot = false;
    while (!signal.aborted) {
      try {
        if (!hasSnapshot) hasSnapshot = await this.#askSnapshot();
        await this.#rest();
        if (signal.aborted) return;
        const before = this.#snapshot;
        hasSnapshot = await this.#takeChanges();
        if (signal.aborted) return;
        if (hasSnapshot) pauseMs = first;
        this.#noteContact();
        // A feed that answers at once with nothing new must not keep this process busy.
        if (this.#snapshot === before) await pause(first, undefined, { signal }).catch(ignore);
      } catch (error) {
        if (signal.aborted) return;
        this.#note(error);
        if (this.#failures % sameAgain === 1) log.warn('the configuration feed failed; what runs goes on', { error });
        // Not all nodes at once, when management comes back.
        await pause(pauseMs * (0.75 + Math.random() / 2), undefined, { signal }).catch(ignore);
        pauseMs = Math.min(pauseMs * 2, longest);
      }
    }
  }

  #note(error: unknown): void {
    const code = error instanceof FeedRefusal ? error.code : 'failed';
    const message = error instanceof Error ? error.message : String(error);
    const before = this.#trouble;
    this.#failures = before?.message === message ? this.#failures + 1 : 1;
    this.#trouble = { code, message, sinceMs: before?.sinceMs ?? this.#options.clock.monotonic() };
  }

  #noteContact(): void {
    const { clock, generations, log } = this.#options;
    if (this.#trouble) log.info('the configuration feed answers again', { before: this.#trouble.code });
    this.#trouble = undefined;
    this.#lastContactMs = clock.monotonic();
    if (this.#lastContactMs - this.#confirmedMs < confirmEveryMs) return;
    this.#confirmedMs = this.#lastContactMs;
    generations.confirm(clock.now()).catch((error: unknown) => {
      log.warn('the age of the configuration on disk could not be noted', { error });
    });
  }

  /** Throws on an answer that is not to be believed. */
  async #askSnapshot(): Promise<boolean> {
    const before = this.#snapshot;
    const { feed, prepare } = this.#options;
    await prepare?.();
    const answer = await feed.snapshot(this.#ending.signal);
    if (!isSnapshot(answer)) throw malformed('the feed answered with something that is no snapshot');
    if (!isOvertaken(answer, before, this.#snapshot)) return this.#takeSnapshot(answer);
    this.#lastContactMs = this.#options.clock.monotonic();
    return true;
  }

  #takeSnapshot(answer: GatewaySnapshot | SignedSnapshot): boolean {
    const current = this.#snapshot;
    if (current) demandSuccessor(answer, current);
    // The first changes may be half a minute away.
    this.#lastContactMs = this.#options.clock.monotonic();
    this.#provenance = provenanceOf(answer);
    // The same place again says nothing new; what runs may hold kept objects that the answer does not.
    const isSamePlace = current && answer.era === current.era && answer.position === current.position;
    const isOpen = this.#options.opened === undefined || this.#options.opened() === this.#opened;
    if (isSamePlace && answer.format === current.format && isOpen) return true;
    const taken = hold(answer);
    this.#alarmOnShrink(taken);
    this.#snapshot = taken;
    this.#swap(nothingKept, 'feed');
    return true;
  }

  /** False: a new snapshot is needed. */
  async #takeChanges(): Promise<boolean> {
    const { feed } = this.#options;
    const current = this.#snapshot;
    if (!current) return false;
    const { logId, era, position } = current;
    const answer = await feed.changes({ logId, era, position }, this.#ending.signal);
    if (typeof answer !== 'object' || answer === null) throw malformed('the feed answered with nothing');
    if ('tooOld' in answer) return false;
    const { changes, next } = answer;
    if (!areChanges(changes, next) || next < position) {
      throw malformed('the feed answered with something that is no list of changes');
    }
    // A refresh may have moved on meanwhile.
    if (this.#snapshot !== current || next === position) return true;
    const moved = follow(current, changes, next);
    this.#provenance = withStep(this.#provenance, answer);
    if (changes.some(({ op }) => op === 'remove')) this.#alarmOnShrink(moved);
    this.#snapshot = moved;
    if (moved.revision !== current.revision) this.#swap(nothingKept, 'feed');
    else this.#advance(moved);
    return !(this.#provenance && isLong(this.#provenance));
  }

  #advance(snapshot: HeldSnapshot): void {
    this.#applied = snapshot;
    this.#options.advance(snapshot.position);
  }

  /** A valid answer that takes most of the APIs away is applied, and said aloud. */
  #alarmOnShrink(next: HeldSnapshot): void {
    const shrinking = this.#snapshot && shrinkingOf(this.#snapshot, next);
    if (!shrinking) return;
    const { what, ...counts } = shrinking;
    this.#options.log.error(`the configuration lost more than half of its ${what}`, counts);
  }

  /** What changes meanwhile comes in one answer: the first change of a burst is served at once, the rest together. */
  async #rest(): Promise<void> {
    const { clock, swapEveryMs = 75 } = this.#options;
    const waitMs = this.#lastSwapMs + swapEveryMs - clock.monotonic();
    if (waitMs > 0) await pause(waitMs, undefined, { signal: this.#ending.signal }).catch(ignore);
  }

  #swap({ kept, checked }: Judged, source: SnapshotSource): void {
    const snapshot = this.#snapshot;
    if (!snapshot || snapshot === this.#applied || this.#ending.signal.aborted) return;
    const { clock, apply, log } = this.#options;
    const provenance = this.#provenance === undefined ? {} : { provenance: this.#provenance };
    this.#lastSwapMs = clock.monotonic();
    this.#applied = snapshot;
    this.#opened = this.#options.opened?.() ?? 0;
    try {
      const judged = apply({ snapshot, kept, ...(checked ? { checked } : {}) }, source);
      // Other rules than those of the start before: the next one need not ask these again.
      if (source === 'disk' && judged.checked?.by === checked?.by) return;
      const currentMs = source === 'feed' ? undefined : this.#currentMs;
      this.#writer.save({ snapshot, ...judged, ...provenance, ...(currentMs === undefined ? {} : { currentMs }) });
    } catch (error) {
      log.error('a configuration could not be applied; what runs goes on', { position: snapshot.position, error });
    }
  }
}

const nothingKept: Judged = { kept: {} };

const malformed = (text: string): FeedRefusal => new FeedRefusal('malformed', text);

/** What came meanwhile by another way is newer than the answer, and the answer newer than what there was when it was asked for. */
const isOvertaken = (
  answer: GatewaySnapshot,
  before: GatewaySnapshot | undefined,
  now: GatewaySnapshot | undefined,
): boolean =>
  now !== undefined &&
  now !== before &&
  answer.logId === now.logId &&
  answer.era === now.era &&
  answer.position < now.position &&
  answer.position >= (before?.position ?? '');

/** Increasing positions within one log and era; a higher era is believed although its positions begin anew (design 2.2). */
function demandSuccessor(answer: GatewaySnapshot, current: GatewaySnapshot): void {
  if (answer.logId !== current.logId) {
    const text = `the feed belongs to another log (${answer.logId}, not ${current.logId}); if that is meant, stop this node and remove its folder of generations`;
    throw new FeedRefusal('other_log', text);
  }
  if (answer.era < current.era) {
    throw new FeedRefusal('earlier_era', `the feed is of an earlier era (${answer.era}, not ${current.era})`);
  }
  if (answer.era === current.era && answer.position < current.position) {
    throw new FeedRefusal('position_ahead', 'the feed is behind what this node runs');
  }
}

/** An aborted pause is over, nothing more. */
const ignore = (): void => {};
