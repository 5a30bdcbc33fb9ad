/** The runner of projections on a real event store and real read models: batches, waiting, parking, stopping, folding anew. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { EventStore } from '../../../../domain/event-store.ts';
import { encodeEvent } from '../../../../domain/events.ts';
import { apiCatalog, listApis } from '../../../../projections/api-catalog.ts';
import { certificateList } from '../../../../projections/certificate-list.ts';
import { gatewayConfig } from '../../../../projections/gateway-config.ts';
import { historyProjection } from '../../../../projections/history.ts';
import type { Projection } from '../../../../projections/projection.ts';
import type { ReadModelStore } from '../../../../projections/read-model-store.ts';
import { type Projector, startProjector } from '../../../../projections/runner/projector.ts';
import { MemoryEventStore } from '../../../../src/stores/events/memory-event-store.ts';
import { openSqliteReadModels } from '../../../../src/stores/models/sqlite-read-models.ts';
import { countingProjection as counting } from '../../../support/counting-projection.ts';
import { apiDocument } from '../../../support/documents.ts';
import { eventually } from '../../../support/eventually.ts';
import { apiActivated, apiCreated, appendEvents, keptLog, org } from '../../../support/given.ts';

const all = [apiCatalog, certificateList, historyProjection, gatewayConfig];

/** Throws at events of the API `bad`, for as long as `isBroken` says so. */
const breaking = (onPoison: Projection['onPoison'], isBroken: () => boolean): Projection => {
  const { apply } = counting();
  return counting({
    onPoison,
    apply: (recorded, documents) => {
      if (recorded.stream === 'api-bad' && isBroken()) throw new Error('cannot take it');
      return apply(recorded, documents);
    },
  });
};

const counts = (models: ReadModelStore) =>
  Object.fromEntries(models.list('counts', { limit: 100 }).map(({ id, body }) => [id, body]));

