/** Contract of repeats: event ids and command ids that come again. */
import { expect } from 'chai';
import { usingLog } from '../support/event-store-current.ts';
import { append, bytes, event, events, fill, readWholeLog, write } from '../support/event-store-events.ts';
import { failureOf } from '../support/event-store-failure.ts';
import type { OpenLog, Traits } from './event-store.ts';

export function idempotenceContract(
  open: OpenLog,
  { multiStream = true, commandRecord = true, idsOfWholeLog = true }: Traits,
): void {
  describe('P5: the same append again', () => {
    const log = usingLog(open);
    for (const expected of ['noStream', 'any'] as const) {
      it(`answers as the first time with expectation ${expected}, also after later appends`, async () => {
        const { store } = log();
        const others = multiStream ? [write('b-1', expected, event())] : [];
        const writes = [write('a-1', expected, ...events(2)), ...others];
        const first = await append(store, writes, { commandId: 'one' });
        await fill(store, 'a-1', 3);
        const again = await append(store, writes, { commandId: 'one' });
        expect(again).to.deep.equal({ ...first, duplicate: true });
        expect(await readWholeLog(store)).to.have.lengthOf(multiStream ? 6 : 5);
      });
    }

    it('writes once when both run at the same time', async () => {
      const { store } = log();
      const writes = [write('a-1', 'noStream', event())];
      const both = await Promise.all([
        append(store, writes, { commandId: 'one' }),
        append(store, writes, { commandId: 'one' }),
      ]);
      expect(both.map(({ duplicate }) => duplicate)).to.have.members([false, true]);
      expect(both[0].position).to.equal(both[1].position);
      expect(await readWholeLog(store)).to.have.lengthOf(1);
    });

    if (multiStream) {
      it('answers as the first time when it is of more streams than an engine would remember', async () => {
        const { store } = log();
        const writes = Array.from({ length: 600 }, (_, index) => write(`a-${index}`, 'noStream', event()));
        const first = await append(store, writes, { commandId: 'one' });
        expect(await append(store, writes, { commandId: 'one' })).to.deep.equal({ ...first, duplicate: true });
        const [, ...others] = writes;
        const failure = await failureOf(append(store, [write('a-0', 'noStream', event()), ...others]));
        expect(failure).to.include({ code: 'IdReuse' });
      }).timeout(10_000);
    }

    const known = event();
    const other = event();
    for (const [name, writes] of [
      ['a known id with an unknown one', [write('a-1', 'any', known, event())]],
      ['an unknown id before a known one', [write('a-1', 'any', event(), known)]],
      ...(idsOfWholeLog ? [['a known id on another stream', [write('c-1', 'any', known)]] as const] : []),
      ['a known id with another type', [write('a-1', 'any', { ...known, type: 'Other' })]],
      ...(multiStream
        ? [['ids of two appends as one', [write('a-1', 'any', known), write('b-1', 'any', other)]] as const]
        : []),
      ['one new id twice', [write('c-1', 'any', ...Array<typeof known>(2).fill(event()))]],
    ] as const) {
      it(`refuses ${name} with IdReuse and writes nothing`, async () => {
        const { store } = log();
        await append(store, [write('a-1', 'any', known)]);
        await fill(store, 'x-1', 1);
        await append(store, [write('b-1', 'any', other)]);
        const before = await store.head();
        expect(await failureOf(append(store, writes))).to.include({ code: 'IdReuse' });
        expect(await store.head()).to.equal(before);
      });
    }

    if (!idsOfWholeLog) {
      it('takes a known id on another stream for a new one, because nobody looks there', async () => {
        const { store } = log();
        await append(store, [write('a-1', 'any', known)]);
        expect(await append(store, [write('c-1', 'any', known)])).to.include({ duplicate: false });
      });
    }

    if (!commandRecord) return;
    it('knows a command id: other events under it are refused', async () => {
      const { store } = log();
      await append(store, [write('a-1', 'any', event())], { commandId: 'one' });
      const failure = await failureOf(append(store, [write('a-1', 'any', event())], { commandId: 'one' }));
      expect(failure).to.include({ code: 'IdReuse' });
      expect(await readWholeLog(store)).to.have.lengthOf(1);
    });
  });

  describe('the record of a command', () => {
    const log = usingLog(open);
    if (!commandRecord) {
      it('is not kept by this engine, and it says so', async () => {
        const { store } = log();
        const response = bytes('{"Status":"OK"}');
        await append(store, [write('a-1', 'any', event())], { commandId: 'one', requestHash: 'abc', response });
        expect(store.can.commandRecord).to.equal(false);
        expect(await store.command('one')).to.equal(undefined);
      });
      return;
    }

    it('holds request hash, answer and position', async () => {
      const { store } = log();
      const response = bytes('{"Status":"OK"}');
      const { position } = await append(store, [write('a-1', 'any', ...events(2))], {
        commandId: 'one',
        requestHash: 'abc',
        response,
      });
      expect(await store.command('one')).to.deep.equal({ requestHash: 'abc', position, response });
      expect(await store.command('two')).to.equal(undefined);
    });

    it('is kept for a command without events, and its repeat gets the first position', async () => {
      const { store } = log();
      await fill(store, 'a-1', 1);
      const first = await append(store, [write('a-1', 0n)], { commandId: 'one' });
      await fill(store, 'a-1', 1);
      expect(await append(store, [write('a-1', 0n)], { commandId: 'one' })).to.deep.equal({
        ...first,
        duplicate: true,
      });
      expect(await store.command('one')).to.deep.equal({ requestHash: '', position: first.position });
    });

    it('is not written when the append is refused', async () => {
      const { store } = log();
      await failureOf(append(store, [write('a-1', 'streamExists', event())], { commandId: 'one' }));
      expect(await store.command('one')).to.equal(undefined);
    });

    it('gives the answer out for 30 days and stays itself', async () => {
      const { store, clock } = log();
      const response = bytes('{}');
      const { position } = await append(store, [], { commandId: 'one', requestHash: 'abc', response });
      clock.nowMs += 30 * 24 * 3_600_000 - 1;
      expect(await store.command('one')).to.deep.include({ response });
      clock.nowMs += 1;
      expect(await store.command('one')).to.deep.equal({ requestHash: 'abc', position });
    });
  });
}
