/** What the event store on PostgreSQL asks of its server, keeps in it and refuses, beyond the contract of all engines. */
import { randomBytes, randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { padPosition } from '../../domain/event-store.ts';
import { openPostgresLog } from '../../src/stores/events/postgres-event-store.ts';
import { usingLog } from '../support/event-store-current.ts';
import { append, event, fill, raceToCreate, readWholeLog, write } from '../support/event-store-events.ts';
import { failureOf } from '../support/event-store-failure.ts';
import { openPostgresTestLog, type PostgresLog, sharedPostgres, withNewSchema } from '../support/postgres-log.ts';
import { needsPostgres } from '../support/postgres-server.ts';
import { freePort } from '../support/temporary.ts';

/** The address with settings that its sessions begin with. */
function withSettings(url: string, ...settings: readonly string[]): string {
  const address = new URL(url);
  address.searchParams.set('options', settings.map((one) => `-c ${one}`).join(' '));
  return address.href;
}

/** Runs the body in the server before each row of the table is inserted or updated. */
const trigger = ({ schema, sql }: PostgresLog, table: string, body: string) =>
  sql(`CREATE OR REPLACE FUNCTION ${schema}.test_${table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NEW; END $$;
    CREATE OR REPLACE TRIGGER test BEFORE INSERT OR UPDATE ON ${schema}.${table}
      FOR EACH ROW EXECUTE FUNCTION ${schema}.test_${table}();`);

describe('the event store on PostgreSQL', function () {
  this.timeout(30_000);
  before(function () {
    needsPostgres(this);
  });
  const log = usingLog(() => openPostgresTestLog());

  describe('a transaction', () => {
    it('says its isolation, its limits and its durability itself, whatever the server or the role has as default', async () => {
      const { url, schema, sql, openAgain } = log();
      await sql(`CREATE TABLE ${schema}.seen (name text, value text)`);
      const names = ['transaction_isolation', 'synchronous_commit', 'lock_timeout', 'statement_timeout'];
      names.push('idle_in_transaction_session_timeout');
      const noting = names.map((name) => `INSERT INTO ${schema}.seen VALUES ('${name}', current_setting('${name}'));`);
      await trigger(log(), 'events', noting.join('\n'));
      for (const level of ['off', 'local', 'remote_apply']) {
        const store = await openAgain({
          url: withSettings(url, 'default_transaction_isolation=serializable', `synchronous_commit=${level}`),
        });
        await store.append([write('a-1', 'any', event())], { commandId: randomUUID(), timeoutMs: 60_000 });
        const seen = Object.fromEntries(
          (await sql(`SELECT * FROM ${schema}.seen`)).map((row) => [row['name'], row['value']]),
        );
        expect(seen).to.deep.include({
          transaction_isolation: 'read committed',
          synchronous_commit: level === 'remote_apply' ? level : 'on',
          lock_timeout: '5s',
          idle_in_transaction_session_timeout: '10s',
        });
        expect(Number.parseInt(seen['statement_timeout'] as string, 10)).to.be.within(1, 60_000);
        await sql(`TRUNCATE ${schema}.seen`);
      }
    });

    it('judges expectations on what the one before it left, also where snapshots are older by default', async () => {
      const { url, openAgain } = log();
      const strict = withSettings(url, 'default_transaction_isolation=repeatable\\ read');
      const stores = [await openAgain({ url: strict }), await openAgain({ url: strict })];
      expect(await raceToCreate(stores, 'api-one', 40)).to.deep.equal({ won: 1, conflicts: 39 });
    });

    it('that does not get the lock in time has changed nothing, and says so', async () => {
      const { store, url, sql, schema, openAgain } = log();
      await trigger(log(), 'events', 'PERFORM pg_sleep(1);');
      const slow = append(await openAgain({ url }), [write('a-1', 'any', event())]);
      await waitForLock(log());
      const late = store.append([write('b-1', 'any', event())], { commandId: 'late', timeoutMs: 200 });
      expect(await failureOf(late)).to.include({ code: 'StoreUnavailable' });
      await slow;
      await sql(`DROP TRIGGER test ON ${schema}.events`);
      expect((await readWholeLog(store)).map(({ stream }) => stream)).to.deep.equal(['a-1']);
      await append(store, [write('b-1', 'any', event())], { commandId: 'late' });
    });

    it('rings inside: whoever listens hears the position after the commit, and nothing of a refused append', async () => {
      const { store, schema, openAgain } = log();
      const { default: pg } = await import('pg');
      const client = new pg.Client({ connectionString: await sharedPostgres() });
      await client.connect();
      const heard: string[] = [];
      client.on('notification', ({ payload = '' }) => heard.push(payload));
      await client.query(`LISTEN ${schema}_log`);
      await append(store, [write('a-1', 'noStream', event(), event())]);
      await failureOf(append(await openAgain(), [write('a-1', 'noStream', event())]));
      await append(store, []);
      await append(store, [write('a-1', 'any', event())]);
      await client.query(`SELECT pg_notify('${schema}_log', 'end')`);
      await client.query('SELECT 1');
      await client.end();
      expect(heard).to.deep.equal(['2', '3', 'end']);
    });
  });

  for (const [sqlState, code, isFault] of [
    ['53100', 'StoreFull', true],
    ['25006', 'StoreReadOnly', true],
    ['42501', 'StoreReadOnly', true],
    ['XX001', 'Corrupt', false],
    ['23505', 'Corrupt', false],
    ['55P03', 'StoreUnavailable', true],
    ['57014', 'StoreUnavailable', true],
    ['57P01', 'StoreUnavailable', true],
    ['22P05', 'Unsupported', false],
  ] as const) {
    it(`${sqlState} from the server is ${code}; nothing is written, and health tells ${isFault ? 'until a write succeeds' : 'nothing of it'}`, async () => {
      const { store, sql, schema } = log();
      const body = `RAISE EXCEPTION 'no' USING ERRCODE = '${sqlState}';`;
      await trigger(log(), 'events', body);
      if (isFault) await trigger(log(), 'log_head', body);
      expect(await failureOf(append(store, [write('a-1', 'any', event())]))).to.include({ code });
      expect(await store.health()).to.include({ writable: !isFault, readable: true });
      expect(await store.head()).to.equal('');
      await sql(`DROP TRIGGER IF EXISTS test ON ${schema}.events; DROP TRIGGER IF EXISTS test ON ${schema}.log_head`);
      expect(await store.health()).to.include({ writable: true, readable: true });
      await fill(store, 'a-1', 1);
    });
  }

  describe('what is stored', () => {
    it('is compressed above 8 KiB where that helps, and damage is noticed', async () => {
      const { store, sql, schema } = log();
      for (const data of [Buffer.alloc(8_192, 'a'), Buffer.alloc(8_193, 'a'), randomBytes(9_000)]) {
        await append(store, [write('a-1', 'any', event({ data }))]);
      }
      const rows = await sql(`SELECT encoding, size, length(data) AS length FROM ${schema}.events ORDER BY position`);
      expect(rows.map(({ encoding, size }) => [encoding, size])).to.deep.equal([
        [0, 8_192],
        [1, 8_193],
        [0, 9_000],
      ]);
      expect(rows[1]?.['length']).to.be.below(200);
      for (const damage of ["data = '\\x00'", 'size = 5', 'encoding = 7']) {
        await sql(`UPDATE ${schema}.events SET ${damage} WHERE position = 2`);
        expect(await failureOf(store.readStream('a-1', { limit: 10 })), damage).to.include({ code: 'Corrupt' });
      }
      expect(await store.readStream('a-1', { from: 2n, limit: 10 })).to.have.lengthOf(1);
    });

    it('has positions and revisions that are exact beyond what a number holds', async () => {
      const { store, sql, schema, openAgain } = log();
      const far = 2n ** 53n;
      await sql(`UPDATE ${schema}.log_head SET position = ${far}`);
      await sql(`INSERT INTO ${schema}.streams (stream, head) VALUES ('a-1', ${far})`);
      const writes = [write('a-1', far, event(), event())];
      const { position, heads } = await append(store, writes, { commandId: 'one' });
      expect(position).to.equal(padPosition(String(far + 2n)));
      expect(heads.get('a-1')).to.equal(far + 2n);
      expect(await append(await openAgain(), writes, { commandId: 'one' })).to.include({ position, duplicate: true });
      const page = await store.readAll({ after: padPosition(String(far + 1n)), limit: 10 });
      expect(page).to.include({ next: position, atHead: true });
      expect(page.events.map(({ revision }) => revision)).to.deep.equal([far + 2n]);
      expect(await store.readStream('a-1', { from: far + 2n, limit: 10 })).to.have.lengthOf(1);
      expect(await store.head()).to.equal(position);
      expect((await store.command('one'))?.position).to.equal(position);
      const beyond = await store.readAll({ after: '9'.repeat(20), limit: 10, filter: { types: ['X'] } });
      expect(beyond).to.deep.equal({ events: [], next: '9'.repeat(20), atHead: true });
    });

    it('takes every character that JSON takes, in metadata too', async () => {
      const { store } = log();
      const meta = { comment: 'nul \u0000, half a pair \ud800, "quotes" \\ {}\n,NULL', empty: '' };
      await append(store, [write('a-1', 'any', event({ meta }))]);
      expect((await store.readStream('a-1', { limit: 1 }))[0]?.meta).to.deep.equal(meta);
    });

    it('has the time of the server when no clock is given', async () => {
      const { sql, url } = log();
      const { store } = await openPostgresLog(url);
      const clock = async () =>
        Number((await sql('SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) AS ms'))[0]?.['ms']);
      const before = await clock();
      await fill(store, 'a-1', 1);
      const [stored] = await store.readStream('a-1', { limit: 1 });
      expect(stored?.at.getTime()).to.be.within(before, await clock());
      expect(await store.positionAt(stored!.at)).to.equal(stored?.position);
      await store.close();
    });
  });

  describe('opening', () => {
    it('by many at once makes one log, and raising the era is seen by the next', async () => {
      const { url } = withNewSchema(await sharedPostgres());
      const logs = await Promise.all(Array.from({ length: 6 }, () => openPostgresLog(url)));
      expect(new Set(logs.map(({ store }) => store.identity.logId)).size).to.equal(1);
      expect(await Promise.all(logs.slice(0, 2).map((one) => one.bumpEra()))).to.have.members([1, 2]);
      const later = await openPostgresLog(url);
      expect(later.store.identity).to.deep.equal({ logId: logs[0]?.store.identity.logId, era: 2 });
      await Promise.all([...logs, later].map((one) => one.close()));
    });

    it('refuses a schema that is newer than the program, and touches nothing', async () => {
      const { url, sql, schema } = log();
      await sql(`INSERT INTO ${schema}.migrations (part, number) VALUES ('log', 99)`);
      const failure = await failureOf(openPostgresLog(url));
      expect(failure).to.include({ code: 'Unsupported' });
      expect(failure.message).to.match(/format 99.*update svc/);
      expect(await sql(`SELECT number FROM ${schema}.migrations ORDER BY number`)).to.deep.equal([
        { number: 1 },
        { number: 99 },
      ]);
    });

    it('for reading makes no log, and an existing one is not written to', async () => {
      const { store, openLogAgain, sql } = log();
      await fill(store, 'a-1', 1);
      const readOnly = await openLogAgain({ readOnly: true });
      expect(await readWholeLog(readOnly.store)).to.have.lengthOf(1);
      expect(await readOnly.store.health()).to.include({ writable: false, readable: true });
      for (const change of [
        () => append(readOnly.store, [write('a-1', 'any', event())]),
        () => readOnly.store.retain('a-1', { maxCount: 1 }),
        () => readOnly.cells.write('a', '', 'none'),
        () => readOnly.cells.remove('a'),
        () => readOnly.bumpEra(),
      ]) {
        expect(await failureOf(change())).to.include({ code: 'StoreReadOnly' });
      }
      const { url, schema } = withNewSchema(await sharedPostgres());
      expect(await failureOf(openPostgresLog(url, { readOnly: true }))).to.include({ code: 'Unsupported' });
      expect(await sql('SELECT to_regnamespace($1) AS found', [schema])).to.deep.equal([{ found: null }]);
    });

    it('needs no right to change what is up to date, and a server that takes no writes is readable', async () => {
      const { store, url, openAgain } = log();
      await fill(store, 'a-1', 1);
      const replica = await openAgain({ url: withSettings(url, 'default_transaction_read_only=on') });
      expect(await readWholeLog(replica)).to.have.lengthOf(1);
      expect(await replica.health()).to.include({ writable: false, readable: true });
      expect(await failureOf(append(replica, [write('a-1', 'any', event())]))).to.include({ code: 'StoreReadOnly' });
    });

    it('refuses a database with another encoding', async () => {
      const { sql, url } = log();
      const database = `ascii_${randomBytes(4).toString('hex')}`;
      await sql(`CREATE DATABASE ${database} ENCODING 'SQL_ASCII' TEMPLATE template0`);
      const address = new URL(url);
      address.pathname = `/${database}`;
      expect((await failureOf(openPostgresLog(address.href))).message).to.contain('needed is UTF8');
      await sql(`DROP DATABASE ${database}`);
    });

    for (const [what, broken] of [
      ['a wrong password', (url) => url.replace(/:[^:@]+@/, ':wrong-pass-word@')],
      ['an unknown database', (url) => url.replace('/postgres?', '/nowhere?')],
      ['a port where nobody is', (url, port) => url.replace(/:\d+\//, `:${port}/`)],
      ['an address that does not read', (url) => url.replace(/@.*/, '@:-1')],
      ['a password with a character that must be written as %XX', () => 'postgres://svc:wrong-pass#word@localhost/svc'],
      ['a schema that is no name', (url) => url.replace(/schema=\w+/, 'schema=a"b')],
      ['a certificate that is not there', (url) => `${url}&sslrootcert=/nowhere/ca.pem`],
    ] as readonly (readonly [string, (url: string, port: number) => string])[]) {
      it(`with ${what} fails with a text that never repeats the password`, async () => {
        const { url } = log();
        const address = broken(url, await freePort());
        const failure = await failureOf(openPostgresLog(address));
        const secrets = [new URL(url).password, 'wrong-pass'];
        for (const secret of secrets) expect(inspect(failure, { depth: 9, showHidden: true })).not.to.contain(secret);
        expect(failure.message).to.have.length.above(10);
      });
    }
  });
});

/** Until a transaction holds the lock on the head. */
async function waitForLock({ schema, sql }: PostgresLog): Promise<void> {
  for (;;) {
    const held = await sql(
      `SELECT 1 FROM pg_locks WHERE relation = '${schema}.log_head'::regclass AND mode = 'RowShareLock'`,
    );
    if (held.length > 0) return;
  }
}
