/** The embedded record log between processes: followers, kills, rotation and retention. */
import { readdirSync } from 'node:fs';
import { assert, expect } from 'chai';
import { emptyLedger, lastSequenceOf, type Marker } from '../../domain/record-log.ts';
import { eventually } from '../support/eventually.ts';
import { startChild } from '../support/record-child.ts';
import { appendRecords, frameOf, framesIn, spans, take } from '../support/record-frames.ts';
import { openLog } from '../support/record-log-harness.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

const soon = (): AbortSignal => AbortSignal.timeout(15_000);
const highest = (lines: readonly Readonly<Record<string, unknown>>[]): number =>
  Math.max(0, ...lines.flatMap(({ stored }) => (typeof stored === 'number' ? [stored] : [])));

describe('embedded record log', function () {
  this.timeout(40_000);
  let folder: TemporaryFolder;
  beforeEach(() => {
    folder = temporaryFolder('svc-record-log-');
  });
  afterEach(() => folder[Symbol.dispose]());

  it('is followed by another process while it is written', async () => {
    await using log = openLog(folder.path);
    const reading = take(log.read('a', 'checkpoint', soon()), 50);
    const writer = startChild('record-writer-process', folder.path, 'eu-1', '1000');
    const found = framesIn(await reading).flatMap(({ records }) => records.map(({ ext }) => ext.seq));
    expect(found).to.deep.equal(Array.from({ length: 1_000 }, (_, i) => i + 1));
    expect(await writer.ended).to.equal(0);
  });

  it('has every frame that was acknowledged when the writer is killed, and the next run counts the rest', async () => {
    for (let round = 1; round <= 4; round++) {
      const writer = startChild('record-writer-process', folder.path, 'eu-1', '1000000', '7');
      await eventually(() => highest(writer.lines) >= 70 * round);
      await writer.kill();
      const acknowledged = highest(writer.lines);
      await using log = openLog(folder.path);
      const lane = await log.openLane('eu-1');
      const [end] = (await log.edge('end')).filter((cursor) => cursor.lane === `eu-1/${lane.epoch - 1}`);
      assert(end);
      expect(lastSequenceOf(end)).to.be.at.least(acknowledged);
      // The watermark is written before the frame: what is neither stored nor counted is at most 10 ms old.
      const loss = lane.lost.find((marker) => marker.kind === 'loss' && marker.epoch === lane.epoch - 1);
      if (loss?.kind === 'loss') expect(loss).to.include({ from: lastSequenceOf(end) + 1, reason: 'crash' });
      await lane.append(frameOf(lane, 1, 0, { markers: lane.lost }), { durable: true });
      await lane.end(0);
    }
  });

  it('gives processes that start at once numbers of their own', async () => {
    const writers = Array.from({ length: 4 }, () => startChild('record-writer-process', folder.path, 'eu-1', '40'));
    const epochs = await Promise.all(writers.map(async ({ firstLine }) => (await firstLine)['epoch'] as number));
    await Promise.all(writers.map(({ ended }) => ended));
    expect(epochs.toSorted()).to.deep.equal([1, 2, 3, 4]);
    await using log = openLog(folder.path);
    const found = spans(await take(log.read('a', 'start', soon()), 8));
    expect(found.toSorted()).to.deep.equal(epochs.toSorted().flatMap((n) => [`eu-1/${n} 1-20`, `eu-1/${n} 21-40`]));
  });

  it('does not take a living process for a dead one', async () => {
    const writer = startChild('record-writer-process', folder.path, 'eu-1', '100000', '20', '5');
    await eventually(() => highest(writer.lines) > 0);
    await using log = openLog(folder.path);
    const lane = await log.openLane('eu-1');
    expect(lane.lost).to.deep.equal([]);
    const before = highest(writer.lines);
    await eventually(() => highest(writer.lines) > before);
    await writer.kill();
    expect((await log.openLane('eu-1')).previousEpoch).to.equal(lane.epoch);
  });

  it('reads on across closed segments', async () => {
    await using log = openLog(folder.path, { segmentMaxBytes: 3_000 });
    const lane = await log.openLane('eu-1');
    const reading = take(log.read('a', 'checkpoint', soon()), 40);
    for (let first = 1; first <= 391; first += 10)
      await lane.append(frameOf(lane, first, first + 9), { durable: false });
    expect(spans(await reading)).to.have.length(40);
    const segments = readdirSync(folder.file('eu-1')).filter((name) => /^\d{10}-\d{6}\.db$/.test(name));
    expect(segments.length).to.be.greaterThan(5);
    const again = spans(await take(log.read('b', 'start', soon()), 40));
    expect(again[39]).to.equal('eu-1/1 391-400');
  });

  it('deletes the oldest segments beyond its size, and tells a consumer that had not read them how many', async () => {
    const limits = { segmentMaxBytes: 20_000, maxBytes: 200_000 };
    await using log = openLog(folder.path, limits);
    const lane = await log.openLane('eu-1');
    await appendRecords(lane, 1, 40, 10);
    const [first] = await take(log.read('slow', 'checkpoint', soon()), 1);
    assert(first);
    await log.commit('slow', [first.cursor], emptyLedger);
    for (let i = 0; i < 60; i++) await appendRecords(lane, 41 + i * 100, 140 + i * 100, 50);
    expect((await log.stats('slow')).bytes).to.be.lessThan(400_000);
    const [overtaken, next] = await take(log.read('slow', 'checkpoint', soon()), 2);
    assert(overtaken && 'overtaken' in overtaken && next && 'frame' in next);
    expect(lastSequenceOf(overtaken.cursor)).to.equal(next.frame.first - 1);
    expect(next.frame.first).to.be.greaterThan(41);
    // A consumer that begins now was not overtaken by anything.
    const [start] = await take(log.read('new', 'checkpoint', soon()), 1);
    expect(spans(start ? [start] : [])).to.deep.equal([`eu-1/1 ${next.frame.first}-${next.frame.last}`]);
  });

  it('lets a reader finish the file that retention takes from under it', async () => {
    await using log = openLog(folder.path, { segmentMaxBytes: 20_000, maxBytes: 200_000 });
    const lane = await log.openLane('eu-1');
    await appendRecords(lane, 1, 100, 10);
    const deliveries = log.read('a', 'start', soon())[Symbol.asyncIterator]();
    let last = 0;
    let taken = 0;
    const step = async (): Promise<void> => {
      const { value, done } = await deliveries.next();
      if (done) throw new Error('reading ended early');
      const reached = lastSequenceOf(value.cursor);
      if ('overtaken' in value) taken += reached - last;
      else if ('frame' in value) expect(value.frame.first).to.equal(last + 1);
      last = reached;
    };
    await step();
    for (let i = 0; i < 60; i++) await appendRecords(lane, 101 + i * 100, 200 + i * 100, 50);
    while (last < 6_100) await step();
    expect(taken).to.be.greaterThan(0);
    await deliveries.return(undefined);
  });

  it('cleans the directory of a node that is gone, by age', async () => {
    const old = openLog(folder.path, { segmentMaxBytes: 2_000 });
    await appendRecords(await old.openLane('gone'), 1, 200, 10);
    await old.close();
    await using log = openLog(folder.path, { maxAgeMs: -1 });
    log.trim();
    const [only] = await take(log.read('a', [], soon()), 1);
    expect(only).to.deep.include({ overtaken: true });
    expect(readdirSync(folder.file('gone')).filter((name) => /-\d{6}\.db/.test(name))).to.deep.equal([]);
    const next = await log.openLane('gone');
    expect(next.lost.filter((marker: Marker) => marker.kind === 'loss')).to.deep.equal([]);
  });

  it('refuses a commit when another process has moved the mark meanwhile', async () => {
    await using first = openLog(folder.path);
    await using second = openLog(folder.path);
    await appendRecords(await first.openLane('eu-1'), 1, 30);
    const [a] = await take(first.read('out', 'checkpoint', soon()), 1);
    const [b, c] = await take(second.read('out', 'checkpoint', soon()), 2);
    assert(a && b && c);
    await first.commit('out', [a.cursor], { ...emptyLedger, produced: 10 });
    const refusal = await second
      .commit('out', [c.cursor], { ...emptyLedger, produced: 20 })
      .catch((e: Error) => e.name);
    expect(refusal).to.equal('MarksMoved');
    expect((await second.ledger('out')).produced).to.equal(10);
  });

  for (const node of ['', '../up', 'Eu-1', 'a/b', 'x'.repeat(65)]) {
    it(`refuses the node id "${node.slice(0, 8)}"`, async () => {
      await using log = openLog(folder.path);
      expect(await log.openLane(node).catch((error: Error) => error.message)).to.match(/node id/);
    });
  }
});
