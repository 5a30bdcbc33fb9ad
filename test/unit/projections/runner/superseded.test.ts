/** Events of APIs that later ones repeat: a first fold passes over them, and nobody who reads can tell. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { apiSuperseding } from '../../../../domain/api/superseding.ts';
import { type EventStore, type NewEvent, padPosition, supersededIn } from '../../../../domain/event-store.ts';
import { type DomainEvent, encodeEvent } from '../../../../domain/events.ts';
import { type OrgId, toApiId, toOrgId } from '../../../../domain/ids.ts';
import { apiCatalog, getApi } from '../../../../projections/api-catalog.ts';
import { gatewayConfig } from '../../../../projections/gateway-config.ts';
import { historyProjection, isShort } from '../../../../projections/history.ts';
import { listAudit, listRevisions } from '../../../../projections/history-lists.ts';
import { objectsAt } from '../../../../projections/past.ts';
import type { Projection } from '../../../../projections/projection.ts';
import type { ReadModelStore } from '../../../../projections/read-model-store.ts';
import { startProjector } from '../../../../projections/runner/projector.ts';
import { MemoryEventStore } from '../../../../src/stores/events/memory-event-store.ts';
import { openSqliteReadModels } from '../../../../src/stores/models/sqlite-read-models.ts';
import { inBatches } from '../../../support/batched-log.ts';
import { countingProjection } from '../../../support/counting-projection.ts';
import { apiDocument } from '../../../support/documents.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  apiActivated,
  apiCreated,
  apiDeactivated,
  apiDeleted,
  apiPatched,
  apiReplaced,
  appendEvents,
  documentsOf,
  keptLog,
  org,
} from '../../../support/given.ts';
import { possibleEvents } from '../../../support/possible-events.ts';

const all = [apiCatalog, historyProjection, gatewayConfig];

const bytesOf = (event: DomainEvent): NewEvent => encodeEvent(event, randomUUID(), {});

const unreadable = (type: string): NewEvent => ({
  id: randomUUID(),
  type,
  schema: 1,
  data: new Uint8Array([1]),
  meta: {},
});

/** In one append, so that a subscription that is at the head gets them together. */
const append = (store: EventStore, stream: string, ...events: readonly NewEvent[]) =>
  store.append([{ stream, expected: 'any', events }], { commandId: randomUUID(), timeoutMs: 1_000 });

/** Folds every event. */
const thorough = ({ superseded: _, ...projection }: Projection): Projection => projection;

async function fold(store: EventStore, projections: readonly Projection[]): Promise<ReadModelStore> {
  const models = openSqliteReadModels(':memory:');
  const projector = startProjector({ store, models, projections, log: keptLog() });
  await projector.ready;
  await projector.stop();
  return models;
}

/** What people are shown of the history: the audit, the revisions of each API, and the lists at every position. */
async function shown(models: ReadModelStore, store: EventStore, orgId: OrgId) {
  const reads = { models, store };
  const head = Number(await store.head());
  const positions = Array.from({ length: head + 1 }, (_, index) => (index === 0 ? '' : padPosition(String(index))));
  return {
    audit: await listAudit(reads, orgId, { limit: 500 }),
    revisions: await Promise.all(['a', 'b'].map((id) => listRevisions(reads, orgId, toApiId(id), { limit: 500 }))),
    past: await Promise.all(positions.map((position) => Array.fromAsync(objectsAt(reads, orgId, 'api', position)))),
  };
}

const shortEntries = (models: ReadModelStore) =>
  documentsOf(models, historyProjection)['history']!.filter(({ body }) => isShort(body as never));

