/** The cursor of what is done out of order: never beyond anything open, and at the end when nothing is. */
import { expect } from 'chai';
import fc from 'fast-check';
import { LowWater, type Mark } from '../../../gateway/events/low-water.ts';

const cursor = (number: number, lane = 'a/1') => ({ lane, pos: String(number).padStart(4, '0') });
const reached = (low: LowWater): readonly string[] => low.reached.map(({ lane, pos }) => `${lane} ${Number(pos)}`);

describe('low water', () => {
  it('is nowhere before anything is done', () => {
    const low = new LowWater();
    low.enter(cursor(1));
    expect(reached(low)).to.deep.equal([]);
    expect(low.isMoved).to.equal(false);
  });

  it('waits for what is open before what is done, in each lane by itself', () => {
    const low = new LowWater();
    const [one, two, three] = [1, 2, 3].map((number) => low.enter(cursor(number))) as [Mark, Mark, Mark];
    const other = low.enter(cursor(7, 'b/1'));
    low.leave(two);
    low.leave(other);
    expect(reached(low)).to.deep.equal(['b/1 7']);
    low.leave(one);
    expect(reached(low)).to.have.members(['a/1 2', 'b/1 7']);
    low.leave(three);
    expect(reached(low)).to.have.members(['a/1 3', 'b/1 7']);
  });

  it('counts every entry of a place, also of one that is read again behind others', () => {
    const low = new LowWater();
    const held = low.enter(cursor(1));
    const later = low.enter(cursor(2));
    const again = low.enter(cursor(1));
    expect(again).to.equal(held);
    low.leave(later);
    low.leave(held);
    expect(reached(low)).to.deep.equal([]);
    low.leave(again);
    expect(reached(low)).to.deep.equal(['a/1 2']);
  });

  it('is the last place before the first open one, whatever the order', () => {
    const orders = fc.shuffledSubarray(Array.from({ length: 12 }, (_, index) => index + 1));
    fc.assert(
      fc.property(orders, (done) => {
        const low = new LowWater();
        const marks = Array.from({ length: 12 }, (_, index) => low.enter(cursor(index + 1)));
        for (const number of done) low.leave(marks[number - 1] as Mark);
        const open = marks.findIndex((_, index) => !done.includes(index + 1));
        const expected = open < 0 ? 12 : open;
        expect(reached(low)).to.deep.equal(expected === 0 ? [] : [`a/1 ${expected}`]);
      }),
    );
  });
});
