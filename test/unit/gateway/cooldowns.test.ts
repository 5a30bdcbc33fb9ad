/** Events that are left out after an equal one: for their time, and no longer than memory allows. */
import { expect } from 'chai';
import { Cooldowns } from '../../../gateway/events/cooldowns.ts';
import { coolingKey } from '../../../gateway/events/outbox-entry.ts';

describe('cool-downs', () => {
  it('last as long as they are told to, from the last delivery on', () => {
    let nowMs = 0;
    const cooldowns = new Cooldowns(() => nowMs);
    expect(cooldowns.isCooling('a')).to.equal(false);
    cooldowns.start('a', 100);
    cooldowns.start('none', 0);
    expect([cooldowns.isCooling('a'), cooldowns.isCooling('b'), cooldowns.isCooling('none')]).to.deep.equal([
      ...[true, false, false],
    ]);
    nowMs = 60;
    cooldowns.start('a', 100);
    nowMs = 159;
    expect(cooldowns.isCooling('a')).to.equal(true);
    nowMs = 160;
    expect(cooldowns.isCooling('a')).to.equal(false);
  });

  it('forget the oldest beyond a hundred thousand', () => {
    const cooldowns = new Cooldowns(() => 0);
    for (let number = 0; number <= 100_000; number++) cooldowns.start(String(number), 1);
    expect([cooldowns.isCooling('0'), cooldowns.isCooling('1'), cooldowns.isCooling('100000')]).to.deep.equal([
      ...[false, true, true],
    ]);
  });

  it('are known by names of one length, however long the paths are that clients ask for', () => {
    const nameOf = (target: string, path: string) => coolingKey({ target, equality: `AuthFailure\napi\n\n${path}` });
    const long = `/${'x'.repeat(8_000)}`;
    expect(nameOf('a', long)).to.have.length(nameOf('a', '/').length);
    expect(new Set([nameOf('a', long), nameOf('b', long), nameOf('a', `${long}y`)]).size).to.equal(3);
  });
});
