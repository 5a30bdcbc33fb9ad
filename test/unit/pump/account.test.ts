/** The account of a consumer: whatever is delivered, every number is explained once. */
import { expect } from 'chai';
import {
  type Cursor,
  type Delivery,
  emptyLedger,
  type Frame,
  type LedgerDelta,
  laneOf,
  type Marker,
  sequenceText,
} from '../../../domain/record-log.ts';
import { Account } from '../../../pump/checkpoint.ts';
import { frameOf } from '../../support/record-frames.ts';

const run = { node: 'eu-1', epoch: 2 };
const cursor = (last: number, row = last): Cursor => ({ lane: laneOf('eu-1', 2), pos: `${sequenceText(last)}-${row}` });
const delivered = (frame: Frame): Delivery => ({ cursor: cursor(frame.last), frame });
const loss = (epoch: number, from: number, to: number, reason: 'ring_full' | 'crash'): Marker => ({
  kind: 'loss',
  epoch,
  from,
  to,
  reason,
  atFrom: 0,
  atTo: 0,
  tally: [],
});
const without = (frame: Frame, ...seqs: number[]): Frame => ({
  ...frame,
  records: frame.records.filter(({ ext }) => !seqs.includes(ext.seq)),
});

type Case = {
  readonly mark: number;
  readonly given: Delivery;
  readonly seqs: number[];
  readonly ledger: Partial<LedgerDelta>;
};

const cases: Readonly<Record<string, Case>> = {
  'a frame behind the mark': {
    mark: 10,
    given: delivered(frameOf(run, 11, 13)),
    seqs: [11, 12, 13],
    ledger: { produced: 3 },
  },
  'a hole before the frame': {
    mark: 10,
    given: delivered(frameOf(run, 14, 15)),
    seqs: [14, 15],
    ledger: { produced: 5, unexplained: 3 },
  },
  'a number in the frame that is no record': {
    mark: 10,
    given: delivered(without(frameOf(run, 11, 13), 12)),
    seqs: [11, 13],
    ledger: { produced: 3, unexplained: 1 },
  },
  'a number in the frame that is a loss': {
    mark: 10,
    given: delivered(without(frameOf(run, 11, 13, { markers: [loss(2, 12, 12, 'ring_full')] }), 12)),
    seqs: [11, 13],
    ledger: { produced: 3, lost: { ring_full: 1 } },
  },
  'the loss of a run before': {
    mark: 0,
    given: delivered(frameOf(run, 1, 2, { markers: [loss(1, 90, 99, 'crash')] })),
    seqs: [1, 2],
    ledger: { produced: 12, lost: { crash: 10 } },
  },
  'the loss of a run before in a frame without records': {
    mark: 0,
    given: delivered(frameOf(run, 1, 0, { markers: [loss(1, 90, 99, 'crash')] })),
    seqs: [],
    ledger: { produced: 10, lost: { crash: 10 } },
  },
  'a frame that was appended twice': { mark: 13, given: delivered(frameOf(run, 11, 13)), seqs: [], ledger: {} },
  'a frame that was there in part': {
    mark: 12,
    given: delivered(frameOf(run, 11, 13)),
    seqs: [13],
    ledger: { produced: 1 },
  },
  'an end that gave out more than the last frame': {
    mark: 10,
    given: delivered(frameOf(run, 11, 12, { markers: [{ kind: 'end', at: 0, last: 15 }] })),
    seqs: [11, 12],
    ledger: { produced: 5, unexplained: 3 },
  },
  'a frame that cannot be read': {
    mark: 10,
    given: { cursor: cursor(20), bad: { bytes: new Uint8Array(), reason: 'checksum' } },
    seqs: [],
    ledger: { produced: 10, deadLettered: 10 },
  },
  'what retention took': {
    mark: 10,
    given: { cursor: cursor(30), overtaken: true },
    seqs: [],
    ledger: { produced: 20, overtaken: 20 },
  },
};

describe('account', () => {
  for (const [name, { mark, given, seqs, ledger: expected }] of Object.entries(cases)) {
    it(`explains ${name}`, () => {
      const { records, ledger } = new Account([cursor(mark)]).take(given);
      expect(records.map(({ ext }) => ext.seq)).to.deep.equal(seqs);
      expect(ledger).to.deep.equal({ ...emptyLedger, ...expected });
    });
  }

  it('goes on from what it has seen, run by run', () => {
    const account = new Account([]);
    account.take(delivered(frameOf(run, 1, 10)));
    expect(account.take(delivered(frameOf(run, 12, 12))).ledger).to.include({ produced: 2, unexplained: 1 });
    const other = frameOf({ node: 'eu-1', epoch: 3 }, 1, 4);
    const place = { lane: laneOf('eu-1', 3), pos: sequenceText(4) };
    expect(account.take({ cursor: place, frame: other }).ledger).to.include({ produced: 4, unexplained: 0 });
  });
});
