/** Following the configuration: what is believed, what is refused, and that nothing that fails changes what runs. */
import { expect } from 'chai';
import type { Generation } from '../../../gateway/feed/generation.ts';
import type { Generations } from '../../../gateway/feed/generations.ts';
import { hold } from '../../../gateway/feed/held.ts';
import { Subscription, type SubscriptionOptions } from '../../../gateway/feed/subscription.ts';
import { apiDocument } from '../../support/documents.ts';
import { eventually } from '../../support/eventually.ts';
import { MemoryFeed, positionText } from '../../support/gateway-feed.ts';
import { listLog, systemClock } from '../../support/gateway-start.ts';

const document = (name: string) => apiDocument({ info: { name } });

function followed(feed: MemoryFeed, options: Partial<SubscriptionOptions> = {}, stored?: Generation) {
  const applied: Generation[] = [];
  const saved: Generation[] = [];
  const advanced: string[] = [];
  const log = listLog();
  const generations: Generations = {
    load: async () => stored,
    save: async (generation) => {
      saved.push(generation);
      return 0;
    },
    confirm: async () => {},
  };
  const subscription = new Subscription({
    ...{ feed, generations, log, clock: systemClock, swapEveryMs: 0, pauseMs: { first: 1, longest: 5 } },
    apply: (generation) => {
      applied.push(generation);
      return { kept: {} };
    },
    advance: (position) => void advanced.push(position),
    ...options,
  });
  const idsOf = (generation: Generation | undefined): string[] =>
    Object.values(generation?.snapshot.objects ?? {}).map(({ id }) => id);
  return { subscription, applied, saved, advanced, log, ids: () => idsOf(applied.at(-1)) };
}

const complaints = (log: ReturnType<typeof listLog>): string[] =>
  log.lines.filter(({ level }) => level === 'warn').map(({ fields }) => (fields['error'] as Error).message);

