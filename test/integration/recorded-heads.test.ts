/** Recorded heads out of a real record log: which they are, how many, and that nobody else notices the reading. */
import { rmSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { AnalyticsRecord } from '../../domain/analytics-record.ts';
import { toOrgId } from '../../domain/ids.ts';
import { emptyLedger, type RecordLane } from '../../domain/record-log.ts';
import type { HeadsQuery } from '../../domain/recorded-heads.ts';
import { openRecordedHeads, type RecordedHeadsOptions } from '../../src/stores/records/recorded-heads.ts';
import { keptLog } from '../support/given.ts';
import { appendRecords, frameOf, framesIn, take } from '../support/record-frames.ts';
import { openLog, spoilFrame } from '../support/record-log-harness.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

const hourMs = 3_600_000;
const never = new AbortController().signal;

describe('recorded heads of the embedded record log', function () {
  this.timeout(30_000);
  let folder: TemporaryFolder;
  let log: ReturnType<typeof keptLog>;
  beforeEach(() => {
    folder = temporaryFolder('svc-heads-');
    log = keptLog();
  });
  afterEach(() => folder[Symbol.dispose]());

  type Changes = Partial<AnalyticsRecord>;
  const now = (): Changes => ({ timestamp: Date.now() });
  /** One frame for each list, in the order given. */
  const append = async (lane: RecordLane, first: number, ...records: readonly Changes[]): Promise<number> => {
    const last = first + records.length - 1;
    const change = (seq: number) => ({ ...now(), original_path: `/orders/${seq}`, ...records[seq - first] });
    await lane.append(frameOf(lane, first, last, { change }), { durable: false });
    return last;
  };
  const heads = async (changes: Partial<HeadsQuery> = {}, options: Partial<RecordedHeadsOptions> = {}) => {
    const reader = openRecordedHeads({ directory: folder.path, log, ...options });
    const query = { orgId: toOrgId('acme'), apiId: 'orders', versionIds: [], sinceMs: Date.now() - hourMs, limit: 100 };
    try {
      return await reader.newest({ ...query, ...changes }, never);
    } finally {
      await reader.close();
    }
  };
  const targets = async (...args: Parameters<typeof heads>) => (await heads(...args)).map(({ target }) => target);

  it('are none where there is no log, and where nothing is recorded', async () => {
    expect(await heads({}, { directory: folder.file('elsewhere') })).to.deep.equal([]);
    expect(await heads()).to.deep.equal([]);
    await using records = openLog(folder.path);
    await records.openLane('eu-1');
    expect(await heads()).to.deep.equal([]);
  });

  it('hold what is known of a request, and neither key nor name where there was none', async () => {
    await using records = openLog(folder.path);
    const lane = await records.openLane('eu-1');
    await append(lane, 1, { method: 'PUT', content_length: 7, api_version: 'v2', api_key: 'ab12' }, {});
    const common = { host: 'api.example.com', clientAddress: '192.0.2.7' };
    expect(await heads()).to.deep.equal([
      { ...common, method: 'GET', target: '/orders/2', keyId: '', version: 'Non Versioned', bodyBytes: 0 },
      { ...common, method: 'PUT', target: '/orders/1', keyId: 'ab12', version: 'v2', bodyBytes: 7 },
    ]);
  });

  it('are those of the API in its organisation, and those that came to another one as a version of it', async () => {
    await using records = openLog(folder.path);
    const lane = await records.openLane('eu-1');
    await append(lane, 1, {}, { api_id: 'other' }, { org_id: 'else' }, { api_id: 'second', api_version: 'v2' });
    await append(lane, 5, { api_id: 'second' }, { api_id: 'third', api_version: 'v3' });
    expect(await targets()).to.deep.equal(['/orders/1']);
    expect(await targets({ versionIds: ['second'] })).to.deep.equal(['/orders/4', '/orders/1']);
  });

  it('come from every node, run and segment, the newest first, and none is older than asked for', async () => {
    await using records = openLog(folder.path, { segmentMaxBytes: 1 });
    const [one, other] = [await records.openLane('eu-1'), await records.openLane('us-1')];
    await append(one, 1, {}, { timestamp: Date.now() - 2 * hourMs });
    await append(other, 1, { original_path: '/orders/us' });
    await append(one, 3, {});
    await one.end(3);
    const again = await records.openLane('eu-1');
    await append(again, 1, { original_path: '/orders/again' });
    const found = await targets();
    // Frames of one millisecond have no order between nodes.
    expect(found.filter((target) => target !== '/orders/us')).to.deep.equal([
      '/orders/again',
      '/orders/3',
      '/orders/1',
    ]);
    expect(found).to.include('/orders/us');
    expect(await targets({ limit: 2 })).to.have.length(2);
    expect(await targets({ sinceMs: Date.now() + 1_000 })).to.deep.equal([]);
  });

  it('are at most as many as asked for, of ten thousand and one', async () => {
    await using records = openLog(folder.path);
    const lane = await records.openLane('eu-1');
    for (let first = 1; first <= 10_001; first += 500) {
      const last = Math.min(10_001, first + 499);
      const change = (seq: number) => ({ ...now(), original_path: `/${seq}` });
      await lane.append(frameOf(lane, first, last, { change }), { durable: false });
    }
    const found = await targets({ limit: 10_000 }, { readMs: 20_000, maxMs: 25_000 });
    expect([found.length, found[0], found.at(-1)]).to.deep.equal([10_000, '/10001', '/2']);
  });

  it('are the newest that are found in the time, and the log says that there may be more', async () => {
    await using records = openLog(folder.path);
    const lane = await records.openLane('eu-1');
    await append(lane, 1, {});
    await append(lane, 2, {});
    expect(await targets({}, { readMs: 0 })).to.deep.equal(['/orders/2']);
    expect(log.lines.map(({ message }) => message)).to.deep.equal(['the last hour of the record log was read in part']);
  });

  it('leave out a frame that is spoilt, and a segment that is no database, with a line in the log', async () => {
    await using records = openLog(folder.path, { segmentMaxBytes: 1 });
    const lane = await records.openLane('eu-1');
    for (const first of [1, 2, 3]) await append(lane, first, {});
    spoilFrame(folder.path, lane, 2, 2);
    const path = folder.file('eu-1', '0000000001-000001.db');
    for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true });
    writeFileSync(path, 'no database');
    expect(await targets()).to.deep.equal(['/orders/3']);
    expect(log.lines.map(({ message, fields }) => [message, (fields as { skipped?: number }).skipped])).to.deep.equal([
      ['parts of the record log cannot be read', 2],
    ]);
  });

  it('are read without moving a consumer, while the log is written', async () => {
    await using records = openLog(folder.path);
    const lane = await records.openLane('eu-1');
    await appendRecords(lane, 1, 20, 10);
    const [first] = await take(records.read('sink', 'checkpoint', AbortSignal.timeout(10_000)), 1);
    await records.commit('sink', first ? [first.cursor] : [], emptyLedger);
    const marks = await records.marks('sink');
    const writing = appendRecords(lane, 21, 2_000, 10);
    expect((await heads({ sinceMs: 0 })).length).to.equal(100);
    await writing;
    expect(await records.marks('sink')).to.deep.equal(marks);
    const rest = framesIn(await take(records.read('sink', 'checkpoint', AbortSignal.timeout(10_000)), 199));
    expect([rest[0]?.first, rest.at(-1)?.last]).to.deep.equal([11, 2_000]);
  });

  it('are read by a few at once: others wait for their turn, and give up in time', async () => {
    await using records = openLog(folder.path);
    await append(await records.openLane('eu-1'), 1, {});
    const query = { orgId: toOrgId('acme'), apiId: 'orders', versionIds: [], sinceMs: 0, limit: 10 };
    const patient = openRecordedHeads({ directory: folder.path, log, maxReadings: 1 });
    const all = await Promise.all([1, 2, 3].map(() => patient.newest(query, never)));
    expect(all.map(({ length }) => length)).to.deep.equal([1, 1, 1]);
    await patient.close();
    const hasty = openRecordedHeads({ directory: folder.path, log, maxReadings: 0, maxMs: 1 });
    expect(await hasty.newest(query, never).catch((error: Error) => error.name)).to.equal('TimeoutError');
    await hasty.close();
  });

  it('are given up when the reader is closed, or nobody waits for them', async () => {
    await using records = openLog(folder.path);
    await append(await records.openLane('eu-1'), 1, {});
    const reader = openRecordedHeads({ directory: folder.path, log });
    const query = { orgId: toOrgId('acme'), apiId: 'orders', versionIds: [], sinceMs: 0, limit: 10 };
    const outcome = reader.newest(query, never).catch((error: Error) => error.message);
    await reader.close();
    expect(await outcome).to.equal('the reader of recorded heads is closed');
    const other = openRecordedHeads({ directory: folder.path, log });
    const gone = AbortSignal.abort(new Error('nobody waits'));
    expect(await other.newest(query, gone).catch((error: Error) => error.message)).to.equal('nobody waits');
    await other.close();
  });
});
