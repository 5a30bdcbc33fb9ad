/** The KurrentDB double and the official client: pages, filters, subscriptions and what stream metadata hides. */
import {
  BACKWARDS,
  END,
  eventTypeFilter,
  excludeSystemEvents,
  type Filter,
  FORWARDS,
  jsonEvent,
  type Position,
  type ReadAllOptions,
  type ReadStreamOptions,
  START,
  streamNameFilter,
} from '@kurrent/kurrentdb-client';
import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { follow } from '../support/kurrentdb-double/followed.ts';
import { bytes, type Connected, connected, event, named, outcomeOf } from '../support/kurrentdb-double/given.ts';

const startedAtMs = Date.UTC(2030, 0, 2, 3, 4, 5, 678);

describe('reads from the KurrentDB double', () => {
  const clock = { nowMs: startedAtMs };
  let given: Connected;
  let positions: readonly Position[];
  before(async () => {
    given = await connected({ clock });
    await given.client.appendToStream('orders-1', [event('A'), event('B')], { streamState: 'no_stream' });
    await given.client.appendToStream('keys-1', [event('Made'), event('Ended')], { streamState: 'no_stream' });
    await given.client.appendToStream('orders-1', [event('C'), event('D')], { streamState: 1n });
    positions = given.double.log.records.map(({ position }) => ({ commit: position, prepare: position }));
  });
  after(() => given[Symbol.asyncDispose]());

  const streamCases: readonly (readonly [string, ReadStreamOptions, readonly string[]])[] = [
    ['all of it', {}, ['A@0', 'B@1', 'C@2', 'D@3']],
    ['from a revision on, which is included', { fromRevision: 2n }, ['C@2', 'D@3']],
    // The client's add-on lets START mean forwards and END backwards, whatever direction it is given.
    ['from its end: backwards, unasked', { direction: FORWARDS, fromRevision: END, maxCount: 1 }, ['D@3']],
    ['from behind its end', { fromRevision: 9n }, []],
    ['as many as wanted', { fromRevision: START, maxCount: 2 }, ['A@0', 'B@1']],
    ['backwards from its end', { direction: BACKWARDS, fromRevision: END, maxCount: 2 }, ['D@3', 'C@2']],
    ['backwards from a revision, which is included', { direction: BACKWARDS, fromRevision: 1n }, ['B@1', 'A@0']],
    ['backwards from its start: forwards all the same', { direction: BACKWARDS, maxCount: 1 }, ['A@0']],
  ];
  for (const [name, options, events] of streamCases) {
    it(`gives a stream: ${name}`, async () => {
      expect(await named(given.client.readStream('orders-1', options))).to.deep.equal(events);
    });
  }

  const all = ['A@0', 'B@1', 'Made@0', 'Ended@1', 'C@2', 'D@3'];
  const allCases: readonly (readonly [string, () => ReadAllOptions, readonly string[]])[] = [
    ['all of it', () => ({}), all],
    ['from a position on, which is included', () => ({ fromPosition: positions[3] as Position }), all.slice(3)],
    ['from its end: backwards, unasked', () => ({ direction: FORWARDS, fromPosition: END, maxCount: 1 }), ['D@3']],
    ['as many as wanted', () => ({ maxCount: 2 }), all.slice(0, 2)],
    ['backwards from its end', () => ({ direction: BACKWARDS, fromPosition: END, maxCount: 2 }), ['D@3', 'C@2']],
    [
      'backwards from a position: what is before it',
      () => ({ direction: BACKWARDS, fromPosition: positions[2] as Position }),
      ['B@1', 'A@0'],
    ],
    [
      'matching a prefix of the stream',
      () => ({ filter: streamNameFilter({ prefixes: ['keys-', 'none-'] }), maxCount: 9 }),
      ['Made@0', 'Ended@1'],
    ],
    [
      'matching an expression over the stream',
      () => ({ filter: streamNameFilter({ regex: '^o.*-\\d$' }), maxCount: 3 }),
      ['A@0', 'B@1', 'C@2'],
    ],
    [
      'matching a prefix of the type',
      () => ({ filter: eventTypeFilter({ prefixes: ['E', 'D'] }), maxCount: 9 }),
      ['Ended@1', 'D@3'],
    ],
    [
      'matching an expression over the type, backwards',
      () => ({ filter: eventTypeFilter({ regex: '^[A-C]$' }), direction: BACKWARDS, fromPosition: END, maxCount: 2 }),
      ['C@2', 'B@1'],
    ],
    ['without the server’s own', () => ({ filter: excludeSystemEvents(), maxCount: 9 }), all],
  ];
  for (const [name, options, events] of allCases) {
    it(`gives the global order: ${name}`, async () => {
      expect(await named(given.client.readAll(options()))).to.deep.equal(events);
    });
  }

  it('has positions that grow by more than one, and stamps events by its clock', async () => {
    const commits = positions.map(({ commit }) => commit);
    expect(commits.slice(1).every((commit, index) => commit > (commits[index] ?? 0n) + 1n)).to.equal(true);
    expect(commits[0]).to.not.equal(0n);
    for await (const { event: read, commitPosition } of given.client.readAll({ maxCount: 1 })) {
      expect(read?.position).to.deep.equal(positions[0]);
      expect(commitPosition).to.equal(commits[0]);
      // The client's add-on drops the milliseconds, subscriptions keep them.
      expect(read?.created.getTime()).to.equal(Date.UTC(2030, 0, 2, 3, 4, 5));
    }
  });

  it('gives what was written: JSON, bytes, metadata, ids', async () => {
    const json = jsonEvent({ type: 'Json', data: { text: 'ä€🎈', list: [1, null] }, metadata: { actor: 'ü' } });
    const binary = { ...bytes('Bytes', 0), data: new Uint8Array([0, 255, 10, 13]), metadata: new Uint8Array([1, 2]) };
    await given.client.appendToStream('kept-1', [json, binary], { streamState: 'no_stream' });
    const [first, second] = await Array.fromAsync(given.client.readStream('kept-1'));
    expect(first?.event).to.deep.include({ id: json.id, data: json.data, metadata: json.metadata, isJson: true });
    expect(second?.event).to.deep.include({ id: binary.id, isJson: false });
    expect(second?.event?.data).to.deep.equal(Buffer.from(binary.data));
    expect(second?.event?.metadata).to.deep.equal(Buffer.from(binary.metadata));
  });

  it('has no missing stream', async () => {
    expect(await outcomeOf(named(given.client.readStream('missing-1')))).to.equal('stream-not-found');
  });
});

