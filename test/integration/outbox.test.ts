/** The outbox of a gateway by itself: what a kill repeats, what retention takes, what a broken frame costs. */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { RecordLane } from '../../domain/record-log.ts';
import { Cooldowns } from '../../gateway/events/cooldowns.ts';
import { HandlerCounts } from '../../gateway/events/counts.ts';
import { Outbox } from '../../gateway/events/outbox.ts';
import type { OutboxEntry, Unnumbered } from '../../gateway/events/outbox-entry.ts';
import type { TargetAddress } from '../../gateway/events/targets.ts';
import { type RetryPolicy, webhookRetries } from '../../gateway/events/verdict.ts';
import type { SendWebhook } from '../../gateway/events/webhook-sender.ts';
import { openEmbeddedLogOf } from '../../src/stores/records/embedded-record-log.ts';
import { eventually } from '../support/eventually.ts';
import { listLog, systemClock } from '../support/gateway-start.ts';
import { openLog, quiet, spoilFrame } from '../support/record-log-harness.ts';
import { temporaryFolder } from '../support/temporary.ts';

const entry = (number: number, target = 'a', members: Partial<Unnumbered> = {}): Unnumbered => ({
  ...{ id: `${target}${number}`, eventId: `event-${number}`, target, webhookId: '', orgId: 'acme', apiId: 'api' },
  ...{ trigger: 'AuthFailure', body: { number }, equality: String(number), cooldownMs: 0 },
  ...{ raisedMs: Date.now(), sinceMs: Date.now(), attempts: 0, dueMs: 0, lastStatus: null, error: null },
  ...members,
});

type Answer = (number: number, target: string) => { readonly status: number; readonly retryAfterMs?: number };

/** `kill`: as a kill of the process leaves it, after the cursors have been kept. */
async function open(
  directory: string,
  answer: Answer,
  policy: Partial<RetryPolicy> = {},
  addressOf = (name: string): TargetAddress | undefined => ({
    ...{ orgId: '', cooldownMs: 0 },
    state: 'on',
    document: { name },
  }),
) {
  const log = openEmbeddedLogOf<OutboxEntry>({
    ...{ directory, fsync: 'none', maxBytes: 268_435_456, maxAgeMs: 86_400_000, log: quiet },
    segmentMaxBytes: 65_536,
  });
  const lane = await log.openLane('node-1');
  const sent: string[] = [];
  const send: SendWebhook = async ({ name }, { body }) => {
    sent.push(`${String(name)}${String(body['number'])}`);
    return { timeMs: 1, error: null, ...answer(Number(body['number']), String(name)) };
  };
  const lines = listLog();
  const counts = new HandlerCounts();
  const outbox = new Outbox({
    ...{
      store: { log, lane, send, close: () => log.close() },
      counts,
      policy: { ...webhookRetries, ...policy },
      random: () => 0,
    },
    ...{ cooldowns: new Cooldowns(() => 0), clock: systemClock, log: lines },
    addressOf,
  });
  await outbox.start();
  const marks = (consumer: string) => log.marks(consumer);
  const letters = async () => (await log.deadLetters('targets')).map(({ record }) => record?.id);
  const kill = async (): Promise<void> => {
    await log.close();
    // Nothing reaches the disk any more; a process that is killed tries no further either.
    await outbox.stop(1);
  };
  return { outbox, sent, lines, lane: lane as unknown as RecordLane, counts, marks, letters, kill };
}

