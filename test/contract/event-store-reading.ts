/** Contract of reads: one stream, the whole log, filters, positions of times. */
import { expect } from 'chai';
import type { Filter } from '../../domain/event-store.ts';
import { usingLog } from '../support/event-store-current.ts';
import { append, event, events, fill, ids, readWholeLog, write } from '../support/event-store-events.ts';
import { failureOf } from '../support/event-store-failure.ts';
import type { OpenLog, Traits } from './event-store.ts';

export function readContract(open: OpenLog, { isMovable = true }: Traits): void {
  describe('a read of one stream', () => {
    const log = usingLog(open, 'group');
    before(async () => {
      await append(log().store, [write('other-1', 'any', event())]);
      await append(log().store, [write('thing-1', 'any', ...events(5))]);
    });

    for (const [name, range, revisions] of [
      ['everything', {}, [0, 1, 2, 3, 4]],
      ['backwards', { back: true }, [4, 3, 2, 1, 0]],
      ['from', { from: 3n }, [3, 4]],
      ['to', { to: 1n }, [0, 1]],
      ['from and to', { from: 1n, to: 2n }, [1, 2]],
      ['from and to, backwards', { from: 1n, to: 3n, back: true }, [3, 2, 1]],
      ['a limit', { limit: 2 }, [0, 1]],
      ['a limit, backwards', { limit: 2, back: true }, [4, 3]],
      ['a limit inside a range', { from: 1n, limit: 2 }, [1, 2]],
      ['beyond the end', { from: 5n }, []],
      ['an empty range', { from: 3n, to: 1n }, []],
    ] as const) {
      it(`answers ${name}`, async () => {
        const found = await log().store.readStream('thing-1', { limit: 1_000, ...range });
        expect(found.map(({ revision }) => Number(revision))).to.deep.equal(revisions);
      });
    }

    it('answers an empty list for a missing stream (P12)', async () => {
      expect(await log().store.readStream('thing-none', { limit: 10 })).to.deep.equal([]);
    });

    for (const limit of [0, -1, 1_001, 1.5, Number.NaN]) {
      it(`refuses a limit of ${limit} (P8)`, async () => {
        const { store } = log();
        expect(await failureOf(store.readStream('thing-1', { limit }))).to.include({ code: 'Unsupported' });
        expect(await failureOf(store.readAll({ after: '', limit }))).to.include({ code: 'Unsupported' });
      });
    }
  });

  describe('a page', () => {
    const log = usingLog(open);
    it('holds at most 16 MiB, and the next one the rest (P8)', async () => {
      const { store } = log();
      const data = new Uint8Array(4 * 1024 * 1024);
      for (let count = 0; count < 5; count++) await append(store, [write('big-1', 'any', event({ data }))]);
      expect(await store.readStream('big-1', { limit: 1_000 })).to.have.lengthOf(4);
      const page = await store.readAll({ after: '', limit: 1_000 });
      expect({ events: page.events.length, atHead: page.atHead }).to.deep.equal({ events: 4, atHead: false });
      const rest = await store.readAll({ after: page.next, limit: 1_000 });
      expect({ events: rest.events.length, atHead: rest.atHead }).to.deep.equal({ events: 1, atHead: true });
    });
  });

  describe('a read of the whole log', () => {
    const log = usingLog(open);
    it('says that it can be read and written', async () => {
      expect(await log().store.health()).to.include({ writable: true, readable: true });
    });

    it('is at the head of an empty log at once', async () => {
      const { store } = log();
      expect(await store.readAll({ after: '', limit: 10 })).to.deep.equal({ events: [], next: '', atHead: true });
      expect(await store.head()).to.equal('');
    });

    it('goes through pages without hole or repeat, and says when it is at the head', async () => {
      const { store } = log();
      const made = [...(await fill(store, 'a-1', 3)), ...(await fill(store, 'b-1', 4))];
      const first = await store.readAll({ after: '', limit: 4 });
      const second = await store.readAll({ after: first.next, limit: 3 });
      const third = await store.readAll({ after: second.next, limit: 3 });
      expect(ids([...first.events, ...second.events])).to.deep.equal(ids(made));
      expect([first.atHead, second.atHead]).to.deep.equal([false, true]);
      expect(third).to.deep.equal({ events: [], next: await store.head(), atHead: true });
    });

    it('refuses a position that no log of this kind gives out', async () => {
      const failure = await failureOf(log().store.readAll({ after: 'abc', limit: 10 }));
      expect(failure).to.include({ code: 'Unsupported' });
    });

    it('keeps to its limit with a filter and goes on behind what it gave', async () => {
      const { store } = log();
      await append(store, [write('a-1', 'any', ...events(3))]);
      await append(store, [write('b-1', 'any', ...events(3))]);
      const filter = { streams: ['a-1'] };
      const page = await store.readAll({ after: '', limit: 2, filter });
      expect(page.atHead).to.equal(false);
      const rest = await store.readAll({ after: page.next, limit: 2, filter });
      expect([...page.events, ...rest.events].map(({ revision }) => revision)).to.deep.equal([0n, 1n, 2n]);
    });
  });

  describe('a filter', () => {
    const log = usingLog(open, 'group');
    before(async () => {
      for (const [stream, type] of [
        ['api-1', 'Made'],
        ['api-2', 'Changed'],
        ['apix-1', 'Changed'],
        ['cert-1', 'Made'],
        ['plain', 'Made'],
      ] as const) {
        await append(log().store, [write(stream, 'any', event({ type }))]);
      }
    });

    for (const [name, filter, expected] of [
      ['a category', { categories: ['api'] }, ['api-1 Made', 'api-2 Changed']],
      ['two categories', { categories: ['api', 'plain'] }, ['api-1 Made', 'api-2 Changed', 'plain Made']],
      ['a type', { types: ['Changed'] }, ['api-2 Changed', 'apix-1 Changed']],
      ['a stream', { streams: ['api-1', 'cert-1'] }, ['api-1 Made', 'cert-1 Made']],
      ['category and type', { categories: ['api'], types: ['Changed'] }, ['api-2 Changed']],
      ['nothing at all', { types: [] }, []],
      ['no condition', {}, ['api-1 Made', 'api-2 Changed', 'apix-1 Changed', 'cert-1 Made', 'plain Made']],
    ] as readonly [string, Filter, readonly string[]][]) {
      it(`by ${name} gives what matches and still reaches the head`, async () => {
        const { store } = log();
        const page = await store.readAll({ after: '', limit: 100, filter });
        expect(page.events.map(({ stream, type }) => `${stream} ${type}`)).to.deep.equal(expected);
        expect(page).to.include({ next: await store.head(), atHead: true });
      });
    }
  });

  if (!isMovable) return;
  describe('the position of a time', () => {
    const log = usingLog(open);
    it('is the last one stored at or before it', async () => {
      const { store, clock } = log();
      expect(await store.positionAt(new Date(1_000))).to.equal('');
      for (const nowMs of [1_000, 2_000, 2_000, 3_000]) {
        clock.nowMs = nowMs;
        await fill(store, 'a-1', 1);
      }
      const positions = (await readWholeLog(store)).map(({ position }) => position);
      for (const [timeMs, position] of [
        [999, ''],
        [1_000, positions[0]],
        [1_999, positions[0]],
        [2_000, positions[2]],
        [2_999, positions[2]],
        [3_000, positions[3]],
        [9_999, positions[3]],
      ] as const) {
        expect(await store.positionAt(new Date(timeMs)), `at ${timeMs}`).to.equal(position);
      }
    });

    it('is found beside the holes of retention', async () => {
      const { store, clock } = log();
      for (let nowMs = 1_000; nowMs <= 9_000; nowMs += 1_000) {
        clock.nowMs = nowMs;
        await fill(store, nowMs % 2_000 === 0 ? 'gone-1' : 'kept-1', 1);
      }
      await store.retain('gone-1', { before: 4n });
      await log().scavenge?.();
      const kept = await store.readStream('kept-1', { limit: 10 });
      for (const [timeMs, index] of [
        [1_500, 0],
        [4_500, 1],
        [5_000, 2],
        [8_999, 3],
      ] as const) {
        expect(await store.positionAt(new Date(timeMs)), `at ${timeMs}`).to.equal(kept[index]?.position);
      }
    });
  });
}
