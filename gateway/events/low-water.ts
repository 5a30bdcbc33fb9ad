/** How far a log is done with although its entries are done out of order: the last place before which nothing is open. */
import { type Cursor, emptyLedger, type RecordLog } from '../../domain/record-log.ts';

/** A place that was read; `open` of its entries are not done. */
export type Mark = { readonly cursor: Cursor; open: number };

export class LowWater {
  /** By lane, in order; the first one is open. */
  readonly #open = new Map<string, Mark[]>();
  readonly #reached = new Map<string, Cursor>();
  /** Something moved since the last look at it. */
  isMoved = false;

  /** One more is open at the place. */
  enter(cursor: Cursor): Mark {
    const marks = this.#open.get(cursor.lane) ?? [];
    this.#open.set(cursor.lane, marks);
    const found = marks.findLast(({ cursor: { pos } }) => pos <= cursor.pos);
    if (found?.cursor.pos === cursor.pos) {
      found.open++;
      return found;
    }
    const mark = { cursor, open: 1 };
    marks.splice(found ? marks.lastIndexOf(found) + 1 : 0, 0, mark);
    return mark;
  }

  leave(mark: Mark): void {
    mark.open--;
    const { lane } = mark.cursor;
    const marks = this.#open.get(lane) ?? [];
    let done = 0;
    while (marks[done]?.open === 0) done++;
    const last = marks[done - 1];
    if (!last) return;
    marks.splice(0, done);
    if (last.cursor.pos > (this.#reached.get(lane)?.pos ?? '')) this.#reached.set(lane, last.cursor);
    this.isMoved = true;
  }

  /** One cursor per lane; the consumer's marks. */
  get reached(): readonly Cursor[] {
    return [...this.#reached.values()];
  }
}

/** Keeps how far a consumer has come, when that is news. */
export async function commitTo(
  log: Pick<RecordLog<never>, 'commit'>,
  consumer: string,
  lowWater: LowWater,
): Promise<void> {
  if (!lowWater.isMoved) return;
  lowWater.isMoved = false;
  try {
    await log.commit(consumer, lowWater.reached, emptyLedger);
  } catch (error) {
    lowWater.isMoved = true;
    throw error;
  }
}
