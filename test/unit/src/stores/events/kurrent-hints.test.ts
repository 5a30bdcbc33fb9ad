/** What the KurrentDB adapter does when the server's push dies without a word, and when its search takes longer than a page may. */
import { expect } from 'chai';
import { EventStoreError } from '../../../../../domain/event-store.ts';
import { KurrentBell } from '../../../../../src/stores/events/kurrent-bell.ts';
import type { RawEvent, RawPage, ServerFilter } from '../../../../../src/stores/events/kurrent-client.ts';
import { KurrentReads } from '../../../../../src/stores/events/kurrent-reads.ts';
import { eventually } from '../../../../support/eventually.ts';

describe('the bell of KurrentDB subscriptions', () => {
  /** A server whose pushes say what the test lets them say. */
  const given = () => {
    const server = {
      head: '',
      pushes: [] as { from: string; isStopped: boolean; say: (position: string) => void; end: () => void }[],
    };
    const client = {
      follow: (_: ServerFilter, from: string, onEvent: (position: string) => void, onEnd: () => void) => {
        const push = { from, isStopped: false, say: onEvent, end: onEnd };
        server.pushes.push(push);
        return () => {
          push.isStopped = true;
        };
      },
    };
    return { server, bell: new KurrentBell({ client, head: async () => server.head, lookEveryMs: 5 }) };
  };

  it('rings when the server says that there is more', async () => {
    const { server, bell } = given();
    bell.enter();
    const rung = bell.wait(new AbortController().signal);
    await eventually(() => server.pushes.length === 1);
    server.pushes[0]?.say('1');
    await rung;
    bell.leave();
  });

  it('rings although the push is dead, and makes it anew from where the log stands', async () => {
    const { server, bell } = given();
    bell.enter();
    await eventually(() => server.pushes.length === 1);
    const rung = bell.wait(new AbortController().signal);
    server.head = '1';
    await rung;
    await eventually(() => server.pushes.length === 2);
    expect(server.pushes.map(({ from, isStopped }) => ({ from, isStopped }))).to.deep.equal([
      { from: '', isStopped: true },
      { from: '1', isStopped: false },
    ]);
    bell.leave();
  });

  it('keeps a push that is quiet because nothing happens', async () => {
    const { server, bell } = given();
    let looks = 0;
    const counting = new KurrentBell({
      client: { follow: () => () => {} },
      head: async () => {
        looks += 1;
        return '';
      },
      lookEveryMs: 1,
    });
    bell.enter();
    counting.enter();
    await eventually(() => looks > 20);
    expect(server.pushes).to.have.lengthOf(1);
    bell.leave();
    counting.leave();
  });

  it('makes a push anew that ended, and listens to nobody once the last listener has left', async () => {
    const { server, bell } = given();
    bell.enter();
    bell.enter();
    await eventually(() => server.pushes.length === 1);
    server.pushes[0]?.end();
    await eventually(() => server.pushes.length === 2);
    bell.leave();
    expect(server.pushes[1]).to.include({ isStopped: false });
    bell.leave();
    await eventually(() => server.pushes.every(({ isStopped }) => isStopped));
  });
});

describe('a closed bell', () => {
  it('listens to nobody, wakes who waits, and stays closed', async () => {
    let pushes = 0;
    const follow = () => {
      pushes += 1;
      return () => {
        pushes -= 1;
      };
    };
    const bell = new KurrentBell({ client: { follow }, head: async () => '', lookEveryMs: 5 });
    bell.enter();
    await eventually(() => pushes === 1);
    const rung = bell.wait(new AbortController().signal);
    bell.close();
    await rung;
    await eventually(() => pushes === 0);
    bell.leave();
    bell.enter();
    expect(pushes).to.equal(0);
  });
});

describe('a filtered page of KurrentDB', () => {
  const raw = (number: number): RawEvent => ({
    id: String(number),
    type: number === 4 ? 'Wanted' : 'Other',
    stream: 'a-1',
    revision: BigInt(number),
    position: `${'0'.repeat(19)}${number}-${'0'.repeat(19)}${number}`,
    createdMs: 0,
    data: new Uint8Array(),
    meta: {},
  });
  const log = [1, 2, 3, 4].map(raw);

  it('gets on with everything when the server looks for what matches for too long', async () => {
    const readAll = async (
      from: string,
      { limit, back, filter }: { limit: number; back?: boolean; filter?: ServerFilter },
    ): Promise<RawPage> => {
      if (filter?.on === 'eventType') throw new EventStoreError('StoreUnavailable', 'no answer');
      const wanted = back ? log.toReversed() : log.filter(({ position }) => position > from);
      return { events: wanted.slice(0, limit), hasMore: wanted.length > limit };
    };
    const reads = new KurrentReads({ readAll, readStream: () => Promise.reject(new Error('not asked')) });
    const filter = { types: ['Wanted'] };
    const first = await reads.readAll({ after: '', limit: 3, filter });
    expect(first).to.deep.equal({ events: [], next: raw(3).position, atHead: false });
    const second = await reads.readAll({ after: first.next, limit: 3, filter });
    expect(second.events.map(({ id }) => id)).to.deep.equal(['4']);
    expect(second).to.include({ next: raw(4).position, atHead: true });
  });
});
