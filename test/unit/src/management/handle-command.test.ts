/** Running commands: conflicts, unknown outcomes, idempotency across nodes, what is written. */
import { expect } from 'chai';
import {
  type Appended,
  type EventStore,
  EventStoreError,
  forwardedStore,
  type Write,
  WrongExpectedVersion,
} from '../../../../domain/event-store.ts';
import { decodeEvent } from '../../../../domain/events.ts';
import { orgStream, toCertId, toOrgId } from '../../../../domain/ids.ts';
import { Rejection } from '../../../../src/management/errors.ts';
import {
  type Command,
  type CommandContext,
  type CommandsOptions,
  createCommands,
  type Plan,
} from '../../../../src/management/handle-command.ts';
import { MemoryEventStore } from '../../../../src/stores/events/memory-event-store.ts';

const orgId = toOrgId('org');
const stream = orgStream(orgId);
const context: CommandContext = {
  orgId,
  actor: { type: 'token', id: 'someone' },
  requestId: 'request',
  requestHash: 'hash',
  isDryRun: false,
};
const named = (name: string) => ({ type: 'OrganisationCreated', orgId, name }) as const;

const runnerOn = (
  store: EventStore,
  settled: (position: string) => Promise<unknown> = async () => true,
  personal: CommandsOptions['personal']['seal'] = async (address, { stream, type }) =>
    `sealed ${address.length} ${stream} ${type}`,
) =>
  createCommands({
    store,
    seal: (clear, { path }) =>
      Promise.resolve({ kid: path, alg: 'A256GCM', iv: '', ct: `sealed ${clear.length}`, tag: '' }),
    personal: { seal: personal },
    now: () => new Date(0),
    settled,
  });

/** Appends one event to the stream, expecting what it read. */
const commandOn = (store: EventStore, plans: { count: number }): Command => ({
  type: 'Test',
  aggregate: stream,
  plan: async (): Promise<Plan> => {
    plans.count++;
    const [last] = await store.readStream(stream, { back: true, limit: 1 });
    return {
      writes: [{ stream, expected: last ? last.revision : 'noStream', events: [named(`plan ${plans.count}`)] }],
      reply: { status: 200, body: { plan: plans.count } },
    };
  },
});

const failing = (
  store: EventStore,
  append: (writes: readonly Write[], call: number) => Promise<Appended> | undefined,
) => {
  let calls = 0;
  const own = forwardedStore(store);
  return {
    ...own,
    append: (...args: Parameters<EventStore['append']>) => append(args[0], ++calls) ?? store.append(...args),
  };
};

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: { readonly code?: string }) => error.code ?? String(error),
  );

const manyStreams = 2_000;

