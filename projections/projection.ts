/** The type of a projection: an event in, document changes out. Run by `projector.ts` against any read model store. */
import type { Recorded } from '../domain/event.ts';
import type { Filter } from '../domain/event-store.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { DocumentChange, DocumentReader } from './read-model-store.ts';

export type Projection = {
  readonly name: string;
  /** Raised when the shape of its documents changes; its documents are then folded anew. */
  readonly version: number;
  /** Every collection that `apply` writes; nobody else writes them, and they go when the documents are folded anew. */
  readonly collections: readonly string[];
  readonly filter: Filter;
  /** What to do with an event that throws: `stop` lags and says so, `park-by-stream` sets the stream aside. */
  readonly onPoison: 'stop' | 'park-by-stream';
  /** Pure but for reads of its own documents, which already contain the changes of earlier events. */
  apply(event: Recorded<DomainEvent>, documents: DocumentReader): readonly DocumentChange[];
};
