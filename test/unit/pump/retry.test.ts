/** Writing one batch: passing failures are repeated, lasting ones narrowed down to the records that cause them. */
import { expect } from 'chai';
import { type Sink, type SinkBatch, SinkError, type WriteResult } from '../../../pump/ports.ts';
import { backoffMs, Interrupted, type RetryOptions, writeBatch } from '../../../pump/retry.ts';
import { recordOf } from '../../support/record-frames.ts';

const upTo = [{ lane: 'eu-1/1', pos: '1' }];
const batchOf = (count: number): SinkBatch => ({
  records: Array.from({ length: count }, (_, i) => recordOf({ node: 'eu-1', epoch: 1 }, i + 1)),
  upTo,
});

type Write = (batch: SinkBatch, signal: AbortSignal, attempt: number) => WriteResult | Promise<WriteResult>;

function sinkOf(write: Write): Sink & { readonly written: SinkBatch[] } {
  const written: SinkBatch[] = [];
  let attempts = 0;
  return {
    written,
    guarantees: { dedupe: 'none', ordered: true },
    open: async () => ({}),
    close: async () => {},
    async write(batch, signal) {
      const result = await write(batch, signal, ++attempts);
      written.push(batch);
      return result;
    },
  };
}

const optionsFor = (sink: Sink, changes: Partial<RetryOptions> = {}): RetryOptions => ({
  sink,
  limits: { initialMs: 1, maxMs: 2, maxElapsedMs: 0 },
  timeoutMs: 5_000,
  stop: new AbortController().signal,
  kill: new AbortController().signal,
  onFailure: () => {},
  random: () => 0,
  ...changes,
});

const ok = { ok: true } as const;
const seqs = (batch: SinkBatch): number[] => batch.records.map(({ ext }) => ext.seq);
const refuse =
  (...bad: number[]): Write =>
  (batch) => {
    if (seqs(batch).some((seq) => bad.includes(seq))) throw new SinkError('permanent', 'refused');
    return ok;
  };
const reasonOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

describe('retry', () => {
  it('hands over a batch once when the sink takes it', async () => {
    const sink = sinkOf(() => ok);
    expect(await writeBatch(batchOf(3), optionsFor(sink))).to.deep.equal([]);
    expect(sink.written).to.have.length(1);
  });

  it('tries again after passing failures, as often as it takes', async () => {
    const failures: number[] = [];
    const sink = sinkOf((_, _signal, attempt) => {
      if (attempt < 20) throw new SinkError('transient', 'busy');
      return ok;
    });
    await writeBatch(batchOf(1), optionsFor(sink, { onFailure: (_, attempts) => failures.push(attempts) }));
    expect(failures).to.have.length(19);
  });

  for (const bad of [[1], [4], [7], [2, 3], [1, 7], [1, 2, 3, 4, 5, 6, 7]]) {
    it(`finds the refused records ${bad.join(', ')} of 7 and writes the others in order, once`, async () => {
      const sink = sinkOf(refuse(...bad));
      const rejected = await writeBatch(batchOf(7), optionsFor(sink));
      expect(rejected.map(({ record, index }) => [record.ext.seq, index])).to.deep.equal(
        bad.map((seq) => [seq, seq - 1]),
      );
      expect(sink.written.flatMap(seqs)).to.deep.equal([1, 2, 3, 4, 5, 6, 7].filter((seq) => !bad.includes(seq)));
      const cursors = sink.written.map((batch) => batch.upTo.length);
      expect(cursors.at(-1), 'the cursors come last').to.equal(1);
      expect(cursors.filter((count) => count > 0)).to.have.length(1);
    });
  }

  it('needs no more than two log n tries for one record among a thousand', async () => {
    let tries = 0;
    const write = refuse(437);
    const sink = sinkOf((batch, signal, attempt) => {
      tries += 1;
      return write(batch, signal, attempt);
    });
    await writeBatch(batchOf(1_000), optionsFor(sink));
    expect(tries).to.be.at.most(2 * Math.ceil(Math.log2(1_000)) + 2);
  });

  it('takes the word of a sink that names what it refuses', async () => {
    const sink = sinkOf(() => ({ ok: false, rejected: [{ index: 1, reason: 'too large' }] }));
    const rejected = await writeBatch(batchOf(3), optionsFor(sink));
    expect(rejected.map(({ index, reason }) => [index, reason])).to.deep.equal([[1, 'too large']]);
  });

  it('gives up only when told so, and then on the whole batch', async () => {
    const sink = sinkOf((batch) => {
      if (batch.records.length > 0) throw new SinkError('transient', 'down');
      return ok;
    });
    const limits = { initialMs: 0, maxMs: 0, maxElapsedMs: 1 };
    expect(await writeBatch(batchOf(3), optionsFor(sink, { limits }))).to.have.length(3);
  });

  it('cancels a write that takes too long and tries again', async () => {
    const sink = sinkOf((_, signal, attempt) => {
      if (attempt > 1) return ok;
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const failures: string[] = [];
    await writeBatch(
      batchOf(1),
      optionsFor(sink, { timeoutMs: 5, onFailure: ({ message }) => failures.push(message) }),
    );
    expect(failures).to.deep.equal(['no answer within 5 ms']);
  });

  it('ends between two tries when the pump stops', async () => {
    const stop = new AbortController();
    const sink = sinkOf(() => {
      stop.abort();
      throw new SinkError('transient', 'down');
    });
    const limits = { initialMs: 60_000, maxMs: 60_000, maxElapsedMs: 0 };
    const options = optionsFor(sink, { stop: stop.signal, limits, random: () => 1 });
    expect(await reasonOf(writeBatch(batchOf(1), options))).to.be.instanceOf(Interrupted);
  });

  it('passes on what is no answer of the sink', async () => {
    const sink = sinkOf(() => {
      throw new TypeError('a mistake');
    });
    expect(await reasonOf(writeBatch(batchOf(1), optionsFor(sink)))).to.be.instanceOf(TypeError);
  });

  it('waits between nothing and a bound that doubles up to its limit', () => {
    const limits = { initialMs: 200, maxMs: 30_000 };
    expect([1, 2, 3, 8, 9, 100].map((attempts) => backoffMs(limits, attempts, () => 1))).to.deep.equal([
      200, 400, 800, 25_600, 30_000, 30_000,
    ]);
    expect(backoffMs(limits, 9, () => 0)).to.equal(0);
  });
});
