/** The recorder: numbers without a hole, whatever the log does, and loss that is counted. */
import { expect } from 'chai';
import type { AnalyticsRecord } from '../../../domain/analytics-record.ts';
import type { Marker } from '../../../domain/record-log.ts';
import type { Place } from '../../../gateway/analytics/outcome.ts';
import { Recorder, type RecorderOptions } from '../../../gateway/analytics/recorder.ts';
import type { PendingDetail } from '../../../gateway/http/context.ts';
import { eventually } from '../../support/eventually.ts';
import { ListLane } from '../../support/gateway-lane.ts';
import { listLog, systemClock } from '../../support/gateway-start.ts';

const make = (status: number, place: Place): AnalyticsRecord =>
  ({
    ...{ api_id: status === 200 ? 'good' : 'bad', response_code: status },
    ...{ path: '', raw_path: '', original_path: '', user_agent: '', raw_request: '', raw_response: '' },
    ext: { ...place, end: 1000 + place.seq, bytes: { in: 1, out: 2 } },
  }) as unknown as AnalyticsRecord;

const started = (lane: ListLane, options: Partial<RecorderOptions> = {}) => {
  const log = listLog();
  const frame = { records: 10, bytes: 262_144, waitMs: 5 };
  return {
    log,
    recorder: new Recorder({ lane, log, clock: systemClock, version: '1', frame, bufferBytes: 1e6, ...options }),
  };
};

/** Every number from 1 to `last` is a record or inside a marker, once, in order. */
function expectTiled({ frames, epoch }: ListLane, last: number): void {
  let next = 1;
  for (const { first, last: to, records, markers } of frames) {
    const losses = markers.filter(
      (marker): marker is Extract<Marker, { kind: 'loss' }> => marker.kind === 'loss' && marker.epoch === epoch,
    );
    const numbers = [
      ...records.map(({ ext }) => ext.seq),
      ...losses.flatMap((loss) => Array.from({ length: loss.to - loss.from + 1 }, (_, i) => loss.from + i)),
    ].sort((a, b) => a - b);
    expect(numbers).to.deep.equal(Array.from({ length: to - first + 1 }, (_, i) => first + i));
    expect(first).to.equal(next);
    next = to + 1;
  }
  expect(next - 1).to.equal(last);
}

const lossesOf = (lane: ListLane) =>
  lane.markers.filter((marker): marker is Extract<Marker, { kind: 'loss' }> => marker.kind === 'loss');

