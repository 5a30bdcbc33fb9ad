/** Follows an event store in a test and lets it wait for what it wants to see. */
import type { Batch, EventStore, Position, StoredEvent } from '../../domain/event-store.ts';

type Following = Omit<Parameters<EventStore['subscribe']>[0], 'signal'>;

/** One open subscription; reads on by itself until it is stopped. */
export class Follower implements AsyncDisposable {
  readonly batches: Batch[] = [];
  readonly #abort = new AbortController();
  readonly #done: Promise<void>;
  #waiting: {
    readonly isMet: () => boolean;
    readonly resolve: () => void;
    readonly reject: (error: unknown) => void;
  }[] = [];

  constructor(store: EventStore, options: Partial<Following> = {}) {
    this.#done = this.#run(store, { after: '', ...options });
    this.#done.catch(() => undefined);
  }

  get events(): readonly StoredEvent[] {
    return this.batches.flatMap((batch) => ('events' in batch ? batch.events : []));
  }

  get checkpoint(): Position {
    return this.batches.at(-1)?.checkpoint ?? '';
  }

  get timesCaughtUp(): number {
    return this.batches.filter((batch) => 'caughtUp' in batch).length;
  }

  /** Resolves when the condition holds; rejects when the subscription fails before. */
  until(isMet: () => boolean): Promise<void> {
    if (isMet()) return Promise.resolve();
    return Promise.race([
      new Promise<void>((resolve, reject) => this.#waiting.push({ isMet, resolve, reject })),
      this.#done.then(() => Promise.reject(new Error('the subscription ended before the condition held'))),
    ]);
  }

  /** Resolves when the loop has ended. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#done;
  }

  /** Resolves, or rejects, when the loop ends by itself. */
  get done(): Promise<void> {
    return this.#done;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#done.catch(() => undefined);
  }

  async #run(store: EventStore, options: Following): Promise<void> {
    for await (const batch of store.subscribe({ ...options, signal: this.#abort.signal })) {
      this.batches.push(batch);
      for (const { isMet, resolve } of this.#waiting) if (isMet()) resolve();
      this.#waiting = this.#waiting.filter(({ isMet }) => !isMet());
    }
  }
}
