/** Tests that stores are opened by their address, and that a wrong address is explained without being repeated. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openLog } from '../../../../src/stores/open.ts';
import { append, event, write } from '../../../support/event-store-events.ts';
import { failureOf } from '../../../support/event-store-failure.ts';

describe('openLog', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'svc-open-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('opens memory:', async () => {
    const { store, close } = await openLog('memory:', { maxEventBytes: 10 });
    expect(store.can.maxEventBytes).to.equal(10);
    await close();
  });

  for (const prefix of ['sqlite:', 'SQLITE:', 'sqlite://']) {
    it(`opens ${prefix}PATH and keeps what is appended there`, async () => {
      const url = `${prefix}${join(folder, 'data', 'events.db')}`;
      const { store } = await openLog(url);
      await append(store, [write('a-1', 'noStream', event())]);
      await store.close();
      expect(existsSync(join(folder, 'data', 'events.db'))).to.equal(true);
      const { store: again } = await openLog(url);
      const [stored] = await again.readStream('a-1', { limit: 1 });
      expect(stored?.meta['hash']).to.match(/^[0-9a-f]{64}$/);
      expect(again.identity).to.deep.equal(store.identity);
      await again.close();
    });
  }

  for (const [url, text] of [
    [
      'redis://localhost/',
      'store.url: the scheme redis: is not known (known: kurrentdb:, memory:, postgres:, sqlite:)',
    ],
    [
      'sqllite:./x.db',
      'store.url: the scheme sqllite: is not known, did you mean sqlite:? (known: kurrentdb:, memory:, postgres:, sqlite:)',
    ],
    [
      'constructor:x',
      'store.url: the scheme constructor: is not known (known: kurrentdb:, memory:, postgres:, sqlite:)',
    ],
    ['./data/events.db', 'store.url has no scheme (known: kurrentdb:, memory:, postgres:, sqlite:)'],
    ['', 'store.url has no scheme (known: kurrentdb:, memory:, postgres:, sqlite:)'],
    ['sqlite:', 'store.url: sqlite: needs a path, for example sqlite:./data/events.db'],
  ] as const) {
    it(`refuses '${url}' in words`, async () => {
      expect((await failureOf(openLog(url))).message).to.equal(text);
    });
  }

  it('does not repeat an address, which may hold a password', async () => {
    const { message } = await failureOf(openLog('mysql://user:hunter2@host/db'));
    expect(message).to.not.contain('hunter2');
  });
});
