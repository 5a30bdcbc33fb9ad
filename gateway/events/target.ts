/** One target of events: sends what the outbox has for it, a few at a time, again and again until each is delivered or given up. */
import type { Cursor } from '../../domain/record-log.ts';
import { LowWater, type Mark } from './low-water.ts';
import type { OutboxEntry, Unnumbered } from './outbox-entry.ts';
import type { TargetAddress } from './targets.ts';
import type { Sent } from './webhook-sender.ts';

type Send = (address: TargetAddress, entry: Unnumbered, stop: AbortSignal) => Promise<Sent>;

export type TargetOptions = {
  /** Undefined or switched off: what waits for it is over without an attempt. */
  readonly address: () => TargetAddress | undefined;
  readonly send: Send;
  readonly isCooling: (entry: Unnumbered) => boolean;
  /** What to do with an entry after an attempt; undefined: it is done with. A letter that goes on is a new one in the log. */
  readonly judge: (entry: OutboxEntry, sent: Sent, cursor: Cursor) => Promise<Unnumbered | undefined>;
  readonly suppressed: (entry: Unnumbered) => void;
  /** Keeps what is over without an attempt. Never rejects. */
  readonly gone: (entry: OutboxEntry, cursor: Cursor, state: 'gone' | 'off') => Promise<void>;
  /** Writes an entry behind all others of the log. */
  readonly write: (entry: Unnumbered, written: () => void) => void;
  /** There is room again for what was left in the log. */
  readonly hasRoom: () => void;
  /** Ms since 1970. */
  readonly now: () => number;
  /** Where the log says that it is done with. */
  readonly marks: readonly Cursor[];
};

/** An entry in memory; `leave` ends its part in holding back the cursors. */
type Held = { readonly entry: OutboxEntry; readonly cursor: Cursor; readonly leave: () => void };

const atOnce = 4;
/** Of entries in memory. What is beyond stays in the log until there is room. */
const maxHeld = 1_000;
/** So many attempts end behind one that waits before the latter is written anew, so that a kill repeats few of them. */
const maxBehind = 100;

export class Target {
  readonly #options: TargetOptions;
  readonly #ready: Held[] = [];
  readonly #waiting = new Map<Held, NodeJS.Timeout>();
  readonly #sending = new Set<Held>();
  /** Equal events go one after the other: the second may be left out once the first has arrived. */
  readonly #equal = new Set<string>();
  readonly #stop = new AbortController();
  readonly #taken: Map<string, string>;
  readonly #moving = new Set<Held>();
  /** Over without an attempt, one after the other: there may be a thousand at once. */
  readonly #leaving = new Set<Held>();
  /** The one of these that is being kept. */
  #last: Held | undefined;
  #lettingGo: Promise<void> | undefined;
  /** By the id of the delivery. After a kill the log may have several entries of one: it lives once, as the last of them says. */
  readonly #newest = new Map<string, Held>();
  readonly lowWater = new LowWater();
  #finished = 0;
  #isStopping = false;
  #idle: (() => void) | undefined;
  /** By lane: the place that is held open while the target leaves entries in the log. */
  readonly left = new Map<string, { readonly mark: Mark; readonly after: Cursor | undefined }>();

  constructor(options: TargetOptions) {
    this.#options = options;
    this.#taken = new Map(options.marks.map(({ lane, pos }) => [lane, pos]));
  }

  get held(): number {
    const leaving = this.#leaving.size + (this.#last ? 1 : 0);
    return this.#ready.length + this.#waiting.size + this.#sending.size + this.#moving.size + leaving;
  }

  get isFull(): boolean {
    return this.held >= maxHeld;
  }

