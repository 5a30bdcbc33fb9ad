/** The feed in process, over a real log, read models and projector. */
import { expect } from 'chai';
import { padPosition } from '../../../../domain/event-store.ts';
import { gatewayConfig } from '../../../../projections/gateway-config.ts';
import type { Projection } from '../../../../projections/projection.ts';
import { type Projector, startProjector } from '../../../../projections/projector.ts';
import type { ReadModelStore } from '../../../../projections/read-model-store.ts';
import { createFeed, type ManagementFeed } from '../../../../src/management/feed.ts';
import { MemoryEventStore } from '../../../../src/stores/events/memory-event-store.ts';
import { openSqliteReadModels } from '../../../../src/stores/models/sqlite-read-models.ts';
import {
  apiCreated,
  apiDeleted,
  apiReplaced,
  appendEvents,
  certificateImported,
  keptLog,
} from '../../../support/given.ts';

describe('the feed in process', () => {
  let store: MemoryEventStore;
  let models: ReadModelStore;
  let projector: Projector;
  let end: AbortController;
  let feed: ManagementFeed;
  const never = new AbortController().signal;

  const begin = (projection: Projection = gatewayConfig): void => {
    projector = startProjector({ store, models, projections: [projection], log: keptLog() });
    feed = createFeed({ models, projector, signal: end.signal, now: () => 0 });
  };
  beforeEach(() => {
    store = new MemoryEventStore();
    models = openSqliteReadModels(':memory:');
    end = new AbortController();
  });
  afterEach(async () => {
    await projector.stop();
    models.close();
  });

  const follow = async (...events: Parameters<typeof appendEvents>[1][]): Promise<string> => {
    await appendEvents(store, ...events);
    const head = await store.head();
    await projector.waitFor([gatewayConfig.name], head, 5_000);
    return head;
  };

  it('gives the whole configuration with the identity of the log', async () => {
    begin();
    const head = await follow(apiCreated());
    const snapshot = await feed.snapshot(never);
    expect(snapshot).to.deep.include({ format: 1, ...store.identity, position: head, revision: head });
    expect(Object.keys(snapshot.objects)).to.deep.equal(['api:orders']);
  });

  it('gives no part of a configuration that is still being folded', async () => {
    await appendEvents(store, apiCreated(), apiReplaced(), apiCreated({ id: 'last' }));
    begin();
    const { objects } = await feed.snapshot(never);
    expect(Object.keys(objects)).to.have.members(['api:orders', 'api:last']);
  });

  it('answers at once what is there', async () => {
    begin();
    const head = await follow(apiCreated(), apiCreated({ id: 'last' }), apiDeleted());
    const answer = await feed.changes('', never);
    expect(answer).to.deep.include({ next: head });
    expect('changes' in answer && answer.changes.map(({ op }) => op)).to.deep.equal(['upsert', 'remove']);
  });

  it('takes places without leading zeros', async () => {
    begin();
    await follow(apiCreated(), apiDeleted());
    const answer = await feed.changes('1', never);
    expect('changes' in answer && answer.changes.map(({ op }) => op)).to.deep.equal(['remove']);
  });

  it('waits for a change', async () => {
    begin();
    const head = await follow(apiCreated());
    const waiting = feed.changes(head, never);
    await appendEvents(store, apiReplaced());
    const answer = await waiting;
    expect('changes' in answer && answer.changes).to.have.length(1);
    expect(answer).to.include({ next: padPosition('2') });
  });

  it('tells of events that change nothing for a gateway, so that it knows how far it is', async () => {
    begin();
    const head = await follow(apiCreated());
    const waiting = feed.changes(head, never);
    await appendEvents(store, certificateImported('a'));
    expect(await waiting).to.deep.equal({ changes: [], next: padPosition('2') });
  });

  it('answers an idle place after some time', async () => {
    begin();
    const head = await follow(apiCreated());
    const impatient = createFeed({ models, projector, signal: end.signal, maxWaitMs: 5 });
    expect(await impatient.changes(head, never)).to.deep.equal({ changes: [], next: head });
  });

  it('goes through many changes in parts that join', async () => {
    begin();
    await follow(...Array.from({ length: 1_200 }, (_, index) => apiCreated({ id: `a${index}` })));
    const positions: string[] = [];
    let after = '';
    while (positions.length < 1_200) {
      const answer = await feed.changes(after, never);
      if (!('changes' in answer)) throw new Error('too old');
      positions.push(...answer.changes.map(({ position }) => position));
      after = answer.next;
    }
    expect(new Set(positions).size).to.equal(1_200);
    expect(positions).to.deep.equal(positions.toSorted());
    expect(after).to.equal(await store.head());
  });

  it('sends a node that is ahead of the log to the snapshot', async () => {
    begin();
    await follow(apiCreated());
    expect(await feed.changes('99', never)).to.deep.equal({ tooOld: true });
  });

  it('ends a wait with the caller or with the process', async () => {
    begin();
    const head = await follow(apiCreated());
    const caller = new AbortController();
    const reasons = [feed.changes(head, caller.signal), feed.changes(head, never)].map((waiting) =>
      waiting.catch((reason: Error) => reason.message),
    );
    caller.abort(new Error('the caller went'));
    expect(await reasons[0]).to.equal('the caller went');
    end.abort(new Error('the process ends'));
    expect(await reasons[1]).to.equal('the process ends');
    const late = await feed.snapshot(never).catch((reason: Error) => reason.message);
    expect(late).to.equal('the process ends');
  });

  it('ends the wait for a configuration that never comes', async () => {
    const broken = (): never => {
      throw new Error('cannot take it');
    };
    await appendEvents(store, apiCreated());
    begin({ ...gatewayConfig, apply: broken });
    const caller = new AbortController();
    const waiting = feed.snapshot(caller.signal).catch((reason: Error) => reason.message);
    caller.abort(new Error('enough'));
    expect(await waiting).to.equal('enough');
  });

  it('keeps the last report of each node', async () => {
    begin();
    const report = { node: 'n1', position: '1', revision: '1', rejected: [] };
    await feed.report(report);
    await feed.report({ ...report, node: 'n2' });
    await feed.report({ ...report, position: '2' });
    expect(feed.reports()).to.deep.equal([
      { ...report, position: '2', receivedAt: '1970-01-01T00:00:00.000Z' },
      { ...report, node: 'n2', receivedAt: '1970-01-01T00:00:00.000Z' },
    ]);
  });
});
