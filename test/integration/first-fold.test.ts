/** The first fold of a long log in a thread of its own, over a real log and real read models. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ReadModelStore } from '../../projections/read-model-store.ts';
import { startProjector } from '../../projections/runner/projector.ts';
import { type FirstFold, startFirstFold } from '../../src/compose/first-fold.ts';
import { projectionsFor } from '../../src/compose/projections.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../src/stores/events/sqlite-event-store.ts';
import { openSqliteReadModels, type SqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { eventually } from '../support/eventually.ts';
import { apiCreated, appendEvents, documentsOf, keptLog } from '../support/given.ts';
import { growLog } from '../support/grown-log.ts';
import { temporaryFolder } from '../support/temporary.ts';

describe('the first fold', function () {
  // Threads start, and a machine may have much else to do.
  this.timeout(60_000);
  let folder: ReturnType<typeof temporaryFolder>;
  let store: SqliteEventStore;
  let models: SqliteReadModels;
  let log: ReturnType<typeof keptLog>;
  let stack: AsyncDisposableStack;

  beforeEach(async () => {
    stack = new AsyncDisposableStack();
    folder = temporaryFolder('svc-first-fold-');
    stack.defer(() => folder[Symbol.dispose]());
    store = await openSqliteEventStore({ path: join(folder.path, 'events.db') });
    stack.defer(() => store.close());
    models = openSqliteReadModels(join(folder.path, 'readmodels.db'));
    stack.defer(() => models.close());
    log = keptLog();
  });
  afterEach(() => stack.disposeAsync());

  const projections = projectionsFor({ commandRecord: true });
  const grow = (events: number) => growLog(store, { events, apis: 40, documentBytes: 500 });
  const start = () =>
    startFirstFold({
      ...{ storeUrl: `sqlite:${join(folder.path, 'events.db')}`, modelsPath: join(folder.path, 'readmodels.db') },
      ...{ store, models, projections, log },
      fewEvents: 1_000,
    });
  const startAfter = (fold: FirstFold | undefined) => {
    stack.defer(() => fold?.stop());
    const mayFold = (name: string) => !fold?.isGoing(name);
    const projector = startProjector({ store, models, projections, log, mayFold });
    stack.defer(() => projector.stop());
    return projector;
  };
  const isGoing = (fold: FirstFold | undefined) => projections.some(({ name }) => fold?.isGoing(name));
  const everything = (from: ReadModelStore) => projections.map((projection) => documentsOf(from, projection));

  it('makes the documents that the projector makes, which then follows the log', async () => {
    await grow(1_500);
    const fold = await start();
    const projector = startAfter(fold);
    await projector.ready;
    const other = openSqliteReadModels(':memory:');
    const reference = startProjector({ store, models: other, projections, log });
    await reference.ready;
    await reference.stop();
    expect(everything(models)).to.deep.equal(everything(other));
    expect(fold).to.not.equal(undefined);
    await appendEvents(store, apiCreated({ id: 'later' }));
    expect(await projector.waitFor(['apis', 'history'], await store.head(), 10_000)).to.equal(true);
    expect(isGoing(fold)).to.equal(false);
    await eventually(async () => (await projector.status()).every(({ state }) => state === 'live'));
    expect(models.get('apis', 'later')).to.not.equal(undefined);
    other.close();
  });

  it('leaves a short log to the projector, and one that is folded already', async () => {
    await grow(900);
    expect(await start()).to.equal(undefined);
    await startAfter(undefined).ready;
    await grow(500);
    expect(await start()).to.equal(undefined);
  });

  it('ends at an event that cannot be folded, so that operators find it where they look', async () => {
    await grow(1_500);
    const garbage = { id: randomUUID(), type: 'ApiDefinitionCreated', schema: 1, data: new Uint8Array([1]), meta: {} };
    await store.append([{ stream: 'api-bad', expected: 'noStream', events: [garbage] }], {
      ...{ commandId: randomUUID(), timeoutMs: 5_000 },
    });
    await grow(500);
    const fold = await start();
    const projector = startAfter(fold);
    const isStopped = async () => (await projector.status()).find(({ state }) => state === 'stopped');
    await eventually(async () => (await isStopped()) !== undefined);
    await eventually(async () => !isGoing(fold));
    const stopped = await isStopped();
    expect(stopped).to.deep.include({ name: 'gateway_config', position: '1500'.padStart(20, '0') });
    await projector.skip('gateway_config', '1501'.padStart(20, '0'));
    await projector.ready;
  });

  it('can be stopped, and goes on from there the next time', async () => {
    await grow(1_500);
    const first = await start();
    await first?.stop();
    expect(isGoing(first)).to.equal(false);
    const projector = startAfter(await start());
    await projector.ready;
    expect((await projector.status()).map(({ lag }) => lag)).to.deep.equal(projections.map(() => 0));
  });
});