describe('the recorder', () => {
  it('says first that the run has begun, and what earlier runs lost', async () => {
    const crash: Marker = { kind: 'loss', epoch: 6, from: 3, to: 9, reason: 'crash', atFrom: 0, atTo: 0, tally: [] };
    const lane = new ListLane([crash]);
    const { recorder } = started(lane);
    await eventually(() => lane.frames.length === 1);
    expect(lane.frames[0]).to.deep.include({ node: 'node-1', epoch: 7, first: 1, last: 0, records: [] });
    expect(lane.markers[0]).to.deep.include({ kind: 'start', version: '1', pid: process.pid, previousEpoch: 6 });
    expect(lane.markers[1]).to.equal(crash);
    await recorder.stop(1000);
  });

  it('closes a frame when it is full, or when its first record has waited long enough', async () => {
    const lane = new ListLane();
    const { recorder } = started(lane);
    for (let i = 0; i < 23; i++) recorder.record(make, 200);
    await eventually(() => lane.records.length === 23);
    expect(lane.frames.map(({ records }) => records.length)).to.deep.equal([0, 10, 10, 3]);
    await recorder.stop(1000);
    expectTiled(lane, 23);
  });

  it('closes a frame by its bytes', async () => {
    const lane = new ListLane();
    const { recorder } = started(lane, { frame: { records: 500, bytes: 2000, waitMs: 5 } });
    for (let i = 0; i < 7; i++) recorder.record(make, 200);
    await recorder.stop(1000);
    expect(lane.frames.map(({ records }) => records.length)).to.deep.equal([0, 3, 3, 1, 0]);
    expectTiled(lane, 7);
  });

  it('notes the highest number given out while it goes on', async () => {
    const lane = new ListLane();
    const { recorder } = started(lane, { frame: { records: 500, bytes: 1e6, waitMs: 60_000 } });
    recorder.record(make, 200);
    recorder.record(make, 200);
    await eventually(() => lane.watermarks.at(-1) === 2);
    expect(lane.records).to.deep.equal([]);
    await recorder.stop(1000);
  });

  it('tries again until the log has a frame, and keeps the order', async () => {
    const lane = new ListLane();
    lane.failures = 2;
    const { recorder, log } = started(lane);
    for (let i = 0; i < 12; i++) recorder.record(make, 200);
    await eventually(() => lane.records.length === 12);
    expect(log.lines.filter(({ level }) => level === 'error')).to.have.length(2);
    await recorder.stop(1000);
    expectTiled(lane, 12);
  });

  it('ends with what waited, a mark, and nothing afterwards', async () => {
    const lane = new ListLane();
    const { recorder } = started(lane, { frame: { records: 500, bytes: 1e6, waitMs: 60_000 } });
    for (let i = 0; i < 5; i++) recorder.record(make, 200);
    await recorder.stop(1000);
    recorder.record(make, 200);
    await recorder.stop(1000);
    expect(lane.ended).to.equal(5);
    expect(lane.markers.at(-1)).to.deep.include({ kind: 'end', last: 5 });
    expectTiled(lane, 5);
  });

  it('gives up at the deadline of a stop when the log does not answer, and does not call the run ended', async () => {
    const lane = new ListLane();
    lane.failures = Number.POSITIVE_INFINITY;
    const { recorder } = started(lane);
    recorder.record(make, 200);
    await recorder.stop(50);
    expect(lane.ended).to.equal(undefined);
  });

  it('climbs its ladder while the log is held up: samples good answers, keeps errors, then drops, and counts all of it', async () => {
    const lane = new ListLane();
    const release = Promise.withResolvers<void>();
    lane.hold = release.promise;
    const { recorder, log } = started(lane, { bufferBytes: 60_000 });
    // 600 bytes each: 75 of them are three quarters of the buffer.
    for (let i = 0; i < 75; i++) recorder.record(make, 200);
    for (let i = 0; i < 40; i++) recorder.record(make, i % 10 === 9 ? 500 : 200);
    for (let i = 0; i < 60; i++) recorder.record(make, 500);
    release.resolve();
    await recorder.stop(2000);
    expectTiled(lane, 175);
    const losses = lossesOf(lane);
    expect(new Set(losses.map(({ reason }) => reason))).to.deep.equal(new Set(['sampled', 'ring_full']));
    const counted = losses.flatMap(({ tally }) => tally).reduce((sum, { hits }) => sum + hits, 0);
    expect(counted + lane.records.length).to.equal(175);
    const sampled = losses.filter(({ reason }) => reason === 'sampled');
    for (const { tally } of sampled) {
      for (const { apiId, hits, statuses, bytesIn, bytesOut } of tally) {
        expect([apiId, statuses, bytesIn, bytesOut]).to.deep.equal(['good', { 200: hits }, hits, hits * 2]);
      }
    }
    const weights = lane.records.filter(({ ext }) => ext.weight === 10);
    expect(weights).to.have.length.greaterThan(0);
    expect(weights.every(({ response_code }) => response_code === 200)).to.equal(true);
    expect(lane.records.slice(0, 70).every(({ ext }) => ext.weight === undefined)).to.equal(true);
    expect(log.lines.map(({ fields }) => fields['to'])).to.include.members([2, 3]);
  });

  describe('writes details', () => {
    const detail = (write: PendingDetail['write'], bytes = 100): PendingDetail => ({
      ...{ bytes, sizes: { request: 3, response: 4 }, write },
    });

    it('in the flush, each to its own record, before the log has the frame', async () => {
      const lane = new ListLane();
      const { recorder } = started(lane);
      let written = 0;
      for (let i = 0; i < 5; i++) {
        const write = async () => ({
          raw_request: `req ${i} ${written++}`,
          raw_response: 'res',
          truncated: { request: i, response: 0 },
        });
        recorder.record(make, 200, i % 2 === 0 ? detail(write) : undefined);
      }
      expect(written, 'nothing is written on a request').to.equal(0);
      await recorder.stop(1000);
      expect(lane.records.map(({ raw_request, ext }) => [raw_request, ext.truncated?.request])).to.deep.equal([
        ...[
          ['req 0 0', 0],
          ['', undefined],
          ['req 2 1', 2],
          ['', undefined],
          ['req 4 2', 4],
        ],
      ]);
      expectTiled(lane, 5);
    });

    it('and keeps a record whose detail cannot be written, without it and with a line in the log', async () => {
      const lane = new ListLane();
      const { recorder, log } = started(lane);
      recorder.record(
        make,
        200,
        detail(() => Promise.reject(new Error('no'))),
      );
      recorder.record(make, 200);
      await recorder.stop(1000);
      expect(lane.records[0]).to.deep.include({ raw_request: '', raw_response: '' });
      expect(lane.records[0]?.ext.truncated).to.deep.equal({ request: 3, response: 4 });
      expect(log.lines.filter(({ level }) => level === 'error')).to.have.length(1);
      expectTiled(lane, 2);
    });

    it('no more from half of the buffer on, and says how much is missing; records are all there', async () => {
      const lane = new ListLane();
      const release = Promise.withResolvers<void>();
      lane.hold = release.promise;
      const { recorder, log } = started(lane, { bufferBytes: 60_000 });
      const write = async () => ({ raw_request: 'req', raw_response: 'res' });
      // 600 bytes and 5,400 of detail each: the sixth finds half of the buffer full.
      for (let i = 0; i < 10; i++) recorder.record(make, 200, detail(write, 5_400));
      release.resolve();
      await recorder.stop(2000);
      expect(lane.records.map(({ raw_request }) => raw_request)).to.deep.equal([
        ...Array(5).fill('req'),
        ...Array(5).fill(''),
      ]);
      expect(lane.records.map(({ ext }) => ext.truncated?.request)).to.deep.equal([
        ...Array(5).fill(undefined),
        ...Array(5).fill(3),
      ]);
      expect(log.lines.map(({ fields }) => fields['to']))
        .to.include(1)
        .and.not.include(2);
      expectTiled(lane, 10);
    });
  });

  it('comes down its ladder again', async () => {
    const lane = new ListLane();
    const release = Promise.withResolvers<void>();
    lane.hold = release.promise;
    const { recorder } = started(lane, { bufferBytes: 60_000 });
    for (let i = 0; i < 200; i++) recorder.record(make, 500);
    release.resolve();
    await eventually(() => lane.records.length >= 99);
    const atEnd = lane.records.length;
    recorder.record(make, 200);
    await eventually(() => lane.records.length > atEnd);
    expect(lane.records.at(-1)?.ext).to.include({ seq: 201 }).and.not.have.property('weight');
    await recorder.stop(1000);
    expectTiled(lane, 201);
  });
});
