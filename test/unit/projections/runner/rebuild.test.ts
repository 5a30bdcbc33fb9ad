/** Documents made anew while others read: whole lists at every moment, strict, going on after a stop; retrying and giving up events. */
import { expect } from 'chai';
import { padPosition } from '../../../../domain/event-store.ts';
import { apiCatalog, listApis } from '../../../../projections/api-catalog.ts';
import type { Projection } from '../../../../projections/projection.ts';
import type { Generation, ReadModelStore } from '../../../../projections/read-model-store.ts';
import { ProjectionError } from '../../../../projections/runner/projection-status.ts';
import { type Projector, startProjector } from '../../../../projections/runner/projector.ts';
import { MemoryEventStore } from '../../../../src/stores/events/memory-event-store.ts';
import { openSqliteReadModels } from '../../../../src/stores/models/sqlite-read-models.ts';
import { countingProjection as counting } from '../../../support/counting-projection.ts';
import { eventually } from '../../../support/eventually.ts';
import { apiActivated, apiCreated, appendEvents, keptLog, org } from '../../../support/given.ts';

/** Throws at events of the API `bad`, for as long as `isBroken` says so. */
const breaking = (onPoison: Projection['onPoison'], isBroken: () => boolean): Projection =>
  counting({
    onPoison,
    apply: (recorded, documents) => {
      if (recorded.stream === 'api-bad' && isBroken()) throw new Error('cannot take it');
      return counting().apply(recorded, documents);
    },
  });

const counts = (models: ReadModelStore) =>
  Object.fromEntries(models.list('counts', { limit: 100 }).map(({ id, body }) => [id, body]));

const states = (models: ReadModelStore, name = 'counts'): readonly Generation['state'][] =>
  models.generations(name).map(({ state }) => state);

