/** The KurrentDB double when things go wrong: what the official client makes of each fault, and that it recovers. */
import { randomUUID } from 'node:crypto';
import { KurrentDBClient } from '@kurrent/kurrentdb-client';
import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { follow } from '../support/kurrentdb-double/followed.ts';
import { type Connected, connected, event, named, outcomeOf } from '../support/kurrentdb-double/given.ts';
import { startKurrentDouble } from '../support/kurrentdb-double.ts';

describe('faults of the KurrentDB double', () => {
  let given: Connected;
  beforeEach(async () => {
    given = await connected();
    await given.client.appendToStream('orders-1', [event('A'), event('B'), event('C')], { streamState: 'no_stream' });
  });
  afterEach(() => given[Symbol.asyncDispose]());

  const append = (stream: string, ...events: ReturnType<typeof event>[]) =>
    outcomeOf(given.client.appendToStream(stream, events, { streamState: 'no_stream' }));
  const read = (stream: string) => outcomeOf(named(given.client.readStream(stream)));
  const recovered = (stream: string) =>
    eventually(
      async () => typeof (await append(stream, event('A', '5fbb5d0c-7ee0-4a9e-9c3a-6b2f5d1d4c11'))) === 'object',
    );

  it('refuses connections while it is stopped, and goes on with the same log on the same port', async () => {
    const { port } = given.double;
    expect(await read('orders-1')).to.have.length(3);
    await given.double.stop();
    expect(await append('orders-2', event('A'))).to.match(/unavailable|ECONNREFUSED/);
    expect(await read('orders-1')).to.equal('unavailable');
    await given.double.restart();
    expect(given.double.port).to.equal(port);
    await recovered('orders-3');
    expect(await read('orders-1')).to.deep.equal(['A@0', 'B@1', 'C@2']);
    expect(await read('orders-2')).to.equal('stream-not-found');
  });

  it('leaves a client whose first read found no server unable to read ever again, unlike a new one', async () => {
    await given.double.stop();
    expect(await read('orders-1')).to.equal('unavailable');
    await given.double.restart();
    await recovered('orders-2');
    for (let attempt = 0; attempt < 20; attempt += 1) expect(await read('orders-1')).to.equal('unavailable');
    const fresh = KurrentDBClient.connectionString(given.double.url);
    expect(await named(fresh.readStream('orders-1'))).to.deep.equal(['A@0', 'B@1', 'C@2']);
    await fresh.dispose();
  });

  it('forgets ids when it restarts', async () => {
    const again = event('A', randomUUID());
    await given.client.appendToStream('loose-1', again, { streamState: 'any' });
    await given.double.restart();
    await eventually(
      async () =>
        typeof (await outcomeOf(given.client.appendToStream('loose-1', again, { streamState: 'any' }))) === 'object',
    );
    expect(await read('loose-1')).to.deep.equal(['A@0', 'A@1']);
  });

  it('lets a subscription die with one error and never come back, while the rest recovers', async () => {
    const followed = follow(given.client.subscribeToAll());
    await followed.until(5);
    await given.double.restart();
    expect((await followed.until(6)).at(-1)).to.equal('error unavailable');
    await recovered('orders-2');
    const fresh = follow(given.client.subscribeToAll());
    await fresh.until(6);
    expect(followed.notes).to.have.length(6);
  });

  for (const [name, fault, isWritten] of [
    ['loses the answer of an append that it committed', 'lostAnswers', true],
    ['loses an append before it is written', 'lostRequests', false],
  ] as const) {
    it(`${name}; the repetition succeeds, once`, async () => {
      given.double.faults[fault] = 1;
      const once = event('A', randomUUID());
      expect(await append('orders-2', once)).to.equal('unavailable');
      expect(await read('orders-2')).to.deep.equal(isWritten ? ['A@0'] : 'stream-not-found');
      expect(await append('orders-2', once)).to.include({ success: true, nextExpectedRevision: 0n });
      expect(await read('orders-2')).to.deep.equal(['A@0']);
      expect(given.double.faults[fault]).to.equal(0);
    });
  }

  it('loses the answer of an append to several streams', async () => {
    given.double.faults.lostAnswers = 1;
    const write = { streamName: 'orders-2', expectedState: 'no_stream' as const, events: [event('A', randomUUID())] };
    expect(await outcomeOf(given.client.multiStreamAppend([write]))).to.equal('unavailable');
    expect(await outcomeOf(given.client.multiStreamAppend([write])))
      .to.have.property('responses')
      .with.length(1);
    expect(await read('orders-2')).to.deep.equal(['A@0']);
  });

  it('accepts an append and never answers: the batch call waits for ever, the older call for its deadline', async () => {
    given.double.faults.silent = 'writes';
    const answers: unknown[] = [];
    void append('orders-2', event('A')).then((answer) => answers.push(answer));
    const credentials = { username: 'somebody', password: 'unsent' };
    const older = given.client.appendToStream('orders-3', event('A'), { credentials, deadline: 200 });
    expect(await outcomeOf(older)).to.equal('deadline-exceeded');
    expect(answers).to.deep.equal([]);
    expect(await read('orders-1')).to.have.length(3);
    expect(await read('orders-2')).to.equal('stream-not-found');
    given.double.breakConnections();
    await eventually(() => answers.length === 1);
    expect(answers).to.deep.equal(['unavailable']);
  });

  it('answers nothing at all when it is silent to all', async () => {
    given.double.faults.silent = 'all';
    const answers: unknown[] = [];
    void read('orders-1').then((answer) => answers.push(answer));
    await outcomeOf(given.client.deleteStream('orders-1', { deadline: 200 }));
    expect(answers).to.deep.equal([]);
    given.double.faults.silent = 'none';
    given.double.breakConnections();
    await eventually(() => answers.length === 1);
  });

  it('answers later when it is slow, and then in time', async () => {
    given.double.faults.delayMs = 300;
    expect(await outcomeOf(given.client.deleteStream('orders-1', { deadline: 100 }))).to.equal('deadline-exceeded');
    expect(await append('orders-2', event('A'))).to.include({ success: true });
  });

  it('names another leader, and the client goes there with its next call', async () => {
    await using other = await startKurrentDouble({ log: given.double.log });
    given.double.faults.notLeader = { host: '127.0.0.1', port: other.port };
    const error = await given.client
      .appendToStream('orders-2', event('A'), { streamState: 'no_stream' })
      .catch((thrown) => thrown);
    expect(error).to.deep.include({ type: 'not-leader', leader: { address: '127.0.0.1', port: other.port } });
    expect(await append('orders-2', event('A'))).to.include({ success: true });
    expect(await named(given.client.readStream('orders-2'))).to.deep.equal(['A@0']);
  });

  for (const [path, options] of [
    ['Append', { credentials: { username: 'somebody', password: 'unsent' } }],
    ['BatchAppend', {}],
  ] as const) {
    it(`refuses ${path}, reads and deletions with an exception of the server`, async () => {
      given.double.faults.refuse = 'access-denied';
      expect(await outcomeOf(given.client.appendToStream('orders-1', event('D'), options))).to.equal('access-denied');
      expect(await read('orders-1')).to.equal('access-denied');
      expect(await outcomeOf(given.client.deleteStream('orders-1'))).to.equal('access-denied');
      const followed = follow(given.client.subscribeToAll());
      expect(await followed.until(1)).to.deep.equal(['error access-denied']);
    });
  }

  it('breaks a read and a subscription in their middle', async () => {
    given.double.faults.breakReadsAfter = 2;
    const seen: string[] = [];
    const reading = async () => {
      for await (const { event: one } of given.client.readStream('orders-1')) seen.push(one?.type ?? '');
    };
    expect(await outcomeOf(reading())).to.be.a('string');
    expect(seen.length).to.be.at.most(2);
    const followed = follow(given.client.subscribeToAll());
    expect(await followed.until(4)).to.deep.equal(['confirmed', 'A@0', 'B@1', 'error unavailable']);
    given.double.faults.breakReadsAfter = undefined;
    await eventually(async () => Array.isArray(await read('orders-1')));
  });

  it('delivers every event twice', async () => {
    given.double.faults.duplicates = true;
    const followed = follow(given.client.subscribeToAll());
    const twice = ['A@0', 'A@0', 'B@1', 'B@1', 'C@2', 'C@2'];
    expect(await followed.until(8)).to.deep.equal(['confirmed', ...twice, 'caught up']);
  });

  it('says that a reader caught up, and not where', async () => {
    given.double.faults.caughtUpWithoutPosition = true;
    const followed = follow(given.client.subscribeToAll());
    await followed.until(5);
    expect(followed.caughtUpAt).to.deep.equal([{}]);
  });
});

