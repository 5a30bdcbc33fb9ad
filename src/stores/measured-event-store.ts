/** The event store with a meter on its appends: how long they take, and how often they collide, repeat or end unknown. */
import {
  type AppendOptions,
  type EventStore,
  EventStoreError,
  forwardedStore,
  type Write,
} from '../../domain/event-store.ts';
import type { AppendMeter } from '../telemetry/metrics.ts';

/** The same store in every other respect. */
export function measuredEventStore(store: EventStore, meter: AppendMeter): EventStore {
  const append = async (writes: readonly Write[], options: AppendOptions) => {
    const startedMs = performance.now();
    try {
      const appended = await store.append(writes, options);
      if (appended.duplicate) meter.duplicate();
      return appended;
    } catch (error) {
      if (error instanceof EventStoreError && error.code === 'WrongExpectedVersion') meter.conflict();
      if (error instanceof EventStoreError && error.code === 'UnknownOutcome') meter.unknownOutcome();
      throw error;
    } finally {
      meter.took((performance.now() - startedMs) / 1_000);
    }
  };
  return { ...forwardedStore(store), append };
}
