/** Reads of KurrentDB: pages of one stream and of the global order without the engine's own events, its head, positions of times. */
import {
  type EventStore,
  EventStoreError,
  type Filter,
  type Page,
  type Position,
  type StoredEvent,
} from '../../../domain/event-store.ts';
import { checkLimit, matches, maxPageBytes } from './event-rules.ts';
import type { KurrentClient, RawEvent, RawPage, ServerFilter } from './kurrent-client.ts';
import { fromServer } from './kurrent-codec.ts';
import { isOurs, oursOnly } from './kurrent-names.ts';

const pageEvents = 500;
const rememberedTimes = 256;

type ReadableLog = Pick<KurrentClient, 'readStream' | 'readAll'>;

export class KurrentReads {
  readonly #client: ReadableLog;
  /** The last event of ours that is known, and the place up to which the log was looked through for it. */
  #head: Position = '';
  #seen: Position = '';
  /** The latest time before the places where pages ended, so that the next page does not go back. */
  #times: ReadonlyMap<Position, number> = new Map();

  constructor(client: ReadableLog) {
    this.#client = client;
  }

  async readStream(stream: string, options: Parameters<EventStore['readStream']>[1]): Promise<readonly StoredEvent[]> {
    const { from = 0n, to, back = false, limit } = options;
    checkLimit(limit);
    const least = from < 0n ? 0n : from;
    if (to !== undefined && to < least) return [];
    const limits = { back, limit, maxBytes: maxPageBytes };
    const page = await this.#client.readStream(stream, back ? (to ?? 'end') : least, limits);
    // A server may look for the revisions below a place that lies behind the stream's end, and find none.
    const isBehind = back && to !== undefined && page.events.length === 0;
    const { events } = isBehind ? await this.#client.readStream(stream, 'end', limits) : page;
    const wanted = events.filter(({ revision }) => revision >= least && (to === undefined || revision <= to));
    return back ? (await this.#stored(wanted.toReversed(), 0)).toReversed() : this.#stored(wanted, 0);
  }

  async readAll({ after, limit, filter }: Parameters<EventStore['readAll']>[0]): Promise<Page> {
    checkLimit(limit);
    checkPosition(after);
    // Before the events are read: what is at or before it is among them.
    const head = await this.head();
    const page = await this.#filtered(after, limit, filter);
    const last = page.events.at(-1)?.position ?? after;
    const next = page.hasMore ? last : latest(latest(last, head), after);
    const floorMs = this.#times.get(after) ?? 0;
    const wanted = page.events.filter((event) => isOurs(event.stream) && matches(filter, event));
    const events = await this.#stored(wanted, floorMs);
    this.#rememberTime(next, events.at(-1)?.at.getTime() ?? floorMs);
    return { events, next, atHead: !page.hasMore };
  }

  /** The last event of ours. Only what came since the last call is looked through. */
  async head(): Promise<Position> {
    const end = await this.#client.readAll('end', { back: true, limit: 1, maxBytes: maxPageBytes });
    const place = end.events[0]?.position ?? '';
    if (place <= this.#seen) return this.#head;
    if (this.#head === '') {
      const limits = { back: true, limit: 1, maxBytes: maxPageBytes, filter: oursOnly };
      const { events } = await this.#client.readAll('end', limits);
      this.#note(events[0]?.position ?? '');
    } else await this.#lookOn();
    this.#seen = latest(this.#seen, place);
    return this.#head;
  }

  /**
   * The engine keeps no index by time, so this reads backwards from the head: its cost is that of all events since then.
   * Where the server's clock was set back, an event counts as late as the latest before it, as far as its page shows that.
   */
  async positionAt(time: Date): Promise<Position> {
    const timeMs = time.getTime();
    let from: Position | 'end' = 'end';
    for (;;) {
      const limits = { back: true, limit: pageEvents, maxBytes: maxPageBytes, filter: oursOnly };
      const page: RawPage = await this.#client.readAll(from, limits);
      const latestAfter = page.events.findLastIndex(({ createdMs }) => createdMs > timeMs);
      const found = page.events[latestAfter + 1];
      if (found) return found.position;
      if (!page.hasMore) return '';
      from = page.events.at(-1)?.position ?? '';
    }
  }

  async #lookOn(): Promise<void> {
    for (let hasMore = true; hasMore; ) {
      const limits = { limit: pageEvents, maxBytes: maxPageBytes, filter: oursOnly };
      const page = await this.#client.readAll(latest(this.#seen, this.#head), limits);
      this.#note(page.events.at(-1)?.position ?? '');
      hasMore = page.hasMore;
    }
  }

  #note(position: Position): void {
    this.#head = latest(this.#head, position);
    this.#seen = latest(this.#seen, position);
  }

  /** The most selective part of the filter goes to the server; nothing is asked when nothing can match. */
  async #filtered(after: Position, limit: number, filter: Filter = {}): Promise<RawPage> {
    if ([filter.categories, filter.types, filter.streams].some((list) => list?.length === 0)) {
      return { events: [], hasMore: false };
    }
    const limits = { limit, maxBytes: maxPageBytes };
    const wanted = serverFilter(filter);
    if (wanted === oursOnly) return this.#client.readAll(after, { ...limits, filter: oursOnly });
    try {
      return await this.#client.readAll(after, { ...limits, filter: wanted });
    } catch {
      // The server may look for what matches for longer than a page may take: a page of everything always gets on.
      return this.#client.readAll(after, { ...limits, filter: oursOnly });
    }
  }

  /** Oldest first. No event is older than the one before it. */
  async #stored(raws: readonly RawEvent[], floorMs: number): Promise<readonly StoredEvent[]> {
    const events: StoredEvent[] = [];
    let latestMs = floorMs;
    for (const raw of raws) {
      latestMs = Math.max(latestMs, raw.createdMs);
      events.push(await fromServer({ ...raw, createdMs: latestMs }));
    }
    return events;
  }

  #rememberTime(position: Position, timeMs: number): void {
    const kept = [...this.#times].filter(([known]) => known !== position).slice(1 - rememberedTimes);
    this.#times = new Map([...kept, [position, timeMs]]);
  }
}

const latest = (one: Position, other: Position): Position => (one > other ? one : other);

function checkPosition(position: Position): void {
  if (position === '' || /^\d{20}-\d{20}$/.test(position)) return;
  throw new EventStoreError('Unsupported', `position ${position.slice(0, 60)} does not belong to this log`);
}

function serverFilter({ categories, types, streams }: Filter): ServerFilter {
  if (streams) return { on: 'streamName', regex: `^(?:${streams.map(escaped).join('|')})$` };
  if (categories) return { on: 'streamName', regex: `^(?:${categories.map(escaped).join('|')})(?:-|$)` };
  return types ? { on: 'eventType', regex: `^(?:${types.map(escaped).join('|')})$` } : oursOnly;
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
