/** The KurrentDB double and the official client: what is written, refused, repeated, deleted, and at which feature level. */
import { randomUUID } from 'node:crypto';
import type { AppendStreamState, AppendToStreamOptions, Position } from '@kurrent/kurrentdb-client';
import { expect } from 'chai';
import { bytes, type Connected, connected, event, named, outcomeOf } from '../support/kurrentdb-double/given.ts';

/** Credentials of its own take a call off the batch path; over plain text they are not sent. */
const paths: readonly { readonly name: string; readonly options: AppendToStreamOptions }[] = [
  { name: 'BatchAppend', options: {} },
  { name: 'Append', options: { credentials: { username: 'somebody', password: 'unsent' } } },
];

describe('appends to the KurrentDB double', () => {
  let given: Connected;
  before(async () => {
    given = await connected();
  });
  after(() => given[Symbol.asyncDispose]());

  const states = {
    'a missing stream': async () => {},
    'a stream with two events': async (stream: string) => {
      await given.client.appendToStream(stream, [event('A'), event('B')], { streamState: 'no_stream' });
    },
    'a deleted stream of two events': async (stream: string) => {
      await states['a stream with two events'](stream);
      await given.client.deleteStream(stream, { expectedRevision: 1n });
    },
    'a tombstoned stream': async (stream: string) => {
      await states['a stream with two events'](stream);
      await given.client.tombstoneStream(stream);
    },
  };

  /** The revision of the new event, or who refuses and what the stream's state was. */
  const table: readonly [keyof typeof states, ...(readonly [AppendStreamState, bigint | string])[]][] = [
    [
      'a missing stream',
      ['any', 0n],
      ['no_stream', 0n],
      ['stream_exists', 'conflict no_stream'],
      [0n, 'conflict no_stream'],
    ],
    [
      'a stream with two events',
      ['any', 2n],
      ['no_stream', 'conflict 1'],
      ['stream_exists', 2n],
      [1n, 2n],
      [0n, 'conflict 1'],
      [5n, 'conflict 1'],
    ],
    [
      'a deleted stream of two events',
      ['any', 2n],
      ['no_stream', 2n],
      ['stream_exists', 'stream-deleted'],
      [1n, 2n],
      [0n, 'conflict 1'],
    ],
    [
      'a tombstoned stream',
      ['any', 'stream-deleted'],
      ['no_stream', 'stream-deleted'],
      ['stream_exists', 'stream-deleted'],
      [1n, 'stream-deleted'],
    ],
  ];

  for (const path of paths) {
    describe(`by ${path.name}`, () => {
      const append = async (stream: string, streamState: AppendStreamState, ...events: ReturnType<typeof event>[]) =>
        given.client.appendToStream(stream, events, { streamState, ...path.options });

      for (const [state, ...rows] of table) {
        for (const [expected, result] of rows) {
          it(`answers ${expected} on ${state} with ${result}`, async () => {
            const stream = `orders-${randomUUID()}`;
            await states[state](stream);
            const answer = await append(stream, expected, event('C')).then(
              ({ nextExpectedRevision }) => nextExpectedRevision,
              ({ type, actualState }) => (type === 'wrong-expected-version' ? `conflict ${actualState}` : type),
            );
            expect(answer).to.equal(result);
          });
        }
      }

      it('names the stream and the expectation in a conflict', async () => {
        const stream = `orders-${randomUUID()}`;
        await append(stream, 'no_stream', event('A'));
        const error = await append(stream, 7n, event('B')).catch((thrown) => thrown);
        expect(error).to.include({ streamName: stream, expectedState: 7n, actualState: 0n });
      });

      it('answers the same events under the same explicit expectation as before, whatever came later', async () => {
        const stream = `orders-${randomUUID()}`;
        const events = [event('A', randomUUID()), event('B', randomUUID())];
        const first = await append(stream, 'no_stream', ...events);
        await append(stream, 1n, event('C'));
        given.double.log.forgetIds();
        expect(await append(stream, 'no_stream', ...events)).to.deep.equal(first);
        expect(await named(given.client.readStream(stream))).to.deep.equal(['A@0', 'B@1', 'C@2']);
      });

      it('recognises a repetition under `any` only as long as it remembers the ids', async () => {
        const stream = `orders-${randomUUID()}`;
        const again = event('A', randomUUID());
        const first = await append(stream, 'any', again);
        await append(stream, 'any', event('B'));
        expect(await append(stream, 'any', again)).to.deep.equal(first);
        given.double.log.forgetIds();
        expect(await append(stream, 'any', again)).to.have.property('nextExpectedRevision', 2n);
      });

      it('refuses events of which it knows a part, and writes none', async () => {
        const stream = `orders-${randomUUID()}`;
        const known = event('A', randomUUID());
        await append(stream, 'no_stream', known);
        for (const state of ['any', 'no_stream'] as const) {
          expect(await outcomeOf(append(stream, state, known, event('B')))).to.equal('wrong-expected-version');
        }
        expect(await named(given.client.readStream(stream))).to.deep.equal(['A@0']);
      });

      for (const { level, maxBytes } of [
        { level: '23.10', maxBytes: 1024 * 1024 },
        { level: '26.1', maxBytes: 16 * 1024 * 1024 },
      ] as const) {
        it(`refuses an event of more than ${maxBytes} bytes at level ${level}`, async () => {
          given.double.setLevel(level);
          const error = await given.client
            .appendToStream('large-1', bytes('A', maxBytes + 1), { streamState: 'any', ...path.options })
            .catch((thrown) => thrown);
          given.double.setLevel('26.1');
          expect(error).to.include({ type: 'maximum-append-size-exceeded', maxAppendSize: maxBytes });
        });
      }
    });
  }

  it('holds a batch of several frames together as one append', async () => {
    const events = Array.from({ length: 5 }, (_, index) => event(`E${index}`));
    const { nextExpectedRevision } = await given.client.appendToStream('frames-1', events, {
      streamState: 'no_stream',
      batchAppendSize: 64,
    });
    expect(nextExpectedRevision).to.equal(4n);
    expect(await named(given.client.readStream('frames-1'))).to.deep.equal(['E0@0', 'E1@1', 'E2@2', 'E3@3', 'E4@4']);
  });

  it('lets one of many concurrent creations through', async () => {
    const attempts = Array.from({ length: 20 }, () =>
      outcomeOf(given.client.appendToStream('race-1', event('Created'), { streamState: 'no_stream' })),
    );
    const refused = (await Promise.all(attempts)).filter((outcome) => outcome === 'wrong-expected-version');
    expect(refused).to.have.length(19);
    expect(await named(given.client.readStream('race-1'))).to.deep.equal(['Created@0']);
  });

  it('deletes and tombstones only at the revision expected', async () => {
    await given.client.appendToStream('ends-1', event('A'), { streamState: 'no_stream' });
    for (const end of ['deleteStream', 'tombstoneStream'] as const) {
      const error = await given.client[end]('ends-1', { expectedRevision: 3n }).catch((thrown) => thrown);
      expect(error).to.include({
        type: 'wrong-expected-version',
        streamName: 'ends-1',
        expectedState: 3n,
        actualState: 0n,
      });
    }
    expect(await named(given.client.readStream('ends-1'))).to.deep.equal(['A@0']);
  });

  it('hides a deleted stream until it is written to again, and then shows what is new', async () => {
    await given.client.appendToStream('back-1', [event('A'), event('B')], { streamState: 'no_stream' });
    const { position } = await given.client.deleteStream('back-1');
    expect(position?.commit).to.be.a('bigint');
    expect(await outcomeOf(named(given.client.readStream('back-1')))).to.equal('stream-not-found');
    await given.client.appendToStream('back-1', event('C'), { streamState: 'no_stream' });
    expect(await named(given.client.readStream('back-1'))).to.deep.equal(['C@2']);
  });

  it('ends a tombstoned stream for readers too', async () => {
    await given.client.appendToStream('gone-1', event('A'), { streamState: 'no_stream' });
    await given.client.tombstoneStream('gone-1');
    expect(await outcomeOf(named(given.client.readStream('gone-1')))).to.equal('stream-deleted');
    expect(await outcomeOf(given.client.deleteStream('gone-1'))).to.equal('stream-deleted');
    expect(await outcomeOf(given.client.setStreamMetadata('gone-1', { maxCount: 1 }))).to.equal('stream-deleted');
  });
});

