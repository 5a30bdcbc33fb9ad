/** What the event store on PostgreSQL does when connections, notifications or the whole server go away. */
import { expect } from 'chai';
import { usingLog } from '../support/event-store-current.ts';
import { append, event, fill, ids, readWholeLog, write } from '../support/event-store-events.ts';
import { failureOf } from '../support/event-store-failure.ts';
import { Follower } from '../support/event-store-follower.ts';
import { eventually } from '../support/eventually.ts';
import { openPostgresTestLog, type PostgresLog } from '../support/postgres-log.ts';
import { type Fate, type PostgresProxy, startPostgresProxy } from '../support/postgres-proxy.ts';
import { needsPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.ts';

type LogBehindProxy = PostgresLog & { readonly proxy: PostgresProxy };

async function openBehindProxy(): Promise<LogBehindProxy> {
  const log = await openPostgresTestLog();
  const proxy = await startPostgresProxy(log.url);
  const dispose = async (): Promise<void> => {
    await log.dispose();
    await proxy.close();
  };
  return { ...log, proxy, dispose };
}

describe('PostgreSQL: a lost connection', function () {
  this.timeout(30_000);
  before(function () {
    needsPostgres(this);
  });
  const log = usingLog(openBehindProxy);
  /** Lets the fate meet the first message that holds the word. */
  const once = (word: string, fate: Fate): void => {
    const { proxy } = log();
    let isOver = false;
    proxy.fate = (sql) => {
      if (isOver || !sql.includes(word)) return 'pass';
      isOver = true;
      return fate;
    };
  };

  for (const { name, fate, isStored } of [
    {
      name: 'after COMMIT was carried out and before its answer',
      fate: 'pass, then cut at the answer',
      isStored: true,
    },
    { name: 'while COMMIT was on its way', fate: 'cut', isStored: false },
    { name: 'without anybody noticing, after COMMIT was sent', fate: 'pass, then say nothing', isStored: true },
  ] as const) {
    it(`${name} is an unknown outcome, and the same append again tells it (P6)`, async () => {
      const { proxy, openAgain, store: direct } = log();
      const store = await openAgain({ url: proxy.url });
      const writes = [write('a-1', 'noStream', event(), event()), write('b-1', 'noStream', event())];
      once('; COMMIT', fate);
      const options = { commandId: 'one', timeoutMs: 1_500 };
      expect(await failureOf(store.append(writes, options))).to.include({ code: 'UnknownOutcome' });
      expect(await eventually(async () => (await readWholeLog(direct)).length === (isStored ? 3 : 0))).to.equal(true);
      const again = await store.append(writes, { ...options, timeoutMs: 10_000 });
      expect(again.duplicate).to.equal(isStored);
      expect([...again.heads]).to.deep.equal([
        ['a-1', 1n],
        ['b-1', 0n],
      ]);
      expect(ids(await readWholeLog(direct))).to.deep.equal(ids(writes.flatMap(({ events }) => events)));
    });
  }

  for (const { name, word } of [
    { name: 'with the lock', word: 'FOR UPDATE' },
    { name: 'while rows are written', word: 'INSERT INTO' },
  ]) {
    for (const fate of ['cut', 'pass, then cut at the answer', 'pass, then say nothing'] as const) {
      it(`${name} (${fate}) has changed nothing, which the error says, and the next append is not held up`, async () => {
        const { proxy, openAgain, store: direct } = log();
        const store = await openAgain({ url: proxy.url });
        once(word, fate);
        const attempt = store.append([write('a-1', 'noStream', event())], { commandId: 'one', timeoutMs: 1_500 });
        expect(await failureOf(attempt)).to.include({ code: 'StoreUnavailable' });
        expect(await direct.head()).to.equal('');
        await append(store, [write('a-1', 'noStream', event())], { commandId: 'one' });
        expect(await readWholeLog(direct)).to.have.lengthOf(1);
      });
    }
  }

  it('of every connection at a quiet moment is made good by the next calls', async () => {
    const { store, openAgain, sql } = log();
    const other = await openAgain();
    await using follower = new Follower(other);
    await fill(store, 'a-1', 1);
    await follower.until(() => follower.events.length === 1);
    await sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'svc'`);
    await eventually(() => fill(store, 'a-1', 1));
    await follower.until(() => follower.events.length >= 2);
    const whole = await eventually(() => readWholeLog(other));
    await follower.until(() => follower.events.length === whole.length);
    expect(ids(follower.events)).to.deep.equal(ids(whole));
  });
});

describe('PostgreSQL: notifications', function () {
  this.timeout(30_000);
  before(function () {
    needsPostgres(this);
  });
  const log = usingLog(openBehindProxy);
  const hears = async (store: PostgresLog['store']): Promise<boolean> =>
    (await store.health()).detail.includes('hears notifications');

  it('are heard while somebody follows, and not after', async () => {
    const { store, openAgain } = log();
    const other = await openAgain();
    expect(await hears(other)).to.equal(false);
    const follower = new Follower(other);
    await eventually(() => hears(other));
    await fill(store, 'a-1', 2);
    await follower.until(() => follower.events.length === 2);
    await follower.stop();
    expect(await hears(other)).to.equal(false);
    await using again = new Follower(other);
    await again.until(() => again.events.length === 2);
    await eventually(() => hears(other));
  });

  it('that never arrive are noticed, once, and the log is polled', async () => {
    const { store, proxy, openAgain } = log();
    proxy.notifies = false;
    const warnings: string[] = [];
    const other = await openAgain({ url: proxy.url, warn: (text) => warnings.push(text) });
    await using follower = new Follower(other);
    await fill(store, 'a-1', 1);
    await follower.until(() => follower.events.length === 1);
    await eventually(() => warnings.length > 0);
    expect(warnings.join()).to.contain('notifications do not arrive');
    await fill(store, 'a-1', 2);
    await follower.until(() => follower.events.length === 3);
    expect(await hears(other)).to.equal(false);
    await using another = new Follower(other);
    await another.until(() => another.events.length === 3);
    expect(warnings).to.have.lengthOf(1);
  });

  it('of strangers, with any text, change nothing', async () => {
    const { store, sql, schema } = log();
    await using follower = new Follower(store);
    await eventually(() => hears(store));
    for (const text of ['99999999999', 'test', '', '-1', 'x'.repeat(7_000)]) {
      await sql('SELECT pg_notify($1, $2)', [`${schema}_log`, text]);
    }
    const made = await fill(store, 'a-1', 2);
    await follower.until(() => follower.events.length === 2);
    expect(ids(follower.events)).to.deep.equal(ids(made));
  });
});

describe('PostgreSQL: a restart of the server', function () {
  this.timeout(60_000);
  let server: PostgresServer | undefined;
  before(async function () {
    needsPostgres(this);
    server = await startPostgres();
  });
  after(() => server?.dispose());
  const running = (): PostgresServer => {
    if (!server) throw new Error('the server runs during the tests only');
    return server;
  };

  for (const mode of ['fast', 'immediate'] as const) {
    it(`(${mode}) interrupts reads and appends, and subscriptions go on by themselves with nothing lost or repeated`, async () => {
      const { store, log, dispose } = await openPostgresTestLog(running().url);
      const follower = new Follower(store);
      const made = [...(await fill(store, 'a-1', 5))];
      await follower.until(() => follower.events.length === 5);
      running().stop(mode);
      const calls: readonly (() => Promise<unknown>)[] = [
        () => store.readAll({ after: '', limit: 10 }),
        () => store.readStream('a-1', { limit: 10 }),
        () => store.head(),
        () => append(store, [write('b-1', 'any', event())]),
        () => log.cells.read('a'),
      ];
      for (const call of calls) expect(await failureOf(call())).to.include({ code: 'StoreUnavailable' });
      expect(await store.health()).to.include({ writable: false, readable: false });
      running().start();
      made.push(...(await eventually(() => fill(store, 'a-1', 3))));
      await follower.until(() => follower.events.length >= 8);
      expect(ids(follower.events)).to.deep.equal(ids(made));
      expect(ids(await readWholeLog(store))).to.deep.equal(ids(made));
      expect(await store.health()).to.include({ writable: true, readable: true });
      await follower.stop();
      await dispose();
    });
  }

  it('does not keep a store from being closed while the server is away', async () => {
    const { store } = await openPostgresTestLog(running().url);
    const follower = new Follower(store);
    await follower.until(() => follower.timesCaughtUp === 1);
    running().stop('fast');
    await store.close();
    expect(await failureOf(follower.done)).to.include({ code: 'StoreUnavailable' });
    running().start();
  });
});
