/** What the KurrentDB adapter leaves on the server, who the log is, what it says of its health, and the address that it is opened with. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { WrongExpectedVersion } from '../../domain/event-store.ts';
import { connectionStringOf } from '../../src/stores/events/kurrent-connection.ts';
import { openKurrentLog } from '../../src/stores/events/kurrent-event-store.ts';
import { append, bytes, event, fill, write } from '../support/event-store-events.ts';
import { failureOf } from '../support/event-store-failure.ts';
import { type KurrentTestLog, openKurrentDoubleLog } from '../support/event-store-kurrent-log.ts';
import { startKurrentDouble } from '../support/kurrentdb-double.ts';

describe('a KurrentDB server under the event log', () => {
  let given: KurrentTestLog;
  beforeEach(async () => {
    given = await openKurrentDoubleLog('26.1');
  });
  afterEach(() => given.dispose());

  describe('on the server', () => {
    for (const [name, text, contentType] of [
      ['the text of JSON as JSON', '{"name":"Grüße","list":[1,2.5,null]}', 'application/json'],
      ['JSON that would be written in another way as bytes', '{ "n": 1.0 }', 'application/octet-stream'],
      ['a member twice as bytes', '{"n":1,"n":2}', 'application/octet-stream'],
      ['a number that loses digits as bytes', '{"n":12345678901234567890}', 'application/octet-stream'],
      ['a large text as compressed bytes', JSON.stringify({ text: 'x'.repeat(9_000) }), 'application/octet-stream'],
    ] as const) {
      for (const level of ['26.1', '23.10'] as const) {
        it(`stands ${name}, and it comes back to the byte, at ${level}`, async () => {
          given.double.setLevel(level);
          const store = await given.openAgain();
          await append(store, [write('a-1', 'noStream', event({ data: bytes(text) }))]);
          const record = given.double.log.records.find(({ stream }) => stream === 'a-1');
          expect(record).to.include({ contentType });
          expect(record?.data.length).to.be.at.most(1_000);
          const [stored] = await store.readStream('a-1', { limit: 1 });
          expect(Buffer.from(stored?.data ?? []).toString()).to.equal(text);
        });
      }
    }

    it('correlation stands under the names that its tools know, and names like its own come back unchanged', async () => {
      const { store, double } = given;
      const meta = { correlationId: 'c1', causationId: 'c0', $mine: 'x', 'svc.schema': 'y', 'svc.key.z': 'z' };
      await append(store, [write('a-1', 'noStream', event({ meta, schema: 7 }))]);
      const record = double.log.records.find(({ stream }) => stream === 'a-1');
      const kept = JSON.parse(Buffer.from(record?.customMetadata ?? []).toString());
      expect(kept).to.include({ $correlationId: 'c1', $causationId: 'c0', 'svc.schema': '7' });
      expect((await store.readStream('a-1', { limit: 1 }))[0]).to.deep.include({ meta, schema: 7 });
    });

    it('a payload that was damaged is Corrupt', async () => {
      const { store, double } = given;
      const customMetadata = Buffer.from(JSON.stringify({ 'svc.enc': 'zstd', 'svc.size': '9000' }));
      const broken = { id: event().id, type: 'A', contentType: 'application/octet-stream', data: Buffer.from('no') };
      double.log.append([{ stream: 'a-1', expected: 'any', events: [{ ...broken, customMetadata }] }]);
      expect(await failureOf(store.readStream('a-1', { limit: 1 }))).to.include({ code: 'Corrupt' });
    });
  });

  describe('the identity of the log', () => {
    it('is made once, also when several open it for the first time together', async () => {
      await using double = await startKurrentDouble();
      const opened = await Promise.all([1, 2, 3].map(() => openKurrentLog(double.url, {})));
      const identities = opened.map(({ store }) => `${store.identity.logId} ${store.identity.era}`);
      expect(new Set(identities).size).to.equal(1);
      expect(identities[0]).to.match(/^[0-9a-f]{8}-.* 0$/);
      await Promise.all(opened.map((log) => log.close()));
    });

    it('has an era that is raised by one each time; open stores keep theirs', async () => {
      const { log, store, openLogAgain } = given;
      const other = await openLogAgain();
      expect([await log.bumpEra(), await other.bumpEra(), await log.bumpEra()]).to.deep.equal([1, 2, 3]);
      expect(store.identity.era).to.equal(0);
      expect((await openLogAgain()).store.identity).to.deep.equal({ ...store.identity, era: 3 });
    });

    it('of a newer format is refused', async () => {
      const { double, openAgain } = given;
      const data = Buffer.from('{"format":2}');
      const newer = { id: event().id, type: 'EraRaised', contentType: 'application/json', data };
      const proposed = { ...newer, customMetadata: Buffer.alloc(0) };
      double.log.append([{ stream: 'svclog-identity', expected: 'any', events: [proposed] }]);
      expect((await failureOf(openAgain())).message).to.match(/format 2.*upgrade/);
    });
  });

  describe('health', () => {
    it('asks both connections and writes nothing', async () => {
      const { store, double } = given;
      const records = double.log.records.length;
      expect(await store.health()).to.deep.equal({ writable: true, readable: true, detail: 'KurrentDB 26.1.0' });
      expect(double.log.records).to.have.lengthOf(records);
    });

    it('says in words what the credentials do not allow', async () => {
      const { store, double } = given;
      double.faults.refuse = 'access-denied';
      const health = await store.health();
      expect(health).to.include({ writable: false, readable: false });
      expect(health.detail).to.match(/cannot read: .*credentials.*cannot write/);
      expect(await failureOf(append(store, [write('a-1', 'any', event())]))).to.include({ code: 'StoreUnavailable' });
    });

    it('tells a server that can be read and not written', async () => {
      const { store, double } = given;
      double.faults.notLeader = { host: '127.0.0.1', port: double.port };
      expect(await store.health()).to.include({ writable: false, readable: true });
    });
  });

  describe('the address', () => {
    const server = '127.0.0.1:2113';
    const always = 'nodePreference=leader&throwOnAppendFailure=true';
    for (const [name, url, made] of [
      ['a password with colons', `kurrentdb://admin:pa:s:s@${server}`, `admin:pa%3As%3As@${server}?`],
      ['a password that is encoded', `kurrentdb://admin:pa%3Ass@${server}`, `admin:pa%3Ass@${server}?`],
      ['a password with all that ends things', `kurrentdb://a:b@c/d%@${server}`, `a:b%40c%2Fd%25@${server}?`],
      ['several nodes', `kurrent://${server},b:1?tls=true`, `${server},b:1?discoveryInterval=100&tls=true&`],
      [
        'the old scheme',
        `esdb://${server}/?keep-alive-interval=-1`,
        `${server}?discoveryInterval=100&keepAliveInterval=-1&`,
      ],
      ['an interval', `kdb://${server}?discoveryInterval=7`, `${server}?discoveryInterval=7&`],
    ] as const) {
      it(`with ${name} reaches the client whole`, () => {
        const text = connectionStringOf(url, () => {});
        expect(text).to.match(/^kurrentdb:\/\//);
        expect(text.slice('kurrentdb://'.length)).to.satisfy((rest: string) => rest.startsWith(made));
        expect(text).to.satisfy((rest: string) => rest.endsWith(always));
      });
    }

    for (const [name, url, reason] of [
      ['no host', 'kurrentdb://user:pass-word@', /reads kurrentdb:/],
      ['an option that does not exist', `kurrentdb://user:pass-word@${server}?tsl=false`, /did you mean tls/],
    ] as const) {
      it(`with ${name} is refused, without a word of it`, () => {
        expect(() => connectionStringOf(url, () => {})).to.throw(reason);
        expect(() => connectionStringOf(url, () => {})).not.to.throw(/pass-word/);
      });
    }

    it('needs a package, and says which when it is not there', async () => {
      const adapter = new URL('../../src/stores/events/kurrent-event-store.ts', import.meta.url).href;
      const script = `
        import { registerHooks } from 'node:module';
        registerHooks({
          resolve(name, context, next) {
            if (name === '@kurrent/kurrentdb-client') throw new Error('no such package');
            return next(name, context);
          },
        });
        const { openKurrentLog } = await import(${JSON.stringify(adapter)});
        await openKurrentLog('kurrentdb://127.0.0.1:1', {}).catch(({ code, message }) => console.log(code, message));`;
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
      expect(stdout).to.match(/^Unsupported .*npm install @kurrent\/kurrentdb-client@1\.3/);
    });

    it('that the client cannot use is refused without a word of it', async () => {
      const failure = await failureOf(openKurrentLog('kurrentdb://user:pass-word@host:port?tls=maybe', {}));
      expect(failure).to.include({ code: 'Unsupported' });
      expect(`${failure.message} ${failure.stack} ${String(failure.cause)}`).not.to.contain('pass-word');
    });

    it('cannot make a failed append look like one that was written', async () => {
      const { double } = given;
      const warnings: string[] = [];
      const url = `${double.url}&throwOnAppendFailure=false&nodePreference=follower`;
      const log = await openKurrentLog(url, { warn: (text) => warnings.push(text) });
      expect(warnings).to.have.lengthOf(2);
      await fill(log.store, 'a-1', 3);
      const failure = await failureOf(append(log.store, [write('a-1', 'noStream', event())]));
      expect(failure).to.be.instanceOf(WrongExpectedVersion).and.to.include({ actual: 2n });
      await log.close();
    });

    it('of a server that is not there is refused as StoreUnavailable', async () => {
      const { double } = given;
      await double.stop();
      expect(await failureOf(openKurrentLog(double.url, {}))).to.include({ code: 'StoreUnavailable' });
    });
  });
});
