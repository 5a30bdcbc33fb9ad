/** Runs the event store contract against the store in memory. */
import { MemoryEventStore } from '../../src/stores/events/memory-event-store.ts';
import { eventStoreContract } from './event-store.ts';

eventStoreContract(
  'memory',
  async () => {
    const clock = { nowMs: 1_000 };
    const store = new MemoryEventStore({ now: () => clock.nowMs });
    return { store, clock, dispose: () => store.close() };
  },
  { isShared: false },
);
