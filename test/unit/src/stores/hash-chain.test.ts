/** The hash chain: what is appended to an audited stream is linked, and every change of a link is found. */
import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { type EventStore, forwardedStore, type StoredEvent } from '../../../../domain/event-store.ts';
import { MemoryEventStore } from '../../../../src/stores/events/memory-event-store.ts';
import { chainedEventStore } from '../../../../src/stores/integrity/chained-event-store.ts';
import { chainHash, noHash, verifyStream } from '../../../../src/stores/integrity/hash-chain.ts';
import { append, bytes, event, write } from '../../../support/event-store-events.ts';
import { failureOf } from '../../../support/event-store-failure.ts';

const fixed = {
  ...{ stream: 'api-a', revision: 0n, id: '0190a0a0-0000-7000-8000-000000000001', type: 'Happened', schema: 1 },
  data: bytes('{"n":1}'),
};

async function chainOfThree(): Promise<readonly StoredEvent[]> {
  const store = chainedEventStore(new MemoryEventStore());
  await append(store, [write('api-a', 'noStream', event(), event({ data: bytes('{"n":2}') }))]);
  await append(store, [write('api-a', 1n, event())]);
  return store.readStream('api-a', { limit: 10 });
}

describe('hash chain', () => {
  it('the hash of a known event is this one, whatever the order of its metadata', () => {
    const hash = '5c807cec0abdbf0002cedef668b31738fecc2698056857f9d015266da726fd38';
    const one = chainHash(noHash, { ...fixed, meta: { v: '1', actorId: 'tester', prevHash: noHash } });
    const other = chainHash(noHash, { ...fixed, meta: { prevHash: noHash, actorId: 'tester', v: '1', hash: 'x' } });
    expect([one, other]).to.deep.equal([hash, hash]);
  });

  it('links the events of one append and of the next', async () => {
    const stored = await chainOfThree();
    expect(stored[0]?.meta['prevHash']).to.equal(noHash);
    expect(stored.slice(1).map(({ meta }) => meta['prevHash'])).to.deep.equal(
      stored.slice(0, 2).map(({ meta }) => meta['hash']),
    );
    expect(verifyStream(stored)).to.equal(undefined);
  });

  const changes: readonly [string, (event: StoredEvent) => StoredEvent, string][] = [
    ['payload', (event) => ({ ...event, data: bytes('{"n":3}') }), 'changed'],
    ['type', (event) => ({ ...event, type: 'Other' }), 'changed'],
    ['schema', (event) => ({ ...event, schema: 2 }), 'changed'],
    ['id', (event) => ({ ...event, id: event.id.replace(/./, (digit) => (digit === 'f' ? 'e' : 'f')) }), 'changed'],
    ['stream', (event) => ({ ...event, stream: 'api-b' }), 'changed'],
    ['metadata', (event) => ({ ...event, meta: { ...event.meta, actorId: 'somebody' } }), 'changed'],
    ['hash', (event) => ({ ...event, meta: { ...event.meta, hash: noHash } }), 'changed'],
    ['predecessor', (event) => ({ ...event, meta: { ...event.meta, prevHash: noHash } }), 'other_predecessor'],
    ['missing hash', (event) => ({ ...event, meta: { v: '1' } }), 'no_hash'],
    ['revision', (event) => ({ ...event, revision: 2n }), 'revision_missing'],
  ];
  for (const [what, change, reason] of changes) {
    it(`finds another ${what} in the middle`, async () => {
      const stored = await chainOfThree();
      const tampered = stored.map((one, index) => (index === 1 ? change(one) : one));
      expect(verifyStream(tampered)).to.deep.equal({ event: tampered[1], reason });
    });
  }

  it('finds a dropped, a swapped and an inserted event', async () => {
    const [a, b, c] = (await chainOfThree()) as [StoredEvent, StoredEvent, StoredEvent];
    expect(verifyStream([a, c])?.event).to.equal(c);
    expect(verifyStream([b, c])?.event).to.equal(b);
    expect(verifyStream([a, c, b])?.event).to.equal(c);
    expect(verifyStream([a, b, { ...b, revision: 2n }])?.reason).to.equal('other_predecessor');
  });

  it('an append to an audited stream without an explicit expectation is refused, and so is retention', async () => {
    const store = chainedEventStore(new MemoryEventStore());
    for (const expected of ['any', 'streamExists'] as const) {
      expect(await failureOf(append(store, [write('api-a', expected, event())]))).to.include({ code: 'Unsupported' });
    }
    expect(await failureOf(store.retain('api-a', { maxCount: 1 }))).to.include({ code: 'Unsupported' });
    expect(await store.readStream('api-a', { limit: 1 })).to.deep.equal([]);
  });

  it('operational streams are not chained', async () => {
    const store = chainedEventStore(new MemoryEventStore());
    await append(store, [write('gwnode-a', 'any', event())]);
    const [stored] = await store.readStream('gwnode-a', { limit: 1 });
    expect(stored?.meta).not.to.have.any.keys('hash', 'prevHash');
  });

  it('a repeat of an append does not change what later events follow', async () => {
    const store = chainedEventStore(new MemoryEventStore());
    const one = event();
    await append(store, [write('api-a', 'noStream', one)]);
    const repeat = { ...one, meta: { ...one.meta, at: 'later' } };
    expect((await append(store, [write('api-a', 'noStream', repeat)])).duplicate).to.equal(true);
    await append(store, [write('api-a', 0n, event())]);
    expect(verifyStream(await store.readStream('api-a', { limit: 10 }))).to.equal(undefined);
  });

  it('two stores on one log follow each other', async () => {
    const log = new MemoryEventStore();
    const stores = [chainedEventStore(log), chainedEventStore(log)];
    for (let index = 0; index < 6; index++) {
      const store = stores[index % 2] ?? log;
      await append(store, [write('api-a', index === 0 ? 'noStream' : BigInt(index - 1), event())]);
    }
    expect(verifyStream(await log.readStream('api-a', { limit: 10 }))).to.equal(undefined);
  });

  it('asks for the ends of thousands of streams a few at a time', async () => {
    const log = new MemoryEventStore();
    const all = (expected: 'noStream' | bigint) =>
      Array.from({ length: 1_000 }, (_, index) => write(`api-${index}`, expected, event()));
    await append(chainedEventStore(log), all('noStream'));
    let asked = 0;
    let most = 0;
    const readStream: EventStore['readStream'] = async (...args) => {
      most = Math.max(most, ++asked);
      await setImmediate();
      asked -= 1;
      return log.readStream(...args);
    };
    await append(chainedEventStore({ ...forwardedStore(log), readStream }), all(0n));
    expect(most).to.be.within(2, 100);
    expect(verifyStream(await log.readStream('api-999', { limit: 10 }))).to.equal(undefined);
  });

  it('an append that is ahead of its stream stays a conflict when the stream arrives in between', async () => {
    const log = new MemoryEventStore();
    const other = chainedEventStore(log);
    await append(other, [write('api-a', 'noStream', event())]);
    let isLate = true;
    const slow: EventStore = Object.assign(Object.create(log) as EventStore, {
      ...{ identity: log.identity, can: log.can, append: log.append.bind(log) },
      async readStream(...args: Parameters<EventStore['readStream']>) {
        const read = await log.readStream(...args);
        if (isLate) {
          isLate = false;
          await append(other, [write('api-a', 0n, event())]);
        }
        return read;
      },
    });
    const early = append(chainedEventStore(slow), [write('api-a', 1n, event())]);
    expect(await failureOf(early)).to.include({ code: 'WrongExpectedVersion' });
    expect(verifyStream(await log.readStream('api-a', { limit: 10 }))).to.equal(undefined);
  });

  it('a conflict stays a conflict', async () => {
    const store = chainedEventStore(new MemoryEventStore());
    await append(store, [write('api-a', 'noStream', event())]);
    expect(await failureOf(append(store, [write('api-a', 5n, event())]))).to.include({ actual: 0n });
  });
});
