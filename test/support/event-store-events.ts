/** Makes events, appends and readings for tests of event stores. */
import { randomUUID } from 'node:crypto';
import type { Appended, EventStore, Expected, NewEvent, StoredEvent, Write } from '../../domain/event-store.ts';

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

export const event = (overrides: Partial<NewEvent> = {}): NewEvent => ({
  id: randomUUID(),
  type: 'Happened',
  schema: 1,
  data: bytes('{"n":1}'),
  meta: { v: '1', actorId: 'tester' },
  ...overrides,
});

export const events = (count: number): readonly NewEvent[] => Array.from({ length: count }, () => event());

export const write = (stream: string, expected: Expected, ...list: readonly NewEvent[]): Write => ({
  stream,
  expected,
  events: list,
});

/** Appends under a command id of its own unless one is given. */
export const append = (
  store: EventStore,
  writes: readonly Write[],
  options: { readonly commandId?: string; readonly requestHash?: string; readonly response?: Uint8Array } = {},
): Promise<Appended> => store.append(writes, { commandId: randomUUID(), timeoutMs: 5_000, ...options });

/** A stream with so many events, one append each, so that each has a time of its own. */
export async function fill(store: EventStore, stream: string, count: number): Promise<readonly NewEvent[]> {
  const made = events(count);
  for (const one of made) await append(store, [write(stream, 'any', one)]);
  return made;
}

/** The whole log, page by page. */
export async function readWholeLog(store: EventStore): Promise<readonly StoredEvent[]> {
  const found: StoredEvent[] = [];
  let after = '';
  for (;;) {
    const page = await store.readAll({ after, limit: 1_000 });
    found.push(...page.events);
    after = page.next;
    if (page.atHead) return found;
  }
}

export const ids = (list: readonly { readonly id: string }[]): readonly string[] => list.map(({ id }) => id);

/** Every create of one id at once; exactly one may win. */
export async function raceToCreate(
  stores: readonly EventStore[],
  stream: string,
  contenders: number,
): Promise<{ readonly won: number; readonly conflicts: number }> {
  const outcomes = await Promise.allSettled(
    Array.from({ length: contenders }, async (_, index) => {
      const store = stores[index % stores.length];
      if (store) await append(store, [write(stream, 'noStream', event())]);
    }),
  );
  const isConflict = (outcome: PromiseSettledResult<void>): boolean =>
    outcome.status === 'rejected' && outcome.reason.code === 'WrongExpectedVersion';
  return {
    won: outcomes.filter(({ status }) => status === 'fulfilled').length,
    conflicts: outcomes.filter(isConflict).length,
  };
}
