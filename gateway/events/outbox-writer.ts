/** Numbers entries and carries them into the outbox in batches, in order, until the disk has taken them. */
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Marker, RecordLane } from '../../domain/record-log.ts';
import type { Clock, Log } from '../ports.ts';
import type { OutboxEntry, Unnumbered } from './outbox-entry.ts';

export type OutboxLane = RecordLane<OutboxEntry>;

type Waiting = { readonly entry: Unnumbered; readonly written: () => void };

const entriesPerFrame = 500;
const firstPauseMs = 100;
const longestPauseMs = 5_000;

export class OutboxWriter {
  readonly #lane: OutboxLane;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #waiting: Waiting[] = [];
  readonly #giveUp = new AbortController();
  #sequence = 0;
  #running: Promise<void> | undefined;

  /** Says at once what earlier runs lost. */
  constructor(lane: OutboxLane, { clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#lane = lane;
    this.#clock = clock;
    this.#log = log;
    if (lane.lost.length > 0) this.#start(() => this.#append([], lane.lost));
  }

  /** `written`: once the entry survives a kill of the process. */
  add(entry: Unnumbered, written: () => void = ignore): void {
    this.#waiting.push({ entry, written });
    if (!this.#running) this.#start(() => this.#drain());
  }

  /** Writes what waits, gives up at the deadline, and ends the run. */
  async end(deadlineMs: number): Promise<void> {
    const deadline = setTimeout(() => this.#giveUp.abort(), deadlineMs);
    const isLate = once(this.#giveUp.signal, 'abort');
    while (this.#running && !this.#giveUp.signal.aborted) await Promise.race([this.#running, isLate]);
    clearTimeout(deadline);
    if (!this.#giveUp.signal.aborted) await this.#lane.end(this.#sequence);
  }

  #start(task: () => Promise<unknown>): void {
    this.#running = task()
      .then(ignore)
      .finally(() => {
        this.#running = undefined;
        if (this.#waiting.length > 0 && !this.#giveUp.signal.aborted) this.#start(() => this.#drain());
      });
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#giveUp.signal.aborted) {
      const batch = this.#waiting.splice(0, entriesPerFrame);
      if (!(await this.#append(batch.map(({ entry }) => entry)))) return;
      for (const { written } of batch) written();
    }
  }

  /** Tries until the disk has it; false when the time for that is over. */
  async #append(entries: readonly Unnumbered[], markers: readonly Marker[] = []): Promise<boolean> {
    const { node, epoch } = this.#lane;
    const first = this.#sequence + 1;
    const records = entries.map((entry) => ({ ...entry, ext: { node, epoch, seq: ++this.#sequence } }));
    const frame = { node, epoch, first, last: this.#sequence, createdMs: this.#clock.now(), records, markers };
    for (let pauseMs = firstPauseMs; !this.#giveUp.signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        await this.#lane.append(frame, { durable: false });
        return true;
      } catch (error) {
        this.#log.error('the outbox of events refused a batch', { entries: entries.length, error });
        await pause(pauseMs, undefined, { signal: this.#giveUp.signal }).catch(ignore);
      }
    }
    return false;
  }
}

const ignore = (): void => {};
