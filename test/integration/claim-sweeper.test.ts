/** Routes and names that a crash left claimed on an engine that writes one stream at a time: released after a minute, never too early. */
import { expect } from 'chai';
import { type EventStore, EventStoreError, forwardedStore } from '../../domain/event-store.ts';
import { createLease } from '../../domain/lease.ts';
import { createCommands } from '../../src/management/handle-command.ts';
import { type ClaimSweeper, startClaimSweeper } from '../../src/management/reactors/claim-sweeper.ts';
import { memoryCells } from '../../src/stores/events/memory-cells.ts';
import { chainedEventStore } from '../../src/stores/integrity/chained-event-store.ts';
import { apiDocument } from '../support/documents.ts';
import { keptLog } from '../support/given.ts';
import { json } from '../support/management-refusals.ts';
import { startTestManagement, type TestManagement } from '../support/management-server.ts';

/** Appends after the first `allowed` are refused as if the process had died in between. */
function dyingEngine() {
  let allowed = Number.POSITIVE_INFINITY;
  return {
    allow: (count: number) => {
      allowed = count;
    },
    wrap: (store: EventStore): EventStore => ({
      ...forwardedStore(store),
      can: { ...store.can, multiStream: false, checks: false },
      append: async (...args) => {
        if (allowed <= 0) throw new EventStoreError('StoreUnavailable', 'gone');
        allowed -= 1;
        return store.append(...args);
      },
    }),
  };
}

const create = (management: TestManagement, name: string) =>
  management.call(
    'POST',
    '/api/apis/streams',
    apiDocument({ info: { name }, server: { listenPath: { value: '/orders/', strip: true } } }),
  );

async function withSweeper(
  management: TestManagement,
  afterMs: number,
  work: (sweeper: ClaimSweeper) => Promise<void>,
): Promise<void> {
  const store = chainedEventStore(management.store);
  const now = () => new Date(Date.now() + afterMs);
  const lease = createLease({ cells: memoryCells(), key: 'lease/claims', owner: 'one', now: () => now().getTime() });
  const seal = (): never => {
    throw new Error('nothing is sealed here');
  };
  const commands = createCommands({ store, seal, personal: { seal }, now, settled: async () => undefined });
  const sweeper = startClaimSweeper({ store, commands, lease, log: keptLog(), now, everyMs: 3_600_000 });
  try {
    await work(sweeper);
  } finally {
    await sweeper.stop();
  }
}

describe('claim sweeper', () => {
  it('a claim without its API blocks the route for a minute, then it is released', async () => {
    const engine = dyingEngine();
    await using management = await startTestManagement({ wrap: engine.wrap });
    engine.allow(1);
    expect((await create(management, 'lost')).status).to.equal(503);
    engine.allow(Number.POSITIVE_INFINITY);
    expect((await create(management, 'second')).status).to.equal(409);
    await withSweeper(management, 59_000, async ({ sweep }) => {
      expect(await sweep()).to.equal(0);
    });
    await withSweeper(management, 61_000, async ({ sweep }) => {
      expect(await sweep()).to.equal(1);
      expect(await sweep()).to.equal(0);
    });
    expect((await create(management, 'second')).status).to.equal(200);
  });

  it('a route is let go after the definition that leaves it, so that nobody takes it in between', async () => {
    const engine = dyingEngine();
    await using management = await startTestManagement({ wrap: engine.wrap });
    const { json } = await create(management, 'orders');
    const moved = apiDocument({ server: { listenPath: { value: '/moved/', strip: true } } });
    // The new route is claimed, the definition is written, and the process dies.
    engine.allow(2);
    expect(
      (await management.call('PUT', `/api/apis/streams/${String(json['ID'] ?? json['id'])}`, moved)).status,
    ).to.equal(503);
    engine.allow(Number.POSITIVE_INFINITY);
    expect((await create(management, 'second')).status).to.equal(409);
    await withSweeper(management, 61_000, async ({ sweep }) => {
      expect(await sweep()).to.equal(1);
    });
    expect((await create(management, 'second')).status).to.equal(200);
    const { apis } = (await management.call('GET', '/api/apis')).json as { apis: { listenPath: string }[] };
    expect(apis.map(({ listenPath }) => listenPath).toSorted()).to.deep.equal(['/moved', '/orders']);
  });

  it('a name of a policy that a crash left claimed is released; one that is in use stays', async () => {
    const engine = dyingEngine();
    await using management = await startTestManagement({ wrap: engine.wrap });
    const policy = (id: string, name: string) => management.call('POST', '/api/policies', { id, name }, json);
    expect((await policy('used', 'Used')).status).to.equal(200);
    engine.allow(1);
    expect((await policy('lost', 'Wanted')).status).to.equal(503);
    engine.allow(Number.POSITIVE_INFINITY);
    expect((await policy('second', 'Wanted')).status).to.equal(409);
    await withSweeper(management, 61_000, async ({ sweep }) => {
      expect(await sweep()).to.equal(1);
    });
    expect((await policy('second', 'Wanted')).status).to.equal(200);
    expect((await policy('third', 'Used')).status).to.equal(409);
  });

  it('a claim in use stays, however old', async () => {
    await using management = await startTestManagement();
    expect((await create(management, 'orders')).status).to.equal(200);
    await withSweeper(management, 3_600_000, async ({ sweep }) => {
      expect(await sweep()).to.equal(0);
    });
    expect((await create(management, 'second')).status).to.equal(409);
  });
});