describe('stream metadata of the KurrentDB double', () => {
  const clock = { nowMs: startedAtMs };
  let given: Connected;
  beforeEach(async () => {
    clock.nowMs = startedAtMs;
    given = await connected({ clock });
    await given.client.appendToStream('old-1', [event('A'), event('B')], { streamState: 'no_stream' });
    clock.nowMs += 60_000;
    await given.client.appendToStream('old-1', [event('C'), event('D')], { streamState: 1n });
  });
  afterEach(() => given[Symbol.asyncDispose]());

  const rules = [
    { metadata: { maxCount: 1 }, seen: ['D@3'] },
    { metadata: { maxAge: 30 }, seen: ['C@2', 'D@3'] },
    { metadata: { truncateBefore: 1 }, seen: ['B@1', 'C@2', 'D@3'] },
    { metadata: { truncateBefore: 1, maxCount: 2, cacheControl: 5 }, seen: ['C@2', 'D@3'] },
  ];
  for (const { metadata, seen } of rules) {
    it(`hides what ${JSON.stringify(metadata)} says, from readers of the stream alone until a clean-up`, async () => {
      const { client, double } = given;
      await client.setStreamMetadata('old-1', metadata);
      expect((await client.getStreamMetadata('old-1')).metadata).to.deep.equal(metadata);
      expect(await named(client.readStream('old-1'))).to.deep.equal(seen);
      expect(await named(client.readAll())).to.deep.equal(['A@0', 'B@1', 'C@2', 'D@3', '$metadata@0']);
      double.log.scavenge();
      expect(await named(client.readAll())).to.deep.equal([...seen, '$metadata@0']);
      expect(await outcomeOf(client.appendToStream('old-1', event('E'), { streamState: 3n }))).to.include({
        success: true,
      });
    });
  }

  it('lets the last rule hold', async () => {
    await given.client.setStreamMetadata('old-1', { maxCount: 1 });
    await given.client.setStreamMetadata('old-1', {});
    expect(await named(given.client.readStream('old-1'))).to.have.length(4);
  });
});

