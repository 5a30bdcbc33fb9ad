/** Requests to send dead letters again: each once, in their order, also over restarts, failures and a restore of the log. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import {
  Redeliveries,
  type RedeliveriesOptions,
  type RedeliveryRequest,
} from '../../../gateway/events/redeliveries.ts';
import { eventually } from '../../support/eventually.ts';
import { keptLog } from '../../support/given.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary.ts';

const place = (position: string, era = 0) => ({ logId: 'log', era, position });
const request = (position: string, ids: RedeliveryRequest['ids'] = 'all'): RedeliveryRequest => ({
  ...{ webhookId: 'alarms', position, ids },
});

describe('redeliveries', () => {
  let folder: TemporaryFolder;
  let done: string[];
  beforeEach(() => {
    folder = temporaryFolder();
    done = [];
  });
  afterEach(() => folder[Symbol.dispose]());

  const start = (options: Partial<RedeliveriesOptions> = {}) =>
    new Redeliveries({
      file: folder.file('outbox', 'redelivered.json'),
      redeliver: async ({ webhookId, ids }) => void done.push(`${webhookId} ${ids}`),
      log: keptLog(),
      retryMs: 1,
      ...options,
    });

  it('are done once, in their order, however often they are seen', async () => {
    const redeliveries = start();
    redeliveries.follow(place('3'), [request('1', ['a']), request('2')]);
    redeliveries.follow(place('4'), [request('1', ['a']), request('2'), request('4', ['b', 'c'])]);
    await redeliveries.settled();
    redeliveries.follow(place('5'), [request('1', ['a']), request('2'), request('4', ['b', 'c'])]);
    await redeliveries.settled();
    await redeliveries.stop();
    expect(done).to.deep.equal(['alarms a', 'alarms all', 'alarms b,c']);
  });

  it('are not done again after a restart, and those that came meanwhile are', async () => {
    const first = start();
    first.follow(place('3'), [request('2')]);
    await first.settled();
    await first.stop();
    const second = start();
    second.follow(place('9'), [request('2'), request('8', ['late'])]);
    await second.settled();
    expect(done).to.deep.equal(['alarms all', 'alarms late']);
    expect(await second.reached()).to.deep.equal(place('8'));
    await second.stop();
  });

  it('are tried until the outbox takes them', async () => {
    let failures = 3;
    const redeliveries = start({
      redeliver: async ({ ids }) => {
        if (failures-- > 0) throw new Error('no room');
        done.push(String(ids));
      },
    });
    redeliveries.follow(place('3'), [request('2')]);
    await eventually(() => done.length === 1);
    await redeliveries.stop();
  });

  it('of a log that was restored belong to another time, and later ones are done', async () => {
    const first = start();
    first.follow(place('9'), [request('8')]);
    await first.settled();
    first.follow(place('5', 1), [request('4', ['of-before'])]);
    await first.settled();
    first.follow(place('6', 1), [request('4', ['of-before']), request('6', ['new'])]);
    await first.settled();
    expect(done).to.deep.equal(['alarms all', 'alarms new']);
    await first.stop();
  });

  it('are done once more when nobody knows how far they are', async () => {
    mkdirSync(folder.file('outbox'));
    writeFileSync(folder.file('outbox', 'redelivered.json'), '{"logId": "lo');
    const redeliveries = start();
    redeliveries.follow(place('3'), [request('2')]);
    await redeliveries.settled();
    await redeliveries.stop();
    expect(done).to.deep.equal(['alarms all']);
  });

  it('end with the node', async () => {
    const redeliveries = start({ redeliver: () => Promise.reject(new Error('no room')), retryMs: 60_000 });
    redeliveries.follow(place('3'), [request('2')]);
    await redeliveries.stop();
    redeliveries.follow(place('4'), [request('2')]);
    expect(done).to.deep.equal([]);
  });
});