  hasTaken({ lane, pos }: Cursor): boolean {
    return pos <= (this.#taken.get(lane) ?? '');
  }

  /** All that one place of the log has for it. `leave`: once per entry. */
  take(cursor: Cursor, entries: readonly OutboxEntry[], leave: () => void): void {
    this.#taken.set(cursor.lane, cursor.pos);
    for (const entry of entries) {
      const mark = this.lowWater.enter(cursor);
      const held: Held = {
        ...{ entry, cursor },
        leave: () => {
          if (this.#newest.get(entry.id) === held) this.#newest.delete(entry.id);
          this.lowWater.leave(mark);
          leave();
        },
      };
      this.#enter(held);
    }
    this.#go();
  }

  /** Ends what is under way, at the deadline by force, and writes anew what is not done when that saves repeats. */
  async stop(deadlineMs: number): Promise<void> {
    this.#isStopping = true;
    const cut = setTimeout(() => this.#stop.abort(), deadlineMs);
    if (this.#sending.size > 0)
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    clearTimeout(cut);
    await this.#lettingGo;
    const rest = [...this.#leaving, ...this.#ready.splice(0), ...this.#takeWaiting()];
    this.#leaving.clear();
    if (this.#finished > 0) this.#writeAnew(rest);
  }

  /** What waits for a target that is not there any more does not wait until it is due. */
  endIfGone(): void {
    if (this.#isStopping || this.#options.address() !== undefined) return;
    this.#ready.push(...this.#takeWaiting());
    this.#go();
  }

  #takeWaiting(): readonly Held[] {
    const waiting = [...this.#waiting.keys()];
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    return waiting;
  }

  #enter(held: Held): void {
    const { id } = held.entry;
    const known = this.#newest.get(id);
    if (known && isOlder(held.entry, known.entry)) {
      held.leave();
      return;
    }
    this.#newest.set(id, held);
    if (known) this.#letGo(known);
    this.#await(held);
  }

  /** What is under way ends by itself. */
  #letGo(held: Held): void {
    const index = this.#ready.indexOf(held);
    const timer = this.#waiting.get(held);
    if (!this.#leaving.delete(held) && index < 0 && timer === undefined) return;
    if (index >= 0) this.#ready.splice(index, 1);
    clearTimeout(timer);
    this.#waiting.delete(held);
    held.leave();
  }

  #await(held: Held): void {
    const { address, now } = this.#options;
    const inMs = held.entry.dueMs - now();
    if (inMs <= 0 || address() === undefined) {
      this.#ready.push(held);
      return;
    }
    const due = (): void => {
      this.#waiting.delete(held);
      this.#ready.push(held);
      this.#go();
    };
    this.#waiting.set(held, setTimeout(due, Math.min(inMs, longestTimerMs)).unref());
  }

  #go(): void {
    if (!this.#isStopping && this.#options.address() === undefined) this.#giveUp(this.#ready.splice(0));
    while (this.#sending.size < atOnce && !this.#isStopping) {
      const index = this.#ready.findIndex(({ entry }) => !this.#equal.has(entry.equality));
      const [next] = index < 0 ? [] : this.#ready.splice(index, 1);
      if (!next) return;
      this.#begin(next);
    }
  }

  #begin(held: Held): void {
    const { entry } = held;
    const { address, isCooling, suppressed } = this.#options;
    const at = address();
    if (at === undefined || at.state === 'off') {
      this.#giveUp([held]);
      return;
    }
    if (isCooling(entry)) {
      suppressed(entry);
      held.leave();
      this.#ended();
      return;
    }
    this.#sending.add(held);
    if (entry.cooldownMs > 0) this.#equal.add(entry.equality);
    void this.#attempt(held, at).finally(() => {
      this.#sending.delete(held);
      this.#equal.delete(entry.equality);
      if (this.#sending.size === 0) this.#idle?.();
      this.#go();
    });
  }

  async #attempt(held: Held, address: TargetAddress): Promise<void> {
    const { send, judge } = this.#options;
    const { entry, cursor } = held;
    const sent = await send(address, entry, this.#stop.signal);
    if (this.#stop.signal.aborted && sent.status === null) {
      this.#ready.push(held);
      return;
    }
    const next = await judge(entry, sent, cursor);
    if (!next) {
      this.#over(held);
      return;
    }
    // Otherwise it goes on as the entry that came meanwhile.
    if (this.#newest.get(entry.id) === held) this.#move(held, next);
    else held.leave();
    this.#ended();
  }

  #giveUp(all: readonly Held[]): void {
    for (const held of all) this.#leaving.add(held);
    if (all.length > 0) this.#lettingGo ??= this.#letGoInTurn();
  }

  async #letGoInTurn(): Promise<void> {
    for (const held of this.#leaving) {
      if (this.#isStopping) break;
      this.#leaving.delete(held);
      this.#last = held;
      await this.#options.gone(held.entry, held.cursor, this.#options.address() ? 'off' : 'gone');
      this.#last = undefined;
      this.#over(held);
    }
    this.#lettingGo = undefined;
  }

  /** The entry goes on as another one, at the end of the log. */
  #move(held: Held, next: Unnumbered): void {
    this.#moving.add(held);
    this.#options.write(next, () => {
      this.#moving.delete(held);
      held.leave();
      this.#tellRoom();
    });
  }

  /** Also for an entry of the same delivery that came meanwhile. */
  #over(held: Held): void {
    const newest = this.#newest.get(held.entry.id);
    if (newest && newest !== held) this.#letGo(newest);
    held.leave();
    this.#ended();
  }

  /** One that is tried again has left its place as well. */
  #ended(): void {
    this.#finished++;
    if (this.#finished > Math.max(maxBehind, this.#waiting.size)) this.#writeWaitingAnew();
    this.#tellRoom();
  }

  #tellRoom(): void {
    if (this.left.size > 0 && this.held <= maxHeld / 2) this.#options.hasRoom();
  }

  #writeWaitingAnew(): void {
    this.#writeAnew(this.#takeWaiting());
  }

  #writeAnew(all: readonly Held[]): void {
    this.#finished = 0;
    for (const held of all) {
      const { ext: _, ...entry } = held.entry;
      this.#move(held, entry);
    }
  }
}

/** One that was sent again by hand is newer than all attempts before. */
const isOlder = (one: Unnumbered, other: Unnumbered): boolean =>
  one.sinceMs === other.sinceMs ? one.attempts < other.attempts : one.sinceMs < other.sinceMs;

/** Timers know no longer time. */
const longestTimerMs = 2_147_483_647;
