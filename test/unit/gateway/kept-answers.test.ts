/** Kept answers beside their store: room for copies on their way, who goes ahead, and what is not kept after a flush. */
import { expect } from 'chai';
import { KeptAnswers } from '../../../gateway/middleware/cache/kept-answers.ts';
import type { KeptAnswer } from '../../../gateway/ports.ts';
import { memoryCache } from '../../../src/stores/runtime/memory-cache.ts';

const answer: KeptAnswer = { kind: 'answer', status: 200, headers: [], body: new Uint8Array(), bornMs: 0 };
const variantKey = (key: string, names: readonly string[]): string => `${key} ${names.join()}`;

function open() {
  const clock = { nowMs: 0 };
  const monotonic = () => clock.nowMs;
  const kept = new KeptAnswers(memoryCache({ maxBytes: 1_000_000, monotonic }), { monotonic });
  const keep = (vary: readonly string[] = [], epoch = kept.epochOf('a'), key = 'k') =>
    kept.keep({ key, apiId: 'a', epoch, vary, lifetimeMs: 1_000, variantKey }, answer);
  return { clock, kept, keep };
}

describe('kept answers', () => {
  it('give room to copies up to 64 MiB, and again what was given back', () => {
    const { kept } = open();
    const all = 67_108_864;
    expect([kept.takeRoom(all), kept.takeRoom(1)]).to.deep.equal([true, false]);
    kept.giveBack(1);
    expect([kept.takeRoom(1), kept.takeRoom(1)]).to.deep.equal([true, false]);
  });

  it('are not kept when they were asked for before a flush', () => {
    const { kept, keep } = open();
    const before = kept.epochOf('a');
    kept.flush('a');
    keep([], before);
    expect(kept.find('k', variantKey)).to.equal(undefined);
    keep();
    expect(kept.find('k', variantKey)).to.equal(answer);
  });

  it('that depend on more headers than anybody names are not kept', () => {
    const { kept, keep } = open();
    keep(Array.from({ length: 20 }, (_, index) => `a${index}`));
    keep(Array.from({ length: 20 }, (_, index) => `b${index}`));
    expect(kept.standing().entries).to.equal(2);
  });

  it('let one go ahead for a key, and nobody wait for ten seconds where that was in vain', () => {
    const { clock, kept } = open();
    const flight = kept.takeOff('k');
    expect(kept.flightOf('k')).to.equal(flight);
    flight?.land();
    expect(kept.flightOf('k')).to.equal(undefined);
    kept.pass('k');
    expect(kept.takeOff('k')).to.equal(undefined);
    clock.nowMs = 10_000;
    expect(kept.takeOff('k')).not.to.equal(undefined);
  });

  it('remember a bounded number of keys where waiting is in vain, the last ones', () => {
    const { kept } = open();
    for (let i = 0; i <= 10_000; i++) kept.pass(`k${i}`);
    expect([kept.takeOff('k0') === undefined, kept.takeOff('k10000') === undefined]).to.deep.equal([false, true]);
  });

  it('follow each request to flush once, and none of before the first snapshot', () => {
    const { kept } = open();
    const snapshot = (positions: Readonly<Record<string, string>>) => ({
      objects: Object.fromEntries(
        Object.entries(positions).map(([id, position]) => [
          `cache-flush:${id}`,
          { kind: 'cache-flush', id, position, revision: '0', sha256: '', body: { orgId: 'o', flushId: 'f' } } as never,
        ]),
      ),
    });
    const epochs = () => ['a', 'b'].map((id) => kept.epochOf(id));
    kept.follow(snapshot({ a: '1' }));
    expect(epochs()).to.deep.equal([0, 0]);
    kept.follow(snapshot({ a: '1', b: '2' }));
    kept.follow(snapshot({ a: '3', b: '2' }));
    kept.follow(snapshot({ a: '3', b: '2' }));
    expect(epochs()).to.deep.equal([1, 1]);
  });
});
