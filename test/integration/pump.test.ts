/** The pump on a real record log: delivery, filters, failures of sinks, restarts, its listener. */
import { assert, expect } from 'chai';
import type { RecordLane } from '../../domain/record-log.ts';
import { type Sink, type SinkBatch, SinkError } from '../../pump/ports.ts';
import { type Pump, type PumpOptions, startPump } from '../../pump/pump.ts';
import type { EmbeddedRecordLog } from '../../src/stores/records/embedded-record-log.ts';
import { eventually } from '../support/eventually.ts';
import { appendRecords, frameOf } from '../support/record-frames.ts';
import { expectLaw } from '../support/record-ledger.ts';
import { openLog, quiet, spoilFrame } from '../support/record-log-harness.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary.ts';

type Memory = Sink & { readonly seqs: number[] };

/** A sink in memory; `before` may fail or wait. */
function memorySink(before: (batch: SinkBatch, signal: AbortSignal) => void | Promise<void> = () => {}): Memory {
  const seqs: number[] = [];
  return {
    seqs,
    guarantees: { dedupe: 'none', ordered: true },
    open: async () => ({}),
    close: async () => {},
    async write(batch, signal) {
      await before(batch, signal);
      seqs.push(...batch.records.map(({ ext }) => ext.seq));
      return { ok: true };
    },
  };
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, i) => i + 1);
const quick = { batch: { records: 50, waitMs: 1 }, retry: { initialMs: 1, maxMs: 5 } };
const has = (batch: SinkBatch, seq: number): boolean => batch.records.some(({ ext }) => ext.seq === seq);

