/** What is known of the ends of streams, so that an append finds its own events again without reading the stream each time. */
import type { Position } from '../../../domain/event-store.ts';
import type { KurrentClient, RawEvent } from './kurrent-client.ts';
import { markOf } from './kurrent-codec.ts';

/** An event by its id, and which append it came with. */
export type KnownPart = {
  readonly type: string;
  readonly revision: bigint;
  readonly position: Position;
  readonly append: string;
  readonly place: string;
};

/** `head` is undefined for a stream without events. It may be behind the server, never ahead of it. */
export type Tail = { readonly head: bigint | undefined; readonly parts: ReadonlyMap<string, KnownPart> };

/**
 * A repeat with the expectation `any` is recognised among so many events before the first append of this process, and all
 * those after it; one that names a revision always.
 */
const firstLookEvents = 100;
const firstLookBytes = 4 * 1024 * 1024;
const pageEvents = 500;
const pageBytes = 16 * 1024 * 1024;
const maxParts = 2_000;
const maxStreams = 500;

const nothing: Tail = { head: undefined, parts: new Map() };

export class KurrentTails {
  readonly #client: KurrentClient;
  readonly #tails = new Map<string, Tail>();
  /** Streams of appends that run, and of how many. */
  readonly #held = new Map<string, number>();

  constructor(client: KurrentClient) {
    this.#client = client;
  }

  /** An append may touch more streams than are remembered: what it needs stays until it is done. */
  async holding<T>(streams: readonly string[], work: () => Promise<T>): Promise<T> {
    for (const stream of streams) this.#held.set(stream, (this.#held.get(stream) ?? 0) + 1);
    try {
      return await work();
    } finally {
      for (const stream of streams) this.#letGo(stream);
      this.#forget();
    }
  }

  known(stream: string): Tail | undefined {
    return this.#tails.get(stream);
  }

  /** What came since the last look; the last hundred events at the first. */
  async look(stream: string): Promise<Tail> {
    const tail = this.#tails.get(stream);
    if (tail?.head === undefined) return this.#firstLook(stream);
    for (let from = tail.head + 1n; ; ) {
      const page = await this.#client.readStream(stream, from, { limit: pageEvents, maxBytes: pageBytes });
      const last = page.events.at(-1);
      if (last) this.#add(stream, page.events, last.revision);
      if (!last || !page.hasMore) return this.#tails.get(stream) ?? nothing;
      from = last.revision + 1n;
    }
  }

  /** Some events in the middle of a stream. */
  async lookAt(stream: string, first: bigint, count: number): Promise<void> {
    const end = first + BigInt(count);
    for (let from = first; from < end; ) {
      const limits = { limit: Math.min(pageEvents, Number(end - from)), maxBytes: pageBytes };
      const { events } = await this.#client.readStream(stream, from, limits);
      const last = events.at(-1);
      if (!last) return;
      const { head, parts } = this.#tails.get(stream) ?? nothing;
      this.#keep(stream, { head, parts: new Map([...parts, ...events.map(knownPart)]) });
      from = last.revision + 1n;
    }
  }

  /** Where the server says that the stream stands: retention may have left nothing to read. */
  standsAt(stream: string, head: bigint | undefined): void {
    const tail = this.#tails.get(stream) ?? nothing;
    if (head !== undefined && (tail.head ?? -1n) < head) this.#keep(stream, { ...tail, head });
  }

  /** Events that this process has just written. */
  wrote(stream: string, head: bigint, parts: readonly (readonly [string, KnownPart])[]): void {
    const tail = this.#tails.get(stream) ?? nothing;
    this.#keep(stream, { head, parts: new Map([...tail.parts, ...parts]) });
  }

  async #firstLook(stream: string): Promise<Tail> {
    const limits = { back: true, limit: firstLookEvents, maxBytes: firstLookBytes };
    const { events } = await this.#client.readStream(stream, 'end', limits);
    const [last] = events;
    if (last) this.#add(stream, events.toReversed(), last.revision);
    return this.#tails.get(stream) ?? nothing;
  }

  #add(stream: string, events: readonly RawEvent[], head: bigint): void {
    this.wrote(stream, head, events.map(knownPart));
  }

  #keep(stream: string, { head, parts }: Tail): void {
    this.#tails.delete(stream);
    this.#tails.set(stream, { head, parts: new Map([...parts].slice(-maxParts)) });
  }

  #letGo(stream: string): void {
    const count = (this.#held.get(stream) ?? 0) - 1;
    if (count > 0) this.#held.set(stream, count);
    else this.#held.delete(stream);
  }

  /** The streams and events of longest ago first. */
  #forget(): void {
    for (const stream of this.#tails.keys()) {
      if (this.#tails.size <= maxStreams) return;
      if (!this.#held.has(stream)) this.#tails.delete(stream);
    }
  }
}

function knownPart(event: RawEvent): readonly [string, KnownPart] {
  const { append, place } = markOf(event);
  return [event.id, { type: event.type, revision: event.revision, position: event.position, append, place }];
}
