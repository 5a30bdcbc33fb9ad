/** The access keys of a configuration, by their hashes. A change copies the one shelf that it falls on and shares the others, so that it costs the same however many keys there are. */
import type { KeyObject } from '../../projections/gateway-snapshot.ts';

type Shelf = ReadonlyMap<string, KeyObject>;

/** Hundreds of keys stand on a shelf when there are a hundred thousand. */
const shelfCount = 256;

export type KeyChange =
  | { readonly op: 'upsert'; readonly object: KeyObject }
  | { readonly op: 'remove'; readonly id: string };

export class KeyTable implements Iterable<KeyObject> {
  readonly #shelves: readonly (Shelf | undefined)[];
  readonly size: number;

  private constructor(shelves: readonly (Shelf | undefined)[]) {
    this.#shelves = shelves;
    this.size = shelves.reduce((sum, shelf) => sum + (shelf?.size ?? 0), 0);
  }

  static of(keys: Iterable<KeyObject>): KeyTable {
    const shelves: Map<string, KeyObject>[] = [];
    for (const key of keys) {
      const index = shelfOf(key.id);
      shelves[index] ??= new Map();
      shelves[index].set(key.id, key);
    }
    return new KeyTable(Array.from({ length: shelfCount }, (_, index) => shelves[index]));
  }

  get(id: string): KeyObject | undefined {
    return this.#shelves[shelfOf(id)]?.get(id);
  }

  /** The next table; this one stays as it is. */
  with(changes: readonly KeyChange[]): KeyTable {
    if (changes.length === 0) return this;
    const copies = new Map<number, Map<string, KeyObject>>();
    for (const change of changes) {
      const id = change.op === 'upsert' ? change.object.id : change.id;
      const index = shelfOf(id);
      const shelf = copies.get(index) ?? new Map(this.#shelves[index]);
      copies.set(index, shelf);
      if (change.op === 'upsert') shelf.set(id, change.object);
      else shelf.delete(id);
    }
    return new KeyTable(this.#shelves.map((shelf, index) => copies.get(index) ?? shelf));
  }

  *[Symbol.iterator](): Iterator<KeyObject> {
    for (const shelf of this.#shelves) if (shelf) yield* shelf.values();
  }
}

/** Ids are hex digits that nobody chooses; anything else stands on the first shelf. */
const shelfOf = (id: string): number => Number.parseInt(id.slice(0, 2), 16) || 0;
