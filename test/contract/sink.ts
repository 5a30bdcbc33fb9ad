/** What every sink must keep, whatever it writes to. */
import { expect } from 'chai';
import type { Sink, SinkBatch, SinkGuarantees } from '../../pump/ports.ts';
import { recordOf } from '../support/record-frames.ts';

/** `open` makes the sink anew on the same destination; `seqs` are the records found there, in order. */
export type SinkHarness = {
  open(): Sink;
  seqs(): Promise<readonly number[]>;
  dispose(): Promise<void>;
};

const run = { node: 'eu-1', epoch: 1 };

/** Records `first` to `last`; a piece of a batch has no cursors. */
const batchOf = (first: number, last: number, { isPiece = false } = {}): SinkBatch => ({
  records: Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => recordOf(run, first + i)),
  upTo: isPiece ? [] : [{ lane: 'eu-1/1', pos: String(last).padStart(16, '0') }],
});

const never = new AbortController().signal;

export function describeSink(name: string, dedupe: SinkGuarantees['dedupe'], create: () => Promise<SinkHarness>): void {
  describe(`sink: ${name}`, () => {
    let harness: SinkHarness;
    beforeEach(async () => {
      harness = await create();
    });
    afterEach(() => harness.dispose());

    async function opened() {
      const sink = harness.open();
      const { resumeFrom } = await sink.open();
      return { sink, resumeFrom };
    }

    it('has every record when write has answered', async () => {
      const { sink } = await opened();
      for (const batch of [batchOf(1, 5), batchOf(6, 6), batchOf(7, 9)]) {
        expect(await sink.write(batch, never)).to.deep.equal({ ok: true });
      }
      expect(await harness.seqs()).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9]);
      await sink.close(1_000);
    });

    it('takes pieces of a batch and then its cursors without records', async () => {
      const { sink } = await opened();
      await sink.write(batchOf(1, 2, { isPiece: true }), never);
      await sink.write(batchOf(3, 4, { isPiece: true }), never);
      expect(await sink.write({ records: [], upTo: batchOf(1, 4).upTo }, never)).to.deep.equal({ ok: true });
      expect(await harness.seqs()).to.deep.equal([1, 2, 3, 4]);
      await sink.close(1_000);
    });

    it('may be closed without a write and opened again', async () => {
      for (let i = 0; i < 2; i++) {
        const { sink } = await opened();
        await sink.close(1_000);
      }
      expect(await harness.seqs()).to.deep.equal([]);
    });

    it(`says that its repeats are: ${dedupe}`, () => expect(harness.open().guarantees.dedupe).to.equal(dedupe));

    if (dedupe === 'none' || dedupe === 'by-id') return;

    it('goes on from its own checkpoint, and nothing stands twice after a restart', async () => {
      const { sink: first } = await opened();
      await first.write(batchOf(1, 3), never);
      // What comes after the checkpoint was never acknowledged and is written again.
      await first.write(batchOf(4, 6, { isPiece: true }), never);
      await first.close(1_000);
      const { sink: second, resumeFrom } = await opened();
      expect(resumeFrom).to.deep.equal(batchOf(1, 3).upTo);
      await second.write(batchOf(4, 7), never);
      expect(await harness.seqs()).to.deep.equal([1, 2, 3, 4, 5, 6, 7]);
      await second.close(1_000);
    });
  });
}
