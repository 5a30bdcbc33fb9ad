/** Folding is the same in batches of any size, again and in one go. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { EventStore } from '../../../../domain/event-store.ts';
import type { DomainEvent } from '../../../../domain/events.ts';
import { apiCatalog } from '../../../../projections/api-catalog.ts';
import { certificateList } from '../../../../projections/certificate-list.ts';
import { gatewayConfig } from '../../../../projections/gateway-config.ts';
import { historyProjection } from '../../../../projections/history.ts';
import { listAudit } from '../../../../projections/history-lists.ts';
import type { ReadModelStore } from '../../../../projections/read-model-store.ts';
import { startProjector } from '../../../../projections/runner/projector.ts';
import { MemoryEventStore } from '../../../../src/stores/events/memory-event-store.ts';
import { openSqliteReadModels } from '../../../../src/stores/models/sqlite-read-models.ts';
import { inBatches } from '../../../support/batched-log.ts';
import { apiDocument } from '../../../support/documents.ts';
import {
  apiActivated,
  apiCreated,
  apiDeleted,
  apiReplaced,
  appendEvents,
  certificateDeleted,
  certificateImported,
  documentsOf,
  keptLog,
  keyAttached,
  org,
} from '../../../support/given.ts';
import { possibleEvents } from '../../../support/possible-events.ts';

const all = [apiCatalog, certificateList, historyProjection, gatewayConfig];

describe('folding', () => {
  const anEvent: fc.Arbitrary<DomainEvent> = fc
    .tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(2))
    .chain(([id, n]) =>
      fc.constantFrom<DomainEvent>(
        apiCreated({ id, document: apiDocument({ info: { name: `${n}` } }) }),
        apiReplaced({ id, document: apiDocument({ server: { listenPath: { value: `/${n}` } } }) }),
        apiActivated(id),
        apiDeleted(id),
        certificateImported(id, { hasKey: n === 0 }),
        keyAttached(id),
        certificateDeleted(id),
      ),
    );

  const fold = async (store: EventStore, models: ReadModelStore = openSqliteReadModels(':memory:')) => {
    const projector = startProjector({ store, models, projections: all, log: keptLog() });
    await projector.ready;
    await projector.stop();
    const documents = all.filter(({ name }) => name !== 'history').map((projection) => documentsOf(models, projection));
    const audit = await listAudit({ models, store }, org, { limit: 100 });
    return { models, documents: [...documents, audit] };
  };

  it('gives the same documents in batches of any size, again after a reset, and in one go', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anEvent, { maxLength: 40 }).map(possibleEvents),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 }),
        async (events, sizes) => {
          const store = new MemoryEventStore({ now: () => 0 });
          await appendEvents(store, ...events);
          const whole = await fold(store);
          const parts = await fold(inBatches(store, sizes));
          expect(parts.documents).to.deep.equal(whole.documents);
          for (const { name } of all) parts.models.reset(name);
          expect((await fold(store, parts.models)).documents).to.deep.equal(whole.documents);
        },
      ),
      { numRuns: 25 },
    );
  });
});
