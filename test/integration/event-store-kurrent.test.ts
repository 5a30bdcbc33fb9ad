/** The KurrentDB adapter when things go wrong: lost and missing answers, repeats, restarts, other leaders, subscriptions that die. */
import { expect } from 'chai';
import { openKurrentLog } from '../../src/stores/events/kurrent-event-store.ts';
import { append, event, events, fill, ids, readWholeLog, write } from '../support/event-store-events.ts';
import { failureOf } from '../support/event-store-failure.ts';
import { Follower } from '../support/event-store-follower.ts';
import { startDeadLine } from '../support/event-store-kurrent-line.ts';
import { type KurrentTestLog, openKurrentDoubleLog } from '../support/event-store-kurrent-log.ts';
import { eventually } from '../support/eventually.ts';
import { startKurrentDouble } from '../support/kurrentdb-double.ts';

describe('the event log on KurrentDB', () => {
  let given: KurrentTestLog;
  beforeEach(async () => {
    given = await openKurrentDoubleLog('26.1');
  });
  afterEach(() => given.dispose());

  describe('an append whose outcome is not known (P6)', () => {
    for (const [name, fault, isWritten] of [
      ['was written, but its answer was lost', 'lostAnswers', true],
      ['was lost before it was written', 'lostRequests', false],
    ] as const) {
      for (const expected of ['noStream', 'any'] as const) {
        for (const streams of [1, 2]) {
          it(`${name}: the same again is there once, with ${expected} on ${streams} streams`, async () => {
            const { store, double } = given;
            await fill(store, 'x-1', 1);
            double.faults[fault] = 1;
            const writes = ['a-1', 'b-1'].slice(0, streams).map((stream) => write(stream, expected, ...events(2)));
            expect(await failureOf(append(store, writes))).to.include({ code: 'UnknownOutcome' });
            const again = await eventually(() => append(store, writes));
            expect(again).to.include({ duplicate: isWritten, position: await store.head() });
            expect([...again.heads.values()]).to.deep.equal(Array(streams).fill(1n));
            expect(await readWholeLog(store)).to.have.lengthOf(1 + 2 * streams);
          });
        }
      }
    }

    it('is given up after its time when the server accepts it and never answers, and later appends are answered', async () => {
      const { store, double } = given;
      double.faults.silent = 'writes';
      const writes = [write('a-1', 'noStream', event())];
      const late = store.append(writes, { commandId: 'c', timeoutMs: 150 });
      expect(await failureOf(late)).to.include({ code: 'UnknownOutcome' });
      double.faults.silent = 'none';
      expect(await append(store, writes)).to.include({ duplicate: false });
      expect(await append(store, [write('b-1', 'noStream', event())])).to.include({ duplicate: false });
    });
  });

  describe('a repeat is not written again although the server has forgotten its ids', () => {
    for (const expected of ['any', 'streamExists'] as const) {
      for (const who of ['the same node', 'another node'] as const) {
        it(`with expectation ${expected}, from ${who}`, async () => {
          const { store, double, openAgain } = given;
          await fill(store, 'a-1', 1);
          const writes = [write('a-1', expected, ...events(2))];
          const first = await append(store, writes);
          await fill(store, 'a-1', 3);
          await double.restart();
          const again = await eventually(async () =>
            append(who === 'the same node' ? store : await openAgain(), writes),
          );
          expect(again).to.deep.equal({ ...first, duplicate: true });
          expect(await eventually(() => readWholeLog(store))).to.have.lengthOf(6);
        });
      }
    }

    it('with expectation any, from a node that has not seen what another one wrote', async () => {
      const { store, double, openAgain } = given;
      const other = await openAgain();
      await fill(other, 'a-1', 1);
      const writes = [write('a-1', 'any', ...events(2))];
      const first = await append(store, writes);
      await double.restart();
      expect(await eventually(() => append(other, writes))).to.deep.equal({ ...first, duplicate: true });
    });

    it('with another expectation than the first time, which the server would take for a new append', async () => {
      const { store, openAgain } = given;
      const made = events(2);
      const first = await append(store, [write('a-1', 'noStream', ...made)]);
      const decidedAgain = [write('a-1', 1n, ...made)];
      expect(await append(store, decidedAgain)).to.deep.equal({ ...first, duplicate: true });
      expect(await append(await openAgain(), decidedAgain)).to.deep.equal({ ...first, duplicate: true });
      expect(await readWholeLog(store)).to.have.lengthOf(2);
    });

    it('further back than the end of the stream that a new process looks at, with an explicit expectation', async () => {
      const { store, openAgain } = given;
      const writes = [write('a-1', 'noStream', ...events(2))];
      const first = await append(store, writes);
      await append(store, [write('a-1', 1n, ...events(300))]);
      expect(await append(await openAgain(), writes)).to.deep.equal({ ...first, duplicate: true });
    });
  });

  it('an append goes to the new leader when the one that was asked is none any more', async () => {
    const { store, double } = given;
    await using leader = await startKurrentDouble({ log: double.log });
    double.faults.notLeader = { host: '127.0.0.1', port: leader.port };
    expect(await append(store, [write('a-1', 'noStream', event())])).to.include({ duplicate: false });
    expect(await readWholeLog(store)).to.have.lengthOf(1);
  });

  describe('what ends or limits a stream', () => {
    for (const expected of ['any', 'noStream', 'streamExists', 0n] as const) {
      it(`refuses ${expected} on a tombstoned stream with StreamTombstoned (P3)`, async () => {
        const { store, double } = given;
        await fill(store, 'a-1', 1);
        double.log.tombstone('a-1', 'any');
        expect(await failureOf(append(store, [write('a-1', expected, event())]))).to.include({
          code: 'StreamTombstoned',
        });
      });
    }

    it('refuses an append that an old server would not take, and nothing of it is written', async () => {
      const old = await openKurrentDoubleLog('23.10');
      const data = Buffer.alloc(8 * 1024, '"');
      const large = Array.from({ length: 120 }, () => event({ data }));
      const attempt = append(old.store, [write('a-1', 'noStream', ...large)]);
      expect(await failureOf(attempt)).to.include({ code: 'EventTooLarge' });
      expect(await old.store.head()).to.equal('');
      await old.dispose();
    });

    it('takes a server that does not know the question for its features as one without any', async () => {
      const { double, openAgain } = given;
      double.faults.hidesFeatures = true;
      const store = await openAgain();
      expect(store.can).to.include({ multiStream: false, checks: false });
      await append(store, [write('a-1', 'noStream', event())]);
      expect(await readWholeLog(store)).to.have.lengthOf(1);
    });
  });

  describe('a subscription', () => {
    it('lives through a restart of the server and misses nothing', async () => {
      const { store, double, openAgain } = given;
      const made = [...(await fill(store, 'a-1', 3))];
      await using follower = new Follower(store);
      await follower.until(() => follower.timesCaughtUp === 1);
      await double.restart();
      const other = await eventually(openAgain);
      made.push(...(await fill(other, 'a-1', 3)));
      await follower.until(() => follower.events.length === 6);
      made.push(...(await fill(other, 'a-1', 1)));
      await follower.until(() => follower.events.length === 7);
      expect(ids(follower.events)).to.deep.equal(ids(made));
    });

    it('gives every event once although the server delivers each twice and says nothing of places', async () => {
      const { store, double } = given;
      double.faults.duplicates = true;
      double.faults.caughtUpWithoutPosition = true;
      const before = await fill(store, 'a-1', 3);
      await using follower = new Follower(store);
      await follower.until(() => follower.timesCaughtUp === 1);
      const after = await fill(store, 'a-1', 3);
      await follower.until(() => follower.events.length >= 6);
      expect(ids(follower.events)).to.deep.equal(ids([...before, ...after]));
    });

    it('writes nothing while it waits', async () => {
      const { store, double } = given;
      await using follower = new Follower(store);
      await follower.until(() => follower.timesCaughtUp === 1);
      const records = double.log.records.length;
      await fill(store, 'a-1', 1);
      await follower.until(() => follower.events.length === 1);
      expect(double.log.records).to.have.lengthOf(records + 1);
    });
  });

  describe('a connection that stays open and carries nothing any more', () => {
    it('costs one call of each kind its time, and the next ones go over a new one', async () => {
      await using line = await startDeadLine(given.double.port);
      const address = `kurrentdb://127.0.0.1:${line.port}?tls=false&defaultDeadline=300&discoveryInterval=1`;
      const { store, close } = await openKurrentLog(address, {});
      await append(store, [write('a-1', 'noStream', event())]);
      line.goDead();
      expect(await failureOf(store.head())).to.include({ code: 'StoreUnavailable' });
      expect(await store.readStream('a-1', { limit: 9 })).to.have.lengthOf(1);
      const writes = [write('a-1', 0n, event())];
      const lost = store.append(writes, { commandId: 'c', timeoutMs: 200 });
      expect(await failureOf(lost)).to.include({ code: 'UnknownOutcome' });
      expect(await append(store, writes)).to.include({ duplicate: false });
      await close();
    });

    it('is given up also when the server is away at the first try of the new one', async () => {
      const { double } = given;
      await using line = await startDeadLine(double.port);
      const address = `kurrentdb://127.0.0.1:${line.port}?tls=false&defaultDeadline=300&discoveryInterval=1`;
      const { store, close } = await openKurrentLog(address, {});
      line.goDead();
      expect(await failureOf(store.head())).to.include({ code: 'StoreUnavailable' });
      await double.stop();
      expect(await failureOf(store.head())).to.include({ code: 'StoreUnavailable' });
      await double.restart();
      expect(await eventually(() => store.head())).to.equal('');
      await close();
    });
  });

  describe('reads', () => {
    it('come back when the server does, also for who found none at the first try', async () => {
      const { store, double } = given;
      await fill(store, 'a-1', 1);
      await double.stop();
      expect(await failureOf(store.readStream('a-1', { limit: 1 }))).to.include({ code: 'StoreUnavailable' });
      await double.restart();
      expect(await eventually(() => store.readStream('a-1', { limit: 1 }))).to.have.lengthOf(1);
      expect(await eventually(() => append(store, [write('b-1', 'any', event())]))).to.include({ duplicate: false });
    });

    it('end with StoreUnavailable when the server never answers', async () => {
      const { double } = given;
      const log = await openKurrentLog(`${double.url}&defaultDeadline=150&discoveryInterval=1`, {});
      double.faults.silent = 'all';
      expect(await failureOf(log.store.head())).to.include({ code: 'StoreUnavailable' });
      double.faults.silent = 'none';
      expect(await log.store.head()).to.equal('');
      await log.close();
    });

    it('never give the events of the server and of our helpers, and nobody appends there (P11)', async () => {
      const { store, log } = given;
      await log.cells.write('lease/a', 'x', 'none');
      await append(store, [write('a-1', 'noStream')]);
      await store.retain('a-1', { maxCount: 5 });
      const made = await fill(store, 'a-1', 1);
      expect(ids(await readWholeLog(store))).to.deep.equal(ids(made));
      const types = { types: ['Happened', 'CellWritten', '$metadata', 'LogNamed'] };
      const page = await store.readAll({ after: '', limit: 10, filter: types });
      expect(ids(page.events)).to.deep.equal(ids(made));
      for (const stream of ['$x', '$$a-1', 'cell-a', 'canary-1', 'secretkey-1', 'svclog-identity']) {
        const attempt = append(store, [write(stream, 'any', event())]);
        expect(await failureOf(attempt), stream).to.include({ code: 'Unsupported' });
      }
    });

    it('keep the time that the server says, to the millisecond where the clock of the writer agrees', async () => {
      const { double, clock } = given;
      const log = await openKurrentLog(double.url, { now: () => 1_000_000_900 });
      for (const [serverMs, storedMs] of [
        [1_000_000_850, 1_000_000_900],
        [1_000_001_200, 1_000_001_000],
        [1_000_003_500, 1_000_003_000],
      ] as const) {
        clock.nowMs = serverMs;
        await fill(log.store, 'a-1', 1);
        const [last] = await log.store.readStream('a-1', { back: true, limit: 1 });
        expect(last?.at.getTime()).to.equal(storedMs);
      }
      await log.close();
    });
  });
});