describe('a projection that is made anew', () => {
  let store: MemoryEventStore;
  let models: ReadModelStore;
  let running: Projector[];
  let log: ReturnType<typeof keptLog>;

  beforeEach(() => {
    store = new MemoryEventStore();
    models = openSqliteReadModels(':memory:');
    running = [];
    log = keptLog();
  });
  afterEach(async () => {
    for (const projector of running) await projector.stop();
    models.close();
    await store.close();
  });
  const start = (projections: readonly Projection[], now?: () => number): Projector => {
    const projector = startProjector({ store, models, projections, log, ...(now ? { now } : {}) });
    running.push(projector);
    return projector;
  };
  const stop = async (): Promise<void> => running.pop()!.stop();
  const statusOf = async (projector: Projector) => (await projector.status())[0]!;
  const done = (projector: Projector) => eventually(async () => (await statusOf(projector)).rebuild === undefined);

  it('is never read empty or in part, while events come in and after', async () => {
    const ids = Array.from({ length: 1_000 }, (_, index) => `api-${index}`);
    await appendEvents(store, ...ids.map((id) => apiCreated({ id })));
    const projector = start([apiCatalog]);
    await projector.ready;
    const totals: number[] = [];
    const read = (): void => {
      totals.push(listApis(models, org, { sort: 'name', limit: 5 }).total, models.count('apis'));
    };
    const endReads = projector.changed(read);
    let isDone = false;
    const reading = (async () => {
      for (; !isDone; await new Promise((resolve) => setImmediate(resolve))) read();
    })();
    await projector.rebuild('apis');
    for (let more = 0; more < 100; more++) {
      await appendEvents(store, apiCreated({ id: `more-${more}` }));
      expect(await projector.waitFor(['apis'], await store.head(), 5_000)).to.equal(true);
      expect(models.count('apis')).to.equal(1_001 + more);
    }
    await done(projector);
    isDone = true;
    await reading;
    endReads();
    expect(totals.length).to.be.greaterThan(200);
    expect(totals, 'a list never loses what it had').to.deep.equal(totals.toSorted((a, b) => a - b));
    expect(totals[0]).to.equal(1_000);
    expect(states(models, 'apis')).to.deep.equal(['retired', 'current']);
    await appendEvents(store, apiCreated({ id: 'last' }));
    expect(await projector.waitFor(['apis'], await store.head(), 5_000)).to.equal(true);
    expect(models.count('apis')).to.equal(1_101);
  });

  it('for another version stays ready with the documents of before', async () => {
    await appendEvents(store, apiCreated());
    await start([counting()]).ready;
    await stop();
    await appendEvents(store, apiCreated({ id: 'bad' }));
    let isBroken = true;
    const projector = start([{ ...breaking('park-by-stream', () => isBroken), version: 2 }]);
    await projector.ready;
    await eventually(async () => (await statusOf(projector)).state === 'stopped');
    expect(counts(models)).to.deep.equal({ 'api-orders': 1 });
    expect(await statusOf(projector)).to.deep.include({ version: 1, lag: 1 });
    expect((await statusOf(projector)).rebuild).to.deep.include({ version: 2, progress: 0.5, state: 'stopped' });
    isBroken = false;
    await done(projector);
    expect(counts(models)).to.deep.equal({ 'api-orders': 1, 'api-bad': 1 });
    expect(await statusOf(projector)).to.deep.include({ version: 2, lag: 0, state: 'live' });
  });

  it('is strict: what is parked otherwise stops it, and readers keep what they had', async () => {
    await appendEvents(store, apiCreated(), apiCreated({ id: 'bad' }), apiCreated({ id: 'c' }));
    let isBroken = true;
    const projector = start([breaking('park-by-stream', () => isBroken)]);
    await projector.ready;
    await projector.rebuild('counts');
    await eventually(async () => (await statusOf(projector)).rebuild?.state === 'stopped');
    expect((await statusOf(projector)).state).to.equal('live');
    expect((await statusOf(projector)).parked).to.have.length(1);
    expect(counts(models)).to.deep.equal({ 'api-orders': 1, 'api-c': 1 });
    isBroken = false;
    await projector.retry('counts');
    await done(projector);
    expect((await statusOf(projector)).parked).to.deep.equal([]);
    expect(counts(models)).to.deep.equal({ 'api-orders': 1, 'api-bad': 1, 'api-c': 1 });
  });

  it('goes on where it was when the process ended in the middle', async () => {
    await appendEvents(store, apiCreated(), apiCreated({ id: 'bad' }), apiCreated({ id: 'c' }));
    let isBroken = false;
    await start([breaking('stop', () => isBroken)]).ready;
    isBroken = true;
    await running[0]!.rebuild('counts');
    await eventually(async () => (await statusOf(running[0]!)).rebuild?.state === 'stopped');
    await stop();
    const [, left] = models.generations('counts');
    expect(left).to.deep.include({
      state: 'filling',
      checkpoint: { ...store.identity, version: 1, position: padPosition('1') },
    });
    isBroken = false;
    const projector = start([breaking('stop', () => isBroken)]);
    await eventually(() => states(models).at(-1) === 'current');
    expect(models.generations('counts').map(({ number }) => number)).to.include(left!.number);
    await done(projector);
    expect(counts(models)).to.deep.equal({ 'api-orders': 1, 'api-bad': 1, 'api-c': 1 });
  });

  it('is made by two at most at a time', async () => {
    const names = ['one', 'two', 'three'];
    let isBroken = false;
    await appendEvents(store, apiCreated({ id: 'bad' }));
    const projector = start(
      names
        .map((name) => ({ ...breaking('stop', () => isBroken), name, collections: [name] }))
        .map((projection) => ({
          ...projection,
          apply: (recorded, documents) => {
            projection.apply(recorded, documents);
            return [];
          },
        })),
    );
    await projector.ready;
    let readers = 0;
    isBroken = false;
    const release = Promise.withResolvers<void>();
    const subscribe = store.subscribe.bind(store);
    store.subscribe = async function* (options) {
      readers++;
      await release.promise;
      yield* subscribe(options);
    };
    for (const name of names) await projector.rebuild(name);
    await eventually(
      async () => (await projector.status()).filter(({ rebuild }) => rebuild?.state === 'waiting').length === 1,
    );
    await eventually(() => readers > 0);
    expect(readers).to.be.at.most(2);
    release.resolve();
    await eventually(async () => (await projector.status()).every(({ rebuild }) => rebuild === undefined));
    for (const name of names) expect(states(models, name)).to.deep.equal(['retired', 'current']);
  });

  it('lets the documents of before go a day later', async () => {
    let nowMs = 1_000;
    await appendEvents(store, apiCreated());
    const projector = start([counting()], () => nowMs);
    await projector.ready;
    await projector.rebuild('counts');
    await done(projector);
    expect(states(models)).to.deep.equal(['retired', 'current']);
    await stop();
    nowMs = Date.now() + 25 * 3_600_000;
    await start([counting()], () => nowMs).ready;
    await eventually(() => states(models).length === 1);
    expect(counts(models)).to.deep.equal({ 'api-orders': 1 });
  });

  it('lets them go at once when asked to', async () => {
    await appendEvents(store, apiCreated());
    const projector = start([counting()]);
    await projector.ready;
    await projector.rebuild('counts', { drop: true });
    await done(projector);
    await eventually(() => states(models).length === 1);
    expect(counts(models)).to.deep.equal({ 'api-orders': 1 });
  });

  describe('with events that it could not take', () => {
    const events = [apiCreated({ id: 'a' }), apiCreated({ id: 'bad' }), apiActivated('bad'), apiActivated('bad')];

    it('tries parked ones again in order', async () => {
      let isBroken = true;
      await appendEvents(store, ...events);
      const projector = start([breaking('park-by-stream', () => isBroken)]);
      await projector.ready;
      expect(await projector.retry('counts')).to.deep.equal({ folded: 0, left: 3 });
      isBroken = false;
      expect(await projector.retry('counts')).to.deep.equal({ folded: 3, left: 0 });
      await appendEvents(store, apiActivated('bad'));
      expect(await projector.waitFor(['counts'], await store.head(), 5_000)).to.equal(true);
      expect(counts(models)).to.deep.equal({ 'api-a': 1, 'api-bad': 4 });
    });

    it('gives one up, and the rest of its stream is folded when tried again', async () => {
      let broken = 2;
      await appendEvents(store, ...events);
      const bad = breaking('park-by-stream', () => broken-- > 0);
      const projector = start([bad]);
      await projector.ready;
      const [first] = models.parked('counts');
      broken = 0;
      await projector.skip('counts', first!.position);
      expect(await projector.retry('counts')).to.deep.equal({ folded: 2, left: 0 });
      expect(counts(models)).to.deep.equal({ 'api-a': 1, 'api-bad': 2 });
    });

    it('goes on behind the one at which it has stopped when that is given up', async () => {
      await appendEvents(store, ...events.slice(0, 2), apiCreated({ id: 'c' }));
      const projector = start([breaking('stop', () => true)]);
      await eventually(async () => (await statusOf(projector)).state === 'stopped');
      await projector.skip('counts', padPosition('2'));
      await projector.ready;
      expect(counts(models)).to.deep.equal({ 'api-a': 1, 'api-c': 1 });
      expect(log.lines.map(({ message }) => message)).to.include('event is skipped as an operator asked');
    });

    it('skips it by itself where that is the rule', async () => {
      await appendEvents(store, ...events);
      await start([breaking('skip', () => true)]).ready;
      expect(counts(models)).to.deep.equal({ 'api-a': 1 });
      expect(models.parked('counts')).to.deep.equal([]);
    });
  });

  for (const [name, ask, code] of [
    ['a name that does not run', (it: Projector) => it.rebuild('none'), 'projection_unknown'],
    ['the retry of such a name', (it: Projector) => it.retry('none'), 'projection_unknown'],
    ['an event that is not parked', (it: Projector) => it.skip('counts', padPosition('1')), 'event_not_parked'],
  ] as const) {
    it(`refuses ${name}`, async () => {
      const projector = start([counting()]);
      await projector.ready;
      const error = await ask(projector).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).to.be.instanceOf(ProjectionError).with.property('code', code);
    });
  }

  it('is refused by who does not hold the lease, and taken by who does', async () => {
    const first = start([counting()]);
    await first.ready;
    const second = start([counting()]);
    await second.ready;
    expect((await statusOf(second)).state).to.equal('standby');
    const error = await second.rebuild('counts').catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(ProjectionError).with.property('code', 'projection_elsewhere');
    await first.stop();
    await eventually(async () => (await statusOf(second)).state === 'live');
    await second.rebuild('counts');
    await done(second);
    expect(states(models)).to.deep.equal(['retired', 'current']);
  });
});
