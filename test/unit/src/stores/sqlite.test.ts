/** Tests the seam over SQLite: version floor, file systems, transactions, what refusals become. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  type Database,
  demandSeveralConnections,
  type OpenOptions,
  openDatabase,
  severalConnectionsAreSafe,
  sqliteFault,
} from '../../../../src/stores/sqlite.ts';

describe('the seam over SQLite', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'svc-sqlite-'));
    path = join(folder, 'some.db');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const faultOf = (act: () => unknown): unknown => {
    try {
      act();
    } catch (error) {
      return sqliteFault(error) ?? error;
    }
    return undefined;
  };

  const withTable = (options: OpenOptions = {}): Database => {
    const database = openDatabase(path, options);
    database.exec('CREATE TABLE IF NOT EXISTS t (a)');
    return database;
  };

  const countOf = (database: Database): number => Number(database.prepare('SELECT count(*) AS n FROM t').get()?.['n']);

  describe('several connections', () => {
    for (const [version, isSafe] of [
      ['3.50.4', false],
      ['3.51.2', false],
      ['3.51.3', true],
      ['3.51.10', true],
      ['3.52.0', false],
      ['3.52.9', false],
      ['3.53.0', true],
      ['3.60.1', true],
      ['4.0.0', true],
      ['2.99.9', false],
    ] as const) {
      it(`are ${isSafe ? 'safe' : 'not safe'} with SQLite ${version}`, () => {
        expect(severalConnectionsAreSafe(version)).to.equal(isSafe);
        if (isSafe) demandSeveralConnections(version);
        else expect(() => demandSeveralConnections(version)).to.throw(new RegExp(`${version}.*install Node`));
      });
    }

    it('are kept out below the floor: the file belongs to the first', () => {
      using first = withTable({ sqliteVersion: '3.50.4' });
      first.exec('INSERT INTO t VALUES (1)');
      expect(faultOf(() => withTable({ busyTimeoutMs: 10 }))).to.equal('busy');
      for (const readOnly of [false, true]) {
        const attempt = () => openDatabase(path, { sqliteVersion: '3.50.4', busyTimeoutMs: 10, readOnly });
        expect(attempt).to.throw(/another process has the file: SQLite 3\.50\.4 .*install Node/);
      }
    });

    for (const [what, options] of [
      ['a file that is shared by design', { isShared: true }],
      ['a file without a write-ahead log', { journal: 'truncate' }],
    ] as const) {
      it(`may use ${what} below the floor too, without a write-ahead log`, () => {
        const below = { ...options, sqliteVersion: '3.50.4' };
        using first = withTable(below);
        using second = openDatabase(path, below);
        using reader = openDatabase(path, { ...below, readOnly: true });
        for (const writer of [first, second, first]) {
          writer.transaction(() => writer.exec('INSERT INTO t VALUES (1)'));
          reader.prepare('SELECT * FROM t').all();
        }
        expect(countOf(reader)).to.equal(3);
        expect(first.prepare('PRAGMA journal_mode').get()).to.deep.include({ journal_mode: 'truncate' });
      });
    }
  });

  describe('a folder', () => {
    for (const [name, magic] of [
      ['NFS', 0x6969],
      ['SMB', 0x517b],
      ['SMB2', 0xfe534d42],
      ['SMB2', 0xfe534d42 | 0],
      ['CIFS', 0xff534d42],
      ['9p', 0x01021997],
    ] as const) {
      it(`on ${name} (${magic}) is refused with a text that says why`, () => {
        const attempt = (): unknown => openDatabase(path, { fileSystemMagic: () => magic });
        expect(attempt).to.throw(`is on ${name}, a network file system`);
      });
    }

    for (const [name, magic, warnings] of [
      ['ext4', 0xef53, 0],
      ['FUSE', 0x65735546, 1],
      ['of unknown type', 0x12345678, 1],
    ] as const) {
      it(`on a file system ${name} is taken with ${warnings} warnings`, () => {
        const warned: string[] = [];
        using database = openDatabase(path, { fileSystemMagic: () => magic, warn: (text) => warned.push(text) });
        database.exec('CREATE TABLE t (a)');
        expect(warned).to.have.lengthOf(warnings);
      });
    }

    it('that is missing is made', () => {
      using database = openDatabase(join(folder, 'a', 'b', 'some.db'));
      database.exec('CREATE TABLE t (a)');
    });
  });

  describe('a transaction', () => {
    it('answers what the work answers, and is there afterwards', () => {
      using database = withTable();
      expect(database.transaction(() => database.prepare('INSERT INTO t VALUES (1)').run().changes)).to.equal(1);
      expect(countOf(database)).to.equal(1);
    });

    it('takes back all when the work throws, and the next one works', () => {
      using database = withTable();
      const failing = (): void =>
        database.transaction(() => {
          database.exec('INSERT INTO t VALUES (1)');
          throw new Error('no');
        });
      expect(failing).to.throw('no');
      database.transaction(() => database.exec('INSERT INTO t VALUES (2)'));
      expect(
        database
          .prepare('SELECT a FROM t')
          .all()
          .map(({ a }) => a),
      ).to.deep.equal([2]);
    });

    it('with savepoints takes back the part that throws', () => {
      using database = withTable();
      database.transaction(() => {
        database.savepoint(() => database.exec('INSERT INTO t VALUES (1)'));
        const failing = (): void =>
          database.savepoint(() => {
            database.exec('INSERT INTO t VALUES (2)');
            throw new Error('no');
          });
        expect(failing).to.throw('no');
        database.savepoint(() => database.exec('INSERT INTO t VALUES (3)'));
      });
      expect(
        database
          .prepare('SELECT a FROM t')
          .all()
          .map(({ a }) => a),
      ).to.deep.equal([1, 3]);
    });
  });

  describe('a refusal of SQLite', () => {
    it('is busy while another connection writes', () => {
      using first = withTable();
      using second = openDatabase(path, { busyTimeoutMs: 10 });
      first.transaction(() => {
        const attempt = (): void => second.transaction(() => second.exec('INSERT INTO t VALUES (1)'));
        expect(faultOf(attempt)).to.equal('busy');
      });
    });

    it('is full when the file would grow beyond its limit, and what was there stays', () => {
      using database = withTable({ maxBytes: 64 * 1024 });
      database.exec('INSERT INTO t VALUES (1)');
      const large = (): unknown => database.prepare('INSERT INTO t VALUES (?)').run(new Uint8Array(100_000));
      expect(faultOf(() => database.transaction(large))).to.equal('full');
      expect(countOf(database)).to.equal(1);
    });

    it('is readonly for a file opened for reading', () => {
      withTable().close();
      using reader = openDatabase(path, { readOnly: true });
      expect(countOf(reader)).to.equal(0);
      expect(faultOf(() => reader.exec('INSERT INTO t VALUES (1)'))).to.equal('readonly');
    });

    it('is none of these when the statement is wrong', () => {
      using database = withTable();
      expect(faultOf(() => database.exec('SELECT nothing FROM nowhere'))).to.be.instanceOf(Error);
    });
  });

  it('survives a loss of power by default: write-ahead log, full synchronisation', () => {
    using database = withTable();
    expect(database.prepare('PRAGMA journal_mode').get()).to.include({ journal_mode: 'wal' });
    expect(database.prepare('PRAGMA synchronous').get()).to.include({ synchronous: 2 });
    expect(database.prepare('PRAGMA foreign_keys').get()).to.include({ foreign_keys: 1 });
  });
});
