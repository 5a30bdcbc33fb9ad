/** Wakes subscriptions of KurrentDB when the log has grown: by the server's push, and by a look of our own should the push have died. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Position } from '../../../domain/event-store.ts';
import type { KurrentClient } from './kurrent-client.ts';
import { oursOnly } from './kurrent-names.ts';
import { Doorbell } from './subscription.ts';

export type BellOptions = {
  readonly client: Pick<KurrentClient, 'follow'>;
  readonly head: () => Promise<Position>;
  /** How long a change may stay unnoticed when the server's push has died without a word. */
  readonly lookEveryMs: number;
};

/** `announced` is where the log is known to stand by this push. */
type Push = { announced: Position; stop: () => void };

/**
 * A push is a hint, never data: a subscription of the server can end without saying so, and does not come back by itself.
 * So nobody reads from it. What it failed to announce shows at the next look, and then it is made anew.
 */
export class KurrentBell {
  readonly #options: BellOptions;
  readonly #doorbell = new Doorbell();
  #listeners = 0;
  #isClosed = false;
  #running: AbortController | undefined;
  #push: Push | undefined;

  constructor(options: BellOptions) {
    this.#options = options;
  }

  /** From the first listener to the last the server is listened to. */
  enter(): void {
    this.#listeners += 1;
    if (this.#running || this.#isClosed) return;
    this.#running = new AbortController();
    void this.#run(this.#running.signal);
  }

  leave(): void {
    this.#listeners -= 1;
    if (this.#listeners > 0) return;
    this.#running?.abort();
    this.#running = undefined;
  }

  /** For good, and wakes everybody. A listener that never comes back for its next batch holds nothing open. */
  close(): void {
    this.#isClosed = true;
    this.#running?.abort();
    this.#doorbell.ring();
  }

  wait(signal: AbortSignal): Promise<void> {
    return this.#doorbell.wait(signal);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { head, lookEveryMs } = this.#options;
    let before: Position = '';
    while (!signal.aborted) {
      const position = await head().catch(() => before);
      if (position > before) this.#doorbell.ring();
      // From the last look to this one it had time to announce what the last one saw.
      if (this.#push && before > this.#push.announced) this.#drop();
      this.#push ??= this.#listen(position);
      before = position;
      await wait(lookEveryMs, undefined, { signal }).catch(() => undefined);
    }
    this.#drop();
  }

  /** From where the log is known to stand, so that nothing falls between this and the server's start. */
  #listen(from: Position): Push {
    const push: Push = { announced: from, stop: () => {} };
    const onEvent = (position: Position): void => {
      push.announced = position;
      this.#doorbell.ring();
    };
    const onEnd = (): void => {
      if (this.#push === push) this.#drop();
    };
    push.stop = this.#options.client.follow(oursOnly, from, onEvent, onEnd);
    return push;
  }

  #drop(): void {
    const push = this.#push;
    this.#push = undefined;
    push?.stop();
  }
}
