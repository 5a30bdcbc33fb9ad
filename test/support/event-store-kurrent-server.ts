/** A log of its own for each test on one KurrentDB server that cannot be emptied: names of its own, and nothing from before. */
import { randomBytes } from 'node:crypto';
import {
  type Batch,
  type EventStore,
  type Filter,
  type Position,
  type StoredEvent,
  WrongExpectedVersion,
} from '../../domain/event-store.ts';
import { type Cell, checkCell, type SharedCells } from '../../domain/shared-cells.ts';
import { openKurrentLog } from '../../src/stores/events/kurrent-event-store.ts';
import type { OpenedLog } from '../../src/stores/opened-log.ts';

/** What the tests of a log on the server begin with. Its clock is the server's: the one here moves nothing. */
export async function openKurrentServerLog(url: string) {
  const opened: OpenedLog[] = [];
  const open = async (): Promise<OpenedLog> => {
    const log = await openKurrentLog(url, {});
    opened.push(log);
    return log;
  };
  const log = await open();
  const scope = `t${randomBytes(6).toString('hex')}x`;
  const start = await log.store.head();
  return {
    store: scopedStore(log.store, scope, start),
    cells: scopedCells(log.cells, scope),
    clock: { nowMs: 0 },
    openAgain: async () => scopedStore((await open()).store, scope, start),
    openCellsAgain: async () => scopedCells((await open()).cells, scope),
    dispose: async () => {
      await Promise.all(opened.map((one) => one.close()));
    },
  };
}

function scopedStore(store: EventStore, scope: string, start: Position): EventStore {
  const outer = (position: Position): Position => (position <= start ? '' : position);
  const inner = (position: Position): Position => (position === '' ? start : position);
  const filterOf = (filter: Filter): Filter => ({
    ...filter,
    ...(filter.categories && { categories: filter.categories.map((category) => scope + category) }),
    ...(filter.streams && { streams: filter.streams.map((stream) => scope + stream) }),
  });
  const scoped = <T extends { readonly after: Position; readonly filter?: Filter }>(options: T): T => ({
    ...options,
    after: inner(options.after),
    ...(options.filter && { filter: filterOf(options.filter) }),
  });
  const seen = (events: readonly StoredEvent[]): readonly StoredEvent[] =>
    events.map((event) => ({ ...event, stream: event.stream.slice(scope.length) }));
  const batchOf = (batch: Batch): Batch =>
    'caughtUp' in batch
      ? { ...batch, checkpoint: outer(batch.checkpoint) }
      : { events: seen(batch.events), checkpoint: outer(batch.checkpoint) };
  return {
    identity: store.identity,
    can: store.can,
    async append(writes, options) {
      const inside = writes.map((write) => ({ ...write, stream: scope + write.stream }));
      const answer = await store.append(inside, options).catch((error: unknown) => {
        if (!(error instanceof WrongExpectedVersion)) throw error;
        throw new WrongExpectedVersion(error.stream.slice(scope.length), error.expected, error.actual);
      });
      const heads = [...answer.heads].map(([stream, head]) => [stream.slice(scope.length), head] as const);
      return { ...answer, position: outer(answer.position), heads: new Map(heads) };
    },
    readStream: async (stream, options) => seen(await store.readStream(scope + stream, options)),
    async readAll(options) {
      const page = await store.readAll(scoped(options));
      return { ...page, events: seen(page.events), next: outer(page.next) };
    },
    async *subscribe(options) {
      for await (const batch of store.subscribe(scoped(options))) yield batchOf(batch);
    },
    positionAt: async (time) => outer(await store.positionAt(time)),
    command: (id) => store.command(id),
    retain: (stream, rule) => store.retain(scope + stream, rule),
    head: async () => outer(await store.head()),
    health: () => store.health(),
    close: () => store.close(),
  };
}

function scopedCells(cells: SharedCells, scope: string): SharedCells {
  const inside = (key: string): string => `${scope}/${key}`;
  const checked = (key: string): string => {
    checkCell(key);
    return inside(key);
  };
  return {
    read: async (key) => cells.read(checked(key)),
    write: async (key, value, expected) => cells.write(checked(key), value, expected),
    remove: async (key) => cells.remove(checked(key)),
    list: async (prefix) =>
      (await cells.list(inside(prefix))).map((cell): Cell => ({ ...cell, key: cell.key.slice(scope.length + 1) })),
  };
}
