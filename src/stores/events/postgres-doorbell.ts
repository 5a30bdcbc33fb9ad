/** Tells the subscriptions of a PostgreSQL log that it has grown: by looking, and at once where notifications come through. */
import type { Position } from '../../../domain/event-store.ts';
import { type EarOptions, PostgresEar } from './postgres-ear.ts';
import { Doorbell } from './subscription.ts';

export type WatchedLog = {
  /** Reads the head. */
  readonly look: () => Promise<Position>;
  readonly listen: EarOptions['listen'];
  readonly warn: (text: string) => void;
};

/** Between two looks: short after a find, longer while nothing happens. */
const minPollMs = 50;
const maxPollMs = 1_000;

/**
 * A notification is a hint: it makes us look at once, and what follows is read from the log, never from the notification.
 * So a missed one, a foreign one or one too many do no harm.
 */
export class PostgresDoorbell {
  readonly #log: WatchedLog;
  readonly #bell = new Doorbell();
  readonly #looks = new Doorbell();
  #followers = 0;
  #ear: PostgresEar | undefined;
  #isDeaf = false;
  /** The head at the last look, or of a later append of our own. It goes back with the log, after a fail-over. */
  #head: Position = '';
  /** How often we learnt of the head from an append of our own. */
  #appends = 0;
  #waitMs = minPollMs;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isHurried = false;
  #end: Error | undefined;

  constructor(log: WatchedLog) {
    this.#log = log;
  }

  get hears(): boolean {
    return this.#ear?.hears ?? false;
  }

  /** Watches while somebody follows. */
  enter(): void {
    if (this.#followers++ > 0) return;
    if (!this.#isDeaf) this.#ear = this.#newEar();
    this.#hurry();
  }

  leave(): void {
    if (--this.#followers === 0) this.#rest().catch(() => undefined);
  }

  /** After an append of our own. */
  grown(head: Position): void {
    this.#appends += 1;
    if (head > this.#head) this.#see(head);
  }

  /** Resolves when the log is longer than `position` or the signal aborts; rejects when the watch has ended. */
  async longerThan(position: Position, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#head <= position) {
      if (this.#end) throw this.#end;
      await this.#bell.wait(signal);
    }
  }

  /** Resolves after the next look that succeeds, or when the signal aborts or the watch ends. */
  async readable(signal: AbortSignal): Promise<void> {
    if (!this.#end) await this.#looks.wait(signal);
  }

  async end(reason: Error): Promise<void> {
    this.#end = reason;
    this.#bell.ring();
    this.#looks.ring();
    await this.#rest();
    await this.#looking;
  }

  get #isOn(): boolean {
    return this.#followers > 0 && !this.#end;
  }

  #newEar(): PostgresEar {
    return new PostgresEar({
      listen: this.#log.listen,
      onHint: () => this.#hurry(),
      onDeaf: () => {
        this.#isDeaf = true;
        this.#log.warn(
          'PostgreSQL: notifications do not arrive (a proxy that pools transactions?), so the log is polled',
        );
      },
    });
  }

  #see(head: Position): void {
    const hasGrown = head > this.#head;
    this.#head = head;
    if (hasGrown) this.#bell.ring();
  }

  /** Looks now; once more when a look is under way, which may have read before what there is to see. */
  #hurry(): void {
    if (!this.#isOn) return;
    if (this.#looking !== undefined) {
      this.#isHurried = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#looking = this.#look().finally(() => this.#wait());
  }

  #wait(): void {
    this.#looking = undefined;
    if (!this.#isOn) return;
    this.#timer = setTimeout(() => this.#hurry(), this.#isHurried ? 0 : this.#waitMs);
    this.#isHurried = false;
  }

  async #look(): Promise<void> {
    this.#ear?.open();
    const [appends, before] = [this.#appends, this.#head];
    try {
      const head = await this.#log.look();
      // What we appended meanwhile counts for more than a look that may have come before it.
      if (appends === this.#appends || head > this.#head) this.#see(head);
      this.#looks.ring();
    } catch {
      // The server is away. Whoever reads hears of it; the next look tells whether it is back.
    }
    const idleMs = this.hears ? maxPollMs : Math.min(maxPollMs, this.#waitMs * 1.5);
    this.#waitMs = this.#head > before ? minPollMs : idleMs;
  }

  /** Neither looks nor listens until somebody follows again. */
  async #rest(): Promise<void> {
    clearTimeout(this.#timer);
    this.#waitMs = minPollMs;
    const ear = this.#ear;
    this.#ear = undefined;
    await ear?.close();
  }
}
