/** A restore where one append cannot hold it: a series of appends under one command, which a repeat completes. */
import { expect } from 'chai';
import { decodeEvent } from '../../domain/events.ts';
import { orgStream } from '../../domain/ids.ts';
import { maxPartEvents, partsOf } from '../../src/management/append-parts.ts';
import { configurationOf, listOf } from '../support/configuration.ts';
import { apiCreated } from '../support/given.ts';
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

describe('the parts of a command', () => {
  const write = (stream: string, events: number) => ({
    stream,
    events: Array.from({ length: events }, () => apiCreated()),
  });
  const sizes = (multiStream: boolean, ...counts: readonly number[]) =>
    partsOf(
      { multiStream },
      counts.map((count, index) => write(`api-${index}`, count)),
    ).map((part) => part.map(({ events }) => events.length));

  it('are one where the engine writes several streams at once, checks included', () =>
    expect(sizes(true, 1, 0, 2)).to.deep.equal([[1, 0, 2]]));
  it('are one per stream elsewhere, without checks', () => expect(sizes(false, 1, 0, 2)).to.deep.equal([[1], [2]]));
  it('are one for one stream everywhere', () => expect(sizes(false, 3)).to.deep.equal([[3]]));
  it('are several for what is too much at once', () =>
    expect(sizes(true, maxPartEvents - 1, 1, 1, maxPartEvents + 1)).to.deep.equal([
      [maxPartEvents - 1, 1],
      [1],
      [maxPartEvents + 1],
    ]));
});
