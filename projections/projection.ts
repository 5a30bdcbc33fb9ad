/** The type of a projection: an event in, document changes out. Run by `runner/projector.ts` against any read model store. */
import type { Recorded } from '../domain/event.ts';
import { categoryOf, type Filter, type StoredEvent } from '../domain/event-store.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { DocumentChange, DocumentReader } from './read-model-store.ts';

export type Projection = {
  readonly name: string;
  /**
   * Raised when its documents change. They are then folded anew beside those of the version before, which readers see until
   * the new ones are whole: documents of another shape go to a collection of another name.
   */
  readonly version: number;
  /** Every collection that `apply` writes; nobody else writes them. */
  readonly collections: readonly string[];
  readonly filter: Filter;
  /** What to do with an event that throws: `stop` lags and says so, `park-by-stream` sets the stream aside, `skip` drops it. */
  readonly onPoison: 'stop' | 'park-by-stream' | 'skip';
  /**
   * What an event leaves that a later one of the same batch supersedes (`domain/api/superseding.ts`), told from its envelope;
   * undefined when it has to be folded after all. Asked only while the log is read for the first time; absent: never.
   * `nothing`: of a projection that keeps the last state of each object alone.
   */
  readonly superseded?:
    | 'nothing'
    | ((stored: StoredEvent, documents: DocumentReader) => readonly DocumentChange[] | undefined);
  /** A node is ready before it has been folded for the first time; its reads say 503 until then. Absent: a node waits for it. */
  readonly isLate?: true;
  /** Pure but for reads of its own documents, which already contain the changes of earlier events. */
  apply(event: Recorded<DomainEvent>, documents: DocumentReader): readonly DocumentChange[];
};

/** Whether nothing of it is missing when events of APIs that are superseded are not folded. */
export const canPassOver = ({ superseded, filter }: Projection): boolean =>
  superseded !== undefined || filter.categories?.includes('api') === false;

/** Whether it takes no notice of such events at all. */
export const leavesNothing = ({ superseded, filter }: Projection): boolean =>
  superseded === 'nothing' || filter.categories?.includes('api') === false;

/** Whether an event is for this filter. */
export const passes = ({ categories, types, streams }: Filter, { stream, type }: StoredEvent): boolean =>
  (categories?.includes(categoryOf(stream)) ?? true) &&
  (types?.includes(type) ?? true) &&
  (streams?.includes(stream) ?? true);

/** A filter that lets through what one of them lets through; undefined when that may be everything. */
export function unionOf(filters: readonly Filter[]): Filter | undefined {
  const isPlain = filters.every(({ categories, types, streams }) => categories && !types && !streams);
  return isPlain ? { categories: [...new Set(filters.flatMap(({ categories = [] }) => categories))] } : undefined;
}
