/** A restore where one append cannot hold it: a series of appends under one command, which a repeat completes. */
import { expect } from 'chai';
import { type EventStore, forwardedStore } from '../../domain/event-store.ts';
import { decodeEvent } from '../../domain/events.ts';
import { orgStream } from '../../domain/ids.ts';
import { partsOf } from '../../src/management/append-parts.ts';
import { configurationOf, listOf } from '../support/configuration.ts';
import { apiCreated } from '../support/given.ts';
import { json } from '../support/management-refusals.ts';
import { orgId, startTestManagement, type TestManagement } from '../support/management-server.ts';
import { oneStreamAtATime } from '../support/one-stream-engine.ts';

describe('a restore on an engine that writes one stream at a time', () => {
  const engine = oneStreamAtATime();
  let management: TestManagement;
  const start = async () => {
    engine.stopAt(Number.POSITIVE_INFINITY);
    management = await startTestManagement({ wrap: engine.wrap });
  };
  const stop = () => management[Symbol.asyncDispose]();
  beforeEach(start);
  afterEach(() => stop());

  const { create, move, remove, restore, listenPathOf, call } = configurationOf(() => management);

  /** Two that have changed places, one that is gone, one that is new. */
  const disorder = async (): Promise<string> => {
    for (const id of ['a', 'b', 'gone']) await create(id);
    const at = await move('a', '/first/');
    await move('a', '/c/');
    await move('b', '/first/');
    await move('a', '/b/');
    await remove('gone');
    await create('new');
    return at;
  };
  const routes = async () => Promise.all(['a', 'b', 'gone', 'new'].map(listenPathOf));
  const closings = async () =>
    (await management.store.readStream(orgStream(orgId), { limit: 100 }))
      .map((stored) => decodeEvent(stored).event)
      .filter(({ type }) => type === 'ConfigRestored');

  it('is a series of appends', async () => {
    const at = await disorder();
    engine.stopAt(Number.POSITIVE_INFINITY);
    const answer = await restore({ at });
    expect(answer.status, answer.text).to.equal(200);
    expect(await routes()).to.deep.equal(['/first', '/b', '/gone', undefined]);
    expect(engine.appends()).to.be.greaterThan(4);
    expect(await closings()).to.have.length(1);
  });

  it('is completed by a repeat with the same key, wherever it stopped, and closed once for the whole of it', async () => {
    const key = { 'idempotency-key': 'the one of noon' };
    for (let stopped = 1; ; stopped++) {
      const at = await disorder();
      engine.stopAt(stopped);
      const broken = await restore({ at }, '', key);
      if (broken.status === 200) return expect(stopped).to.be.greaterThan(5);
      expect(broken.status, broken.text).to.equal(503);
      expect(await closings()).to.deep.equal([]);

      engine.stopAt(Number.POSITIVE_INFINITY);
      const repeated = await restore({ at }, '', key);
      expect(repeated.status, `stopped at append ${stopped}: ${repeated.text}`).to.equal(200);
      expect(await routes(), `stopped at append ${stopped}`).to.deep.equal(['/first', '/b', '/gone', undefined]);
      const [closing, ...others] = await closings();
      expect(others).to.deep.equal([]);
      expect(closing).to.have.property('changed').with.length(4);
      expect(listOf(repeated, 'changed')).to.have.length(4);
      expect((await restore({ at }, '', key)).headers.get('idempotency-replayed')).to.equal('true');
      expect((await restore({ at })).headers.get('x-svc-unchanged')).to.equal('true');
      await stop();
      await start();
    }
  }).timeout(30_000);

  it('leaves nothing behind that keeps a route from others', async () => {
    const at = await disorder();
    await restore({ at });
    const taken = await create('free', { server: { listenPath: { value: '/c/', strip: true } } });
    expect(taken).to.match(/^\d+$/);
    expect((await call('GET', '/api/apis/free')).status).to.equal(200);
  });
});

describe('a restore on an engine that writes several streams at once', () => {
  it('is one append of thousands of events, as the set is that it takes back', async () => {
    const appended: number[] = [];
    const counting = (store: EventStore): EventStore => ({
      ...forwardedStore(store),
      append: (writes, options) => {
        appended.push(writes.reduce((sum, { events }) => sum + events.length, 0));
        return store.append(writes, options);
      },
    });
    await using management = await startTestManagement({ wrap: counting });
    const { append, restore, call } = configurationOf(() => management);
    const at = await append(apiCreated({ id: 'first', orgId }));
    const objects = Array.from({ length: 1_500 }, (_, index) => ({
      ...{ kind: 'policy', id: `p${index}`, document: { name: `Policy ${index}` } },
    }));
    appended.length = 0;
    const applied = await call('POST', '/api/config/apply', JSON.stringify({ objects }), json);
    expect(applied.status, applied.text.slice(0, 500)).to.equal(200);
    const answer = await restore({ at });
    expect(answer.status, answer.text.slice(0, 500)).to.equal(200);
    expect(appended).to.deep.equal([3_000, 3_001]);
  }).timeout(20_000);
});

describe('the parts of a command', () => {
  const whole = { multiStream: true, checks: true };
  const single = { multiStream: false, checks: false };
  const write = (stream: string, events: number) => ({
    stream,
    events: Array.from({ length: events }, () => apiCreated()),
  });
  const maxAppendEvents = 200;
  const sizes = (can: { multiStream: boolean; checks: boolean }, ...counts: readonly number[]) =>
    partsOf(
      { ...can, maxAppendEvents },
      counts.map((count, index) => write(`api-${index}`, count)),
    ).map((part) => part.map(({ events }) => events.length));

  it('are one where the engine writes several streams at once, checks included', () =>
    expect(sizes(whole, 1, 0, 2)).to.deep.equal([[1, 0, 2]]));
  it('have no checks where the engine has none', () => {
    expect(sizes({ multiStream: true, checks: false }, 1, 0, 2)).to.deep.equal([[1, 2]]);
    expect(sizes(single, 3, 0)).to.deep.equal([[3]]);
  });
  it('are one per stream elsewhere, without checks', () => expect(sizes(single, 1, 0, 2)).to.deep.equal([[1], [2]]));
  it('are one for one stream everywhere', () => expect(sizes(single, 3)).to.deep.equal([[3]]));
  it('are several for what is too much at once', () =>
    expect(sizes(whole, maxAppendEvents - 1, 1, 1, maxAppendEvents + 1)).to.deep.equal([
      [maxAppendEvents - 1, 1],
      [1],
      [maxAppendEvents + 1],
    ]));
});
