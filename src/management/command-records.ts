/** An event store whose command records are looked up in a projection, where the engine keeps none. */
import type { EventStore } from '../../domain/event-store.ts';
import { commandRecord, commandsProjection } from '../../projections/commands.ts';
import type { Projector } from '../../projections/projector.ts';
import type { ReadModelStore } from '../../projections/read-model-store.ts';

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
    append: (...args) => store.append(...args),
    readStream: (...args) => store.readStream(...args),
    readAll: (...args) => store.readAll(...args),
    subscribe: (...args) => store.subscribe(...args),
    positionAt: (...args) => store.positionAt(...args),
    command: async (id) => {
      await projector.waitFor([commandsProjection.name], await store.head(), waitMs);
      return commandRecord(models, id);
    },
    retain: (...args) => store.retain(...args),
    head: () => store.head(),
    health: () => store.health(),
    close: () => store.close(),
    identity: store.identity,
    can: store.can,
  };
}
