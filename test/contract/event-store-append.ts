/** Contract of `append`: expectations, atomicity, round trips, limits, the create race. */
import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { EventStoreError, type Expected, WrongExpectedVersion } from '../../domain/event-store.ts';
import { usingLog } from '../support/event-store-current.ts';
import {
  append,
  bytes,
  event,
  events,
  fill,
  ids,
  raceToCreate,
  readWholeLog,
  write,
} from '../support/event-store-events.ts';
import { failureOf } from '../support/event-store-failure.ts';
import type { OpenLog, Traits } from './event-store.ts';

type State = 'is missing' | 'has three events' | 'emptied by retention';

/** P3. `ok` = the revision that the next event gets; `conflict` = what the error says was found. */
type Row = { readonly expected: Expected; readonly state: State } & (
  | { readonly ok: bigint }
  | { readonly conflict: bigint | undefined }
);

const full = 'has three events';
const emptied = 'emptied by retention';

const expectations: readonly Row[] = [
  { expected: 'any', state: 'is missing', ok: 0n },
  { expected: 'any', state: full, ok: 3n },
  { expected: 'any', state: emptied, ok: 3n },
  { expected: 'noStream', state: 'is missing', ok: 0n },
  { expected: 'noStream', state: full, conflict: 2n },
  { expected: 'noStream', state: emptied, conflict: 2n },
  { expected: 'streamExists', state: 'is missing', conflict: undefined },
  { expected: 'streamExists', state: full, ok: 3n },
  { expected: 'streamExists', state: emptied, ok: 3n },
  { expected: 0n, state: 'is missing', conflict: undefined },
  { expected: 2n, state: full, ok: 3n },
  { expected: 1n, state: full, conflict: 2n },
  { expected: 3n, state: full, conflict: 2n },
  { expected: 2n, state: emptied, ok: 3n },
  { expected: 1n, state: emptied, conflict: 2n },
  { expected: 3n, state: emptied, conflict: 2n },
];

