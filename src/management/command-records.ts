/** An event store whose command records are looked up in a projection, where the engine keeps none. */
import { type EventStore, forwardedStore } from '../../domain/event-store.ts';
import { commandRecord, commandsProjection } from '../../projections/commands.ts';
import type { ReadModelStore } from '../../projections/read-model-store.ts';
import type { Projector } from '../../projections/runner/projector.ts';

/** A look that comes too early finds nothing; the ids of the events then tell the repeat. */
const waitMs = 2_000;

/**
 * The same store. A repeat of an answered request is known by its command id; its answer was not kept, so it is told that
 * the change stands, and where.
 */
export function withCommandRecords(
  store: EventStore,
  models: ReadModelStore,
  projector: Pick<Projector, 'waitFor'>,
): EventStore {
  return {
    ...forwardedStore(store),
    command: async (id) => {
      await projector.waitFor([commandsProjection.name], await store.head(), waitMs);
      return commandRecord(models, id);
    },
  };
}