describe('subscriptions to the KurrentDB double', () => {
  let given: Connected;
  beforeEach(async () => {
    given = await connected({ clock: { nowMs: startedAtMs } });
    await given.client.appendToStream('orders-1', [event('A'), event('B')], { streamState: 'no_stream' });
  });
  afterEach(() => given[Symbol.asyncDispose]());

  const append = (stream: string, ...types: readonly string[]) =>
    given.client.appendToStream(
      stream,
      types.map((type) => event(type)),
      { streamState: 'any' },
    );
  const place = (index: number): Position => {
    const position = given.double.log.records[index]?.position ?? 0n;
    return { commit: position, prepare: position };
  };

  it('confirms, catches up, says where, and goes on live', async () => {
    const followed = follow(given.client.subscribeToAll());
    expect(await followed.until(4)).to.deep.equal(['confirmed', 'A@0', 'B@1', 'caught up']);
    expect(followed.caughtUpAt).to.deep.equal([{ date: new Date(startedAtMs), position: place(1) }]);
    await append('orders-1', 'C');
    await append('keys-1', 'Made');
    expect((await followed.until(6)).slice(4)).to.deep.equal(['C@2', 'Made@0']);
  });

  it('begins behind the position that it names', async () => {
    const followed = follow(given.client.subscribeToAll({ fromPosition: place(0) }));
    expect(await followed.until(3)).to.deep.equal(['confirmed', 'B@1', 'caught up']);
  });

  it('begins with what comes when it starts at the end', async () => {
    const followed = follow(given.client.subscribeToAll({ fromPosition: END }));
    await followed.until(2);
    await append('orders-1', 'C');
    expect(await followed.until(3)).to.deep.equal(['confirmed', 'caught up', 'C@2']);
  });

  it('keeps the milliseconds of its events', async () => {
    const subscription = given.client.subscribeToAll();
    const first = await new Promise<{ event?: { created: Date } }>((resolve) => subscription.once('data', resolve));
    expect(first.event?.created.getTime()).to.equal(startedAtMs);
  });

  it('follows one stream, one that does not exist yet included, until it is tombstoned', async () => {
    const known = follow(given.client.subscribeToStream('orders-1', { fromRevision: 0n }));
    const unknown = follow(given.client.subscribeToStream('keys-1'));
    expect(await known.until(3)).to.deep.equal(['confirmed', 'B@1', 'caught up']);
    expect(known.caughtUpAt[0]?.revision).to.equal(1n);
    await unknown.until(2);
    await append('keys-1', 'Made');
    expect(await unknown.until(3)).to.deep.equal(['confirmed', 'caught up', 'Made@0']);
    await given.client.tombstoneStream('keys-1');
    expect((await unknown.until(4)).at(-1)).to.equal('error stream-deleted');
    expect(known.notes).to.have.length(3);
  });

  const filters: readonly { readonly name: string; readonly filter: Filter; readonly seen: readonly string[] }[] = [
    { name: 'prefixes of streams', filter: streamNameFilter({ prefixes: ['keys-'] }), seen: ['Made@0', 'Ended@1'] },
    { name: 'an expression over streams', filter: streamNameFilter({ regex: '^orders' }), seen: ['A@0', 'B@1'] },
    { name: 'prefixes of types', filter: eventTypeFilter({ prefixes: ['A', 'Made'] }), seen: ['A@0', 'Made@0'] },
    { name: 'an expression over types', filter: eventTypeFilter({ regex: '^(B|Ended)$' }), seen: ['B@1', 'Ended@1'] },
    { name: 'all but system events', filter: excludeSystemEvents(), seen: ['A@0', 'B@1', 'Made@0', 'Ended@1'] },
  ];
  for (const { name, filter, seen } of filters) {
    it(`filters by ${name}`, async () => {
      await given.client.setStreamMetadata('orders-1', { maxCount: 9 });
      await append('keys-1', 'Made', 'Ended');
      const followed = follow(given.client.subscribeToAll({ filter }));
      expect(await followed.until(seen.length + 2)).to.deep.equal(['confirmed', ...seen, 'caught up']);
    });
  }

  it('refuses a filter that is no regular expression', async () => {
    const followed = follow(given.client.subscribeToAll({ filter: streamNameFilter({ regex: '(' }) }));
    expect(await followed.until(2)).to.deep.equal(['confirmed', 'error unknown']);
  });

  it('tells in checkpoints how far it looked, also when nothing matches', async () => {
    const checkpoints: bigint[] = [];
    const checkpointReached = async (_: unknown, { commit }: Position) => void checkpoints.push(commit);
    const filter = streamNameFilter({
      prefixes: ['none-'],
      maxSearchWindow: 3,
      checkpointInterval: 2,
      checkpointReached,
    });
    const followed = follow(given.client.subscribeToAll({ filter }));
    await followed.until(2);
    expect(checkpoints).to.deep.equal([]);
    await append('orders-1', ...Array.from({ length: 10 }, (_, index) => `L${index}`));
    await eventually(() => checkpoints.length === 2);
    expect(checkpoints).to.deep.equal([place(5).commit, place(11).commit]);
    expect(followed.notes).to.deep.equal(['confirmed', 'caught up']);
  });

  it('falls behind when more is waiting than it holds for live readers, and catches up again', async () => {
    given.double.faults.liveEvents = 3;
    const followed = follow(given.client.subscribeToAll({ fromPosition: END }));
    await followed.until(2);
    await append('orders-1', 'C', 'D', 'E', 'F');
    expect((await followed.until(8)).slice(2)).to.deep.equal(['fell behind', 'C@2', 'D@3', 'E@4', 'F@5', 'caught up']);
  });

  it('sends no more than a slow reader takes, lets it fall behind, and loses nothing', async () => {
    given.double.faults.liveEvents = 50;
    const subscription = given.client.subscribeToStream('large-1');
    const followed = follow(subscription);
    await followed.until(2);
    subscription.pause();
    for (let round = 0; round < 20; round += 1) {
      const events = Array.from({ length: 20 }, () => bytes('L', 16_384));
      await given.client.appendToStream('large-1', events, { streamState: 'any' });
    }
    subscription.resume();
    const notes = (await followed.until(404)).slice(2);
    expect(notes.filter((note) => note === 'fell behind' || note === 'caught up')).to.deep.equal([
      'fell behind',
      'caught up',
    ]);
    expect(notes.filter((note) => note.startsWith('L'))).to.deep.equal(
      Array.from({ length: 400 }, (_, index) => `L@${index}`),
    );
  });

  it('ends when the reader leaves', async () => {
    const subscription = given.client.subscribeToAll();
    const followed = follow(subscription);
    await followed.until(4);
    await subscription.unsubscribe();
    await append('orders-1', 'C');
    const later = follow(given.client.subscribeToAll());
    await later.until(5);
    expect(followed.notes).to.have.length(4);
  });
});
