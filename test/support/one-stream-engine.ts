/** An engine that writes one stream at a time and checks no other one; it can be made to stop in the middle of a series. */
import { type EventStore, EventStoreError, forwardedStore } from '../../domain/event-store.ts';

/** `stopAt` counts appends from one on. */
export function oneStreamAtATime() {
  let stopAt = Number.POSITIVE_INFINITY;
  let appends = 0;
  return {
    stopAt: (count: number) => {
      stopAt = count;
      appends = 0;
    },
    appends: () => appends,
    wrap: (store: EventStore): EventStore => ({
      ...forwardedStore(store),
      can: { ...store.can, multiStream: false, checks: false },
      append: async (writes, options) => {
        if (writes.length > 1 || writes.some(({ events }) => events.length === 0)) {
          throw new EventStoreError('Unsupported', 'one stream at a time');
        }
        appends += 1;
        if (appends >= stopAt) throw new EventStoreError('StoreUnavailable', 'gone');
        return store.append(writes, options);
      },
    }),
  };
}