/** The client keeps to itself what it was told. */
const featuresOf = (client: unknown): Promise<{ readonly serverVersion: string }> =>
  (client as { capabilities: Promise<{ serverVersion: string }> }).capabilities;

describe('appends to several streams of the KurrentDB double', () => {
  let given: Connected;
  beforeEach(async () => {
    given = await connected();
    await given.client.appendToStream('held-1', [event('H'), event('I')], { streamState: 'no_stream' });
  });
  afterEach(() => given[Symbol.asyncDispose]());

  const everything = async (): Promise<readonly string[]> => {
    const names: string[] = [];
    for await (const { event: read } of given.client.readAll()) names.push(`${read?.streamId} ${read?.type}`);
    return names.slice(2);
  };

  it('writes all of them, and answers with the revisions and the position of the last event', async () => {
    const { responses, position } = await given.client.multiStreamAppend([
      { streamName: 'held-1', expectedState: 1n, events: [event('A'), event('B')] },
      { streamName: 'new-1', expectedState: 'no_stream', events: [event('C')] },
    ]);
    expect(responses).to.deep.equal([
      { streamName: 'held-1', revision: 3n },
      { streamName: 'new-1', revision: 0n },
    ]);
    expect(await everything()).to.deep.equal(['held-1 A', 'held-1 B', 'new-1 C']);
    expect(position).to.equal(given.double.log.records.at(-1)?.position);
  });

  it('writes none when one expectation fails, and names that stream', async () => {
    const error = await given.client
      .multiStreamAppend([
        { streamName: 'new-1', expectedState: 'no_stream', events: [event('A')] },
        { streamName: 'held-1', expectedState: 'no_stream', events: [event('B')] },
      ])
      .catch((thrown) => thrown);
    expect(error).to.include({ type: 'wrong-expected-version', streamName: 'held-1', actualState: 1n });
    expect(await everything()).to.deep.equal([]);
  });

  it('answers a repetition as before, and refuses one of which a part is new', async () => {
    const streams = ['new-1', 'new-2'].map((streamName) => ({
      streamName,
      expectedState: 'no_stream' as const,
      events: [event('A', randomUUID())],
    }));
    const first = await given.client.multiStreamAppend(streams);
    await given.client.appendToStream('new-1', event('B'), { streamState: 0n });
    expect(await given.client.multiStreamAppend(streams)).to.deep.equal(first);
    const mixed = [...streams, { streamName: 'new-3', expectedState: 'no_stream' as const, events: [event('C')] }];
    expect(await outcomeOf(given.client.multiStreamAppend(mixed))).to.equal('wrong-expected-version');
    expect(await everything()).to.deep.equal(['new-1 A', 'new-2 A', 'new-1 B']);
  });

  it('keeps flat metadata and binary payloads', async () => {
    const binary = { ...bytes('Sealed', 3), metadata: { enc: 'zstd' } };
    await given.client.multiStreamAppend([{ streamName: 'new-1', expectedState: 'any', events: [binary] }]);
    for await (const { event: read } of given.client.readStream('new-1')) {
      expect(read).to.deep.include({ isJson: false, metadata: { enc: 'zstd' } });
      expect(read?.data).to.deep.equal(Buffer.alloc(3));
    }
  });

  it('refuses a stream that was tombstoned, an event that is too large, an empty append and a stream named twice', async () => {
    await given.client.tombstoneStream('held-1');
    const write = (streamName: string, ...events: ReturnType<typeof bytes>[]) => ({
      streamName,
      expectedState: 'any' as const,
      events,
    });
    const append = (...writes: ReturnType<typeof write>[]) => outcomeOf(given.client.multiStreamAppend(writes));
    expect(await append(write('held-1', bytes('A', 1)))).to.equal('stream-tombstoned');
    expect(await append(write('new-1', bytes('A', 16 * 1024 * 1024 + 1)))).to.equal('append-record-size-exceeded');
    expect(await append(write('new-1'))).to.equal('unknown');
    expect(await append()).to.equal('unknown');
    expect(await append(write('new-1', bytes('A', 1)), write('new-1', bytes('B', 1)))).to.equal('timeout');
  });

  it('keeps the order of records across streams, and checks streams that it does not write to', async () => {
    const records = ['new-1', 'new-2', 'new-1'].map((streamName, index) => ({
      streamName,
      record: event(`R${index}`),
    }));
    const { responses } = await given.client.appendRecords(records, [
      { type: 'stream_state', streamName: 'held-1', expectedState: 1n },
      { type: 'stream_state', streamName: 'new-1', expectedState: 'no_stream' },
    ]);
    expect(responses).to.deep.equal([
      { streamName: 'new-1', revision: 1n },
      { streamName: 'new-2', revision: 0n },
    ]);
    expect(await everything()).to.deep.equal(['new-1 R0', 'new-2 R1', 'new-1 R2']);
  });

  it('writes nothing when a check fails, and names every check that did', async () => {
    const error = await given.client
      .appendRecords(
        [{ streamName: 'new-1', record: event('A') }],
        [
          { type: 'stream_state', streamName: 'held-1', expectedState: 0n },
          { type: 'stream_state', streamName: 'held-1', expectedState: 'stream_exists' },
          { type: 'stream_state', streamName: 'new-1', expectedState: 'stream_exists' },
        ],
      )
      .catch((thrown) => thrown);
    expect(error.type).to.equal('append-consistency-violation');
    expect(error.violations).to.deep.equal([
      { checkIndex: 0, streamName: 'held-1', expectedState: 0n, actualState: 1n },
      { checkIndex: 2, streamName: 'new-1', expectedState: 'stream_exists', actualState: 'no_stream' },
    ]);
    expect(await everything()).to.deep.equal([]);
  });

  const levels = [
    { level: '23.10', several: 'unsupported', checked: 'unsupported', tellsPlaces: false },
    { level: '25.1', several: 'done', checked: 'unsupported', tellsPlaces: true },
    { level: '26.1', several: 'done', checked: 'done', tellsPlaces: true },
  ] as const;
  for (const { level, several, checked, tellsPlaces } of levels) {
    it(`at level ${level}: several streams ${several}, checks ${checked}, caught up with a place ${tellsPlaces}`, async () => {
      given.double.setLevel(level);
      given.double.breakConnections();
      const write = { streamName: 'new-1', expectedState: 'any' as const, events: [event('A')] };
      // The first call after the break may meet the dead connection.
      await outcomeOf(given.client.multiStreamAppend([write]));
      const done = (outcome: unknown) => (typeof outcome === 'string' ? outcome : 'done');
      expect(done(await outcomeOf(given.client.multiStreamAppend([write])))).to.equal(several);
      const record = { streamName: 'new-2', record: event('B') };
      expect(done(await outcomeOf(given.client.appendRecords([record])))).to.equal(checked);
      const subscription = given.client.subscribeToAll();
      const info = await new Promise<{ position?: Position }>((resolve) => subscription.once('caughtUp', resolve));
      expect(info.position !== undefined).to.equal(tellsPlaces);
      expect((await featuresOf(given.client)).serverVersion).to.equal(`${level}.0`);
    });
  }

  it('knows no features when the call for them is not known, and takes plain appends all the same', async () => {
    given.double.faults.hidesFeatures = true;
    given.double.breakConnections();
    await outcomeOf(given.client.appendToStream('new-1', event('A'), { streamState: 'any' }));
    const { nextExpectedRevision } = await given.client.appendToStream('new-2', event('A'), {
      streamState: 'no_stream',
    });
    expect(nextExpectedRevision).to.equal(0n);
    const write = { streamName: 'new-1', expectedState: 'any' as const, events: [event('A')] };
    expect(await outcomeOf(given.client.multiStreamAppend([write]))).to.equal('unsupported');
  });
});
