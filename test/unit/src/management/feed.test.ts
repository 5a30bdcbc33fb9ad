/** The feed in process, over a real log, read models and projector. */
import { expect } from 'chai';
import { type LogIdentity, padPosition } from '../../../../domain/event-store.ts';
import { type FeedPlace, FeedRefusal } from '../../../../gateway/feed/feed.ts';
import { gatewayConfig } from '../../../../projections/gateway-config.ts';
import { applyChanges } from '../../../../projections/gateway-snapshot.ts';
import type { Projection } from '../../../../projections/projection.ts';
import type { ReadModelStore } from '../../../../projections/read-model-store.ts';
import { type Projector, startProjector } from '../../../../projections/runner/projector.ts';
import { createFeed, type FeedOptions, type ManagementFeed } from '../../../../src/management/fleet/feed.ts';
import { MemoryEventStore } from '../../../../src/stores/events/memory-event-store.ts';
import { openSqliteReadModels } from '../../../../src/stores/models/sqlite-read-models.ts';
import { apiDocument } from '../../../support/documents.ts';
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
    feed = feedWith();
  };
  const feedWith = (options: Partial<FeedOptions> = {}): ManagementFeed =>
    createFeed({ models, projector, identity: store.identity, signal: end.signal, report: async () => {}, ...options });
  const at = (position: string): FeedPlace => ({ ...store.identity, position });
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
    expect(snapshot).to.deep.include({ format: 2, ...store.identity, position: head, revision: head });
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
    const answer = await feed.changes(at(''), never);
    expect(answer).to.deep.include({ next: head });
    expect('changes' in answer && answer.changes.map(({ op }) => op)).to.deep.equal(['upsert', 'remove']);
  });

  it('waits for a change', async () => {
    begin();
    const head = await follow(apiCreated());
    const waiting = feed.changes(at(head), never);
    await appendEvents(store, apiReplaced());
    const answer = await waiting;
    expect('changes' in answer && answer.changes).to.have.length(1);
    expect(answer).to.include({ next: padPosition('2') });
  });

  it('tells of events that change nothing for a gateway, so that it knows how far it is', async () => {
    begin();
    const head = await follow(apiCreated());
    const waiting = feed.changes(at(head), never);
    await appendEvents(store, certificateImported('a'));
    expect(await waiting).to.deep.equal({ changes: [], next: padPosition('2') });
  });

  it('answers an idle place after some time', async () => {
    begin();
    const head = await follow(apiCreated());
    const impatient = feedWith({ maxWaitMs: 5 });
    expect(await impatient.changes(at(head), never)).to.deep.equal({ changes: [], next: head });
  });

  it('goes through many changes in parts that join', async () => {
    begin();
    await follow(...Array.from({ length: 1_200 }, (_, index) => apiCreated({ id: `a${index}` })));
    const positions: string[] = [];
    let after = '';
    while (positions.length < 1_200) {
      const answer = await feed.changes(at(after), never);
      if (!('changes' in answer)) throw new Error('too old');
      positions.push(...answer.changes.map(({ position }) => position));
      after = answer.next;
    }
    expect(new Set(positions).size).to.equal(1_200);
    expect(positions).to.deep.equal(positions.toSorted());
    expect(after).to.equal(await store.head());
  });

  const refusals: readonly [name: string, place: (identity: LogIdentity) => FeedPlace, code: string][] = [
    [
      'a place that the log has not reached',
      (identity) => ({ ...identity, position: padPosition('99') }),
      'position_ahead',
    ],
    ['an era that the log has not reached', ({ logId }) => ({ logId, era: 7, position: '' }), 'position_ahead'],
    ['another log', ({ era }) => ({ logId: 'other', era, position: '' }), 'other_log'],
  ];
  for (const [name, place, code] of refusals) {
    it(`refuses ${name}, so that nobody runs backwards`, async () => {
      begin();
      await follow(apiCreated());
      const refusal = await feed.changes(place(store.identity), never).catch((error: unknown) => error);
      expect(refusal).to.be.instanceOf(FeedRefusal).and.to.include({ code });
    });
  }

  it('sends a node of an earlier era to the snapshot', async () => {
    begin();
    await follow(apiCreated());
    const later = feedWith({ identity: { ...store.identity, era: 3 } });
    expect(await later.changes(at(''), never)).to.deep.equal({ tooOld: true });
  });

  describe('with labels', () => {
    const labelled = (id: string, tags: readonly string[]) =>
      apiReplaced({ id, document: apiDocument({ server: { gatewayTags: { enabled: true, tags: [...tags] } } }) });
    const query = { tags: ['eu'] };

    it('gives only what shares one', async () => {
      begin();
      await follow(labelled('here', ['eu', 'us']), labelled('there', ['us']), apiCreated({ id: 'everywhere' }));
      expect(Object.keys((await feed.snapshot(never, query)).objects)).to.deep.equal(['api:here']);
    });

    it('takes away what moves elsewhere, and moves on without what was never there', async () => {
      begin();
      const head = await follow(labelled('a', ['eu']), labelled('b', ['us']));
      const snapshot = await feed.snapshot(never, query);
      await follow(labelled('b', ['asia']), labelled('a', ['us']));
      const answer = await feed.changes(at(head), never, query);
      if ('tooOld' in answer) throw new Error('too old');
      expect(answer.changes.map(({ op }) => op)).to.deep.equal(['remove', 'remove']);
      const next = applyChanges(snapshot, answer.changes, answer.next);
      expect(next.objects).to.deep.equal({});
      const other = applyChanges(snapshot, answer.changes.slice(0, 1), answer.next);
      expect(other).to.include({ revision: snapshot.revision, position: answer.next });
    });
  });

  it('keeps an answer without changes back for a while, and gives a change at once all the same', async () => {
    begin();
    const head = await follow(apiCreated());
    const waiting = feed.changes(at(head), never, { idleMs: 60_000 });
    await follow(certificateImported('a'));
    await follow(apiReplaced());
    const answer = await waiting;
    expect('changes' in answer && answer.changes.map(({ op }) => op)).to.deep.equal(['upsert']);
    const idle = feed.changes(at(await store.head()), never, { idleMs: 5 });
    const moved = await follow(certificateImported('b'));
    expect(await idle).to.deep.equal({ changes: [], next: moved });
  });

  it('ends a wait with the caller or with the process', async () => {
    begin();
    const head = await follow(apiCreated());
    const caller = new AbortController();
    const reasons = [feed.changes(at(head), caller.signal), feed.changes(at(head), never)].map((waiting) =>
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
});
