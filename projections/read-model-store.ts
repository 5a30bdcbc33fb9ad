/** The port to read models: JSON documents and the checkpoint they stand at, changed together. Synchronous, because every adapter is embedded. */
import type { LogIdentity, Position } from '../domain/event-store.ts';

/**
 * `sort` gives the order of lists (text order); `labels` are what lists can be narrowed by, for example `actor:bootstrap`.
 * Bodies are plain JSON.
 */
export type Document = {
  readonly id: string;
  readonly sort: string;
  readonly labels: readonly string[];
  readonly body: unknown;
};

export type DocumentChange =
  | { readonly op: 'put'; readonly collection: string; readonly document: Document }
  | { readonly op: 'remove'; readonly collection: string; readonly id: string };

export type DocumentQuery = {
  /** All must be on the document. */
  readonly labels?: readonly string[];
  /** Only those whose body holds it, as JSON text: a coarse sieve, for who looks closely at the rest. */
  readonly holding?: string;
  /** Exclusive bounds on `sort`, whatever the direction. */
  readonly after?: string;
  readonly before?: string;
  readonly descending?: boolean;
  readonly offset?: number;
  readonly limit: number;
};

export interface DocumentReader {
  get(collection: string, id: string): Document | undefined;
  list(collection: string, query: DocumentQuery): readonly Document[];
  count(collection: string, labels?: readonly string[]): number;
}

/** How far a projection of some version has come in which log. */
export type Checkpoint = LogIdentity & { readonly version: number; readonly position: Position };

/** An event that a projection could not take, with the reason; kept until it is retried. */
export type ParkedEvent = {
  readonly projection: string;
  readonly stream: string;
  readonly position: Position;
  readonly reason: string;
};

/**
 * One set of the documents of a projection. Readers see the `current` one; another one may be filled beside it, and those
 * that were current before stay for a while.
 */
export type Generation = {
  readonly number: number;
  readonly state: 'filling' | 'current' | 'retired';
  /** It has been at the head of the log: it holds everything up to its checkpoint, not a part of a first fold. */
  readonly isWhole: boolean;
  readonly checkpoint: Checkpoint | undefined;
  /** When it came into its state, ms since 1970. */
  readonly sinceMs: number;
};

/** The right to fold a projection. The epoch grows with each change of owner. */
export type Lease = { readonly owner: string; readonly epoch: number; readonly expiresAtMs: number };

export type CommitOptions = {
  /** Default: the current one, which is made when there is none. */
  readonly generation?: number;
  /** Nothing happens unless the lease of the projection has this owner and epoch. */
  readonly lease?: Pick<Lease, 'owner' | 'epoch'>;
  /** The documents are at the head of the log: the generation is whole. */
  readonly isWhole?: boolean;
  /** Makes the generation current in the same transaction, unless the current one has come further. */
  readonly becomesCurrent?: boolean;
};

export type Fold = (documents: DocumentReader, apply: (changes: readonly DocumentChange[]) => void) => void;

/** Reads see current generations. */
export interface ReadModelStore extends DocumentReader {
  /** Of the current generation. */
  checkpoint(projection: string): Checkpoint | undefined;
  /**
   * Runs `fold` inside one transaction and moves the checkpoint of the generation with it. Nothing happens, and the answer
   * is false, when the stored checkpoint is not `from` (undefined = none) any more, when the lease is another one's, or when
   * the generation is gone. What `fold` throws rolls back. Reads inside `fold` see what it applied so far.
   */
  commit(
    projection: string,
    from: Checkpoint | undefined,
    to: Checkpoint,
    fold: Fold,
    options?: CommitOptions,
  ): boolean;
  /** Oldest first. */
  generations(projection: string): readonly Generation[];
  /** Makes an empty generation, current when there is none, else filling; answers its number. */
  addGeneration(projection: string, nowMs: number): number;
  /** Reads of one generation, whoever else it is current for. */
  generation(projection: string, number: number): DocumentReader;
  /** Removes at most about `limit` documents of it, and the generation itself with the last; false while some are left. */
  dropGeneration(projection: string, number: number, limit: number): boolean;
  /** Takes or renews the lease; undefined when somebody else has it. Those that expired, or whose process died, are free. */
  lease(projection: string, owner: string, nowMs: number, lifeMs: number): Lease | undefined;
  /** Frees the lease if it is this owner's, so that the next one need not wait. */
  release(projection: string, owner: string): void;
  leaseOf(projection: string): Lease | undefined;
  /** Forgets all generations, parked events and checkpoints of a projection. */
  reset(projection: string): void;
  park(event: ParkedEvent): void;
  unpark(projection: string, position: Position): void;
  parked(projection: string): readonly ParkedEvent[];
  close(): void;
}
