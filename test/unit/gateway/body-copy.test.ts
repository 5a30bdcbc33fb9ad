/** Copies of bodies: the beginning of what passed, never more than they may hold, and a budget that comes back. */
import { assert, expect } from 'chai';
import fc from 'fast-check';
import { BodyCopy, CopyBudget } from '../../../gateway/http/body-copy.ts';

describe('the copy of a body', () => {
  it('is its beginning up to the bound, however it came in parts, and knows its length', () => {
    const parts = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 });
    fc.assert(
      fc.property(parts, fc.nat(200), (chunks, maxBytes) => {
        const budget = new CopyBudget(1_000);
        const copy = new BodyCopy(maxBytes, budget);
        for (const chunk of chunks) copy.add(Buffer.from(chunk));
        const whole = Buffer.concat(chunks);
        assert.isAtMost(budget.bytes, maxBytes);
        const { bytes, total } = copy.finish();
        assert.deepEqual([bytes.equals(whole.subarray(0, maxBytes)), total], [true, whole.length]);
        assert.equal(budget.bytes, 0);
      }),
    );
  });

  it('keeps nothing of the chunk that it came in', () => {
    const copy = new BodyCopy(10, new CopyBudget(100));
    const chunk = Buffer.from('abcd');
    copy.add(chunk);
    chunk.fill('x');
    expect(copy.finish().bytes.toString()).to.equal('abcd');
  });

  it('ends without a hole where the budget of all does, and begins again when others are over', () => {
    const budget = new CopyBudget(10);
    const [first, second] = [new BodyCopy(8, budget), new BodyCopy(8, budget)];
    first.add(Buffer.from('12345678'));
    second.add(Buffer.from('ab'));
    second.add(Buffer.from('cde'));
    expect(first.finish().total).to.equal(8);
    second.add(Buffer.from('fg'));
    const { bytes, total } = second.finish();
    expect([bytes.toString(), total, budget.bytes]).to.deep.equal(['ab', 7, 0]);
    const third = new BodyCopy(8, budget);
    third.add(Buffer.from('12345678'));
    expect(third.finish().bytes.length).to.equal(8);
  });

  it('takes nothing more, and gives nothing back twice, once it is finished', () => {
    const budget = new CopyBudget(10);
    const copy = new BodyCopy(8, budget);
    copy.add(Buffer.from('abc'));
    copy.finish();
    copy.add(Buffer.from('def'));
    copy.finish();
    expect(budget.bytes).to.equal(0);
  });
});
