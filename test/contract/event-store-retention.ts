/** Contract of retention: what goes, what stays, and that revisions go on. */
import { expect } from 'chai';
import type { EventStore } from '../../domain/event-store.ts';
import { usingLog } from '../support/event-store-current.ts';
import { append, event, events, fill, ids, readWholeLog, write } from '../support/event-store-events.ts';
import { failureOf } from '../support/event-store-failure.ts';
import type { OpenLog, Traits } from './event-store.ts';

export function retentionContract(open: OpenLog, { isMovable = true }: Traits): void {
  describe('retention', () => {
    const log = usingLog(open);
    /** The rule, and its work done: an engine may leave that to a later hour. */
    const retain = async (stream: string, rule: Parameters<EventStore['retain']>[1]): Promise<void> => {
      await log().store.retain(stream, rule);
      await log().scavenge?.();
    };
    const revisions = async (): Promise<readonly number[]> =>
      (await log().store.readStream('gwnode-1', { limit: 100 })).map(({ revision }) => Number(revision));

    for (const [name, rule, left] of [
      ['a count', { maxCount: 2 }, [3, 4]],
      ['a count above what is there', { maxCount: 9 }, [0, 1, 2, 3, 4]],
      ['a revision', { before: 3n }, [3, 4]],
      ['an age', { maxAgeS: 2 }, [2, 3, 4]],
      ['count and age, whichever takes more', { maxCount: 4, maxAgeS: 1 }, [3, 4]],
    ] as const) {
      if (!isMovable && 'maxAgeS' in rule) continue;
      it(`by ${name} lets the oldest go and leaves other streams alone`, async () => {
        const { store, clock } = log();
        await fill(store, 'other-1', 1);
        for (let second = 0; second < 5; second++) {
          clock.nowMs = 1_000_000 + second * 1_000;
          await fill(store, 'gwnode-1', 1);
        }
        await retain('gwnode-1', rule);
        expect(await revisions()).to.deep.equal(left);
        if (isMovable) expect((await readWholeLog(store)).length).to.equal(left.length + 1);
      });
    }

    it('holds for later appends too, and revisions and positions go on', async () => {
      const { store } = log();
      await fill(store, 'gwnode-1', 3);
      await retain('gwnode-1', { maxCount: 2 });
      const before = await store.head();
      const { heads, position } = await append(store, [write('gwnode-1', 2n, ...events(2))]);
      expect(heads.get('gwnode-1')).to.equal(4n);
      expect(position > before).to.equal(true);
      expect(await revisions()).to.deep.equal([3, 4]);
    });

    it('may be set before the first event, and the stream still counts as missing', async () => {
      const { store } = log();
      await retain('gwnode-1', { maxCount: 1 });
      expect(await failureOf(append(store, [write('gwnode-1', 'streamExists', event())]))).to.include({
        actual: undefined,
      });
      await append(store, [write('gwnode-1', 'noStream', ...events(3))]);
      expect(await revisions()).to.deep.equal([2]);
    });

    if (!isMovable) return;
    it('never gives a position out again, even when the end of the log goes', async () => {
      const { store } = log();
      await fill(store, 'gwnode-1', 3);
      const head = await store.head();
      await retain('gwnode-1', { before: 3n });
      expect(await store.head()).to.equal(head);
      expect(await store.readAll({ after: '', limit: 10 })).to.deep.equal({ events: [], next: head, atHead: true });
      expect((await append(store, [write('gwnode-1', 2n, event())])).position > head).to.equal(true);
    });

    it('lets readers that stood inside the removed part go on', async () => {
      const { store } = log();
      await fill(store, 'gwnode-1', 5);
      const { next } = await store.readAll({ after: '', limit: 2 });
      await retain('gwnode-1', { before: 4n });
      const [later] = await fill(store, 'other-1', 1);
      const rest = await store.readAll({ after: next, limit: 10 });
      expect(rest.events.map(({ stream }) => stream)).to.deep.equal(['gwnode-1', 'other-1']);
      expect(ids(rest.events).at(-1)).to.equal(later?.id);
    });
  });
}