export function appendContract(
  open: OpenLog,
  { multiStream = true, checks = true, maxAppendBytes, isMovable = true }: Traits,
): void {
  describe('P3: what a write expects of its stream', () => {
    const log = usingLog(open, 'group');
    /** Streams of the row's own: the one that it is about, and others beside it. */
    const arrange = async (state: State): Promise<{ thing: string; other: (index: number) => string }> => {
      const { store } = log();
      const row = randomUUID();
      const thing = `thing-${row}`;
      if (state !== 'is missing') await append(store, [write(thing, 'noStream', ...events(3))]);
      if (state === emptied) await store.retain(thing, { before: 3n });
      return { thing, other: (index) => `other${index}-${row}` };
    };

    for (const row of expectations) {
      const outcome = 'ok' in row ? `writes revision ${row.ok}` : `conflicts with ${row.conflict ?? 'no stream'}`;
      for (const others of multiStream ? [0, 2] : [0]) {
        it(`${row.expected} on a stream that ${row.state} ${outcome}, with ${others} other writes`, async () => {
          const { store } = log();
          const { thing, other } = await arrange(row.state);
          const before = await store.head();
          const writes = [
            ...Array.from({ length: others }, (_, index) => write(other(index), 'noStream', event())),
            write(thing, row.expected, event()),
          ];
          if ('ok' in row) {
            const { heads, duplicate, position } = await append(store, writes);
            expect(heads.get(thing)).to.equal(row.ok);
            expect(duplicate).to.equal(false);
            expect(position).to.equal(await store.head());
            expect(await store.readStream(thing, { limit: 10, from: row.ok })).to.have.lengthOf(1);
            return;
          }
          const failure = await failureOf(append(store, writes));
          expect(failure).to.be.instanceOf(WrongExpectedVersion).and.to.include({
            code: 'WrongExpectedVersion',
            stream: thing,
            expected: row.expected,
            actual: row.conflict,
          });
          expect(await store.head(), 'nothing was written').to.equal(before);
          expect(await store.readStream(other(0), { limit: 1 })).to.deep.equal([]);
        });
      }
      if (!checks) continue;
      it(`${row.expected} as a check only on a stream that ${row.state} ${'ok' in row ? 'holds' : 'conflicts'}`, async () => {
        const { store } = log();
        const { thing, other } = await arrange(row.state);
        const attempt = append(store, [write(thing, row.expected), write(other(0), 'noStream', event())]);
        if ('ok' in row) expect([...(await attempt).heads]).to.deep.equal([[other(0), 0n]]);
        else expect(await failureOf(attempt)).to.include({ code: 'WrongExpectedVersion', actual: row.conflict });
      });
    }
  });

  describe('P1: an append is all or nothing', () => {
    const log = usingLog(open);
    if (!checks) {
      it('refuses a write without events, which would be a check', async () => {
        const { store } = log();
        const attempt = append(store, [write('a-1', 'noStream'), write('b-1', 'noStream', event())]);
        expect(store.can.checks).to.equal(false);
        expect(await failureOf(attempt)).to.include({ code: 'Unsupported' });
        expect(await store.head()).to.equal('');
      });
    }
    if (!multiStream) {
      it('refuses several writes in one append', async () => {
        const { store } = log();
        const attempt = append(store, [write('a-1', 'noStream', event()), write('b-1', 'noStream', event())]);
        expect(store.can.multiStream).to.equal(false);
        expect(await failureOf(attempt)).to.include({ code: 'Unsupported' });
        expect(await store.head()).to.equal('');
      });
      return;
    }

    it('writes nothing anywhere when the second of three writes conflicts', async () => {
      const { store } = log();
      await append(store, [write('b-1', 'noStream', event())]);
      const failure = await failureOf(
        append(store, [
          write('a-1', 'noStream', event()),
          write('b-1', 'noStream', event()),
          write('c-1', 'noStream', event()),
        ]),
      );
      expect(failure).to.include({ code: 'WrongExpectedVersion', stream: 'b-1' });
      expect((await readWholeLog(store)).map(({ stream }) => stream)).to.deep.equal(['b-1']);
    });

    it('lets one of two win that want the same streams, and both that share none', async () => {
      const { store } = log();
      const both = (): Promise<unknown> =>
        append(store, [write('a-1', 'noStream', event()), write('b-1', 'noStream', event())]);
      const outcomes = await Promise.allSettled([
        both(),
        both(),
        append(store, [write('c-1', 'noStream', event())]),
        append(store, [write('d-1', 'noStream', event())]),
      ]);
      expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
      expect((await readWholeLog(store)).map(({ stream }) => stream)).to.have.members(['a-1', 'b-1', 'c-1', 'd-1']);
    });

    it('refuses one stream twice in an append, because its order would be a guess', async () => {
      const { store } = log();
      const attempt = append(store, [write('a-1', 'any', event()), write('a-1', 'any', event())]);
      expect(await failureOf(attempt)).to.include({ code: 'Unsupported' });
      expect(await store.head()).to.equal('');
    });
  });

  describe('create race', () => {
    const log = usingLog(open);
    it('lets exactly one of 50 concurrent creates of one id win', async () => {
      const { store } = log();
      expect(await raceToCreate([store], 'api-one', 50)).to.deep.equal({ won: 1, conflicts: 49 });
      expect(await store.readStream('api-one', { limit: 1_000 })).to.have.lengthOf(1);
    });
  });

  describe('what was appended', () => {
    const log = usingLog(open);
    it('comes back as it was given, with revisions and positions in the order of the writes', async () => {
      const { store, clock } = log();
      clock.nowMs = 1_700_000_000_123;
      const first = event({
        type: 'Made',
        schema: 3,
        data: bytes('{"name":"Grüße 🚀"}'),
        meta: { v: '1', comment: 'ä"\\' },
      });
      const [second, third] = [event(), event()];
      const writes = [write('a-1', 'noStream', first, second), write('b-1', 'noStream', third)];
      const answers = multiStream
        ? [await append(store, writes)]
        : [await append(store, writes.slice(0, 1)), await append(store, writes.slice(1))];
      expect(answers.flatMap(({ heads }) => [...heads])).to.deep.equal([
        ['a-1', 1n],
        ['b-1', 0n],
      ]);
      const stored = await readWholeLog(store);
      expect(ids(stored)).to.deep.equal(ids([first, second, third]));
      expect(stored[0]).to.deep.equal({
        ...first,
        data: new Uint8Array(first.data),
        stream: 'a-1',
        revision: 0n,
        position: stored[0]?.position,
        at: isMovable ? new Date(1_700_000_000_123) : stored[0]?.at,
      });
      expect(stored.map(({ revision }) => revision)).to.deep.equal([0n, 1n, 0n]);
      expect(stored.map(({ position }) => position)).to.deep.equal([...stored.map(({ position }) => position)].sort());
    });

    it('is not changed by who appended or read it', async () => {
      const { store } = log();
      const data = bytes('{"n":1}');
      await append(store, [write('a-1', 'noStream', event({ data }))]);
      data.fill(0);
      (await store.readStream('a-1', { limit: 1 }))[0]!.data.fill(0);
      expect(Buffer.from((await store.readStream('a-1', { limit: 1 }))[0]!.data).toString()).to.equal('{"n":1}');
    });

    it('is refused with nothing written when one event is too large', async () => {
      const { store } = log();
      const large = event({ data: new Uint8Array(store.can.maxEventBytes + 1) });
      const failure = await failureOf(append(store, [write('a-1', 'any', event(), large)]));
      expect(failure).to.be.instanceOf(EventStoreError).and.to.include({ code: 'EventTooLarge' });
      expect(failure.message).to.contain(String(store.can.maxEventBytes));
      expect(await store.head()).to.equal('');
    });

    if (!isMovable) return;
    it('has a time that never goes back, whatever the clock does', async () => {
      const { store, clock } = log();
      for (const nowMs of [5_000_000, 1_000_000, 5_000_001, 4_000_000]) {
        clock.nowMs = nowMs;
        await fill(store, 'a-1', 1);
      }
      const times = (await readWholeLog(store)).map(({ at }) => at.getTime());
      expect(times).to.deep.equal([5_000_000, 5_000_000, 5_000_001, 5_000_001]);
    });
  });

  describe('a payload comes back unchanged', () => {
    const log = usingLog(open, 'group');
    for (const [name, size] of [
      ['nothing', 0],
      ['8 KiB', 8 * 1024],
      ['8 KiB and one byte', 8 * 1024 + 1],
      ['1 MiB', 1024 * 1024],
    ] as const) {
      for (const [kind, payload] of [
        ['text that compresses', Buffer.alloc(size, 'a')],
        ['bytes that do not', randomBytes(size)],
      ] as const) {
        it(`of ${name}, ${kind}`, async () => {
          const { store } = log();
          const stream = `a-${randomUUID()}`;
          const attempt = append(store, [write(stream, 'noStream', event({ data: payload }))]);
          if (maxAppendBytes !== undefined && size > maxAppendBytes && kind === 'bytes that do not') {
            expect(await failureOf(attempt)).to.include({ code: 'EventTooLarge' });
            return;
          }
          await attempt;
          const [stored] = await store.readStream(stream, { limit: 1 });
          expect(Buffer.compare(stored!.data, payload)).to.equal(0);
        });
      }
    }
  });

  describe('a closed store', () => {
    const log = usingLog(open);
    it('answers what was asked before and refuses every call after', async () => {
      const { store } = log();
      const asked = Promise.all(events(20).map((one, index) => append(store, [write(`a-${index}`, 'noStream', one)])));
      const closing = store.close();
      expect(await asked).to.have.lengthOf(20);
      await closing;
      const late: readonly (() => Promise<unknown>)[] = [
        () => append(store, [write('b-1', 'any', event())]),
        () => store.readStream('a-1', { limit: 1 }),
        () => store.readAll({ after: '', limit: 1 }),
        () => store.positionAt(new Date()),
        () => store.command('c'),
        () => store.retain('a-1', { maxCount: 1 }),
        () => store.head(),
        () => store.health(),
      ];
      for (const call of late) expect(await failureOf(call())).to.include({ code: 'StoreUnavailable' });
      await store.close();
    });
  });
}
