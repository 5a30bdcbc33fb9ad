/** Keeps the account of one consumer: every sequence number of every run is explained once, in order. */
import type { AnalyticsRecord } from '../domain/analytics-record.ts';
import {
  type Cursor,
  type Delivery,
  emptyLedger,
  type Frame,
  type LedgerDelta,
  type LossReason,
  lastSequenceOf,
  type Marker,
} from '../domain/record-log.ts';

/** What one delivery means: the records that are new, and what its other numbers became. */
export type Accounted = { readonly records: readonly AnalyticsRecord[]; readonly ledger: LedgerDelta };

type Loss = Extract<Marker, { kind: 'loss' }>;

/** Begins at the consumer's marks and must see each delivery in the order of its lane. */
export class Account {
  readonly #lastOf: Map<string, number>;

  constructor(marks: readonly Cursor[]) {
    this.#lastOf = new Map(marks.map((mark) => [mark.lane, lastSequenceOf(mark)]));
  }

  take(delivery: Delivery): Accounted {
    const { lane } = delivery.cursor;
    const after = this.#lastOf.get(lane) ?? 0;
    const reached = lastSequenceOf(delivery.cursor);
    if ('frame' in delivery) {
      const { last, accounted } = accountFrame(delivery.frame, after);
      this.#lastOf.set(lane, Math.max(after, last));
      return accounted;
    }
    const count = Math.max(0, reached - after);
    this.#lastOf.set(lane, Math.max(after, reached));
    const fate = 'bad' in delivery ? { deadLettered: count } : { overtaken: count };
    return { records: [], ledger: { ...emptyLedger, produced: count, ...fate } };
  }
}

/**
 * A hole before the frame, a number in it that is neither record nor loss, and what the end of a run says beyond its last
 * frame are unexplained. Numbers at or below `after` came before: a frame that was appended twice counts once.
 */
function accountFrame(frame: Frame, after: number): { readonly last: number; readonly accounted: Accounted } {
  const records = frame.records.filter(({ ext }) => ext.seq > after);
  const own = losses(frame).filter(({ epoch }) => epoch === frame.epoch);
  const others = losses(frame).filter(({ epoch }) => epoch !== frame.epoch);
  const ownCounts = own.map(
    (loss) => [loss.reason, Math.max(0, loss.to - Math.max(loss.from, after + 1) + 1)] as const,
  );
  const isNew = frame.last > after || frame.first === after + 1;
  const otherCounts = isNew ? others.map((loss) => [loss.reason, loss.to - loss.from + 1] as const) : [];
  const end = frame.markers.find((marker) => marker.kind === 'end');
  const last = Math.max(frame.last, end?.last ?? 0);
  const numbers = Math.max(0, last - after);
  const explained = records.length + sum(ownCounts);
  const ledger: LedgerDelta = {
    ...emptyLedger,
    produced: Math.max(numbers, explained) + sum(otherCounts),
    lost: byReason([...ownCounts, ...otherCounts]),
    unexplained: Math.max(0, numbers - explained),
  };
  return { last, accounted: { records, ledger } };
}

const losses = ({ markers }: Frame): readonly Loss[] => markers.filter((marker) => marker.kind === 'loss');

type Count = readonly [LossReason, number];

const sum = (counts: readonly Count[]): number => counts.reduce((total, [, count]) => total + count, 0);

function byReason(counts: readonly Count[]): LedgerDelta['lost'] {
  const lost: Partial<Record<LossReason, number>> = {};
  for (const [reason, count] of counts) if (count > 0) lost[reason] = (lost[reason] ?? 0) + count;
  return lost;
}
