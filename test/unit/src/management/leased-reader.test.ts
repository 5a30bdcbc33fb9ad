/** Reading events under a lease: from the first start on, each once as long as nothing fails, again when it did, by one node at a time. */
import { expect } from 'chai';
import type { Lease } from '../../../../domain/lease.ts';
import type { SharedCells } from '../../../../domain/shared-cells.ts';
import { createLeasedReader, type LeasedReaderOptions } from '../../../../src/management/webhook-events/reader.ts';
import { memoryCells } from '../../../../src/stores/events/memory-cells.ts';
import { MemoryEventStore } from '../../../../src/stores/events/memory-event-store.ts';
import { apiCreated, appendEvents, certificateImported } from '../../../support/given.ts';

const { signal } = new AbortController();

describe('a reader with a lease', () => {
  let store: MemoryEventStore;
  let cells: SharedCells;
  let taken: string[];
  let writes: number;
  beforeEach(() => {
    store = new MemoryEventStore();
    const memory = memoryCells();
    taken = [];
    writes = 0;
    const write: SharedCells['write'] = (...args) => {
      writes++;
      return memory.write(...args);
    };
    cells = { read: memory.read, list: memory.list, remove: memory.remove, write };
  });

  const held: Lease = { hold: async () => 1n, release: async () => undefined };
  const readerOf = (options: Partial<LeasedReaderOptions> = {}) =>
    createLeasedReader({
      ...{ store, cells, key: 'place', lease: held, filter: { categories: ['cert'] }, isReady: async () => true },
      take: async ({ stream }) => void taken.push(stream.slice(-4)),
      ...options,
    });
  const append = (...names: readonly string[]) =>
    appendEvents(store, ...names.map((name) => certificateImported(name)), apiCreated({ id: names.join('') }));

  it('takes what comes after its first start, each event once', async () => {
    await append('a');
    const reader = readerOf();
    expect(await reader.read(signal)).to.equal(true);
    expect(taken).to.deep.equal([]);
    await append('b', 'c');
    await reader.read(signal);
    await reader.read(signal);
    expect(taken).to.have.length(2);
    await append('d');
    await readerOf().read(signal);
    expect(taken).to.have.length(3);
  });

  it('takes what comes after it has begun, although it cannot read yet, and begins once', async () => {
    await append('a');
    await readerOf().begin();
    await append('b');
    const reader = readerOf();
    await reader.begin();
    await reader.read(signal);
    expect(taken).to.have.length(1);
  });

  it('writes its place when it has taken something, and not for what is none of its business', async () => {
    const reader = readerOf();
    await reader.read(signal);
    expect(writes).to.equal(1);
    await append('a', 'b', 'c');
    await reader.read(signal);
    expect(writes).to.equal(2);
    for (let index = 0; index < 5; index++) {
      await appendEvents(store, apiCreated({ id: `other${index}` }));
      await reader.read(signal);
    }
    expect(writes).to.equal(2);
  });

  it('takes an event again that was not taken, and the ones before it of the same page', async () => {
    const reader = readerOf({
      take: async ({ stream }) => {
        taken.push(stream.slice(-4));
        if (taken.length === 2) throw new Error('no room');
      },
    });
    await reader.read(signal);
    await append('a', 'b');
    expect(await reader.read(signal).catch((error: Error) => error.message)).to.equal('no room');
    await reader.read(signal);
    expect(taken).to.have.length(4);
    expect(taken.slice(2)).to.deep.equal(taken.slice(0, 2));
  });

  it('waits for read models that are behind', async () => {
    let isReady = false;
    const reader = readerOf({ isReady: async () => isReady });
    await reader.read(signal);
    await append('a');
    expect(await reader.read(signal)).to.equal(false);
    expect(taken).to.deep.equal([]);
    isReady = true;
    await reader.read(signal);
    expect(taken).to.have.length(1);
  });

  it('takes nothing while another one holds the lease', async () => {
    await readerOf().read(signal);
    await append('a');
    const reader = readerOf({ lease: { hold: async () => undefined, release: async () => undefined } });
    expect(await reader.read(signal)).to.equal(false);
    expect(taken).to.deep.equal([]);
  });

  it('goes on from where another one has come when both believed to hold the lease', async () => {
    const [one, two] = [readerOf(), readerOf()];
    await one.read(signal);
    await two.read(signal);
    await append('a');
    await one.read(signal);
    expect(await two.read(signal).catch((error: Error) => error.name)).to.equal('CellConflict');
    await append('b');
    await two.read(signal);
    // The first one was told twice; nothing is left out.
    expect(taken).to.have.length(3);
  });

  it('ends within a page when it has to, and forgets nothing of it', async () => {
    const ending = new AbortController();
    const reader = readerOf({
      take: async ({ stream }) => {
        taken.push(stream.slice(-4));
        ending.abort();
      },
    });
    await reader.read(signal);
    await append('a', 'b');
    expect(await reader.read(ending.signal)).to.equal(false);
    await readerOf().read(signal);
    expect(taken).to.have.length(3);
  });
});
