/** Document changes of one transaction, held back so that a document that changes often is written once. */
import type { Document, DocumentChange, DocumentQuery, DocumentReader } from './read-model-store.ts';

/** Reads see what is held back. Lists and counts write it first, because only the store knows their order. */
export class PendingChanges implements DocumentReader {
  readonly #documents: DocumentReader;
  readonly #apply: (changes: readonly DocumentChange[]) => void;
  #pending = new Map<string, DocumentChange>();

  constructor(documents: DocumentReader, apply: (changes: readonly DocumentChange[]) => void) {
    this.#documents = documents;
    this.#apply = apply;
  }

  add(changes: readonly DocumentChange[]): void {
    for (const change of changes) {
      this.#pending.set(keyOf(change.collection, change.op === 'put' ? change.document.id : change.id), change);
    }
  }

  get(collection: string, id: string): Document | undefined {
    const change = this.#pending.get(keyOf(collection, id));
    if (!change) return this.#documents.get(collection, id);
    return change.op === 'put' ? change.document : undefined;
  }

  list(collection: string, query: DocumentQuery): readonly Document[] {
    this.write();
    return this.#documents.list(collection, query);
  }

  count(collection: string, labels?: readonly string[]): number {
    this.write();
    return this.#documents.count(collection, labels);
  }

  write(): void {
    const pending = this.#pending;
    this.#pending = new Map();
    this.#apply([...pending.values()]);
  }
}

const keyOf = (collection: string, id: string): string => `${collection}\n${id}`;
