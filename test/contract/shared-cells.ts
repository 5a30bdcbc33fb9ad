/** The contract of the shared cells port: compare-and-set on small values, and leases made of it. */
import { expect } from 'chai';
import { createLease } from '../../domain/lease.ts';
import { CellConflict, type SharedCells } from '../../domain/shared-cells.ts';
import { usingLog } from '../support/event-store-current.ts';

export type CellsUnderTest = {
  readonly cells: SharedCells;
  /** One more adapter on the same log; only where several may open one. */
  readonly openAgain?: () => Promise<SharedCells>;
  readonly dispose: () => Promise<void>;
};

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

export function sharedCellsContract(name: string, open: () => Promise<CellsUnderTest>): void {
  describe(`shared cells contract: ${name}`, () => {
    const log = usingLog(open);

    it('a cell that nobody wrote is not there, and removing it is no error', async () => {
      const { cells } = log();
      expect(await cells.read('lease/a')).to.equal(undefined);
      await cells.remove('lease/a');
      expect(await cells.list('')).to.deep.equal([]);
    });

    it('a write answers the version under which the value is read', async () => {
      const { cells } = log();
      const value = 'a text with "quotes", a line\nbreak and ünï¢ode 🙂';
      const version = await cells.write('lease/a', value, 'none');
      expect(await cells.read('lease/a')).to.deep.equal({ value, version });
      const next = await cells.write('lease/a', '', version);
      expect(next > version).to.equal(true);
      expect(await cells.read('lease/a')).to.deep.equal({ value: '', version: next });
    });

    it('a write at another version is a conflict and changes nothing', async () => {
      const { cells } = log();
      const version = await cells.write('a', 'one', 'none');
      const next = await cells.write('a', 'two', version);
      for (const expected of ['none', version, next + 1n] as const) {
        expect(await failureOf(cells.write('a', 'three', expected))).to.be.instanceOf(CellConflict);
      }
      expect(await failureOf(cells.write('b', 'one', 1n))).to.be.instanceOf(CellConflict);
      expect(await cells.read('a')).to.deep.equal({ value: 'two', version: next });
      expect(await cells.read('b')).to.equal(undefined);
    });

    it('a removed cell can be made again, and an old version of it does not fit by accident', async () => {
      const { cells } = log();
      await cells.write('a', 'one', 'none');
      await cells.remove('a');
      expect(await cells.read('a')).to.equal(undefined);
      expect(await cells.list('a')).to.deep.equal([]);
      await cells.write('a', 'two', 'none');
      expect((await cells.read('a'))?.value).to.equal('two');
    });

    it('lists the cells of a prefix in text order, and no other', async () => {
      const { cells } = log();
      for (const key of ['node/b', 'node/a', 'node', 'nodes/a', 'node/a/b', 'other', 'node_x', 'NODE/a']) {
        await cells.write(key, `of ${key}`, 'none');
      }
      const found = await cells.list('node/');
      expect(found.map(({ key, value }) => [key, value])).to.deep.equal([
        ['node/a', 'of node/a'],
        ['node/a/b', 'of node/a/b'],
        ['node/b', 'of node/b'],
      ]);
      expect((await cells.list('')).map(({ key }) => key)).to.have.lengthOf(8);
      expect(await cells.list('none')).to.deep.equal([]);
    });

    it('takes a value of 64 KiB, and refuses a larger one and a bad key before anything is written', async () => {
      const { cells } = log();
      const value = 'x'.repeat(64 * 1024);
      await cells.write('large', value, 'none');
      expect((await cells.read('large'))?.value).to.equal(value);
      expect(await failureOf(cells.write('b', `${value}x`, 'none'))).to.be.instanceOf(RangeError);
      for (const key of ['', 'with space', 'ü', 'x'.repeat(201)]) {
        expect(await failureOf(cells.write(key, '', 'none')), key).to.be.instanceOf(RangeError);
      }
      expect((await cells.list('')).map(({ key }) => key)).to.deep.equal(['large']);
    });

    it('of 50 writers at one version exactly one wins, every time', async () => {
      const { cells, openAgain } = log();
      const other = (await openAgain?.()) ?? cells;
      let version: bigint | 'none' = 'none';
      for (let round = 0; round < 5; round++) {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 50 }, (_, index) => [cells, other][index % 2]?.write('a', String(index), version)),
        );
        const won = outcomes.filter(({ status }) => status === 'fulfilled');
        expect(won).to.have.lengthOf(1);
        version = (await cells.read('a'))?.version ?? 'none';
      }
    });

    it('of 20 contenders for a lease one holds it at any time, and epochs only grow', async () => {
      const { cells, openAgain } = log();
      const other = (await openAgain?.()) ?? cells;
      let nowMs = 1_000;
      const leases = Array.from({ length: 20 }, (_, index) =>
        createLease({
          cells: index % 2 === 0 ? cells : other,
          key: 'lease/anchors',
          owner: `node-${index}`,
          now: () => nowMs,
        }),
      );
      const epochs: bigint[] = [];
      for (let round = 0; round < 8; round++) {
        const held = (await Promise.all(leases.map((lease) => lease.hold()))).filter((epoch) => epoch !== undefined);
        expect(held, `round ${round}`).to.have.lengthOf(1);
        epochs.push(...held);
        // Every third round the holder is silent for too long.
        nowMs += round % 3 === 2 ? 15_001 : 5_000;
      }
      expect(epochs).to.deep.equal(epochs.toSorted((a, b) => Number(a - b)));
      expect(new Set(epochs).size).to.be.within(1, 3);
    });

    it('a lease whose holder died with a clock an hour ahead goes to the next when nobody has renewed it for its life', async () => {
      const { cells } = log();
      const clock = { nowMs: 1_000, monotonicMs: 0 };
      const lease = (owner: string, aheadMs: number) =>
        createLease({
          ...{ cells, key: 'lease/a', owner, lifeMs: 100 },
          now: () => clock.nowMs + aheadMs,
          monotonic: () => clock.monotonicMs,
        });
      const [ahead, other] = [lease('ahead', 3_600_000), lease('other', 0)];
      expect(await ahead.hold()).to.equal(1n);
      for (const [passedMs, isRenewed] of [
        [99, true],
        [99, false],
      ] as const) {
        expect(await other.hold()).to.equal(undefined);
        clock.nowMs += passedMs;
        clock.monotonicMs += passedMs;
        expect(await other.hold()).to.equal(undefined);
        if (isRenewed) expect(await ahead.hold()).to.equal(1n);
      }
      clock.monotonicMs += 1;
      expect(await other.hold()).to.equal(2n);
    });

    it('a lease that was released goes to the next at once, with a higher epoch', async () => {
      const { cells } = log();
      const lease = (owner: string) => createLease({ cells, key: 'lease/a', owner, now: () => 1_000 });
      const [one, two] = [lease('one'), lease('two')];
      const first = await one.hold();
      expect(await two.hold()).to.equal(undefined);
      await one.release();
      const second = await two.hold();
      expect(Number(second)).to.be.above(Number(first));
      expect(await one.hold()).to.equal(undefined);
      await one.release();
      expect(await two.hold()).to.equal(second);
    });
  });
}
