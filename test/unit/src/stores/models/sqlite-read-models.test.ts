/** Tests what the read model contract does not say: index seeks, and files that cannot be used. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { DocumentQuery } from '../../../../../projections/read-model-store.ts';
import { countQuery, listQuery, tableNames } from '../../../../../src/stores/models/document-queries.ts';
import { openSqliteReadModels, type SetAside } from '../../../../../src/stores/models/sqlite-read-models.ts';
import { openDatabase } from '../../../../../src/stores/sqlite.ts';

describe('read models on SQLite', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'svc-models-'));
    path = join(folder, 'readmodels.db');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const fillAndClose = (count: number): void => {
    using models = openSqliteReadModels(path);
    models.commit('p', undefined, { logId: 'log', era: 0, version: 1, position: '1' }, (_, apply) =>
      apply(
        Array.from({ length: count }, (_, index) => ({
          op: 'put',
          collection: 'history',
          document: {
            id: `e${index}`,
            sort: String(index).padStart(8, '0'),
            labels: [`actor:${index % 7}`, `type:${index % 3}`],
            body: { index, text: 'x'.repeat(50) },
          },
        })),
      ),
    );
  };

  describe('a page among 10,000 documents', () => {
    beforeEach(() => fillAndClose(10_000));

    const plan = ({ sql, values }: ReturnType<typeof listQuery>): string => {
      using database = openDatabase(path);
      return database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...values)
        .map(({ detail }) => String(detail))
        .join('\n');
    };

    for (const [name, query] of [
      ['without labels', { limit: 10 }],
      ['without labels, behind a place', { limit: 10, after: '00005000' }],
      ['with a label', { limit: 10, labels: ['actor:3'] }],
      [
        'with a label, descending before a place',
        { limit: 10, labels: ['actor:3'], before: '00005000', descending: true },
      ],
      [
        'with two labels between places',
        { limit: 10, labels: ['actor:3', 'type:1'], after: '00000100', before: '00009000' },
      ],
    ] as readonly [string, DocumentQuery][]) {
      it(`is an index seek in the order of the index ${name}`, () => {
        const steps = plan(listQuery(tableNames('history', 1), query));
        expect(steps).to.not.match(/TEMP B-TREE/);
        // The first page of everything begins at the end of the index.
        expect(steps).to.match(/SEARCH k USING PRIMARY KEY|(SEARCH|SCAN) k USING INDEX history_g1_by_sort/);
      });
    }

    it('far behind the first one passes over labels alone', () => {
      const steps = plan(listQuery(tableNames('history', 1), { limit: 10, offset: 900, labels: ['actor:3'] }));
      const [skipped, page] = [steps.indexOf('SEARCH k USING PRIMARY KEY'), steps.indexOf('SEARCH d USING')];
      const inner = steps.slice(0, steps.indexOf('SCAN k'));
      expect(
        [skipped >= 0, page > skipped, inner.includes('SEARCH d'), inner.includes('TEMP B-TREE')],
        steps,
      ).to.deep.equal([...[true, true, false, false]]);
    });

    it('is counted by the index too', () => {
      expect(plan(countQuery(tableNames('history', 1), ['actor:3', 'type:1']))).to.not.match(/SCAN|TEMP B-TREE/);
    });

    it('holds what a scan would find', () => {
      using models = openSqliteReadModels(path);
      const page = models.list('history', { labels: ['actor:3', 'type:1'], offset: 5, limit: 10, descending: true });
      const wanted = Array.from({ length: 10_000 }, (_, index) => index).filter((n) => n % 7 === 3 && n % 3 === 1);
      expect(page.map(({ id }) => id)).to.deep.equal(
        wanted
          .reverse()
          .slice(5, 15)
          .map((n) => `e${n}`),
      );
      expect(models.count('history', ['actor:3', 'type:1'])).to.equal(wanted.length);
    });
  });

  describe('a file that was closed', () => {
    it('is used again as it is', () => {
      fillAndClose(3);
      const seen: SetAside[] = [];
      using models = openSqliteReadModels(path, { onSetAside: (aside) => seen.push(aside) });
      expect(models.count('history')).to.equal(3);
      expect(models.checkpoint('p')?.position).to.equal('1');
      expect(seen).to.deep.equal([]);
    });
  });

  describe('a file that is filled for the first time', () => {
    const mark = (): unknown => {
      using database = openDatabase(path);
      return database.prepare('SELECT machine_run FROM first_fill').get()?.['machine_run'];
    };
    const fill = (isWhole: boolean, projection = 'p'): void => {
      using models = openSqliteReadModels(path);
      const from = models.checkpoint(projection);
      const to = { logId: 'log', era: 0, version: 1, position: `${Number(from?.position ?? 0) + 1}` };
      models.commit(projection, from, to, () => undefined, { isWhole });
    };

    it('does not wait for the disk until it is whole', () => {
      fill(false);
      expect(mark()).to.be.a('string');
      fill(true);
      expect(mark()).to.equal(undefined);
    });

    it('does not wait until the last of its read models is whole, whoever fills them', () => {
      fill(false);
      fill(true, 'q');
      expect(mark()).to.be.a('string');
      fill(true);
      expect(mark()).to.equal(undefined);
    });

    it('is gone on with after a crash of the process, and set aside after one of the machine', () => {
      fill(false);
      const seen: SetAside[] = [];
      openSqliteReadModels(path, { onSetAside: (aside) => seen.push(aside) }).close();
      expect(seen).to.deep.equal([]);
      using database = openDatabase(path);
      database.exec("UPDATE first_fill SET machine_run = 'before'");
      database.close();
      using models = openSqliteReadModels(path, { onSetAside: (aside) => seen.push(aside) });
      expect(models.checkpoint('p')).to.equal(undefined);
      expect(seen[0]?.reason).to.match(/machine went down/);
    });
  });

  describe('a file that cannot be used', () => {
    const spoil: Readonly<Record<string, () => void>> = {
      'is no database': () =>
        writeFileSync(path, 'not a database, but long enough to have a header of one hundred bytes'.repeat(9)),
      'was overwritten in the middle': () => {
        fillAndClose(500);
        const bytes = readFileSync(path);
        bytes.fill(0xff, 4_096, bytes.length - 4_096);
        writeFileSync(path, bytes);
      },
      'was cut off': () => {
        fillAndClose(500);
        writeFileSync(path, readFileSync(path).subarray(0, 20_000));
      },
      'is of a newer program': () => {
        fillAndClose(3);
        using database = openDatabase(path);
        database.exec('PRAGMA user_version = 99');
      },
      'belongs to something else': () => {
        using database = openDatabase(path);
        database.exec('CREATE TABLE other (a)');
      },
    };
    for (const [name, prepare] of Object.entries(spoil)) {
      it(`and ${name} is set aside whole, and read models start from nothing`, () => {
        prepare();
        const before = readFileSync(path);
        const seen: SetAside[] = [];
        using models = openSqliteReadModels(path, { onSetAside: (aside) => seen.push(aside) });
        expect(models.checkpoint('p')).to.equal(undefined);
        expect(models.count('history')).to.equal(0);
        expect(seen).to.have.lengthOf(1);
        expect(seen[0]!.reason).to.not.equal('');
        expect(seen[0]!.path).to.equal(`${path}.set-aside`);
        expect(readFileSync(seen[0]!.path).length).to.equal(before.length);
      });
    }

    it('replaces the one that was set aside before', () => {
      for (const text of ['first', 'second']) {
        writeFileSync(path, text.repeat(500));
        openSqliteReadModels(path).close();
      }
      expect(readFileSync(`${path}.set-aside`, 'utf8')).to.match(/^second/);
    });

    it('is an error, and stays where it is, when the trouble is not the file', () => {
      expect(() => openSqliteReadModels(folder)).to.throw(/unable to open/);
    });
  });
});
