/** A log copied to another engine is the same history: revisions, ids, times, hashes and anchors stay, and it goes on there. */
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { type EventStore, type StoredEvent, shortPosition } from '../../domain/event-store.ts';
import { anchorStream, isAudited } from '../../domain/ids.ts';
import { migrate } from '../../src/compose/migrate.ts';
import { verifyStore } from '../../src/compose/verify-log.ts';
import { openLog } from '../../src/stores/open.ts';
import type { OpenedLog } from '../../src/stores/opened-log.ts';
import { happen, withAnchorer } from '../support/audit-log.ts';
import { svc } from '../support/cli.ts';
import { append, bytes, event, readWholeLog, write } from '../support/event-store-events.ts';
import { failureOf } from '../support/event-store-failure.ts';
import { startKurrentDouble } from '../support/kurrentdb-double.ts';
import { temporaryFolder } from '../support/temporary.ts';

async function within<T>(url: string, work: (log: OpenedLog, clock: { nowMs: number }) => Promise<T>): Promise<T> {
  const clock = { nowMs: 1_000_000 };
  const log = await openLog(url, { now: () => clock.nowMs++ });
  try {
    return await work(log, clock);
  } finally {
    await log.close();
  }
}

/** Streams with several events, appends over several streams, operational events, anchors. */
const makeHistory = (url: string, count: number): Promise<readonly StoredEvent[]> =>
  within(url, async ({ store, cells }, clock) => {
    await happen({ store }, count);
    const meta = { v: '1', commandId: 'command-one', requestHash: 'hash-one' };
    await append(store, [
      write('org-a', 'noStream', event({ meta })),
      write('uniq-route.a', 'noStream', event({ meta })),
    ]);
    await withAnchorer({ store, cells, clock }, {}, (look) => look());
    return readWholeLog(store);
  });

/** What must be the same in a copy. */
const history = (events: readonly StoredEvent[]): readonly unknown[] =>
  events
    .filter(({ stream }) => isAudited(stream))
    .map(({ position: _, data, ...rest }) => ({ ...rest, data: Buffer.from(data).toString() }));

const readAll = (url: string): Promise<readonly StoredEvent[]> => within(url, ({ store }) => readWholeLog(store));

