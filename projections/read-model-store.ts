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

export interface ReadModelStore extends DocumentReader {
  checkpoint(projection: string): Checkpoint | undefined;
  /**
   * Runs `fold` inside one transaction and moves the checkpoint with it. Nothing happens, and the answer is false, when the
   * stored checkpoint is not `from` (undefined = none) any more. What `fold` throws rolls back. Reads inside `fold` see
   * what it applied so far.
   */
  commit(
    projection: string,
    from: Checkpoint | undefined,
    to: Checkpoint,
    fold: (documents: DocumentReader, apply: (changes: readonly DocumentChange[]) => void) => void,
  ): boolean;
  /** Forgets a projection's checkpoint, parked events and the named collections. */
  reset(projection: string, collections: readonly string[]): void;
  park(event: ParkedEvent): void;
  parked(projection: string): readonly ParkedEvent[];
  close(): void;
}
