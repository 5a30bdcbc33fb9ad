/** Counters that nobody asks for any more: those of keys that are gone or began anew. */
import { expect } from 'chai';
import { Callers } from '../../../../gateway/access/callers.ts';
import { hold } from '../../../../gateway/feed/held.ts';
import { memoryCounters } from '../../../../src/stores/runtime/memory-counters.ts';
import { keyId, MemoryFeed } from '../../../support/gateway-feed.ts';
import { listLog } from '../../../support/gateway-start.ts';

describe('counters of keys', () => {
  const forEver = { max: 5, renewalMs: 0 };
  const name = (key: string, epoch: string): string => `quota:${keyId(key)}:${epoch}`;

  function given() {
    let nowMs = 1_000;
    const clock = { now: () => nowMs, monotonic: () => nowMs };
    const counters = memoryCounters(clock);
    const callers = new Callers({ log: listLog(), clock, counters });
    const feed = new MemoryFeed();
    const swap = (): void => callers.swap(hold(feed.current));
    const swapLater = (): void => {
      nowMs += 60_000;
      swap();
    };
    const spent = (...keys: readonly string[]) => keys.map((key) => counters.standing(key, forEver).spent);
    return { counters, feed, swap, swapLater, spent };
  }

  it('go with their key and with its epoch, and the others stay', () => {
    const { counters, feed, swapLater, spent } = given();
    feed.putKey('stays', {}, { quota: { epoch: '2', others: { a: '1' } } });
    feed.putKey('gone', {}, { quota: { epoch: '1' } });
    swapLater();
    const all = [
      name('stays', '0'),
      name('stays', '1'),
      `${name('stays', '2')}:api:b`,
      name('gone', '1'),
      'org-quota:x',
    ];
    for (const key of all) counters.spend(key, forEver);
    feed.removeKey('gone');
    swapLater();
    expect(spent(...all)).to.deep.equal([0, 1, 1, 0, 1]);
  });

  it('are not looked through with each of many changes', () => {
    const { counters, feed, swap, swapLater, spent } = given();
    swapLater();
    counters.spend(name('gone', '1'), forEver);
    swap();
    expect(spent(name('gone', '1'))).to.deep.equal([1]);
    feed.putKey('another', {});
    swapLater();
    expect(spent(name('gone', '1'))).to.deep.equal([0]);
  });
});