describe('the projector', () => {
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
  const start = (projections: readonly Projection[], on: EventStore = store, into = models): Projector => {
    const projector = startProjector({ store: on, models: into, projections, log });
    running.push(projector);
    return projector;
  };

  it('catches up, then follows', async () => {
    await appendEvents(store, apiCreated());
    const projector = start([apiCatalog]);
    await projector.ready;
    expect(listApis(models, org).total).to.equal(1);
    await appendEvents(store, apiCreated({ id: 'b' }));
    expect(await projector.waitFor(['apis'], await store.head(), 5_000)).to.equal(true);
    expect(listApis(models, org).total).to.equal(2);
  });

  it('is ready on an empty log', async () => {
    await start(all).ready;
    expect(models.checkpoint('apis')).to.deep.equal({ ...store.identity, version: apiCatalog.version, position: '' });
  });

  it('moves the checkpoint past events that are not for it', async () => {
    const projector = start([certificateList]);
    await appendEvents(store, apiCreated(), apiActivated());
    expect(await projector.waitFor(['certs'], await store.head(), 5_000)).to.equal(true);
    expect(models.checkpoint('certs')?.position).to.equal(await store.head());
  });

  it('goes on from its checkpoint', async () => {
    await appendEvents(store, apiCreated());
    await start([counting()]).ready;
    await running.pop()!.stop();
    await appendEvents(store, apiActivated());
    await start([counting()]).ready;
    expect(counts(models)).to.deep.equal({ 'api-orders': 2 });
  });

  it('writes what it has folded more than once when there is much of it', async () => {
    const document = apiDocument({ info: { name: 'x'.repeat(20_000) } });
    const ids = Array.from({ length: 700 }, (_, index) => `api-${index}`);
    await appendEvents(store, ...ids.map((id) => apiCreated({ id, document })));
    let commits = 0;
    const projector = start([counting()]);
    projector.changed(() => commits++);
    await projector.ready;
    expect(Object.keys(counts(models))).to.have.length(100);
    expect(models.count('counts')).to.equal(700);
    expect(commits).to.be.greaterThan(2);
  });

  it('writes a document once that many events change while it catches up', async () => {
    await appendEvents(store, apiCreated(), ...Array.from({ length: 700 }, () => apiActivated()));
    let commits = 0;
    const projector = start([counting()]);
    projector.changed(() => commits++);
    await projector.ready;
    expect(counts(models)).to.deep.equal({ 'api-orders': 701 });
    expect(commits).to.be.lessThan(4);
  });

  it('serves others while it catches up', async () => {
    const document = apiDocument({ info: { name: 'x'.repeat(20_000) } });
    await appendEvents(
      store,
      ...Array.from({ length: 1_500 }, (_, index) => apiCreated({ id: `api-${index}`, document })),
    );
    const projector = start(all);
    let turns = 0;
    let isReady = false;
    const turn = (): void => {
      turns++;
      if (!isReady) setImmediate(turn);
    };
    turn();
    await projector.ready;
    isReady = true;
    expect(turns).to.be.greaterThan(5);
  });

  describe('waitFor', () => {
    it('gives up after the time', async () => {
      const projector = start([apiCatalog]);
      await projector.ready;
      expect(await projector.waitFor(['apis'], '9'.repeat(20), 10)).to.equal(false);
    });

    it('waits for all that are named', async () => {
      let isBroken = true;
      await appendEvents(store, apiCreated({ id: 'bad' }));
      const projector = start([apiCatalog, breaking('stop', () => isBroken)]);
      expect(await projector.waitFor(['apis'], await store.head(), 5_000)).to.equal(true);
      expect(await projector.waitFor(['apis', 'counts'], await store.head(), 10)).to.equal(false);
      isBroken = false;
      expect(await projector.waitFor(['apis', 'counts'], await store.head(), 5_000)).to.equal(true);
    });

    it('refuses a name that does not run', async () => {
      const error = await start([apiCatalog])
        .waitFor(['none'], '', 10)
        .catch((reason: Error) => reason);
      expect(error).to.be.instanceOf(Error).with.property('message').that.contains('no projection none');
    });

    it('ends when the projector stops', async () => {
      const projector = start([apiCatalog]);
      const waiting = projector.waitFor(['apis'], '9'.repeat(20), 60_000);
      await projector.stop();
      expect(await waiting).to.equal(false);
    });
  });

  it('rejects what waits for the head when it stops before', async () => {
    await appendEvents(store, apiCreated({ id: 'bad' }));
    const projector = start([breaking('stop', () => true)]);
    await eventually(() => log.lines.some(({ level }) => level === 'error'));
    await projector.stop();
    expect(await projector.ready.catch((error: Error) => error.message)).to.contain('stopped before counts');
  });

  it('stops with the signal that it was given', async () => {
    const abort = new AbortController();
    const projector = startProjector({ store, models, projections: [counting()], log, signal: abort.signal });
    await projector.ready;
    abort.abort();
    await projector.stop();
    await appendEvents(store, apiCreated());
    expect(counts(models)).to.deep.equal({});
  });

  describe('at an event that a projection cannot take', () => {
    const events = [apiCreated({ id: 'a' }), apiCreated({ id: 'bad' }), apiCreated({ id: 'c' }), apiActivated('bad')];

    it('parks it with the rest of its stream, and says so', async () => {
      await appendEvents(store, ...events);
      const projector = start([breaking('park-by-stream', () => true)]);
      await projector.ready;
      expect(counts(models)).to.deep.equal({ 'api-a': 1, 'api-c': 1 });
      const [status] = await projector.status();
      expect(status).to.deep.include({ name: 'counts', state: 'live', lag: 0, reason: undefined });
      expect(status!.parked.map(({ stream, position }) => [stream, Number(position)])).to.deep.equal([
        ['api-bad', 2],
        ['api-bad', 4],
      ]);
      expect(status!.parked[0]!.reason).to.contain('cannot take it');
      expect(status!.parked[1]!.reason).to.equal('follows a parked event of its stream');
      expect(log.lines.map(({ message }) => message)).to.include('event is parked with the rest of its stream');
    });

    it('goes on parking that stream after a restart', async () => {
      await appendEvents(store, ...events.slice(0, 3));
      await start([breaking('park-by-stream', () => true)]).ready;
      await running.pop()!.stop();
      await appendEvents(store, apiActivated('bad'));
      await start([counting()]).ready;
      expect(counts(models)).to.deep.equal({ 'api-a': 1, 'api-c': 1 });
      expect(models.parked('counts')).to.have.length(2);
    });

    it('stops there with everything before it, tries again, and goes on', async () => {
      let isBroken = true;
      await appendEvents(store, ...events);
      const projector = start([breaking('stop', () => isBroken)]);
      await eventually(async () => (await projector.status())[0]!.state === 'stopped');
      const [status] = await projector.status();
      expect(status).to.deep.include({ lag: 3, parked: [] });
      expect(status!.reason).to.contain('api-bad').and.to.contain('cannot take it');
      expect(counts(models)).to.deep.equal({ 'api-a': 1 });
      isBroken = false;
      await projector.ready;
      expect(counts(models)).to.deep.equal({ 'api-a': 1, 'api-bad': 2, 'api-c': 1 });
      expect((await projector.status())[0]).to.deep.include({ state: 'live', lag: 0, reason: undefined });
    });

    it('does not hold up the others', async () => {
      await appendEvents(store, ...events);
      const projector = start([breaking('stop', () => true), apiCatalog]);
      await projector.caughtUp('apis');
      expect(listApis(models, org).total).to.equal(3);
    });

    it('stops at an event of a newer program, also where others are parked', async () => {
      const newer = { ...encodeEvent(apiCreated({ id: 'new' }), randomUUID(), {}), schema: 2 };
      await store.append([{ stream: 'api-new', expected: 'noStream', events: [newer] }], {
        commandId: randomUUID(),
        timeoutMs: 1_000,
      });
      const projector = start([counting()]);
      await eventually(async () => (await projector.status())[0]!.state === 'stopped');
      expect((await projector.status())[0]!.reason).to.contain('update svc');
      expect(models.parked('counts')).to.deep.equal([]);
    });

    it('parks none for a failure of the read models', async () => {
      await appendEvents(store, ...events);
      let isFailing = true;
      const failing = new Proxy(models, {
        get: (target, name) => {
          if (name !== 'generation') return Reflect.get(target, name).bind(target);
          const generation: ReadModelStore['generation'] = (projection, number) => {
            const documents = target.generation(projection, number);
            const get: typeof documents.get = (collection, id) => {
              if (isFailing) throw new Error('disk I/O error');
              return documents.get(collection, id);
            };
            return { get, list: documents.list.bind(documents), count: documents.count.bind(documents) };
          };
          return generation;
        },
      });
      const projector = start([counting()], store, failing);
      await eventually(async () => (await projector.status())[0]!.state === 'retrying');
      expect(models.parked('counts')).to.deep.equal([]);
      isFailing = false;
      await projector.ready;
      expect(counts(models)).to.deep.equal({ 'api-a': 1, 'api-bad': 2, 'api-c': 1 });
    });
  });

  it('tries again when the event store fails', async () => {
    await appendEvents(store, apiCreated());
    let failures = 2;
    const shaky: EventStore = new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (name !== 'subscribe' || failures === 0) return typeof value === 'function' ? value.bind(target) : value;
        failures--;
        throw new Error('connection lost');
      },
    });
    await start([counting()], shaky).ready;
    expect(counts(models)).to.deep.equal({ 'api-orders': 1 });
    expect(log.lines.filter(({ message }) => message === 'projection cannot go on')).to.have.length(2);
  });

  it('tries again, with a pause, when the event store fails while it is followed', async () => {
    await appendEvents(store, apiCreated());
    let reads = 0;
    let isAway = false;
    const readAll = store.readAll.bind(store);
    store.readAll = (range) => {
      reads++;
      return isAway ? Promise.reject(new Error('connection lost')) : readAll(range);
    };
    const projector = start([counting()]);
    await projector.ready;
    expect(projector.staleMs()).to.equal(0);
    isAway = true;
    reads = 0;
    await appendEvents(store, apiCreated({ id: 'b' }));
    await eventually(async () => (await projector.status())[0]!.state === 'retrying');
    await eventually(() => projector.staleMs() >= 300);
    // A pause of 50 ms that doubles.
    expect(reads).to.be.at.most(8);
    expect(log.lines.filter(({ message }) => message === 'projection cannot go on')).to.not.be.empty;
    isAway = false;
    await eventually(() => counts(models)['api-b'] === 1);
    expect(projector.staleMs()).to.equal(0);
  });

  describe('folds anew', () => {
    it('for another version', async () => {
      await appendEvents(store, apiCreated());
      await start([counting()]).ready;
      await running.pop()!.stop();
      await start([counting({ version: 2 })]).ready;
      await eventually(() => models.checkpoint('counts')?.version === 2);
      expect(counts(models)).to.deep.equal({ 'api-orders': 1 });
    });

    it('for another log', async () => {
      await appendEvents(store, apiCreated({ id: 'old' }), apiCreated({ id: 'older' }));
      await start([counting()]).ready;
      await running.pop()!.stop();
      const other = new MemoryEventStore();
      await appendEvents(other, apiCreated({ id: 'new' }));
      await start([counting()], other).ready;
      expect(counts(models)).to.deep.equal({ 'api-new': 1 });
      expect(models.checkpoint('counts')?.logId).to.equal(other.identity.logId);
    });
  });

  it('has the effect of one when two run on the same read models', async () => {
    await appendEvents(store, apiCreated());
    const both = [start([counting()]), start([counting()])];
    for (let round = 0; round < 20; round++) await appendEvents(store, apiActivated());
    const head = await store.head();
    for (const projector of both) expect(await projector.waitFor(['counts'], head, 5_000)).to.equal(true);
    expect(counts(models)).to.deep.equal({ 'api-orders': 21 });
  });
});
