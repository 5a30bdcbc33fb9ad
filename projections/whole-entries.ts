/** Entries of the history that the first fold left short, made whole from the events of their streams. */
import { isWholeApiEvent } from '../domain/api/superseding.ts';
import type { Recorded } from '../domain/event.ts';
import type { EventStore, StoredEvent } from '../domain/event-store.ts';
import { type DomainEvent, decodeEvent } from '../domain/events.ts';
import type { OrgId } from '../domain/ids.ts';
import { summarise } from './change-summary.ts';
import {
  type AggregateState,
  type Entry,
  entryOf,
  findAggregate,
  isShort,
  lastEntryOfType,
  type ShortEntry,
  stateAfter,
} from './history.ts';
import type { DocumentReader } from './read-model-store.ts';

/** What the history is read from. */
export type HistoryReads = { readonly models: DocumentReader; readonly store: Pick<EventStore, 'readStream'> };

/** Like the one that a fold of every event makes. */
export async function wholeEntry(reads: HistoryReads, orgId: OrgId, entry: Entry | ShortEntry): Promise<Entry> {
  if (!isShort(entry)) return entry;
  const stored = await backToWhole(reads.store, entry.stream, BigInt(entry.revision));
  const last = stored.at(-1);
  if (!last) throw new Error(`${entry.stream} has no revision ${entry.revision}, though the history knows it`);
  try {
    let state = madeAs(reads.models, orgId, entry);
    const events = stored.map(decodeEvent);
    for (const recorded of events) state = stateAfter(recorded, state);
    return entryOf(decodeEvent(last), state, summarise(decodeEvent(last).event, true));
  } catch {
    // A fold that has to read it stops or parks it and says why; here one line must not take the page with it.
    return entryOf({ ...last, event: { type: last.type } as DomainEvent }, { name: '' }, ['cannot be read']);
  }
}

export const wholeEntries = (
  reads: HistoryReads,
  orgId: OrgId,
  entries: readonly (Entry | ShortEntry)[],
): Promise<readonly Entry[]> => Promise.all(entries.map((entry) => wholeEntry(reads, orgId, entry)));

/** The same for one revision of an API whose history may not be folded yet: nothing but the log is read. */
export async function entryFromLog(
  store: Pick<EventStore, 'readStream'>,
  recorded: Recorded<DomainEvent>,
): Promise<Entry> {
  const { stream, revision, event } = recorded;
  // What is deleted was something before.
  const before = revision === 0n ? [] : await backToWhole(store, stream, revision - 1n);
  const known = before
    .map(decodeEvent)
    .reduce<AggregateState | undefined>((state, one) => stateAfter(one, state), undefined);
  return entryOf(recorded, stateAfter(recorded, known), summarise(event, true));
}

/** Since when the object is there, which no later event repeats. */
function madeAs(models: DocumentReader, orgId: OrgId, { stream, position }: ShortEntry): AggregateState {
  const listed = findAggregate(models, stream)?.listed;
  if (listed && listed.sort <= position) return { name: '', listed };
  const made = ['ApiDefinitionCreated', 'ApiDefinitionImported'] as const;
  const found = made.flatMap((type) => lastEntryOfType(models, orgId, stream, type, position) ?? []);
  const [last] = found.toSorted((a, b) => (a.position < b.position ? 1 : -1));
  return last && !isShort(last) ? last.state : { name: '' };
}

const pageEvents = 16;

/** The events up to a revision from the last one on that says the whole state, oldest first. */
export async function backToWhole(
  store: Pick<EventStore, 'readStream'>,
  stream: string,
  revision: bigint,
): Promise<readonly StoredEvent[]> {
  const newestFirst: StoredEvent[] = [];
  // Most events say everything themselves.
  for (let to = revision, limit = 1; ; limit = pageEvents) {
    const page: readonly StoredEvent[] = await store.readStream(stream, { to, back: true, limit });
    for (const stored of page) {
      newestFirst.push(stored);
      if (isWholeApiEvent(stored.type)) return newestFirst.toReversed();
    }
    const oldest = page.at(-1)?.revision ?? 0n;
    if (oldest === 0n) return newestFirst.toReversed();
    to = oldest - 1n;
  }
}