describe('a command with thousands of events', () => {
  it('leaves turns to others while they are sealed, a few at once', async () => {
    let [turns, sealing, most] = [0, 0, 0];
    const turn = (): void => {
      turns += 1;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    const seal = async (): Promise<string> => {
      sealing += 1;
      most = Math.max(most, sealing);
      await Promise.resolve();
      sealing -= 1;
      for (const end = performance.now() + 0.02; performance.now() < end; );
      return 'sealed';
    };
    const before = { turns: 0 };
    const streams = Array.from({ length: manyStreams }, (_, index) => orgStream(toOrgId(`org${index}`)));
    const command: Command = {
      type: 'Test',
      aggregate: stream,
      plan: async () => {
        before.turns = turns;
        const writes = streams.map((one) => ({ stream: one, expected: 'noStream', events: [named('one')] }) as const);
        return { writes, reply: { status: 200, body: {} } };
      },
    };
    const store = new MemoryEventStore();
    const commands = runnerOn(
      failing(store, () => {
        clearImmediate(next);
        return undefined;
      }),
      undefined,
      seal,
    );
    await commands.run({ ...context, address: '192.0.2.1' }, command);
    expect(most).to.be.within(1, 16);
    expect(turns - before.turns).to.be.at.least(5);
    const last = await store.readStream(streams.at(-1) ?? stream, { back: true, limit: 1 });
    expect(last).to.have.length(1);
  });
});

describe('a command', () => {
  let store: MemoryEventStore;
  beforeEach(() => {
    store = new MemoryEventStore();
  });
  const conflict = () => Promise.reject(new WrongExpectedVersion(stream, 'noStream', 0n));
  const unknown = () => Promise.reject(new EventStoreError('UnknownOutcome', 'no answer'));

  it('is decided again when another writer came between', async () => {
    const between = failing(store, (_, call) => (call === 1 ? conflict() : undefined));
    const plans = { count: 0 };
    const reply = await runnerOn(between).run(context, commandOn(store, plans));
    expect(reply.body).to.deep.equal({ plan: 2 });
  });

  it('gives up after five decisions', async () => {
    const plans = { count: 0 };
    const run = runnerOn(failing(store, conflict)).run(context, commandOn(store, plans));
    expect(await codeOf(run)).to.equal('too_many_conflicts');
    expect(plans.count).to.equal(5);
  });

  it('repeats the same append when its outcome is unknown, and nothing is stored twice', async () => {
    const seen: string[][] = [];
    const lost = {
      ...forwardedStore(store),
      append: async (...args: Parameters<EventStore['append']>) => {
        seen.push(args[0].flatMap(({ events }) => events.map(({ id }) => id)));
        const appended = await store.append(...args);
        if (seen.length === 1) throw new EventStoreError('UnknownOutcome', 'the answer was lost');
        return appended;
      },
    };
    const plans = { count: 0 };
    const reply = await runnerOn(lost).run(context, commandOn(store, plans));
    expect([reply.status, plans.count, seen.length]).to.deep.equal([200, 1, 2]);
    expect(seen[0]).to.deep.equal(seen[1]);
    expect(await store.readStream(stream, { limit: 10 })).to.have.length(1);
  });

  it('says so when the outcome stays unknown', async () => {
    expect(await codeOf(runnerOn(failing(store, unknown)).run(context, commandOn(store, { count: 0 })))).to.equal(
      'UnknownOutcome',
    );
  });

  it('waits until reads show it, and answers its position', async () => {
    const waited: string[] = [];
    const reply = await runnerOn(store, async (position) => waited.push(position)).run(
      context,
      commandOn(store, { count: 0 }),
    );
    expect(waited).to.deep.equal([await store.head()]);
    expect(reply.headers).to.deep.equal({ 'x-svc-revision': '1' });
  });

  it('writes flat metadata and seals what is secret', async () => {
    const certId = toCertId(orgId, '0'.repeat(64));
    const command: Command = {
      type: 'AttachKey',
      aggregate: 'x',
      plan: async () => ({
        writes: [
          {
            stream: `cert-${certId}`,
            expected: 'noStream',
            events: [{ type: 'CertificateKeyAttached', orgId, certId, secret: { clear: 'my key' } }],
          },
        ],
        reply: { status: 200 },
      }),
    };
    const caller = { address: '192.0.2.7', userAgentHash: 'f00d' };
    await runnerOn(store).run({ ...context, ...caller, comment: 'why', traceparent: 'trace' }, command);
    const [stored] = await store.readStream(`cert-${certId}`, { limit: 1 });
    expect(Buffer.from(stored!.data).toString()).not.to.contain('my key');
    expect(decodeEvent(stored!).event).to.have.nested.property('secret.ct', 'sealed 6');
    expect(stored!.meta).to.include({ v: '1', at: '1970-01-01T00:00:00.000Z', orgId: 'org', actorId: 'someone' });
    expect(stored!.meta).to.include({ commandType: 'AttachKey', comment: 'why', traceparent: 'trace' });
    const ip = `sealed 9 cert-${certId} CertificateKeyAttached`;
    expect(stored!.meta).to.include({ ip, userAgentHash: 'f00d', authMethod: 'token' });
  });
});

describe('a command with an Idempotency-Key', () => {
  const keyed = { ...context, idempotencyKey: 'key' };

  it('is refused while the same key is running', async () => {
    const store = new MemoryEventStore();
    const commands = runnerOn(store);
    const first = commands.run(keyed, commandOn(store, { count: 0 }));
    expect(await codeOf(commands.run(keyed, commandOn(store, { count: 0 })))).to.equal('idempotency_in_flight');
    expect((await first).status).to.equal(200);
  });

  it('gets the answer of the node that was first', async () => {
    const store = new MemoryEventStore();
    const other = runnerOn(store);
    let hasRun = false;
    // The other node appends after this one looked for the record and before it appends itself.
    const late: Command = {
      ...commandOn(store, { count: 10 }),
      plan: async () => {
        const plan = await commandOn(store, { count: 10 }).plan('');
        if (!hasRun) {
          hasRun = true;
          await other.run(keyed, commandOn(store, { count: 0 }));
        }
        return plan;
      },
    };
    const reply = await runnerOn(store).run(keyed, late);
    expect(reply.body).to.deep.equal({ plan: 1 });
    expect(reply.headers).to.include({ 'Idempotency-Replayed': 'true' });
    expect(await store.readStream(stream, { limit: 10 })).to.have.length(1);
  });

  it('gets that answer also when its decision would refuse what that node has done by then, and no refusal is kept', async () => {
    const store = new MemoryEventStore();
    const other = runnerOn(store);
    let hasRun = false;
    const once: Command = {
      ...commandOn(store, { count: 10 }),
      plan: async () => {
        if (!hasRun) await other.run(keyed, commandOn(store, { count: 0 }));
        hasRun = true;
        throw new Rejection('api_exists', 'it is there');
      },
    };
    const reply = await runnerOn(store).run(keyed, once);
    expect([reply.body, reply.headers?.['Idempotency-Replayed']]).to.deep.equal([{ plan: 1 }, 'true']);
    const refused = runnerOn(new MemoryEventStore()).run(keyed, once);
    expect(await codeOf(refused)).to.equal('api_exists');
    expect(await codeOf(runnerOn(store).run({ ...keyed, requestHash: 'x' }, once))).to.equal('idempotency_key_reused');
  });

  it('is told where its change stands when the answer is no longer kept', async () => {
    let nowMs = 0;
    const store = new MemoryEventStore({ now: () => nowMs });
    await runnerOn(store).run(keyed, commandOn(store, { count: 0 }));
    nowMs = 31 * 24 * 3_600_000;
    const again = runnerOn(store).run(keyed, commandOn(store, { count: 0 }));
    const error = await again.catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(Rejection);
    expect((error as Rejection).code).to.equal('idempotency_key_expired');
    expect((error as Rejection).message).to.contain('position 1');
  });

  it('belongs to its organisation', async () => {
    const store = new MemoryEventStore();
    await runnerOn(store).run(keyed, commandOn(store, { count: 0 }));
    const other = await runnerOn(store).run({ ...keyed, orgId: toOrgId('else') }, commandOn(store, { count: 0 }));
    expect(other.headers).not.to.have.property('Idempotency-Replayed');
  });

  it('belongs to who sent it, whose repeat is the same command', async () => {
    const store = new MemoryEventStore();
    const ids: string[] = [];
    const run = (actor: CommandContext['actor']) => {
      const command = commandOn(store, { count: 0 });
      const plan = (id: string) => {
        ids.push(id);
        return command.plan(id);
      };
      return runnerOn(store).run({ ...keyed, actor }, { ...command, plan });
    };
    for (const actor of [
      { type: 'token', id: 'one' },
      { type: 'token', id: 'other' },
      { type: 'system', id: 'one' },
    ] as const) {
      expect((await run(actor)).headers, actor.id).not.to.have.property('Idempotency-Replayed');
      expect((await run(actor)).headers, actor.id).to.include({ 'Idempotency-Replayed': 'true' });
    }
    // One plan each: a repeat is known by its id. The first is pinned, because a repeat may come after an upgrade.
    expect(new Set(ids).size).to.equal(3);
    expect(ids).to.have.length(3);
    expect(ids[0]).to.equal('edd45b88-d5be-51b8-91b9-1822617ee319');
  });
});
