/** Event stores that are wrong on purpose, each in one way that has been seen in the field, so that the judge can be judged. */
import type {
  Appended,
  AppendOptions,
  EventStore,
  Page,
  Position,
  StoredEvent,
  Write,
} from '../../domain/event-store.ts';
import { padPosition } from '../../domain/event-store.ts';
import { MemoryEventStore } from '../../src/stores/events/memory-event-store.ts';

/** Appends to a stream that exists are good enough for `noStream`. */
export class UncheckedCreation extends MemoryEventStore {
  override append(writes: readonly Write[], options: AppendOptions): Promise<Appended> {
    const lax = writes.map((write) => ({ ...write, expected: write.expected === 'noStream' ? 'any' : write.expected }));
    return super.append(lax as readonly Write[], options);
  }
}

/** Answers when an event is in its memory; what was not yet on its disk is gone after `crash`. */
export class AnswersBeforeCommit extends MemoryEventStore {
  #memory = new MemoryEventStore();
  #waiting: readonly (readonly [readonly Write[], AppendOptions])[] = [];
  #flushed: readonly (readonly [readonly Write[], AppendOptions])[] = [];

  override async append(writes: readonly Write[], options: AppendOptions): Promise<Appended> {
    const answer = await this.#memory.append(writes, options);
    this.#waiting = [...this.#waiting, [writes, options]];
    return answer;
  }

  async flush(): Promise<void> {
    for (const [writes, options] of this.#waiting) await super.append(writes, options);
    this.#flushed = [...this.#flushed, ...this.#waiting];
    this.#waiting = [];
  }

  async crash(): Promise<void> {
    this.#waiting = [];
    this.#memory = new MemoryEventStore();
    for (const [writes, options] of this.#flushed) await this.#memory.append(writes, options);
  }
}

/** Takes positions from a sequence and commits later: other appends overtake it, and readers too. One write for each append. */
export class SequencePositions extends MemoryEventStore {
  readonly #beforeCommit: (stream: string) => Promise<void>;
  readonly #streams = new Map<string, Promise<unknown>>();
  #sequence = 0;
  #events: readonly StoredEvent[] = [];

  constructor(beforeCommit: (stream: string) => Promise<void>) {
    super();
    this.#beforeCommit = beforeCommit;
  }

  override append([write]: readonly Write[]): Promise<Appended> {
    if (!write) throw new RangeError('this store takes one write');
    const { stream } = write;
    // A row lock: appends to one stream follow each other, those to different streams do not.
    const turn = this.#streams.get(stream) ?? Promise.resolve();
    const appended = turn.then(() => this.#insert(write));
    this.#streams.set(stream, appended);
    return appended;
  }

  async #insert({ stream, events }: Write): Promise<Appended> {
    const at = new Date(0);
    const stored = events.map((event, index): StoredEvent => {
      this.#sequence += 1;
      const revision = BigInt(this.#of(stream).length + index);
      return { ...event, stream, revision, position: padPosition(String(this.#sequence)), at };
    });
    await this.#beforeCommit(stream);
    this.#events = [...this.#events, ...stored].toSorted((a, b) => (a.position < b.position ? -1 : 1));
    const last = stored.at(-1);
    const heads = new Map(last ? [[stream, last.revision]] : []);
    return { position: last?.position ?? '', heads, duplicate: false };
  }

  override async readAll({ after }: { readonly after: Position }): Promise<Page> {
    const events = this.#events.filter(({ position }) => position > after);
    return { events, next: events.at(-1)?.position ?? after, atHead: true };
  }

  override async readStream(
    stream: string,
    { from = 0n }: Parameters<EventStore['readStream']>[1],
  ): Promise<readonly StoredEvent[]> {
    return this.#of(stream).filter(({ revision }) => revision >= from);
  }

  #of(stream: string): readonly StoredEvent[] {
    return this.#events.filter((event) => event.stream === stream);
  }
}
