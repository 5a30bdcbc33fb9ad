/** Tests what only the SQLite event store can do wrong: faults of the file, time-outs, its format on disk. */
import { writeFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { SqliteEventStore } from '../../../../../src/stores/events/sqlite-event-store.ts';
import { openDatabase, type Row } from '../../../../../src/stores/sqlite.ts';
import { usingLog } from '../../../../support/event-store-current.ts';
import { append, event, events, fill, ids, readWholeLog, write } from '../../../../support/event-store-events.ts';
import { failureOf } from '../../../../support/event-store-failure.ts';
import { Follower } from '../../../../support/event-store-follower.ts';
import { openTemporaryLog } from '../../../../support/event-store-sqlite-log.ts';

const unavailable = 'StoreUnavailable';

const query = (path: string, sql: string): readonly Row[] => {
  using database = openDatabase(path);
  return database.prepare(sql).all();
};

describe('the SQLite event store', () => {
  describe('when another process holds the write lock', () => {
    const log = usingLog(() => openTemporaryLog({ busyTimeoutMs: 50 }));

    it('throws StoreUnavailable after its wait, and the append can be repeated', async () => {
      const { store, path } = log();
      const writes = [write('a-1', 'noStream', event())];
      using other = openDatabase(path);
      other.exec('BEGIN IMMEDIATE');
      expect(await failureOf(append(store, writes))).to.include({ code: 'StoreUnavailable' });
      other.exec('ROLLBACK');
      expect(await append(store, writes)).to.include({ duplicate: false });
    });

    it('says in health that it cannot write until it can again', async () => {
      const { store, path } = log();
      using other = openDatabase(path);
      other.exec('BEGIN IMMEDIATE');
      await failureOf(append(store, [write('a-1', 'any', event())]));
      expect(await store.health()).to.include({ writable: false, readable: true });
      other.exec('ROLLBACK');
      expect(await store.health()).to.include({ writable: true, readable: true });
    });
  });

  describe('when an append takes longer than it may', () => {
    const log = usingLog(() => openTemporaryLog());

    it('throws UnknownOutcome (P6), and the same append again tells what became of it', async () => {
      const { store, path } = log();
      const writes = [write('a-1', 'noStream', ...events(2))];
      const other = openDatabase(path);
      other.exec('BEGIN IMMEDIATE');
      const attempt = store.append(writes, { commandId: 'one', timeoutMs: 20 });
      expect(await failureOf(attempt)).to.include({ code: 'UnknownOutcome' });
      other.exec('ROLLBACK');
      other.close();
      const again = await append(store, writes, { commandId: 'one' });
      expect(again).to.deep.include({ duplicate: true, heads: new Map([['a-1', 1n]]) });
      expect(await readWholeLog(store)).to.have.lengthOf(2);
    });
  });

  describe('when the disk is full', () => {
    const log = usingLog(() => openTemporaryLog({ maxFileBytes: 256 * 1024 }));
    const large = (): ReturnType<typeof event> => {
      const data = new Uint8Array(512 * 1024);
      for (let offset = 0; offset < data.length; offset += 65_536)
        crypto.getRandomValues(data.subarray(offset, offset + 65_536));
      return event({ data });
    };

    it('throws StoreFull with nothing half written, and stays readable', async () => {
      const { store } = log();
      await fill(store, 'a-1', 2);
      const attempt = append(store, [write('a-1', 'any', event()), write('b-1', 'any', large())], { commandId: 'one' });
      expect(await failureOf(attempt)).to.include({ code: 'StoreFull' });
      expect((await readWholeLog(store)).map(({ stream }) => stream)).to.deep.equal(['a-1', 'a-1']);
      expect(await store.command('one')).to.equal(undefined);
      expect(await store.health()).to.include({ readable: true });
    });

    it('says in health that it cannot write until there is room again', async () => {
      const { store } = log();
      const data = new Uint8Array(8_000);
      const fillUp = (): Promise<never> =>
        append(store, [write('a-1', 'any', event({ data: crypto.getRandomValues(data) }))]).then(fillUp);
      expect(await failureOf(fillUp())).to.include({ code: 'StoreFull' });
      expect(await store.health()).to.include({ writable: false, readable: true });
      await store.retain('a-1', { before: 20n });
      expect(await store.health()).to.include({ writable: true, readable: true });
      expect(await store.cells.list('')).to.deep.equal([]);
    });

    it('does not let a large append take the small ones of its group with it', async () => {
      const { store } = log();
      const outcomes = await Promise.allSettled([
        append(store, [write('a-1', 'noStream', event())]),
        append(store, [write('b-1', 'noStream', large())]),
        append(store, [write('c-1', 'noStream', event())]),
      ]);
      expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
      expect((await readWholeLog(store)).map(({ stream }) => stream)).to.deep.equal(['a-1', 'c-1']);
    });
  });

  describe('opened for reading', () => {
    const log = usingLog(() => openTemporaryLog());

    it('reads, follows, and throws StoreReadOnly on writes', async () => {
      const { store, openAgain } = log();
      const made = await fill(store, 'a-1', 2);
      const reader = await openAgain({ readOnly: true });
      expect(reader.identity).to.deep.equal(store.identity);
      expect(ids(await readWholeLog(reader))).to.deep.equal(ids(made));
      expect(await failureOf(append(reader, [write('a-1', 'any', event())]))).to.include({ code: 'StoreReadOnly' });
      expect(await reader.health()).to.include({ writable: false, readable: true });
    });
  });

  describe('a file', () => {
    const log = usingLog(() => openTemporaryLog());
    const reopened = async (spoil: (path: string) => void): Promise<Error> => {
      const { store, path, openAgain } = log();
      await fill(store, 'a-1', 1);
      await store.close();
      spoil(path);
      return failureOf(openAgain());
    };

    it('whose format is newer than the program is refused and not touched', async () => {
      const failure = await reopened((path) => query(path, 'UPDATE log_head SET format = 99 RETURNING 1'));
      expect(failure).to.include({ code: 'Unsupported' });
      expect(failure.message).to.match(/format 99.*update svc/);
    });

    it('that is no database is Corrupt', async () => {
      const failure = await reopened((path) => writeFileSync(path, 'this is no database'.repeat(500)));
      expect(failure).to.include({ code: 'Corrupt' });
    });

    it('that cannot be made is StoreUnavailable', async () => {
      const { openAgain, path } = log();
      expect(await failureOf(openAgain({ path: `${path}/below/a/file.db` }))).to.include({ code: 'StoreUnavailable' });
    });

    it('whose payload is damaged is Corrupt when it is read, and names the position', async () => {
      const { store, path } = log();
      await append(store, [write('a-1', 'any', event({ data: Buffer.alloc(20_000, 'a') }))]);
      query(path, "UPDATE events SET data = x'00112233' RETURNING 1");
      const failure = await failureOf(store.readStream('a-1', { limit: 1 }));
      expect(failure).to.include({ code: 'Corrupt' });
      expect(failure.message).to.contain('position 1');
    });
  });

  describe('on disk', () => {
    const log = usingLog(() => openTemporaryLog());

    it('compresses payloads above 8 KiB when that makes them smaller', async () => {
      const { store, path } = log();
      const payloads = [
        Buffer.alloc(8_192, 'a'),
        Buffer.alloc(8_193, 'a'),
        Buffer.from(crypto.getRandomValues(new Uint8Array(9_000))),
      ];
      await append(store, [write('a-1', 'any', ...payloads.map((data) => event({ data })))]);
      const rows = query(path, 'SELECT encoding, length(data) AS size FROM events ORDER BY position');
      expect(rows.map(({ encoding }) => encoding)).to.deep.equal([0, 1, 0]);
      expect(Number(rows[1]?.['size'])).to.be.below(1_000);
    });

    it('repeats the hashes of the metadata in their columns, and leaves them empty otherwise', async () => {
      const { store, path } = log();
      const [prevHash, hash] = ['00'.repeat(32), 'ab'.repeat(32)];
      await append(store, [write('a-1', 'any', event({ meta: { prevHash, hash } }), event())]);
      const rows = query(
        path,
        'SELECT lower(hex(prev_hash)) AS p, lower(hex(hash)) AS h FROM events ORDER BY position',
      );
      expect(rows[0]).to.include({ p: prevHash, h: hash });
      expect(rows[1]).to.include({ p: '', h: '' });
    });

    it('lets the stored answers of commands go after 30 days, at the next start', async () => {
      const { store, path, clock, openAgain } = log();
      await append(store, [], { commandId: 'old', response: new Uint8Array(10) });
      clock.nowMs += 31 * 24 * 3_600_000;
      await append(store, [], { commandId: 'new', response: new Uint8Array(10) });
      await (await openAgain()).head();
      const rows = query(path, 'SELECT command_id, response IS NULL AS gone FROM commands ORDER BY command_id');
      expect(rows.map(({ command_id, gone }) => `${command_id} ${gone}`)).to.deep.equal(['new 0', 'old 1']);
    });
  });

  describe('for a reader that can do without what is superseded', () => {
    const log = usingLog(() => openTemporaryLog());
    const superseding = { types: ['Changed'], by: ['Changed'], maxSchema: 1 };
    const changed = (size: number) => event({ type: 'Changed', data: Buffer.alloc(size, 'a') });
    const sizes = ({ batches }: Follower): readonly (readonly number[])[] =>
      batches.flatMap((batch) => ('events' in batch ? [batch.events.map(({ data }) => data.byteLength)] : []));

    it('reads thousands of events at once, and the last payload of each stream', async () => {
      const { store } = log();
      await append(store, [write('a-1', 'any', ...Array.from({ length: 3_000 }, () => changed(100)))]);
      await append(store, [write('b-1', 'any', changed(10_000), changed(20_000), event())]);
      await using follower = new Follower(store, { superseding });
      await follower.until(() => follower.timesCaughtUp === 1);
      const plain = event().data.byteLength;
      expect(sizes(follower)).to.deep.equal([[...Array(2_999).fill(0), 100, 0, 20_000, plain]]);
    });

    it('leaves out altogether what nobody misses', async () => {
      const { store } = log();
      await append(store, [write('a-1', 'any', changed(1), changed(2), event())]);
      await append(store, [write('b-1', 'any', changed(3), changed(9_000))]);
      await using follower = new Follower(store, { superseding: { ...superseding, isOmitted: true } });
      await follower.until(() => follower.timesCaughtUp === 1);
      const whole = await readWholeLog(store);
      expect(follower.events).to.deep.equal([1, 2, 4].map((place) => whole[place]));
      expect(follower.checkpoint).to.equal(await store.head());
    });

    it('makes the page shorter when what it has to hand over has more than 16 MiB', async () => {
      const { store } = log();
      const noise = () => event({ data: Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))) });
      for (let part = 0; part < 4; part++) {
        await append(store, [write(`a-${part}`, 'any', changed(1), ...Array.from({ length: 98 }, noise), changed(2))]);
      }
      await using follower = new Follower(store, { superseding });
      await follower.until(() => follower.timesCaughtUp === 1);
      expect(sizes(follower).map((page) => page.length)).to.deep.equal([200, 200]);
      expect(sizes(follower).every((page) => page.reduce((sum, size) => sum + size, 0) <= 16 * 2 ** 20)).to.equal(true);
      expect(ids(follower.events)).to.deep.equal(ids(await readWholeLog(store)));
    });
  });

  describe('while the file cannot be read for a time', () => {
    const log = usingLog(() => openTemporaryLog());

    it('says so to whoever asks, ends nothing, and wakes followers when it can be read again', async () => {
      const { store, path } = log();
      await using follower = new Follower(store);
      await follower.until(() => follower.timesCaughtUp === 1);
      query(path, 'ALTER TABLE log_head RENAME TO away');
      // Longer than the longest pause between two looks for commits of other processes, where nobody waits for an answer.
      for (const end = performance.now() + 200; performance.now() < end; ) {
        expect(await failureOf(store.head()))
          .to.include({ code: unavailable })
          .and.to.have.property('message')
          .that.includes('log_head');
      }
      query(path, 'ALTER TABLE away RENAME TO log_head');
      const other = await log().openAgain();
      const [made] = await fill(other, 'a-1', 1);
      await follower.until(() => follower.events.length === 1);
      expect(ids(follower.events)).to.deep.equal([made?.id]);
    });
  });

  describe('when its thread ends', () => {
    it('throws into subscriptions, refuses what comes, says so in health, and can be closed', async () => {
      const silent = `require('node:worker_threads').parentPort.on('message', () => undefined)`;
      const worker = new Worker(silent, { eval: true });
      const store = new SqliteEventStore(worker, { logId: 'any', era: 0 }, { now: Date.now, maxEventBytes: 1_000 });
      const follower = failureOf(new Follower(store).done);
      const appending = failureOf(append(store, [write('a-1', 'any', event())]));
      await worker.terminate();
      expect(await appending).to.include({ code: 'UnknownOutcome' });
      expect(await follower).to.include({ code: unavailable });
      expect(await failureOf(append(store, [write('a-1', 'any', event())]))).to.include({ code: unavailable });
      expect(await store.health()).to.include({ writable: false, readable: false });
      await store.close();
    });
  });
});
