/** Hears the notifications of a PostgreSQL log on a connection of its own, and finds out whether they come through at all. */
import { randomUUID } from 'node:crypto';
import type { Listening } from '../postgres.ts';

export type EarOptions = {
  readonly listen: (handlers: {
    readonly onNotice: (payload: string) => void;
    readonly onEnd: () => void;
  }) => Promise<Listening>;
  /** There may be something new; also said when listening begins, since something may have been told before. */
  readonly onHint: () => void;
  /** Notifications do not arrive, as behind a proxy that pools transactions. */
  readonly onDeaf: () => void;
};

/** `lost`: there is no connection; `open` tries again. `deaf` and `closed` are final. */
type State = 'lost' | 'trying' | 'hears' | 'deaf' | 'closed';

/** After this a notification that was sent to oneself will not come any more. */
const echoWithinMs = 2_000;

export class PostgresEar {
  readonly #options: EarOptions;
  #state: State = 'lost';
  #listening: Listening | undefined;

  constructor(options: EarOptions) {
    this.#options = options;
  }

  get hears(): boolean {
    return this.#state === 'hears';
  }

  /** Begins to listen unless it does already, or never will. */
  open(): void {
    if (this.#state !== 'lost') return;
    this.#state = 'trying';
    this.#listen().catch(() => this.#drop('lost'));
  }

  async close(): Promise<void> {
    await this.#drop('closed');
  }

  async #listen(): Promise<void> {
    const echo = Promise.withResolvers<boolean>();
    const test = `test ${randomUUID()}`;
    const listening = await this.#options.listen({
      onNotice: (payload) => (payload === test ? echo.resolve(true) : this.#hear(payload)),
      onEnd: () => {
        echo.resolve(false);
        this.#drop('lost').catch(() => undefined);
      },
    });
    this.#listening = listening;
    // Closed while the connection was made.
    if (this.#state !== 'trying') return this.#drop(this.#state);
    await listening.notify(test);
    const timer = setTimeout(() => echo.resolve(false), echoWithinMs);
    const hasEcho = await echo.promise;
    clearTimeout(timer);
    if (this.#state !== 'trying') return;
    if (hasEcho) {
      this.#state = 'hears';
      this.#options.onHint();
      return;
    }
    this.#options.onDeaf();
    await this.#drop('deaf');
  }

  /** Tests of other nodes are no news. */
  #hear(payload: string): void {
    if (/^\d+$/.test(payload)) this.#options.onHint();
  }

  async #drop(state: State): Promise<void> {
    if (this.#state !== 'closed') this.#state = state;
    const listening = this.#listening;
    this.#listening = undefined;
    await listening?.close();
  }
}
