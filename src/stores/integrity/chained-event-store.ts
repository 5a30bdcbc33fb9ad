/** The event store as everybody gets it: what is appended to an audited stream is chained, whoever appends it. */
import {
  type AppendOptions,
  type EventStore,
  EventStoreError,
  type Expected,
  type NewEvent,
  type Write,
} from '../../../domain/event-store.ts';
import { isAudited } from '../../../domain/ids.ts';
import { chained, noHash } from './hash-chain.ts';

/** The same store; appends to audited streams need an explicit expectation and get their hashes. */
export function chainedEventStore(store: EventStore): EventStore {
  const append = async (writes: readonly Write[], options: AppendOptions) =>
    store.append(await Promise.all(writes.map((write) => link(store, write))), options);
  return {
    append,
    readStream: (...args) => store.readStream(...args),
    readAll: (...args) => store.readAll(...args),
    subscribe: (...args) => store.subscribe(...args),
    positionAt: (...args) => store.positionAt(...args),
    command: (...args) => store.command(...args),
    retain: (...args) => retain(store, ...args),
    head: () => store.head(),
    health: () => store.health(),
    close: () => store.close(),
    identity: store.identity,
    can: store.can,
  };
}

async function link(store: EventStore, write: Write): Promise<Write> {
  const { stream, expected, events } = write;
  if (events.length === 0 || !isAudited(stream)) return write;
  let { prevHash, revision } = await predecessor(store, stream, expected);
  const linked: NewEvent[] = [];
  for (const event of events) {
    revision += 1n;
    const next = chained(prevHash, { ...event, stream, revision });
    linked.push(next);
    prevHash = next.meta['hash'] ?? noHash;
  }
  return { stream, expected, events: linked };
}

/** When the stream is not where it is expected to be, any hash will do: the append will be refused. */
async function predecessor(
  store: EventStore,
  stream: string,
  expected: Expected,
): Promise<{ prevHash: string; revision: bigint }> {
  if (expected === 'noStream') return { prevHash: noHash, revision: -1n };
  if (typeof expected !== 'bigint') {
    throw new EventStoreError('Unsupported', `${stream} is audited: an append says which revision it follows`);
  }
  const [last] = await store.readStream(stream, { from: expected, to: expected, limit: 1 });
  return { prevHash: last?.meta['hash'] ?? noHash, revision: expected };
}

/** Nothing that is audited is ever taken out of the log. */
async function retain(store: EventStore, ...args: Parameters<EventStore['retain']>): Promise<void> {
  if (isAudited(args[0])) throw new EventStoreError('Unsupported', `${args[0]} is audited: its events stay`);
  return store.retain(...args);
}