describe('svc store migrate', () => {
  it('copies revisions, ids, metadata, times and hashes; the copy has an identity of its own', async () => {
    using folder = temporaryFolder('svc-migrate-');
    const [from, to] = [`sqlite:${folder.file('a.db')}`, `sqlite:${folder.file('b.db')}`];
    const original = await makeHistory(from, 40);
    const result = await migrate({ from, to });
    const copy = await readAll(to);
    expect(history(copy)).to.deep.equal(history(original));
    expect(result).to.deep.include({ events: copy.length, copied: copy.length, leftBehind: 10 });
    const [a, b] = await Promise.all([from, to].map((url) => within(url, async ({ store }) => store.identity)));
    expect(a?.logId).to.not.equal(b?.logId);
    expect(result.from).to.deep.equal({ logId: a?.logId, position: shortPosition(original.at(-1)?.position ?? '') });
  });

  for (const level of ['23.10', '26.1'] as const) {
    it(`copies to and from KurrentDB ${level}, protocol double, whatever it writes at once`, async () => {
      using folder = temporaryFolder('svc-migrate-');
      const double = await startKurrentDouble({ level });
      try {
        const [from, back] = [`sqlite:${folder.file('a.db')}`, `sqlite:${folder.file('b.db')}`];
        const original = await makeHistory(from, 20);
        const large = { data: bytes(JSON.stringify({ text: randomBytes(300 * 1024).toString('base64') })) };
        await within(from, ({ store }) =>
          append(store, [write('org-large', 'noStream', event(large), event(large), event(large))]),
        );
        await migrate({ from, to: double.url });
        await migrate({ from: double.url, to: back });
        const copy = history(await readAll(back)).map((one) => ({ ...(one as StoredEvent), at: undefined }));
        const whole = history(await readAll(from)).map((one) => ({ ...(one as StoredEvent), at: undefined }));
        expect(copy).to.deep.equal(whole);
        expect(whole).to.have.length(original.filter(({ stream }) => isAudited(stream)).length + 3);
      } finally {
        await double.stop();
      }
    }).timeout(20_000);
  }

  it('answers at= by time as the source did, and knows the commands', async () => {
    using folder = temporaryFolder('svc-migrate-');
    const [from, to] = [`sqlite:${folder.file('a.db')}`, `sqlite:${folder.file('b.db')}`];
    const original = await makeHistory(from, 12);
    await migrate({ from, to });
    const idAt = async (store: EventStore, at: Date): Promise<string | undefined> => {
      const position = await store.positionAt(at);
      return (await readWholeLog(store)).filter((one) => one.position <= position && isAudited(one.stream)).at(-1)?.id;
    };
    for (const { at } of original) {
      const ids = await Promise.all([from, to].map((url) => within(url, ({ store }) => idAt(store, at))));
      expect(ids[0]).to.equal(ids[1]);
    }
    expect(await within(to, ({ store }) => store.command('command-one'))).to.include({ requestHash: 'hash-one' });
  });

  it('goes on where a run was stopped, also when what it had copied was not noted', async () => {
    using folder = temporaryFolder('svc-migrate-');
    const [from, to] = [`sqlite:${folder.file('a.db')}`, `sqlite:${folder.file('b.db')}`];
    await makeHistory(from, 30);
    await failureOf(
      migrate({
        from,
        to,
        onProgress: (done) => {
          if (done > 15) throw new Error('stopped');
        },
      }),
    );
    const before = await readAll(to);
    expect(before.length).to.be.above(5);
    await migrate({ from, to });
    const after = await readAll(to);
    expect(after.slice(0, before.length)).to.deep.equal(before);
    expect(history(after)).to.deep.equal(history(await readAll(from)));
  });

  it('a second run copies what came since, and nothing twice', async () => {
    using folder = temporaryFolder('svc-migrate-');
    const [from, to] = [`sqlite:${folder.file('a.db')}`, `sqlite:${folder.file('b.db')}`];
    await makeHistory(from, 10);
    await migrate({ from, to });
    expect(await migrate({ from, to })).to.include({ copied: 0 });
    await within(from, ({ store }) => happen({ store }, 5));
    expect((await migrate({ from, to })).copied).to.equal(5);
    expect(history(await readAll(to))).to.deep.equal(history(await readAll(from)));
  });

  it('anchoring goes on in the copy behind what is anchored, and the whole verifies', async () => {
    using folder = temporaryFolder('svc-migrate-');
    const [from, to] = [`sqlite:${folder.file('a.db')}`, `sqlite:${folder.file('b.db')}`];
    await makeHistory(from, 23);
    await migrate({ from, to });
    await within(to, async ({ store, cells }, clock) => {
      const before = (await store.readStream(anchorStream, { limit: 1_000 })).length;
      await happen({ store }, 12);
      await withAnchorer({ store, cells, clock }, {}, (look) => look());
      const { anchors, unanchored } = await verifyStore(store);
      expect(anchors).to.be.above(before);
      expect(unanchored).to.be.below(8);
    });
  });

  it('refuses a target that holds something else, and a source that was changed', async () => {
    using folder = temporaryFolder('svc-migrate-');
    const [from, to, other] = ['a.db', 'b.db', 'c.db'].map((name) => `sqlite:${folder.file(name)}`) as [
      string,
      string,
      string,
    ];
    await makeHistory(from, 5);
    await makeHistory(other, 5);
    expect((await failureOf(migrate({ from, to: other }))).message).to.contain('holds events already');
    await migrate({ from, to });
    expect((await failureOf(migrate({ from: other, to }))).message).to.contain('is a copy of the log');
    const { DatabaseSync } = await import('node:sqlite');
    const database = new DatabaseSync(folder.file('c.db'));
    database.exec(`UPDATE events SET data = CAST('{"n":9}' AS BLOB) WHERE position = 3`);
    database.close();
    const fresh = `sqlite:${folder.file('d.db')}`;
    expect((await failureOf(migrate({ from: other, to: fresh }))).message).to.match(
      /does not verify.*position 3.*changed/,
    );
  });

  it('as a command: a summary for people, JSON for programs', async () => {
    using folder = temporaryFolder('svc-migrate-');
    await makeHistory(`sqlite:${folder.file('a.db')}`, 6);
    const args = ['store', 'migrate', `sqlite:${folder.file('a.db')}`, `sqlite:${folder.file('b.db')}`];
    const { code, out } = await svc(args);
    expect(code).to.equal(0);
    expect(out).to.match(
      /^\d+ events of \d+ streams stand in the log [0-9a-f-]+, verified\ncopied now: \d+; left behind: 2 /,
    );
    expect(JSON.parse((await svc([...args, '--json'])).out)).to.include({ copied: 0 });
    const absent = await svc(['store', 'migrate', `sqlite:${folder.file('absent.db')}`, 'memory:']);
    expect(absent).to.include({ code: 1, err: `svc: there is no log at ${folder.file('absent.db')}\n` });
    const unknown = await svc(['store', 'migrate', `sqlite:${folder.file('a.db')}`, 'mongo://user:hunter2@host']);
    expect(unknown.err).to.contain('mongo').and.not.contain('hunter2');
  });
});