describe('events that later ones supersede', () => {
  const other = toOrgId('other');
  const anEvent = fc
    .tuple(fc.constantFrom('a', 'b'), fc.nat(3), fc.boolean())
    .chain(([id, n, active]): fc.Arbitrary<DomainEvent> => {
      const document = apiDocument({ info: { name: `API ${n}`, state: { active } } });
      const diff = [{ op: 'replace', path: '/x-svc-api-gateway/info/name', value: `API ${n}` }];
      const weighted: readonly (readonly [weight: number, DomainEvent])[] = [
        [2, apiCreated({ id, document })],
        [2, apiCreated({ id, document, orgId: other })],
        [9, apiPatched({ id, document, diff })],
        [6, apiReplaced({ id, document })],
        [2, apiActivated(id)],
        [2, apiDeactivated(id)],
        [1, apiDeleted(id)],
      ];
      return fc.oneof(...weighted.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })));
    });

  it('are missed by nobody, whatever the log is and in whatever batches it comes', async () => {
    let passedOver = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(anEvent, { maxLength: 40 }),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 3 }),
        async (events, sizes) => {
          const store = new MemoryEventStore({ now: () => 0 });
          await appendEvents(
            store,
            ...possibleEvents([apiCreated({ id: 'a' }), apiCreated({ id: 'b', orgId: other }), ...events]),
          );
          const skimmed = await fold(inBatches(store, sizes), all);
          const whole = await fold(store, all.map(thorough));
          const withoutHistory = await fold(inBatches(store, sizes), [apiCatalog, gatewayConfig]);
          for (const projection of [apiCatalog, gatewayConfig]) {
            expect(documentsOf(withoutHistory, projection)).to.deep.equal(documentsOf(whole, projection));
            expect(documentsOf(skimmed, projection)).to.deep.equal(documentsOf(whole, projection));
          }
          for (const orgId of [org, other]) {
            expect(await shown(skimmed, store, orgId)).to.deep.equal(await shown(whole, store, orgId));
          }
          expect(shortEntries(whole)).to.deep.equal([]);
          passedOver += shortEntries(skimmed).length;
        },
      ),
      { numRuns: 60 },
    );
    expect(passedOver).to.be.greaterThan(20);
  });

  it('are none while a projection folds that needs them all', async () => {
    const store = new MemoryEventStore();
    await appendEvents(store, apiCreated(), apiPatched(), apiPatched());
    const models = await fold(inBatches(store, [10]), [countingProjection(), historyProjection]);
    expect(models.get('counts', 'api-orders')?.body).to.equal(3);
    expect(shortEntries(models)).to.have.length(1);
  });

  it('are none once the log has been read to its end', async () => {
    const store = new MemoryEventStore();
    const models = openSqliteReadModels(':memory:');
    const projector = startProjector({ store, models, projections: all, log: keptLog() });
    await projector.ready;
    await append(store, 'api-orders', ...[apiCreated(), apiPatched(), apiPatched(), apiPatched()].map(bytesOf));
    expect(await projector.waitFor(['history'], await store.head(), 5_000)).to.equal(true);
    await projector.stop();
    expect(shortEntries(models)).to.deep.equal([]);
  });

  describe('before an event that cannot be folded', () => {
    const renamed = (name: string) => apiPatched({ id: 'a', document: apiDocument({ info: { name } }) });

    it('are folded after all, so that a projection that stops there is at its position', async () => {
      const store = new MemoryEventStore();
      await appendEvents(store, apiCreated({ id: 'a' }), renamed('second'), renamed('third'));
      await append(store, 'api-bad', unreadable('ApiDefinitionCreated'));
      await appendEvents(store, renamed('fourth'));
      const models = openSqliteReadModels(':memory:');
      const stopping = { ...apiCatalog, onPoison: 'stop' as const };
      const projector = startProjector({
        store: inBatches(store, [10]),
        models,
        projections: [stopping],
        log: keptLog(),
      });
      await eventually(async () => (await projector.status())[0]!.state === 'stopped');
      expect(Number(models.checkpoint('apis')?.position)).to.equal(3);
      expect(getApi(models, org, 'a')?.name).to.equal('third');
      await projector.stop();
    });
  });

  it('show themselves as unreadable when they are, and leave the rest of the page alone', async () => {
    const store = new MemoryEventStore();
    await appendEvents(store, apiCreated());
    await append(store, 'api-orders', unreadable('ApiDefinitionPatched'), bytesOf(apiPatched()));
    const models = await fold(inBatches(store, [10]), all);
    const { events } = await listAudit({ models, store }, org);
    expect(events.map(({ revision, summary }) => [revision, summary[0]])).to.deep.equal([
      [2, 'definition changed'],
      [1, 'cannot be read'],
      [0, 'API "Orders" created'],
    ]);
  });

  const cases: readonly [name: string, types: readonly string[], superseded: readonly number[]][] = [
    ['changes before a change', ['Patched', 'Replaced', 'RolledBack'], [0, 1]],
    ['flags before a change, and none after it', ['Activated', 'Patched', 'Activated'], [0]],
    ['nothing before a creation', ['Patched', 'Created'], []],
    ['nothing before an end, which names what was', ['Patched', 'Deleted', 'Created', 'Patched'], []],
    ['what stands between a creation and a change', ['Created', 'Patched', 'InternalChanged', 'Patched'], [1, 2]],
  ];
  for (const [name, types, superseded] of cases) {
    it(`are ${name}`, () => {
      const typeOf = (word: string): string =>
        /ated|Changed/.test(word) && word !== 'Created' ? `Api${word}` : `ApiDefinition${word}`;
      const events = types.map((word) => ({ stream: 'api-a', type: typeOf(word), schema: 1 }));
      expect([...supersededIn(events, apiSuperseding)].toSorted()).to.deep.equal(superseded);
    });
  }

  it('are none of a schema that the program does not know, and nothing across one', () => {
    const event = (schema: number) => ({ stream: 'api-a', type: 'ApiDefinitionPatched', schema });
    expect([...supersededIn([event(1), event(2), event(1), event(1)], apiSuperseding)]).to.deep.equal([2]);
  });
});
