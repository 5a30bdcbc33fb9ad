/** Contract of engines that several adapters may open at once: they see one log. */
import { expect } from 'chai';
import type { EventStore } from '../../domain/event-store.ts';
import { usingLog } from '../support/event-store-current.ts';
import { append, event, events, fill, ids, raceToCreate, readWholeLog, write } from '../support/event-store-events.ts';
import { failureOf } from '../support/event-store-failure.ts';
import { Follower } from '../support/event-store-follower.ts';
import type { OpenLog } from './event-store.ts';

export function sharingContract(open: OpenLog): void {
  describe('two instances on one log', () => {
    const log = usingLog(open);
    const openAgain = async (): Promise<EventStore> => {
      const other = await log().openAgain?.();
      if (!other) throw new Error('a shared log can be opened again');
      return other;
    };

    it('have one identity and see what the other appended, in the same order', async () => {
      const { store } = log();
      const other = await openAgain();
      expect(other.identity).to.deep.equal(store.identity);
      await Promise.all([fill(store, 'a-1', 20), fill(other, 'b-1', 20)]);
      const whole = await readWholeLog(store);
      expect(whole).to.have.lengthOf(40);
      expect(ids(await readWholeLog(other))).to.deep.equal(ids(whole));
    });

    it('wake the subscriptions of the other', async () => {
      const { store } = log();
      const other = await openAgain();
      await using follower = new Follower(other);
      await follower.until(() => follower.timesCaughtUp === 1);
      const made = await fill(store, 'a-1', 3);
      await follower.until(() => follower.events.length === 3);
      expect(ids(follower.events)).to.deep.equal(ids(made));
    });

    it('know a repeat of long ago that the other appended, of one stream and of several', async () => {
      const { store } = log();
      await append(store, [write('a-1', 'noStream', event())]);
      const several = store.can.multiStream ? [write('b-1', 'noStream', ...events(2))] : [];
      const writes = [write('a-1', 0n, ...events(3)), ...several];
      const first = await append(store, writes);
      // More than an adapter would look at by itself, on one of the streams.
      for (let made = 0; made < 4; made++) await append(store, [write('a-1', 'any', ...events(50))]);
      const other = await openAgain();
      expect(await append(other, writes)).to.deep.equal({ ...first, duplicate: true });
      expect(await failureOf(append(other, [write('a-1', 0n, event())]))).to.include({ code: 'WrongExpectedVersion' });
    });

    it('lose no event to a subscription while both append', async () => {
      const { store } = log();
      const other = await openAgain();
      await using here = new Follower(store);
      await using there = new Follower(other);
      await Promise.all([fill(store, 'a-1', 60), fill(other, 'b-1', 60)]);
      await Promise.all([here, there].map((follower) => follower.until(() => follower.events.length === 120)));
      const whole = ids(await readWholeLog(store));
      expect(ids(here.events)).to.deep.equal(whole);
      expect(ids(there.events)).to.deep.equal(whole);
    });

    it('judge expectations and repeats on the same state', async () => {
      const { store } = log();
      const other = await openAgain();
      const writes = [write('a-1', 'noStream', ...events(2))];
      const first = await append(store, writes, { commandId: 'one' });
      expect(await failureOf(append(other, [write('a-1', 'noStream', event())]))).to.include({ actual: 1n });
      expect(await append(other, writes, { commandId: 'one' })).to.deep.equal({ ...first, duplicate: true });
      expect(await raceToCreate([store, other], 'api-one', 50)).to.deep.equal({ won: 1, conflicts: 49 });
    });

    it('keep the log when one of them closes', async () => {
      const { store } = log();
      const other = await openAgain();
      await fill(other, 'a-1', 2);
      await other.close();
      await fill(store, 'a-1', 1);
      expect(await readWholeLog(store)).to.have.lengthOf(3);
    });
  });
}