describe('three KurrentDB doubles as one cluster', () => {
  it('have a leader that clients find by gossip, follow when it moves, and insist on when they ask to', async () => {
    await using first = await startKurrentDouble();
    await using second = await startKurrentDouble({ log: first.log });
    await using third = await startKurrentDouble({ log: first.log });
    const nodes = [first, second, third];
    const leads = (leader: number, dead = -1): void => {
      const state = (index: number) => (index === dead ? 'dead' : index === leader ? 'leader' : 'follower');
      for (const node of nodes) node.setMembers(nodes.map(({ port }, index) => ({ port, state: state(index) })));
    };
    leads(0);
    const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const client = KurrentDBClient.connectionString(`kurrentdb://${hosts}?tls=false`);
    second.faults.silent = third.faults.silent = 'all';
    await client.appendToStream('orders-1', event('A'), { streamState: 'no_stream', requiresLeader: true });
    expect(await named(client.readStream('orders-1'))).to.deep.equal(['A@0']);

    second.faults.silent = third.faults.silent = 'none';
    leads(1);
    const append = () =>
      client.appendToStream('orders-2', event('A'), { streamState: 'no_stream', requiresLeader: true });
    expect(await outcomeOf(append())).to.equal('not-leader');
    expect(await outcomeOf(append())).to.include({ success: true });

    await second.stop();
    leads(2, 1);
    await eventually(async () => {
      const outcome = await outcomeOf(
        client.appendToStream('orders-3', event('A'), { streamState: 'any', requiresLeader: true }),
      );
      return typeof outcome === 'object';
    });
    expect(await eventually(async () => Array.isArray(await outcomeOf(named(client.readStream('orders-1')))))).to.equal(
      true,
    );
    await client.dispose();
  });
});
