/** A log that hands its events over in batches of the sizes given, and leaves out what a subscription may leave out. */
import {
  type Batch,
  type EventStore,
  forwardedStore,
  type StoredEvent,
  supersededIn,
} from '../../domain/event-store.ts';

/** The sizes come again and again. */
export function inBatches(store: EventStore, sizes: readonly number[]): EventStore {
  async function* subscribe({
    after,
    filter,
    superseding,
    signal,
  }: Parameters<EventStore['subscribe']>[0]): AsyncGenerator<Batch> {
    const { events } = await store.readAll({ after, limit: 1_000, ...(filter ? { filter } : {}) });
    const rest: StoredEvent[] = [...events];
    for (let turn = 0; rest.length > 0; turn++) {
      const batch = rest.splice(0, sizes[turn % sizes.length]);
      const left = superseding ? supersededIn(batch, superseding) : new Set();
      const given = batch.flatMap((event, place) => {
        if (!left.has(place)) return [event];
        return superseding?.isOmitted ? [] : [{ ...event, data: new Uint8Array() }];
      });
      yield { events: given, checkpoint: batch.at(-1)!.position };
    }
    yield { caughtUp: true, checkpoint: await store.head() };
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }
  return { ...forwardedStore(store), subscribe };
}
