/** What every record log must keep, whatever it stands on. */
import { assert, expect } from 'chai';
import { recordId } from '../../domain/analytics-record.ts';
import {
  type Cursor,
  type Delivery,
  emptyLedger,
  type Frame,
  lastSequenceOf,
  type RecordLane,
  type RecordLog,
} from '../../domain/record-log.ts';
import { eventually } from '../support/eventually.ts';
import { appendRecords, frameOf, framesIn, spans, take } from '../support/record-frames.ts';

/** One log on one store; `reopen` closes it (its open runs count as killed) and opens the store again. */
export type RecordLogHarness = {
  log(): RecordLog;
  openLane(node: string): Promise<RecordLane>;
  reopen(): Promise<void>;
  /** Spoils the stored bytes of the frame that begins with the number. */
  spoil(lane: RecordLane, first: number): Promise<void>;
  dispose(): Promise<void>;
};

const durable = { durable: true };
const soon = (): AbortSignal => AbortSignal.timeout(8_000);

export function describeRecordLog(name: string, open: () => Promise<RecordLogHarness>): void {
  describe(`record log: ${name}`, () => {
    let harness: RecordLogHarness;
    const read = (consumer: string, from: Parameters<RecordLog['read']>[1], count: number): Promise<Delivery[]> =>
      take(harness.log().read(consumer, from, soon()), count);
    const commit = (consumer: string, deliveries: readonly Delivery[], counts = {}): Promise<void> =>
      harness.log().commit(
        consumer,
        deliveries.map(({ cursor }) => cursor),
        { ...emptyLedger, ...counts },
      );

    beforeEach(async () => {
      harness = await open();
    });
    afterEach(() => harness.dispose());

    it('delivers what was appended, whole and in order, with ascending cursors', async () => {
      const lane = await harness.openLane('eu-1');
      const frames: Frame[] = [1, 4, 7].map((first) => frameOf(lane, first, first + 2));
      for (const frame of frames) await lane.append(frame, durable);
      const deliveries = await read('a', 'start', 3);
      expect(framesIn(deliveries)).to.deep.equal(frames);
      expect(deliveries.map(({ cursor }) => lastSequenceOf(cursor))).to.deep.equal([3, 6, 9]);
      const positions = deliveries.map(({ cursor }) => cursor.pos);
      expect(positions).to.deep.equal(positions.toSorted());
    });

    it('delivers to a reader that was there before the frame', async () => {
      const lane = await harness.openLane('eu-1');
      const reading = read('a', 'checkpoint', 2);
      await appendRecords(lane, 1, 20);
      expect(spans(await reading)).to.deep.equal(['eu-1/1 1-10', 'eu-1/1 11-20']);
    });

    it('ends reading when the signal aborts', async () => {
      const stop = new AbortController();
      const reading = take(harness.log().read('a', 'start', stop.signal), 1);
      stop.abort();
      expect(await reading).to.deep.equal([]);
    });

    it('keeps two consumers apart', async () => {
      const lane = await harness.openLane('eu-1');
      await appendRecords(lane, 1, 30);
      await commit('a', await read('a', 'checkpoint', 2), { produced: 20, delivered: 20 });
      expect(spans(await read('a', 'checkpoint', 1))).to.deep.equal(['eu-1/1 21-30']);
      expect(spans(await read('b', 'checkpoint', 1))).to.deep.equal(['eu-1/1 1-10']);
      expect((await harness.log().stats('a')).lagRecords).to.equal(10);
      expect((await harness.log().stats('b')).lagRecords).to.equal(30);
      expect(await harness.log().ledger('a')).to.include({ produced: 20, delivered: 20 });
      expect(await harness.log().ledger('b')).to.deep.equal(emptyLedger);
    });

    it('delivers again what was not committed, also after a restart', async () => {
      await appendRecords(await harness.openLane('eu-1'), 1, 30);
      const [first] = await read('a', 'checkpoint', 2);
      assert(first);
      await commit('a', [first]);
      await harness.reopen();
      expect(spans(await read('a', 'checkpoint', 2))).to.deep.equal(['eu-1/1 11-20', 'eu-1/1 21-30']);
    });

    it('knows the marks of a consumer, and one that never committed as such', async () => {
      await appendRecords(await harness.openLane('eu-1'), 1, 20);
      expect(await harness.log().marks('a')).to.equal(undefined);
      await harness.log().commit('a', [], emptyLedger);
      expect(await harness.log().marks('a')).to.deep.equal([]);
      const deliveries = await read('a', 'checkpoint', 2);
      await commit('a', deliveries);
      expect(await harness.log().marks('a')).to.deep.equal([deliveries[1]?.cursor]);
    });

    it('never moves a mark back, and adds to the ledger with the mark or not at all', async () => {
      await appendRecords(await harness.openLane('eu-1'), 1, 30);
      const deliveries = await read('a', 'checkpoint', 3);
      await commit('a', deliveries.slice(2), { produced: 30 });
      await commit('a', deliveries.slice(0, 1), { produced: 1 });
      expect((await harness.log().stats('a')).lagRecords).to.equal(0);
      expect((await harness.log().ledger('a')).produced).to.equal(31);
    });

    it('adds up losses by reason', async () => {
      await harness.log().commit('a', [], { ...emptyLedger, lost: { crash: 2 } });
      await harness.log().commit('a', [], { ...emptyLedger, lost: { crash: 3, ring_full: 4 } });
      expect((await harness.log().ledger('a')).lost).to.deep.equal({ crash: 5, ring_full: 4 });
    });

    it('delivers a spoilt frame as bad, with its place, and goes on behind it', async () => {
      const lane = await harness.openLane('eu-1');
      await appendRecords(lane, 1, 30);
      await harness.spoil(lane, 11);
      const deliveries = await read('a', 'start', 3);
      expect(deliveries.map((delivery) => 'bad' in delivery)).to.deep.equal([false, true, false]);
      assert(deliveries[1] && 'bad' in deliveries[1]);
      expect(lastSequenceOf(deliveries[1].cursor)).to.equal(20);
      expect(deliveries[1].bad.reason).to.match(/checksum/);
      expect(deliveries[1].bad.bytes.byteLength).to.be.greaterThan(0);
    });

    it('begins at the start, at the end, or behind a cursor', async () => {
      const lane = await harness.openLane('eu-1');
      await appendRecords(lane, 1, 30);
      const [, second] = await read('a', 'start', 3);
      assert(second);
      expect(spans(await read('a', [second.cursor], 1))).to.deep.equal(['eu-1/1 21-30']);
      const reading = harness.log().read('a', 'end', soon());
      const next = reading[Symbol.asyncIterator]().next();
      await lane.append(frameOf(lane, 31, 35), durable);
      const { value } = await next;
      expect(spans([value as Delivery])).to.deep.equal(['eu-1/1 31-35']);
    });

    it('tells where it ends, so that a consumer can begin there', async () => {
      const lane = await harness.openLane('eu-1');
      await appendRecords(lane, 1, 30);
      const end: readonly Cursor[] = await harness.log().edge('end');
      await harness.log().commit('a', end, emptyLedger);
      await appendRecords(lane, 31, 40);
      expect(spans(await read('a', 'checkpoint', 1))).to.deep.equal(['eu-1/1 31-40']);
      expect(await harness.log().edge('start')).to.deep.equal([]);
    });

    it('keeps the order of each of two writers', async () => {
      const lanes = [await harness.openLane('eu-1'), await harness.openLane('us-1')];
      await Promise.all(lanes.map((lane) => appendRecords(lane, 1, 200)));
      const found = spans(await read('a', 'start', 40));
      for (const node of ['eu-1', 'us-1']) {
        const own = found.filter((span) => span.startsWith(node));
        expect(own).to.have.length(20);
        expect(own.map((span) => Number(/ (\d+)-/.exec(span)?.[1]))).to.deep.equal(
          Array.from({ length: 20 }, (_, i) => i * 10 + 1),
        );
      }
    });

    it('gives each run of a node the next number, also while the one before is alive', async () => {
      const first = await harness.openLane('eu-1');
      const second = await harness.openLane('eu-1');
      expect([first.epoch, first.previousEpoch, second.epoch, second.previousEpoch]).to.deep.equal([1, 0, 2, 1]);
      expect(second.lost).to.deep.equal([]);
      await appendRecords(first, 1, 10);
      await appendRecords(second, 1, 10);
      expect(spans(await read('a', 'start', 2)).toSorted()).to.deep.equal(['eu-1/1 1-10', 'eu-1/2 1-10']);
    });

    it('counts what a killed run gave out and never stored', async () => {
      const killed = await harness.openLane('eu-1');
      await appendRecords(killed, 1, 10);
      killed.watermark(25);
      await harness.reopen();
      const next = await harness.openLane('eu-1');
      expect(next.lost).to.have.length(1);
      expect(next.lost[0]).to.include({ kind: 'loss', epoch: 1, from: 11, to: 25, reason: 'crash' });
    });

    it('hands a loss to the run after next when the next died before its first frame, and to nobody else', async () => {
      (await harness.openLane('eu-1')).watermark(7);
      await harness.reopen();
      expect((await harness.openLane('eu-1')).lost).to.have.length(1);
      await harness.reopen();
      const reporting = await harness.openLane('eu-1');
      expect(reporting.lost[0]).to.include({ epoch: 1, from: 1, to: 7 });
      await reporting.append(frameOf(reporting, 1, 0, { markers: reporting.lost }), durable);
      await harness.reopen();
      expect((await harness.openLane('eu-1')).lost).to.deep.equal([]);
    });

    it('counts nothing for a run that ended', async () => {
      const lane = await harness.openLane('eu-1');
      await appendRecords(lane, 1, 10);
      await lane.end(10);
      await harness.reopen();
      expect((await harness.openLane('eu-1')).lost).to.deep.equal([]);
    });

    it('takes nothing for a run that ended, nor a frame of another run', async () => {
      const lane = await harness.openLane('eu-1');
      const other = lane.append(frameOf({ node: 'eu-1', epoch: 9 }, 1, 1), durable).catch((error: Error) => error);
      expect(await other).to.be.instanceOf(Error);
      await lane.end(0);
      const late = lane.append(frameOf(lane, 1, 1), durable).catch((error: Error) => error);
      expect(await late).to.be.instanceOf(Error);
    });

    it('keeps dead letters by consumer; the same one again replaces itself', async () => {
      const lane = await harness.openLane('eu-1');
      const frame = frameOf(lane, 1, 1);
      await lane.append(frame, durable);
      const [delivery] = await read('a', 'start', 1);
      assert(delivery && frame.records[0]);
      const letter = { cursor: delivery.cursor, reason: 'too large', attempts: 2, at: 1_000, record: frame.records[0] };
      await harness.log().deadLetter('a', letter);
      await harness.log().deadLetter('a', letter);
      const bytes = new Uint8Array([1, 2, 3]);
      await harness
        .log()
        .deadLetter('a', { cursor: delivery.cursor, reason: 'checksum', attempts: 1, at: 2_000, bytes });
      const letters = await harness.log().deadLetters('a');
      expect(letters).to.have.length(2);
      expect(letters[0]).to.deep.equal(letter);
      expect(Buffer.from(letters[1]?.bytes ?? [])).to.deep.equal(Buffer.from(bytes));
      expect(await harness.log().deadLetters('b')).to.deep.equal([]);
    });

    it('forgets dead letters by record, by age, or all but the newest, of one consumer', async () => {
      const lane = await harness.openLane('eu-1');
      await lane.append(frameOf(lane, 1, 6), durable);
      const [delivery] = await read('a', 'start', 1);
      assert(delivery && 'frame' in delivery);
      const { cursor, frame } = delivery;
      for (const consumer of ['a', 'b']) {
        for (const record of frame.records) {
          const at = record.ext.seq * 1_000;
          await harness.log().deadLetter(consumer, { cursor, reason: 'refused', attempts: 3, at, record });
        }
      }
      const left = async () => (await harness.log().deadLetters('a')).map(({ record }) => record?.ext.seq);
      const records = [
        { node: 'eu-1', epoch: lane.epoch, seq: 2 },
        { node: 'eu-1', epoch: lane.epoch, seq: 9 },
      ].map(recordId);
      expect(await harness.log().forgetDeadLetters('a', { records })).to.equal(1);
      expect(await left()).to.deep.equal([1, 3, 4, 5, 6]);
      expect(await harness.log().forgetDeadLetters('a', { beforeMs: 3_000 })).to.equal(1);
      expect(await left()).to.deep.equal([3, 4, 5, 6]);
      expect(await harness.log().forgetDeadLetters('a', { butNewest: 2 })).to.equal(2);
      expect(await left()).to.deep.equal([5, 6]);
      expect(await harness.log().deadLetters('b')).to.have.length(6);
    });

    it('is healthy while it is open, and tells how large it is', async () => {
      await appendRecords(await harness.openLane('eu-1'), 1, 100);
      expect(await harness.log().health()).to.include({ writable: true, readable: true });
      const { bytes, lagSeconds } = await eventually(() => harness.log().stats('a'));
      expect(bytes).to.be.greaterThan(0);
      expect(lagSeconds).to.be.at.least(0);
    });
  });
}