describe('pump', () => {
  let folder: TemporaryFolder;
  let log: EmbeddedRecordLog;
  let lane: RecordLane;
  let pump: Pump | undefined;

  beforeEach(async () => {
    folder = temporaryFolder('svc-pump-');
    log = openLog(folder.file('log'));
    lane = await log.openLane('eu-1');
  });
  afterEach(async () => {
    await pump?.stop(0);
    pump = undefined;
    await log.close();
    folder[Symbol.dispose]();
  });

  type Given = { readonly sinks: Readonly<Record<string, Memory>>; readonly config?: PumpOptions['sinks'][string] };
  /** Each sink of the table under its name, with the same settings. */
  async function start({ sinks, config }: Given, changes: Partial<PumpOptions> = {}): Promise<Pump> {
    const { names, byName } = { names: Object.keys(sinks), byName: new Map(Object.entries(sinks)) };
    pump = await startPump({
      log,
      sinks: Object.fromEntries(names.map((name) => [name, { type: 'memory', ...quick, ...config }])),
      logger: quiet,
      dataDirectory: folder.path,
      openSink(_, { name }) {
        const sink = byName.get(name);
        assert(sink);
        return sink;
      },
      ...changes,
    });
    return pump;
  }
  const settled = (name: string, produced: number) =>
    eventually(async () => (await log.ledger(name)).produced >= produced);

  it('carries every record to every sink, in order, and its ledger adds up', async () => {
    const [a, b] = [memorySink(), memorySink()];
    await start({ sinks: { a, b } });
    await appendRecords(lane, 1, 300);
    await Promise.all(['a', 'b'].map((name) => settled(name, 300)));
    expect(a.seqs).to.deep.equal(upTo(300));
    expect(b.seqs).to.deep.equal(upTo(300));
    expectLaw(await log.ledger('a'));
    expect((await log.stats('a')).lagRecords).to.equal(0);
  });

  it('goes on where it was after a stop', async () => {
    const a = memorySink();
    await appendRecords(lane, 1, 100);
    await (await start({ sinks: { a } })).stop(10_000);
    await appendRecords(lane, 101, 200);
    await start({ sinks: { a } });
    await settled('a', 200);
    expect(a.seqs).to.deep.equal(upTo(200));
  });

  it('starts a new sink at the end of the log when told so, and remembers that before the first record', async () => {
    const a = memorySink();
    await appendRecords(lane, 1, 100);
    const config = { type: 'memory', ...quick, start: 'now' as const };
    const first = await start({ sinks: { a }, config });
    await eventually(() => log.marks('a'));
    await first.stop(10_000);
    await appendRecords(lane, 101, 120);
    await start({ sinks: { a }, config });
    await settled('a', 20);
    expect(a.seqs).to.deep.equal(upTo(120).slice(100));
  });

  it('counts what it filters', async () => {
    const a = memorySink();
    await start({ sinks: { a }, config: { type: 'memory', ...quick, filters: { skipResponseCodes: [404] } } });
    const change = (seq: number) => ({ response_code: seq % 4 === 0 ? 404 : 200 });
    await lane.append(frameOf(lane, 1, 100, { change }), { durable: false });
    await settled('a', 100);
    expect(a.seqs).to.have.length(75);
    expect(await log.ledger('a')).to.include({ delivered: 75, filtered: 25 });
  });

  it('lets a dead sink and a stuck one cost the others nothing', async () => {
    const dead = memorySink(() => {
      throw new SinkError('transient', 'connection refused');
    });
    const stuck = memorySink(
      (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
    );
    const good = memorySink();
    await start({ sinks: { dead, stuck, good } });
    await appendRecords(lane, 1, 500);
    await settled('good', 500);
    expect(good.seqs).to.deep.equal(upTo(500));
    const { sinks } = await eventually(async () => {
      const status = await pump?.status();
      return status?.sinks['dead']?.state === 'retrying' ? status : undefined;
    });
    expect(sinks['dead']).to.include({ state: 'retrying', lagRecords: 500 });
    expect(sinks['dead']?.lastError?.message).to.equal('connection refused');
    expect(sinks['good']).to.include({ lagRecords: 0, deadLetters: 0 });
    expect(await log.ledger('dead')).to.include({ produced: 0, delivered: 0 });
  });

  it('delivers everything once a sink is back', async () => {
    let failures = 0;
    const a = memorySink(() => {
      if (++failures < 10) throw new SinkError('transient', 'down');
    });
    await start({ sinks: { a } });
    await appendRecords(lane, 1, 200);
    await settled('a', 200);
    expect(a.seqs).to.deep.equal(upTo(200));
  });

  it('keeps a refused record as a dead letter and delivers the others', async () => {
    const a = memorySink((batch) => {
      if (has(batch, 33) || has(batch, 77)) throw new SinkError('permanent', 'bad record');
    });
    await start({ sinks: { a } });
    await appendRecords(lane, 1, 100);
    await settled('a', 100);
    expect(a.seqs).to.deep.equal(upTo(100).filter((seq) => seq !== 33 && seq !== 77));
    const letters = await log.deadLetters('a');
    expect(letters.map(({ record, reason }) => [record?.ext.seq, reason]).toSorted()).to.deep.equal([
      [33, 'bad record'],
      [77, 'bad record'],
    ]);
    expect(await log.ledger('a')).to.include({ delivered: 98, deadLettered: 2 });
  });

  for (const [onReject, letters, state] of [
    ['drop', 0, 'running'],
    ['stop', 0, 'stopped'],
  ] as const) {
    it(`on_reject ${onReject}: keeps ${letters} dead letters and is ${state}`, async () => {
      const a = memorySink((batch) => {
        if (has(batch, 5)) throw new SinkError('permanent', 'bad record');
      });
      const running = await start({ sinks: { a }, config: { type: 'memory', ...quick, onReject } });
      await appendRecords(lane, 1, 10);
      if (onReject === 'drop') await settled('a', 10);
      await eventually(async () => (await running.status()).sinks['a']?.state === state);
      expect(await log.deadLetters('a')).to.have.length(letters);
      expect((await log.ledger('a')).deadLettered).to.equal(onReject === 'drop' ? 1 : 0);
    });
  }

  it('starts a pipeline again that a mistake in a sink has ended, from its checkpoint', async () => {
    let isBroken = true;
    const a = memorySink((batch) => {
      if (!has(batch, 60) || !isBroken) return;
      isBroken = false;
      throw new TypeError('undefined is not a function');
    });
    const running = await start({ sinks: { a } });
    await appendRecords(lane, 1, 200);
    await settled('a', 200);
    expect(a.seqs).to.deep.equal(upTo(200));
    expect((await running.status()).sinks['a']).to.include({ restarts: 1, state: 'running' });
  });

  it('keeps a frame that cannot be read, counts its numbers and goes on', async () => {
    await appendRecords(lane, 1, 30);
    spoilFrame(folder.file('log'), lane, 1, 11);
    const a = memorySink();
    await start({ sinks: { a } });
    await settled('a', 30);
    expect(a.seqs).to.deep.equal([...upTo(10), ...upTo(30).slice(20)]);
    const [letter] = await log.deadLetters('a');
    expect(letter?.reason).to.match(/checksum/);
    expect(letter?.bytes?.byteLength).to.be.greaterThan(0);
    expect(await log.ledger('a')).to.include({ delivered: 20, deadLettered: 10, unexplained: 0 });
  });

  it('shows a hole between frames as unexplained, also across a restart of the pump', async () => {
    const a = memorySink();
    await lane.append(frameOf(lane, 1, 10), { durable: false });
    const first = await start({ sinks: { a } });
    await settled('a', 10);
    await first.stop(10_000);
    await lane.append(frameOf(lane, 14, 20), { durable: false });
    await start({ sinks: { a } });
    await settled('a', 20);
    expect(await log.ledger('a')).to.include({ delivered: 17, unexplained: 3 });
    expectLaw(await log.ledger('a'));
  });

  it('counts what a killed run has lost, from the first frame of the next', async () => {
    await appendRecords(lane, 1, 10);
    lane.watermark(18);
    await log.close();
    log = openLog(folder.file('log'));
    const next = await log.openLane('eu-1');
    await next.append(frameOf(next, 1, 5, { markers: next.lost }), { durable: false });
    const a = memorySink();
    await start({ sinks: { a } });
    await settled('a', 23);
    expect(await log.ledger('a')).to.deep.include({ produced: 23, delivered: 15, lost: { crash: 8 }, unexplained: 0 });
  });

  it('writes what it has read before it stops, and commits nothing of what a sink did not take', async () => {
    const stuck = memorySink(
      (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
    );
    const good = memorySink();
    const running = await start({ sinks: { stuck, good }, config: { type: 'memory', batch: { waitMs: 60_000 } } });
    await appendRecords(lane, 1, 30);
    await eventually(async () => (await running.status()).sinks['good']?.lagRecords === 30);
    await eventually(() => log.marks('good'));
    await running.stop(50);
    expect(good.seqs.length % 10).to.equal(0);
    expect((await log.ledger('good')).delivered).to.equal(good.seqs.length);
    expect((await log.ledger('stuck')).produced).to.equal(0);
  });

  it('refuses a wrong configuration of any sink before it reads anything', async () => {
    const options = { log, logger: quiet, dataDirectory: folder.path };
    const wrong = [
      { good: { type: 'stdout' }, bad: { type: 'stdou' } },
      { bad: { type: 'stdout', ignoreFields: ['nothing'] } },
    ];
    for (const sinks of wrong) {
      const message = await startPump({ ...options, sinks }).catch((error: Error) => error.message);
      expect(message).to.match(/did you mean|there is no field/);
    }
    expect(await log.marks('good')).to.equal(undefined);
  });

  it('tells on its listener that it lives, whether it is ready, and what its sinks do', async () => {
    let isDown = true;
    const a = memorySink(() => {
      if (isDown) throw new SinkError('transient', 'down');
    });
    const config = { type: 'memory', ...quick, required: true };
    const running = await start({ sinks: { a }, config }, { listen: { host: '127.0.0.1', port: 0 } });
    const base = `http://127.0.0.1:${running.address?.port}`;
    const get = async (path: string) => {
      const response = await fetch(base + path);
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    for (const path of ['/livez', '/health'])
      expect(await get(path)).to.deep.equal({ status: 200, body: { status: 'ok' } });
    await appendRecords(lane, 1, 10);
    await eventually(async () => (await get('/readyz')).status === 503);
    expect((await get('/ready')).body['reasons']).to.deep.equal(['sink a is not up']);
    isDown = false;
    await settled('a', 10);
    await eventually(async () => (await get('/readyz')).status === 200);
    const status = (await get('/status')).body as Record<string, Record<string, Record<string, unknown>>>;
    expect(status['sinks']?.['a']).to.deep.include({ state: 'running', lagRecords: 0, deadLetters: 0, type: 'memory' });
    expect(status['sinks']?.['a']?.['checkpoint']).to.deep.equal(await log.marks('a'));
    expect((await get('/nothing')).status).to.equal(404);
    expect((await fetch(`${base}/status`, { method: 'POST' })).status).to.equal(405);
  });
});
