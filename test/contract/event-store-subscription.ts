/** Contract of subscriptions: catch-up and live without a seam, back-pressure, filters, aborts. */
import { expect } from 'chai';
import { supersededIn } from '../../domain/event-store.ts';
import { usingLog } from '../support/event-store-current.ts';
import { append, bytes, event, events, fill, ids, readWholeLog, write } from '../support/event-store-events.ts';
import { failureOf } from '../support/event-store-failure.ts';
import { Follower } from '../support/event-store-follower.ts';
import type { OpenLog, Traits } from './event-store.ts';

export function subscriptionContract(open: OpenLog, { boundedScan = true, isMovable = true }: Traits): void {
  describe('a subscription', () => {
    const log = usingLog(open);
    for (const [name, skip] of [
      ['the beginning', 0],
      ['the middle', 3],
      ['the head', 5],
    ] as const) {
      it(`from ${name} yields what follows, says that it caught up, and then what is appended later`, async () => {
        const { store } = log();
        const made = await fill(store, 'a-1', 5);
        const after = (await readWholeLog(store))[skip - 1]?.position ?? '';
        await using follower = new Follower(store, { after });
        await follower.until(() => follower.timesCaughtUp === 1);
        expect(ids(follower.events)).to.deep.equal(ids(made.slice(skip)));
        const later = await fill(store, 'a-1', 2);
        await follower.until(() => follower.events.length === 7 - skip);
        expect(ids(follower.events)).to.deep.equal(ids([...made.slice(skip), ...later]));
      });
    }

    it('has no seam: two at different places see every event once and in order while others append', async () => {
      const { store } = log();
      await append(store, [write('a-1', 'any', ...events(700))]);
      const middle = (await store.readAll({ after: '', limit: 300 })).next;
      await using first = new Follower(store);
      await using second = new Follower(store, { after: middle });
      await Promise.all(
        Array.from({ length: 100 }, (_, index) => append(store, [write(`b-${index % 5}`, 'any', ...events(3))])),
      );
      const whole = ids(await readWholeLog(store));
      await first.until(() => first.events.length >= 1_000);
      await second.until(() => second.events.length >= 700);
      expect(ids(first.events)).to.deep.equal(whole);
      expect(ids(second.events)).to.deep.equal(whole.slice(300));
    });

    it('may leave out the payload of what a later event of a batch supersedes, until it has caught up, and nothing else', async () => {
      const { store } = log();
      const typed = (type: string, schema = 1) => event({ type, schema, data: bytes(`{"of":"${type}"}`) });
      const many = Array.from({ length: 700 }, () => typed('Changed'));
      await append(store, [write('a-1', 'any', typed('Made'), ...many, typed('Other'))]);
      await append(store, [write('b-1', 'any', typed('Changed'), typed('Changed', 9), typed('Switched'))]);
      const superseding = { types: ['Changed', 'Switched'], by: ['Made', 'Changed'], maxSchema: 1 };
      await using follower = new Follower(store, { superseding });
      await follower.until(() => follower.timesCaughtUp === 1);
      await append(store, [write('b-1', 'any', typed('Changed'), typed('Changed'))]);
      await follower.until(() => follower.timesCaughtUp === 2);
      const whole = await readWholeLog(store);
      expect(ids(follower.events)).to.deep.equal(ids(whole));
      let index = 0;
      let isFirst = true;
      for (const batch of follower.batches) {
        if ('caughtUp' in batch) isFirst = false;
        else {
          const superseded = isFirst ? supersededIn(batch.events, superseding) : new Set();
          for (const [place, found] of batch.events.entries()) {
            const stored = whole[index++]!;
            if (!superseded.has(place) || found.data.byteLength > 0) expect(found).to.deep.equal(stored);
            else expect({ ...found, data: stored.data }).to.deep.equal(stored);
          }
        }
      }
    });

    it('says that it caught up once at each arrival', async () => {
      const { store } = log();
      await using follower = new Follower(store);
      await follower.until(() => follower.timesCaughtUp === 1);
      await fill(store, 'a-1', 1);
      await follower.until(() => follower.timesCaughtUp === 2);
      expect(follower.batches.map((batch) => ('caughtUp' in batch ? 'caught up' : batch.events.length))).to.deep.equal([
        'caught up',
        1,
        'caught up',
      ]);
      expect(follower.checkpoint).to.equal(await store.head());
    });

    it('reads nothing ahead of a slow consumer, so what it holds is one batch', async () => {
      const { store } = log();
      await append(store, [write('a-1', 'any', ...events(1_000))]);
      await append(store, [write('b-1', 'any', ...events(1_000))]);
      const abort = new AbortController();
      const iterator = store.subscribe({ after: '', signal: abort.signal })[Symbol.asyncIterator]();
      const first = (await iterator.next()).value;
      expect('events' in first && first.events.length <= 1_000).to.equal(true);
      // Had the second batch been read ahead, it would still hold what retention takes away now.
      await store.retain('a-1', { before: 1_000n });
      await store.retain('b-1', { before: 1_000n });
      await log().scavenge?.();
      const second = (await iterator.next()).value;
      if (isMovable) expect('events' in second && second.events).to.deep.equal([]);
      await iterator.return?.();
    });

    it('moves its checkpoint over what the filter leaves out, at least every 1,000 events (P10)', async () => {
      const { store } = log();
      for (let count = 0; count < 3; count++) await append(store, [write('a-1', 'any', ...events(900))]);
      await using follower = new Follower(store, { filter: { categories: ['nothing'] } });
      await follower.until(() => follower.timesCaughtUp === 1);
      const places = (await readWholeLog(store)).map(({ position }) => position);
      const checkpoints = follower.batches
        .filter((batch) => 'events' in batch)
        .map(({ checkpoint }) => places.indexOf(checkpoint) + 1);
      expect(follower.events).to.deep.equal([]);
      expect(checkpoints.at(-1)).to.equal(2_700);
      const steps = checkpoints.map((checkpoint, index) => checkpoint - (checkpoints[index - 1] ?? 0));
      if (boundedScan) expect(Math.max(...steps)).to.be.at.most(1_000);
    });

    it('with a filter yields what matches only, old and new', async () => {
      const { store } = log();
      const mixed = async (): Promise<void> => {
        await append(store, [write('a-1', 'any', ...events(2))]);
        await append(store, [write('b-1', 'any', ...events(2))]);
      };
      await mixed();
      await using follower = new Follower(store, { filter: { categories: ['b'] } });
      await follower.until(() => follower.events.length === 2);
      await mixed();
      await follower.until(() => follower.events.length === 4);
      expect(follower.events.map(({ stream, revision }) => `${stream} ${revision}`)).to.deep.equal([
        'b-1 0',
        'b-1 1',
        'b-1 2',
        'b-1 3',
      ]);
    });

    it('ends when it is aborted while it waits, and delivers nothing afterwards', async () => {
      const { store } = log();
      await using follower = new Follower(store);
      await follower.until(() => follower.timesCaughtUp === 1);
      await follower.stop();
      const delivered = follower.batches.length;
      await fill(store, 'a-1', 1);
      expect(follower.batches).to.have.lengthOf(delivered);
    });

    it('delivers nothing when it is aborted between two batches, or before the first', async () => {
      const { store } = log();
      await append(store, [write('a-1', 'any', ...events(1_000))]);
      await append(store, [write('b-1', 'any', ...events(1_000))]);
      const abort = new AbortController();
      const seen: number[] = [];
      for await (const batch of store.subscribe({ after: '', signal: abort.signal })) {
        seen.push('events' in batch ? batch.events.length : 0);
        abort.abort();
      }
      expect(seen).to.have.lengthOf(1);
      for await (const batch of store.subscribe({ after: '', signal: abort.signal })) expect.fail(String(batch));
    });

    it('goes on from the last checkpoint after the consumer failed', async () => {
      const { store } = log();
      await append(store, [write('a-1', 'any', ...events(800))]);
      const taken: string[] = [];
      let checkpoint = '';
      let failures = 1;
      const consume = async (): Promise<void> => {
        const { signal } = new AbortController();
        for await (const batch of store.subscribe({ after: checkpoint, signal })) {
          if ('caughtUp' in batch) return;
          if (taken.length > 0 && failures-- > 0) throw new Error('consumer');
          taken.push(...ids(batch.events));
          checkpoint = batch.checkpoint;
        }
      };
      expect((await failureOf(consume())).message).to.equal('consumer');
      await consume();
      expect(taken).to.deep.equal(ids(await readWholeLog(store)));
    });

    it('gets StoreUnavailable when the store is closed under it', async () => {
      const { store } = log();
      await append(store, [write('a-1', 'any', event())]);
      const follower = new Follower(store);
      await follower.until(() => follower.timesCaughtUp === 1);
      await store.close();
      expect(await failureOf(follower.done)).to.include({ code: 'StoreUnavailable' });
    });
  });
}
