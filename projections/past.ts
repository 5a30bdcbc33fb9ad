/** What lists showed at a position: the last entry of each object up to there, as documents that the queries of today read. */
import { categoryOf, type Position } from '../domain/event-store.ts';
import type { OrgId } from '../domain/ids.ts';
import { apiNames } from './api-names.ts';
import { lastEntryOfStream, listAggregates, lostStreams } from './history.ts';
import { listings } from './listed-state.ts';
import type { Document, DocumentQuery, DocumentReader } from './read-model-store.ts';
import { type HistoryReads, wholeEntry } from './whole-entries.ts';

/** One object that was there. `revision` and `position` are those of its last event at or before the place asked for. */
export type PastObject = {
  /** The category of its stream. */
  readonly kind: string;
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: Position;
  readonly commandId: string;
  readonly name: string;
  readonly listed: Document;
};

/**
 * The objects of a kind that were there, in the order of their first events; those whose ids another organisation has by now
 * come last. Only what has changed since costs a look-up,
 * which is made when the object is asked for: what is before a position does not change meanwhile.
 */
export async function* objectsAt(
  reads: HistoryReads,
  orgId: OrgId,
  kind: string,
  position: Position,
): AsyncGenerator<PastObject> {
  const { models: documents } = reads;
  for (const { stream, now } of listAggregates(documents, orgId, kind, position)) {
    if (now.position <= position) yield* objectOf(stream, now, now);
    else {
      const then = lastEntryOfStream(documents, orgId, stream, position);
      if (then) yield* objectOf(stream, then, (await wholeEntry(reads, orgId, then)).state);
    }
  }
  for (const stream of lostStreams(documents, orgId, kind, position)) {
    const then = lastEntryOfStream(documents, orgId, stream, position);
    if (then) yield* objectOf(stream, then, (await wholeEntry(reads, orgId, then)).state);
  }
}

function objectOf(
  stream: string,
  place: Pick<PastObject, 'revision' | 'position' | 'commandId'>,
  { name, listed }: { readonly name: string; readonly listed?: Document },
): readonly PastObject[] {
  if (!listed) return [];
  const { revision, position, commandId } = place;
  const kind = categoryOf(stream);
  return [{ kind, id: stream.slice(kind.length + 1), stream, revision, position, commandId, name, listed }];
}

/** What lists read, made of the objects that were there. Whole objects are not among it: their events have them. */
export function pastDocuments(objects: readonly PastObject[]): DocumentReader {
  const byKind = Map.groupBy(objects, ({ kind }) => kind);
  return readerOver((collection) => {
    if (collection === apiNames) return [];
    const listing = listings.find(({ entries }) => entries === collection);
    if (!listing) throw new Error(`the past of ${collection} is not kept`);
    return (byKind.get(listing.category) ?? []).map(({ listed }) => listed);
  });
}

/** A reader over documents that are at hand. */
export function readerOver(all: (collection: string) => readonly Document[]): DocumentReader {
  const withLabels = (collection: string, labels: readonly string[] = []): readonly Document[] =>
    all(collection).filter((document) => labels.every((label) => document.labels.includes(label)));
  return {
    get: (collection, id) => all(collection).find((document) => document.id === id),
    count: (collection, labels) => withLabels(collection, labels).length,
    list: (collection, query) => pageOf(withLabels(collection, query.labels), query),
  };
}

function pageOf(documents: readonly Document[], query: DocumentQuery): readonly Document[] {
  const { after, before, holding, descending, offset = 0, limit } = query;
  const inside = documents.filter(
    ({ sort, body }) =>
      (after === undefined || sort > after) &&
      (before === undefined || sort < before) &&
      (holding === undefined || JSON.stringify(body).includes(holding)),
  );
  const direction = descending ? -1 : 1;
  const sorted = inside.toSorted((a, b) => direction * (order(a.sort, b.sort) || order(a.id, b.id)));
  return sorted.slice(offset, offset + limit);
}

const order = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
