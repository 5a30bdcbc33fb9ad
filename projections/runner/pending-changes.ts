/** Document changes that are not written yet, over the documents that are: a document that changes often is written once. */
import type { Document, DocumentChange, DocumentQuery, DocumentReader } from '../read-model-store.ts';

type Pending = { readonly change: DocumentChange; readonly bytes: number };

/** Reads see what is held back. */
export class PendingChanges implements DocumentReader {
  readonly #documents: DocumentReader;
  readonly #collections = new Map<string, Map<string, Pending>>();
  #size = 0;
  #bytes = 0;
  /** What was written last, because streams that change tend to change again. Nobody else writes these documents. */
  #written: ReadonlyMap<string, ReadonlyMap<string, Pending>> = new Map();

  constructor(documents: DocumentReader) {
    this.#documents = documents;
  }

  /** Changes held back. */
  get size(): number {
    return this.#size;
  }

  /** About what they weigh. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `bytes`: of the event that makes the changes. */
  add(changes: readonly DocumentChange[], bytes = 0): void {
    for (const change of changes) {
      const id = change.op === 'put' ? change.document.id : change.id;
      const pending = this.#in(change.collection);
      const before = pending.get(id);
      pending.set(id, { change, bytes });
      this.#size += before ? 0 : 1;
      this.#bytes += bytes - (before?.bytes ?? 0);
    }
  }

  get(collection: string, id: string): Document | undefined {
    const pending = this.#collections.get(collection)?.get(id) ?? this.#written.get(collection)?.get(id);
    if (!pending) return this.#documents.get(collection, id);
    return pending.change.op === 'put' ? pending.change.document : undefined;
  }

  list(collection: string, query: DocumentQuery): readonly Document[] {
    const pending = this.#collections.get(collection);
    if (!pending || pending.size === 0) return this.#documents.list(collection, query);
    const { offset = 0, limit, descending } = query;
    // Each change held back can hide at most one document.
    const stored = this.#documents.list(collection, { ...query, offset: 0, limit: offset + limit + pending.size });
    const put = [...pending.values()].flatMap(({ change }) => (change.op === 'put' ? [change.document] : []));
    const found = [...stored.filter(({ id }) => !pending.has(id)), ...put.filter((document) => fits(document, query))];
    const direction = descending ? -1 : 1;
    found.sort((a, b) => direction * (order(a.sort, b.sort) || order(a.id, b.id)));
    return found.slice(offset, offset + limit);
  }

  count(collection: string, labels: readonly string[] = []): number {
    const pending = this.#collections.get(collection);
    let count = this.#documents.count(collection, labels);
    for (const [id, { change }] of pending ?? []) {
      const stored = this.#documents.get(collection, id);
      if (stored && hasLabels(stored, labels)) count -= 1;
      if (change.op === 'put' && hasLabels(change.document, labels)) count += 1;
    }
    return count;
  }

  /** All of them, and holds none back any more. */
  take(): readonly DocumentChange[] {
    const changes = [...this.#collections.values()].flatMap((pending) =>
      [...pending.values()].map(({ change }) => change),
    );
    this.#written = new Map(this.#collections);
    this.#collections.clear();
    this.#size = 0;
    this.#bytes = 0;
    return changes;
  }

  #in(collection: string): Map<string, Pending> {
    const pending = this.#collections.get(collection) ?? new Map<string, Pending>();
    this.#collections.set(collection, pending);
    return pending;
  }
}

function fits(document: Document, { labels = [], after, before }: DocumentQuery): boolean {
  const { sort } = document;
  return (
    (after === undefined || sort > after) && (before === undefined || sort < before) && hasLabels(document, labels)
  );
}

const hasLabels = (document: Document, labels: readonly string[]): boolean =>
  labels.every((label) => document.labels.includes(label));

const order = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
