/** Names of policies are held in the log: two nodes over one store do not give one name twice, whatever each of them does. */
import { expect } from 'chai';
import { type EventStore, forwardedStore, shortPosition } from '../../domain/event-store.ts';
import { decodeEvent } from '../../domain/events.ts';
import { toPolicyId } from '../../domain/ids.ts';
import { MemoryEventStore } from '../../src/stores/events/memory-event-store.ts';
import { configurationOf } from '../support/configuration.ts';
import { json } from '../support/management-refusals.ts';
import { orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { oneStreamAtATime } from '../support/one-stream-engine.ts';

const ask = (node: TestManagement, method: string, path: string, body?: object) =>
  node.call(method, path, body && JSON.stringify(body), json);

const create = (node: TestManagement, id: string, name: string) => ask(node, 'POST', '/api/policies', { id, name });
const rename = (node: TestManagement, id: string, name: string) => ask(node, 'PATCH', `/api/policies/${id}`, { name });
const set = (...policies: readonly (readonly [id: string, name: string])[]) => ({
  owner: 'tests',
  objects: policies.map(([id, name]) => ({ kind: 'policy', id, document: { name } })),
});
const apply = (node: TestManagement, ...policies: readonly (readonly [string, string])[]) =>
  ask(node, 'POST', '/api/config/apply', set(...policies));

/** Who holds which name. */
async function held(store: MemoryEventStore): Promise<Readonly<Record<string, string>>> {
  const names: Record<string, string> = {};
  const { events } = await store.readAll({ after: '', limit: 1_000, filter: { categories: ['uniq'] } });
  for (const { event } of events.map((stored) => decodeEvent(stored))) {
    if (event.type === 'NameReserved') names[event.value] = event.owner;
    if (event.type === 'NameReleased') delete names[event.value];
  }
  return names;
}

/** As a node wrote before there were reservations. */
const withoutReservations = (store: EventStore): EventStore => ({
  ...forwardedStore(store),
  append: (writes, options) =>
    store.append(
      writes.filter(({ stream }) => !stream.startsWith('uniq-')),
      options,
    ),
});

describe('names of policies', () => {
  const races = {
    'two creates': [(a) => create(a, 'one', 'Gold'), (b) => create(b, 'two', 'Gold')],
    'a create and a rename': [(a) => create(a, 'one', 'Gold'), (b) => rename(b, 'other', 'Gold')],
    'a create and a set': [(a) => create(a, 'one', 'Gold'), (b) => apply(b, ['two', 'Gold'])],
    'two sets': [(a) => apply(a, ['one', 'Gold']), (b) => apply(b, ['two', 'Gold'])],
  } satisfies Record<string, readonly ((node: TestManagement) => ReturnType<typeof ask>)[]>;

  for (const [what, asked] of Object.entries(races)) {
    it(`go to one of ${what} that two nodes decide at the same time`, async () => {
      const store = new MemoryEventStore();
      let isMeeting = false;
      let waiting = 0;
      const both = Promise.withResolvers<void>();
      // Both have decided before either of them writes.
      const meeting = (engine: EventStore): EventStore => ({
        ...forwardedStore(engine),
        append: async (writes, options) => {
          if (isMeeting && writes.some(({ stream }) => stream.startsWith('policy-'))) {
            waiting += 1;
            if (waiting === 2) both.resolve();
            await both.promise;
          }
          return engine.append(writes, options);
        },
      });
      await using first = await startTestManagement({ store, wrap: meeting });
      await using second = await startTestManagement({ store, wrap: meeting });
      expect((await create(first, 'other', 'Other')).status).to.equal(200);
      isMeeting = true;
      const [a, b] = asked;
      const answers = await Promise.all([a?.(first), b?.(second)]);
      const statuses = answers.map((answer) => answer?.status ?? 0);
      expect(statuses.filter((status) => status === 200)).to.have.length(1);
      const { policies } = (await ask(first, 'GET', '/api/policies')).json as { policies: { name: string }[] };
      expect(policies.filter(({ name }) => name === 'Gold')).to.have.length(1);
    });
  }

  it('are held while a policy has them, and let go by a rename, a delete and a set that prunes', async () => {
    await using node = await startTestManagement();
    await create(node, 'a', 'A');
    await create(node, 'b', 'B');
    expect(await held(node.store)).to.deep.equal({ 'policy\nA': 'a', 'policy\nB': 'b' });
    expect((await rename(node, 'a', 'C')).status).to.equal(200);
    expect((await ask(node, 'DELETE', '/api/policies/b')).status).to.equal(200);
    expect(await held(node.store)).to.deep.equal({ 'policy\nC': 'a' });
    expect((await apply(node, ['p', 'P'], ['q', 'Q'])).status).to.equal(200);
    expect((await apply(node, ['p', 'Q'], ['q', 'P'])).status).to.equal(200);
    expect(await held(node.store)).to.deep.equal({ 'policy\nC': 'a', 'policy\nP': 'q', 'policy\nQ': 'p' });
    const pruned = await ask(node, 'POST', '/api/config/apply', { ...set(['p', 'Q']), prune: true });
    expect(pruned.status, pruned.text).to.equal(200);
    expect(await held(node.store)).to.deep.equal({ 'policy\nC': 'a', 'policy\nQ': 'p' });
  });

  const restore = (node: TestManagement, body: object, query = '') =>
    ask(node, 'POST', `/api/config/restore${query}`, body);
  const conflict = (id: string, name: string, owner: string) => ({
    ...{ kind: 'policy', id, route: null },
    message: `the name "${name}" belongs to policy ${owner}`,
  });

  it('come back with a restore', async () => {
    await using node = await startTestManagement();
    await create(node, 'a', 'A');
    const at = String((await create(node, 'b', 'B')).headers.get('x-svc-revision'));
    await rename(node, 'a', 'C');
    await rename(node, 'b', 'A');
    await create(node, 'new', 'B');
    const restored = await restore(node, { at });
    expect(restored.status, restored.text).to.equal(200);
    expect(await held(node.store)).to.deep.equal({ 'policy\nA': 'a', 'policy\nB': 'b' });
  });

  it('keep a restore, and its preview, from bringing back a policy whose name another one has by now', async () => {
    await using node = await startTestManagement();
    await create(node, 'a', 'A');
    const at = String((await create(node, 'b', 'B')).headers.get('x-svc-revision'));
    await ask(node, 'DELETE', '/api/policies/a');
    await rename(node, 'b', 'Other');
    await create(node, 'new', 'A');
    const last = await create(node, 'newer', 'B');
    const conflicts = [conflict('b', 'B', 'newer'), conflict('a', 'A', 'new')];
    const shown = await restore(node, { at, keepNew: true }, '?dryRun=true');
    expect([shown.status, shown.json['conflicts']]).to.deep.equal([200, conflicts]);
    const refused = await restore(node, { at, keepNew: true });
    expect([refused.status, refused.json['code']], refused.text).to.deep.equal([409, 'restore_conflicts']);
    expect(refused.json['conflicts']).to.deep.equal(conflicts);
    expect(refused.json['detail']).to.contain('a: the name "A" belongs to policy new');
    expect(shortPosition(await node.store.head())).to.equal(last.headers.get('x-svc-revision'));
  });

  it('keep a restore from it also where the other one holds no reservation, or comes back beside it', async () => {
    const store = new MemoryEventStore();
    await using before = await startTestManagement({ store, wrap: withoutReservations });
    const start = String((await create(before, 'a', 'A')).headers.get('x-svc-revision'));
    await ask(before, 'DELETE', '/api/policies/a');
    await create(before, 'old', 'A');
    await using node = await startTestManagement({ store });
    const refused = await restore(node, { at: start, keepNew: true });
    expect([refused.status, refused.json['conflicts']]).to.deep.equal([409, [conflict('a', 'A', 'old')]]);

    const policyId = toPolicyId('twin');
    const twin = { type: 'PolicyCreated', orgId, policyId, document: { name: 'A' }, docSha256: 'any' } as const;
    const at = await configurationOf(() => node).append(twin);
    for (const id of ['old', 'twin']) await ask(node, 'DELETE', `/api/policies/${id}`);
    const twins = await restore(node, { at });
    expect([twins.status, twins.json['conflicts']]).to.deep.equal([409, [conflict('twin', 'A', 'old')]]);
  });

  it('of a log without reservations are taken all the same, and held from the first rename', async () => {
    const store = new MemoryEventStore();
    await using before = await startTestManagement({ store, wrap: withoutReservations });
    await create(before, 'old', 'Old');
    await create(before, 'aged', 'Aged');
    expect(await held(store)).to.deep.equal({});
    await using node = await startTestManagement({ store });
    expect((await create(node, 'new', 'Old')).status).to.equal(409);
    expect((await ask(node, 'PATCH', '/api/policies/old', { rate: 1, per: 1 })).status).to.equal(200);
    expect((await rename(node, 'old', 'Renamed')).status).to.equal(200);
    expect((await ask(node, 'DELETE', '/api/policies/aged')).status).to.equal(200);
    expect((await create(node, 'new', 'Old')).status).to.equal(200);
    expect(await held(store)).to.deep.equal({ 'policy\nOld': 'new', 'policy\nRenamed': 'old' });
  });

  it('that a crash left held are given on where claim and policy are one append', async () => {
    const store = new MemoryEventStore();
    const engine = oneStreamAtATime();
    await using crashing = await startTestManagement({ store, wrap: engine.wrap });
    engine.stopAt(2);
    expect((await create(crashing, 'lost', 'Gold')).status).to.equal(503);
    engine.stopAt(Number.POSITIVE_INFINITY);
    // It may still come: only the sweeper says that it does not.
    expect((await create(crashing, 'second', 'Gold')).status).to.equal(409);
    await using node = await startTestManagement({ store });
    expect((await create(node, 'second', 'Gold')).status).to.equal(200);
    expect(await held(store)).to.deep.equal({ 'policy\nGold': 'second' });
  });
});