describe('a subscription', () => {
  it('takes the snapshot, then changes from its position, and keeps each on disk', async () => {
    const feed = new MemoryFeed();
    feed.put('a', document('a'));
    const { subscription, applied, saved, ids } = followed(feed);
    await subscription.start();
    await eventually(() => ids().join() === 'a');
    feed.put('b', document('b'));
    await eventually(() => ids().join() === 'a,b');
    feed.remove('a');
    await eventually(() => ids().join() === 'b');
    await subscription.stop();
    expect(applied.map(({ snapshot }) => snapshot.position)).to.deep.equal([1, 2, 3].map(positionText));
    expect(saved.at(-1)?.snapshot).to.equal(applied.at(-1)?.snapshot);
  });

  it('has heard of the feed as soon as it has the snapshot, however long no change comes', async () => {
    const feed = new MemoryFeed();
    feed.put('a', document('a'));
    const { subscription, applied } = followed(feed, { clock: { ...systemClock, monotonic: () => 7 } });
    expect(subscription.silentMs).to.equal(undefined);
    await subscription.start();
    await eventually(() => applied.length === 1);
    expect([subscription.silentMs, subscription.ageMs]).to.deep.equal([0, 0]);
    await subscription.stop();
  });

  it('moves on without a swap when the log moves without a change', async () => {
    const feed = new MemoryFeed();
    feed.put('a', document('a'));
    const { subscription, applied, advanced } = followed(feed);
    await subscription.start();
    await eventually(() => applied.length === 1);
    const position = feed.idle();
    await eventually(() => advanced.at(-1) === position);
    expect(applied).to.have.length(1);
    await subscription.stop();
  });

  it('joins the changes of a burst: the first at once, the rest together', async () => {
    const feed = new MemoryFeed();
    feed.put('a', document('0'));
    const { subscription, applied } = followed(feed, { swapEveryMs: 50 });
    await subscription.start();
    await eventually(() => applied.length === 1);
    let last = '';
    for (let i = 1; i <= 20; i++) {
      last = feed.put('a', document(String(i)));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(() => applied.at(-1)?.snapshot.position === last);
    expect(applied.length).to.be.within(2, 4);
    await subscription.stop();
  });

  it('applies what it has again when secrets were opened that were closed, though the log has not moved', async () => {
    const feed = new MemoryFeed();
    feed.put('a', document('a'));
    let opened = 0;
    const { subscription, applied, saved } = followed(feed, { opened: () => opened });
    await subscription.start();
    await eventually(() => applied.length === 1);
    await subscription.refresh();
    expect(applied).to.have.length(1);
    opened = 1;
    await subscription.refresh();
    await subscription.refresh();
    expect(applied).to.have.length(2);
    expect(applied[1]?.snapshot).to.deep.equal(applied[0]?.snapshot);
    await subscription.stop();
    expect(saved).to.have.length(2);
  });

  it('is content with a snapshot that changes have overtaken on its way', async () => {
    const feed = new MemoryFeed();
    feed.put('a', document('a'));
    const { subscription, applied, ids } = followed(feed);
    await subscription.start();
    await eventually(() => applied.length === 1);
    const { snapshot } = feed;
    const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof snapshot>>>();
    const overtaken = feed.current;
    feed.snapshot = () => promise;
    const refreshed = subscription.refresh();
    feed.put('b', document('b'));
    await eventually(() => ids().join() === 'a,b');
    resolve(overtaken);
    await refreshed;
    expect(ids()).to.deep.equal(['a', 'b']);
    await subscription.stop();
  });

  it('takes the snapshot of a format that it did not have, though the log has not moved', async () => {
    const feed = new MemoryFeed();
    feed.put('a', document('a'));
    const old: Generation = { snapshot: hold({ ...feed.current, format: 1, objects: {} }), kept: {} };
    const { subscription, applied } = followed(feed, {}, old);
    await subscription.start();
    await eventually(() => Object.keys(applied.at(-1)?.snapshot.objects ?? {}).length === 1);
    expect(applied.map(({ snapshot }) => snapshot.format)).to.deep.equal([1, 2]);
    await subscription.stop();
  });

  const badSnapshots: readonly [name: string, answer: () => unknown][] = [
    ['fails', () => Promise.reject(new Error('away'))],
    ['is empty', () => undefined],
    ['is another thing', () => ({ objects: {} })],
    [
      'has a broken object',
      () => ({ format: 1, logId: 'log-1', era: 1, position: '9', revision: '9', objects: { 'api:x': { id: 'x' } } }),
    ],
    [
      'has an object under another name',
      () => ({ ...new MemoryFeed().current, position: '9', objects: { 'api:y': stored().snapshot.objects['api:a'] } }),
    ],
    [
      'belongs to another log',
      () => ({ ...new MemoryFeed('log-2').current, position: positionText(99), revision: positionText(99) }),
    ],
    ['is of an earlier era', () => ({ ...new MemoryFeed('log-1', 0).current, position: positionText(99) })],
    ['is behind what runs', () => new MemoryFeed().current],
  ];
  const stored = (): Generation => {
    const feed = new MemoryFeed();
    feed.put('a', document('a'));
    return { snapshot: hold(feed.current), kept: {} };
  };
  for (const [name, answer] of badSnapshots) {
    it(`changes nothing when the snapshot ${name}, and goes on when it is right again`, async () => {
      const feed = new MemoryFeed();
      feed.put('a', document('a'));
      feed.put('b', document('b'));
      feed.breakSnapshot = answer;
      const { subscription, applied, log, ids } = followed(feed, {}, stored());
      await subscription.start();
      await eventually(() => complaints(log).length >= 2);
      expect(applied).to.have.length(1);
      expect(ids()).to.deep.equal(['a']);
      feed.breakSnapshot = undefined;
      await eventually(() => ids().join() === 'a,b');
      await subscription.stop();
    });
  }

  const badChanges: readonly [name: string, answer: () => unknown][] = [
    ['fail', () => Promise.reject(new Error('away'))],
    ['are nothing', () => undefined],
    ['are no list', () => ({ changes: 'all', next: positionText(9) })],
    ['go back', () => ({ changes: [], next: positionText(0) })],
    [
      'reach beyond their end',
      () => ({ changes: [{ op: 'remove', kind: 'api', id: 'a', position: positionText(9) }], next: positionText(8) }),
    ],
    [
      'are out of order',
      () => ({
        changes: [8, 7].map((n) => ({ op: 'remove', kind: 'api', id: 'a', position: positionText(n) })),
        next: positionText(9),
      }),
    ],
    [
      'hold a broken object',
      () => ({
        changes: [{ op: 'upsert', position: positionText(8), object: { kind: 'api', id: 'a' } }],
        next: positionText(9),
      }),
    ],
    [
      'hold an operation that nobody knows',
      () => ({ changes: [{ op: 'drop', position: positionText(8) }], next: positionText(9) }),
    ],
  ];
  for (const [name, answer] of badChanges) {
    it(`changes nothing when changes ${name}`, async () => {
      const feed = new MemoryFeed();
      feed.put('a', document('a'));
      feed.breakChanges = answer;
      const { subscription, applied, log, ids } = followed(feed);
      await subscription.start();
      await eventually(() => complaints(log).length >= 2);
      expect(applied).to.have.length(1);
      feed.breakChanges = undefined;
      feed.put('b', document('b'));
      await eventually(() => ids().join() === 'a,b');
      await subscription.stop();
    });
  }

  it('takes a snapshot when its place is not there any more', async () => {
    const feed = new MemoryFeed();
    feed.put('a', document('a'));
    const { subscription, ids } = followed(feed);
    await subscription.start();
    await eventually(() => ids().length === 1);
    feed.breakChanges = () => ({ tooOld: true });
    feed.put('b', document('b'));
    await eventually(() => ids().length === 2);
    feed.breakChanges = undefined;
    await subscription.stop();
  });

  it('believes a higher era, although its positions begin anew', async () => {
    const feed = new MemoryFeed('log-1', 2);
    const { subscription, ids, applied } = followed(feed, {}, stored());
    await subscription.start();
    await eventually(() => applied.length === 2);
    expect(ids()).to.deep.equal([]);
    await subscription.stop();
  });

  it('says aloud that most of the configuration is gone, and applies it, since it is valid and newer', async () => {
    const feed = new MemoryFeed();
    for (const id of ['a', 'b', 'c']) feed.put(id, document(id));
    for (const key of ['k1', 'k2', 'k3', 'k4', 'k5']) feed.putKey(key, {});
    const { subscription, log, ids } = followed(feed);
    await subscription.start();
    await eventually(() => ids().length === 3);
    feed.breakChanges = () => ({
      changes: ['a', 'b'].map((id, n) => ({ op: 'remove', kind: 'api', id, position: positionText(9 + n) })),
      next: positionText(10),
    });
    feed.idle();
    await eventually(() => ids().join() === 'c');
    // The keys, of which there are more, are all left.
    expect(log.lines.find(({ level }) => level === 'error')).to.deep.include({
      message: 'the configuration lost more than half of its APIs',
      fields: { before: 3, after: 1 },
    });
    await subscription.stop();
  });

  it('goes on when a configuration cannot be applied or kept', async () => {
    const feed = new MemoryFeed();
    feed.put('a', document('a'));
    let calls = 0;
    const { subscription, log } = followed(feed, {
      apply: () => {
        calls++;
        if (calls === 1) throw new Error('broken compiler');
        return { kept: {} };
      },
      generations: {
        load: async () => undefined,
        save: () => Promise.reject(new Error('disk full')),
        confirm: async () => {},
      },
    });
    await subscription.start();
    await eventually(() => calls === 1);
    feed.put('b', document('b'));
    await eventually(() => calls === 2);
    await eventually(() => log.lines.filter(({ level }) => level === 'error').length === 2);
    await subscription.stop();
  });

  it('rests between two writes of a large configuration to the disk, and writes the last configuration when it stops', async () => {
    const feed = new MemoryFeed();
    feed.put('a', document('0'));
    const saved: string[] = [];
    // As if it were large: the rest after the first write outlasts this test.
    const { subscription, applied } = followed(feed, {
      generations: {
        load: async () => undefined,
        save: async ({ snapshot }) => {
          saved.push(snapshot.position);
          return 100_000_000;
        },
        confirm: async () => {},
      },
    });
    await subscription.start();
    await eventually(() => saved.length === 1);
    let last = '';
    for (let i = 1; i <= 3; i++) {
      last = feed.put('a', document(String(i)));
      await eventually(() => applied.at(-1)?.snapshot.position === last);
    }
    expect(saved).to.have.length(1);
    await subscription.stop();
    expect(saved).to.have.length(2);
    expect(saved.at(-1)).to.equal(last);
  });
});
