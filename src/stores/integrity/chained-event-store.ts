/** The event store as everybody gets it: what is appended to an audited stream is chained, whoever appends it. */
import {
  type Appended,
  type AppendOptions,
  type EventStore,
  EventStoreError,
  type Expected,
  forwardedStore,
  type NewEvent,
  type Write,
  WrongExpectedVersion,
} from '../../../domain/event-store.ts';
import { isAudited } from '../../../domain/ids.ts';
import { chained, noHash, type StreamEnd } from './hash-chain.ts';

/** The same store; appends to audited streams need an explicit expectation and get their hashes. */
export function chainedEventStore(store: EventStore): EventStore {
  const ends = new StreamEnds(store);
  return {
    ...forwardedStore(store),
    append: (writes, options) => append(store, ends, writes, options),
    retain: (...args) => retain(store, ...args),
  };
}

/** Ends of streams that are asked for at once: an append may write to thousands, and an engine has a few connections. */
const parallelReads = 64;

async function append(
  store: EventStore,
  ends: StreamEnds,
  writes: readonly Write[],
  options: AppendOptions,
): Promise<Appended> {
  const linked: Linked[] = [];
  for (let start = 0; start < writes.length; start += parallelReads) {
    const group = writes.slice(start, start + parallelReads);
    linked.push(...(await Promise.all(group.map((write) => link(ends, write)))));
  }
  const appended = await store.append(
    linked.map(({ write }) => write),
    options,
  );
  // What was stored before may have other metadata, and so another hash.
  if (!appended.duplicate) for (const { write, end } of linked) if (end) ends.remember(write.stream, end);
  return appended;
}

type Linked = { readonly write: Write; readonly end?: StreamEnd };

async function link(ends: StreamEnds, write: Write): Promise<Linked> {
  const { stream, expected, events } = write;
  if (events.length === 0 || !isAudited(stream)) return { write };
  let end = await ends.at(stream, expected);
  const linked: NewEvent[] = [];
  for (const event of events) {
    const revision = end.revision + 1n;
    const next = chained(end.hash, { ...event, stream, revision });
    linked.push(next);
    end = { revision, hash: next.meta['hash'] ?? noHash };
  }
  return { write: { stream, expected, events: linked }, end };
}

/** So many streams are remembered; the others are read. */
const maxRemembered = 10_000;

/** The hashes with which streams end. An event never changes, so what was once read or written stays true. */
class StreamEnds {
  readonly #store: EventStore;
  readonly #known = new Map<string, StreamEnd>();

  constructor(store: EventStore) {
    this.#store = store;
  }

  /**
   * A stream that has gone beyond is refused by the store. One that is not yet there is refused here: it could come there
   * until the append does, and then the event would follow a hash that nobody knew.
   */
  async at(stream: string, expected: Expected): Promise<StreamEnd> {
    if (expected === 'noStream') return { revision: -1n, hash: noHash };
    if (typeof expected !== 'bigint') {
      throw new EventStoreError('Unsupported', `${stream} is audited: an append says which revision it follows`);
    }
    const known = this.#known.get(stream);
    if (known?.revision === expected) return known;
    const [last] = await this.#store.readStream(stream, { to: expected, back: true, limit: 1 });
    if (last?.revision !== expected) throw new WrongExpectedVersion(stream, expected, last?.revision);
    return { revision: expected, hash: last.meta['hash'] ?? noHash };
  }

  remember(stream: string, end: StreamEnd): void {
    this.#known.delete(stream);
    this.#known.set(stream, end);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= maxRemembered) break;
      this.#known.delete(oldest);
    }
  }
}

/** Nothing that is audited is ever taken out of the log. */
async function retain(store: EventStore, ...args: Parameters<EventStore['retain']>): Promise<void> {
  if (isAudited(args[0])) throw new EventStoreError('Unsupported', `${args[0]} is audited: its events stay`);
  return store.retain(...args);
}
