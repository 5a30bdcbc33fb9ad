/** Every store by its address. */
import { nearestName } from '../../domain/errors.ts';
import type { EventStore } from '../../domain/event-store.ts';
import { MemoryEventStore } from './events/memory-event-store.ts';
import { openSqliteEventStore } from './events/sqlite-event-store.ts';

export type OpenEventStoreOptions = {
  /** ms since 1970. Default: the clock of the machine. */
  readonly now?: () => number;
  /** Payload of one event (`store.max_event_bytes`). Default 4 MiB. */
  readonly maxEventBytes?: number;
  /** Told what is doubtful but not refused, such as a file system of unknown type. */
  readonly warn?: (text: string) => void;
};

type Opener = (place: string, options: OpenEventStoreOptions) => Promise<EventStore>;

const eventStores: Readonly<Record<string, Opener>> = {
  memory: async (_, options) => new MemoryEventStore(options),
  sqlite: async (place, options) => {
    if (place === '') throw new Error('store.url: sqlite: needs a path, for example sqlite:./data/events.db');
    return openSqliteEventStore({ ...options, path: place });
  },
};

/** `sqlite:PATH` or `memory:`. The text of a refusal never repeats the address, which may hold a password. */
export async function openEventStore(url: string, options: OpenEventStoreOptions = {}): Promise<EventStore> {
  const { scheme = '', place = '' } =
    /^(?<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?:\/\/(?=\/))?(?<place>.*)$/s.exec(url)?.groups ?? {};
  const known = Object.keys(eventStores);
  const open = Object.hasOwn(eventStores, scheme.toLowerCase()) ? eventStores[scheme.toLowerCase()] : undefined;
  if (open) return open(place, options);
  const nearest = nearestName(scheme, known);
  const hint = nearest ? `, did you mean ${nearest}:?` : '';
  const subject = scheme === '' ? 'store.url has no scheme' : `store.url: the scheme ${scheme}: is not known`;
  throw new Error(`${subject}${hint} (known: ${known.map((name) => `${name}:`).join(', ')})`);
}
