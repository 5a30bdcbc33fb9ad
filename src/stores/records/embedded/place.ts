/** Where a reader stands in a run of the embedded log, and its written form, the cursor. */
import { type Cursor, laneOf, sequenceText } from '../../../../domain/record-log.ts';

/** Row `n` of `segment` is the last one read; `last` is the sequence number it reached. */
export type Place = { readonly last: number; readonly segment: number; readonly n: number };

export const beginning: Place = { last: 0, segment: 0, n: 0 };

/** Above every row of a segment: the segment is behind. */
export const pastLastRow = 9_999_999_999;

const pad = (value: number, digits: number): string => String(value).padStart(digits, '0');

export const toCursor = (node: string, epoch: number, { last, segment, n }: Place): Cursor => ({
  lane: laneOf(node, epoch),
  pos: `${sequenceText(last)}-${pad(segment, 6)}-${pad(n, 10)}`,
});

export function toPlace(pos: string): Place {
  const [last, segment, n] = pos.split('-').map(Number);
  if (last === undefined || segment === undefined || n === undefined || Number.isNaN(last + segment + n)) {
    throw new Error(`"${pos}" is no place in an embedded record log`);
  }
  return { last, segment, n };
}
