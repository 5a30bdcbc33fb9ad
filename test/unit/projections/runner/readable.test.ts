/** Whether there is something to read: not before the first fold is over, and always after that, whatever happens. */
import { expect } from 'chai';
import { type EventStore, forwardedStore } from '../../../../domain/event-store.ts';
import type { Projection } from '../../../../projections/projection.ts';
import { startProjector } from '../../../../projections/runner/projector.ts';
import { MemoryEventStore } from '../../../../src/stores/events/memory-event-store.ts';
import { openSqliteReadModels } from '../../../../src/stores/models/sqlite-read-models.ts';
import { eventually } from '../../../support/eventually.ts';
import { apiCreated, appendEvents, keptLog } from '../../../support/given.ts';

const listed: Projection = {
  name: 'listed',
  version: 1,
  collections: ['listed'],
  filter: { categories: ['api'] },
  onPoison: 'stop',
  apply: ({ event, position }) => {
    if ('apiId' in event && event.apiId === 'poison') throw new Error('poison');
    return [{ op: 'put', collection: 'listed', document: { id: position, sort: position, labels: [], body: {} } }];
  },
};

/** A store whose reads wait until they are let go. */
function heldBack(store: EventStore) {
  const gate = Promise.withResolvers<void>();
  const subscribe: EventStore['subscribe'] = async function* (options) {
    await gate.promise;
    yield* store.subscribe(options);
  };
  const readAll: EventStore['readAll'] = async (page) => {
    await gate.promise;
    return store.readAll(page);
  };
  return { store: { ...forwardedStore(store), subscribe, readAll }, letGo: () => gate.resolve() };
}

describe('readable', () => {
  it('is false until the first fold is over, then true', async () => {
    const log = new MemoryEventStore();
    await appendEvents(log, apiCreated());
    const { store, letGo } = heldBack(log);
    const models = openSqliteReadModels(':memory:');
    const projector = startProjector({ store, models, projections: [listed], log: keptLog() });
    expect(await projector.readable(['listed'], 20)).to.equal(false);
    const waited = projector.readable(['listed'], 5_000);
    letGo();
    expect(await waited).to.equal(true);
    expect(models.count('listed')).to.equal(1);
    await projector.stop();
  });

  it('is true of an empty log, and at once when there are documents from before', async () => {
    const log = new MemoryEventStore();
    const models = openSqliteReadModels(':memory:');
    const first = startProjector({ store: log, models, projections: [listed], log: keptLog() });
    expect(await first.readable(['listed'], 5_000)).to.equal(true);
    await appendEvents(log, apiCreated());
    await first.waitFor(['listed'], await log.head(), 5_000);
    await first.stop();
    const { store, letGo } = heldBack(log);
    const second = startProjector({ store, models, projections: [listed], log: keptLog() });
    expect(await second.readable(['listed'], 20)).to.equal(true);
    letGo();
    await second.stop();
  });

  it('is true when an event stops the first fold: nobody waits for what will not come', async () => {
    const log = new MemoryEventStore();
    await appendEvents(log, apiCreated(), apiCreated({ id: 'poison' }));
    const models = openSqliteReadModels(':memory:');
    const projector = startProjector({ store: log, models, projections: [listed], log: keptLog() });
    await eventually(async () => (await projector.status())[0]?.state === 'stopped');
    expect(await projector.readable(['listed'], 20)).to.equal(true);
    await projector.stop();
  });
});