describe('the outbox of events', () => {
  it('repeats after a kill few of those that arrived behind one that waits for long', async () => {
    using folder = temporaryFolder('svc-outbox-');
    const answer: Answer = (number) => (number === 0 ? { status: 503, retryAfterMs: 3_600_000 } : { status: 204 });
    const first = await open(folder.path, answer);
    for (let number = 0; number < 1_000; number++) {
      await new Promise<void>((resolve) => first.outbox.add(entry(number), resolve));
    }
    await eventually(() => first.sent.length === 1_000);
    const lastMark = async () => Number((await first.marks('targets'))?.[0]?.pos.slice(0, 16));
    await eventually(async () => (await lastMark()) > 800);
    await first.kill();
    const second = await open(folder.path, () => ({ status: 204 }));
    await new Promise<void>((resolve) => second.outbox.add(entry(5_000), resolve));
    await eventually(() => second.sent.includes('a5000'));
    // The one that waits keeps its time, and its attempts.
    expect(second.sent).not.to.include('a0');
    expect(second.sent.length).to.be.below(250);
    await second.outbox.stop(1_000);
  });

  it('goes on after a kill with one life of each event, as its last attempt says', async () => {
    using folder = temporaryFolder('svc-outbox-');
    const count = 40;
    // One waits for long and holds the cursor back; the others are tried again and again behind it.
    const answer: Answer = (number) => ({ status: 503, retryAfterMs: number === 0 ? 3_600_000 : 0 });
    const first = await open(folder.path, answer, { firstMs: 20, longestMs: 20 });
    for (let number = 0; number <= count; number++) first.outbox.add(entry(number));
    await eventually(() => first.sent.length > count * 6);
    await first.kill();
    const second = await open(folder.path, () => ({ status: 503, retryAfterMs: 3_600_000 }));
    await new Promise<void>((resolve) => second.outbox.add(entry(5_000), resolve));
    await eventually(() => second.sent.includes('a5000') && new Set(second.sent).size > count);
    await eventually(() => second.outbox.held === count + 2);
    await second.outbox.stop(1_000);
  });

  it('goes on for each target by itself: one that is sick holds back no other', async () => {
    using folder = temporaryFolder('svc-outbox-');
    const answer: Answer = (_, target) => (target === 'sick' ? { status: 500 } : { status: 204 });
    const first = await open(folder.path, answer);
    for (let number = 0; number < 1_500; number++)
      first.outbox.add(entry(number, 'sick', { dueMs: Date.now() + 600_000 }));
    await new Promise<void>((resolve) => first.outbox.add(entry(0, 'well'), resolve));
    for (let number = 1; number < 300; number++) first.outbox.add(entry(number, 'well'));
    await eventually(() => first.sent.filter((one) => one.startsWith('well')).length === 300);
    // What is beyond a thousand stays in the log.
    expect(first.outbox.held).to.be.below(1_501);
    await eventually(async () => ((await first.marks('target well')) ?? []).length > 0);
    const { lane, pos } = (await first.marks('target well'))?.[0] ?? { lane: '', pos: '' };
    expect([lane, Number(pos.slice(0, 16))]).to.deep.equal(['node-1/1', 1_800]);
    await first.kill();
    const second = await open(folder.path, answer);
    await new Promise<void>((resolve) => second.outbox.add(entry(9_000, 'well'), resolve));
    await eventually(() => second.sent.includes('well9000'));
    expect(second.sent).to.deep.equal(['well9000']);
    await second.outbox.stop(1_000);
  });

  /** As a kill leaves it: an event stands in the log twice, behind the second attempt more than memory holds. */
  async function twiceInTheLog(directory: string, again: Partial<Unnumbered> = {}): Promise<void> {
    const nowMs = Date.now();
    const twice = entry(0, 'a', { webhookId: 'alarms', raisedMs: nowMs - 60_000, sinceMs: nowMs - 60_000 });
    const others = Array.from({ length: 1_200 }, (_, index) => entry(index + 1));
    await writeTo(directory, [twice, ...others, { ...twice, attempts: 1, ...again }]);
  }

  /** A hundred in each place of the log. */
  async function writeTo(directory: string, all: readonly Unnumbered[]): Promise<void> {
    const log = openLog(directory);
    const lane = (await log.openLane('node-1')) as unknown as RecordLane<OutboxEntry>;
    const nowMs = Date.now();
    const { node, epoch } = lane;
    for (let first = 1; first <= all.length; first += 100) {
      const records = all
        .slice(first - 1, first + 99)
        .map((one, index) => ({ ...one, ext: { node, epoch, seq: first + index } }));
      const last = first + records.length - 1;
      await lane.append({ node, epoch, first, last, createdMs: nowMs, records, markers: [] }, { durable: false });
    }
    await lane.end(all.length);
    await log.close();
  }

  it('sends what died no more, however far behind it another entry of it stands in the log', async () => {
    using folder = temporaryFolder('svc-outbox-');
    await twiceInTheLog(folder.path);
    const answer: Answer = (number) => ({ status: number === 0 ? 410 : 204 });
    const policy = { refusedAttempts: 1 };
    const first = await open(folder.path, answer, policy);
    await new Promise<void>((resolve) => first.outbox.add(entry(5_000), resolve));
    await eventually(() => first.sent.includes('a5000') && first.outbox.held === 0);
    expect(first.sent.filter((one) => one === 'a0')).to.have.length(1);
    expect(await first.letters()).to.deep.equal(['a0']);
    // A kill that takes the cursors with it: the log is read again.
    await first.kill();
    rmSync(join(folder.path, 'consumers.db'));
    const second = await open(folder.path, () => ({ status: 204 }), policy);
    await new Promise<void>((resolve) => second.outbox.add(entry(6_000), resolve));
    await eventually(() => second.sent.includes('a6000') && second.outbox.held === 0);
    expect(second.sent).not.to.include('a0');
    // It goes when that is asked for.
    expect(await second.outbox.redeliver({ webhookId: 'alarms', ids: 'all' })).to.equal(1);
    await eventually(() => second.sent.includes('a0'));
    await eventually(() => second.outbox.held === 0);
    expect(await second.letters()).to.deep.equal([]);
    await second.outbox.stop(1_000);
  });

  it('is done with all that waits for a target that is gone, also with what memory does not hold', async () => {
    using folder = temporaryFolder('svc-outbox-');
    let isThere = true;
    const addressOf = (name: string): TargetAddress | undefined =>
      isThere ? { state: 'on', document: { name }, orgId: '', cooldownMs: 0 } : undefined;
    const first = await open(folder.path, () => ({ status: 204 }), {}, addressOf);
    const later = { dueMs: Date.now() + 600_000 };
    for (let number = 0; number < 1_500; number++) first.outbox.add(entry(number, 'a', later));
    await eventually(() => first.outbox.held >= 1_000);
    isThere = false;
    first.outbox.endGone();
    await eventually(async () => (await first.letters()).length === 1_500);
    await eventually(() => first.outbox.held === 0);
    expect(first.counts.byTarget['a']).to.include({ dead: 1_500, delivered: 0 });
    await first.outbox.stop(1_000);
    const second = await open(folder.path, () => ({ status: 204 }));
    await new Promise<void>((resolve) => second.outbox.add(entry(5_000), resolve));
    await eventually(() => second.sent.includes('a5000'));
    expect(second.sent).to.deep.equal(['a5000']);
    await second.outbox.stop(1_000);
  });

  it('goes on behind a place of the log where everything has died meanwhile', async () => {
    using folder = temporaryFolder('svc-outbox-');
    const later = { sinceMs: Date.now(), dueMs: Date.now() + 600_000 };
    const numbered = (from: number, to: number, members: Partial<Unnumbered> = {}): readonly Unnumbered[] =>
      Array.from({ length: to - from }, (_, index) => entry(from + index, 'a', { ...later, ...members }));
    // Behind a thousand that memory holds: a place with nothing but further attempts of some of these, and then others.
    await writeTo(folder.path, [
      ...numbered(0, 1_000),
      ...numbered(0, 100, { attempts: 1 }),
      ...numbered(1_000, 1_100),
    ]);
    let isThere = true;
    const addressOf = (name: string): TargetAddress | undefined =>
      isThere ? { state: 'on', document: { name }, orgId: '', cooldownMs: 0 } : undefined;
    const { outbox, letters } = await open(folder.path, () => ({ status: 204 }), {}, addressOf);
    await eventually(() => outbox.held >= 1_000);
    isThere = false;
    outbox.endGone();
    await eventually(async () => (await letters()).length === 1_100);
    await eventually(() => outbox.held === 0);
    await outbox.stop(1_000);
  });

  it('keeps one dead letter of each event that has nobody to go to, however often it stands in the log', async () => {
    using folder = temporaryFolder('svc-outbox-');
    const all = Array.from({ length: 100 }, (_, number) => entry(number));
    await writeTo(folder.path, [...all, ...all.map((one) => ({ ...one, attempts: 1 }))]);
    const { outbox, letters, counts } = await open(
      folder.path,
      () => ({ status: 204 }),
      {},
      () => undefined,
    );
    await new Promise<void>((resolve) => outbox.add(entry(5_000), resolve));
    await eventually(async () => (await letters()).includes('a5000'));
    await eventually(() => outbox.held === 0);
    expect((await letters()).toSorted()).to.deep.equal([...all.map(({ id }) => id), 'a5000'].toSorted());
    expect(counts.byTarget['a']).to.include({ dead: 101 });
    await outbox.stop(1_000);
  });

  it('counts what retention takes before it was sent, and goes on with the rest', async () => {
    using folder = temporaryFolder('svc-outbox-');
    const first = await open(folder.path, () => ({ status: 500 }));
    const later = { dueMs: Date.now() + 600_000 };
    for (let number = 0; number < 400; number++) {
      const body = { number, text: randomBytes(1_000).toString('base64') };
      await new Promise<void>((resolve) => first.outbox.add(entry(number, 'a', { ...later, body }), resolve));
    }
    await first.kill();
    {
      await using log = openLog(folder.path, { maxBytes: 131_072 });
      log.trim();
    }
    const second = await open(folder.path, () => ({ status: 204 }));
    await eventually(() => second.outbox.held > 0);
    const lost = second.counts.byTarget['outbox']?.dropped ?? 0;
    expect(lost).to.be.within(100, 399);
    await eventually(() => second.outbox.held === 400 - lost);
    expect(second.lines.lines.map(({ message }) => message)).to.deep.equal(['events in the outbox are lost']);
    await second.outbox.stop(1_000);
  });

  it('loses the events of a broken frame, counted, and no others', async () => {
    using folder = temporaryFolder('svc-outbox-');
    const first = await open(folder.path, () => ({ status: 500 }));
    const later = { dueMs: Date.now() + 600_000 };
    for (const number of [1, 2, 3]) {
      await new Promise<void>((resolve) => first.outbox.add(entry(number, 'a', later), resolve));
    }
    await first.kill();
    spoilFrame(folder.path, first.lane, 1, 2);
    const second = await open(folder.path, () => ({ status: 204 }));
    await eventually(() => second.outbox.held === 2);
    expect(second.counts.byTarget['outbox']).to.include({ dropped: 1 });
    await second.outbox.stop(1_000);
  });
});
