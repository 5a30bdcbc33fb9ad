/** The writer of the outbox: numbers without a hole, order, a disk that refuses, and an end that waits for no disk. */
import { expect } from 'chai';
import type { OutboxEntry, Unnumbered } from '../../../gateway/events/outbox-entry.ts';
import { type OutboxLane, OutboxWriter } from '../../../gateway/events/outbox-writer.ts';
import { eventually } from '../../support/eventually.ts';
import { ListLane } from '../../support/gateway-lane.ts';
import { listLog, systemClock } from '../../support/gateway-start.ts';

const entry = (id: string): Unnumbered => ({
  ...{ id, eventId: id, target: 'a', webhookId: '', orgId: 'acme', apiId: 'api', trigger: 'AuthFailure', body: {} },
  ...{ equality: '', cooldownMs: 0, raisedMs: 0, sinceMs: 0, attempts: 0, dueMs: 0, lastStatus: null, error: null },
});

function setUp(lane = new ListLane()) {
  const log = listLog();
  const writer = new OutboxWriter(lane as unknown as OutboxLane, { clock: systemClock, log });
  const entries = () => lane.records as unknown as readonly OutboxEntry[];
  return { lane, log, writer, entries };
}

describe('the writer of the outbox', () => {
  it('numbers entries without a hole, 500 a frame at most, and says when each is there', async () => {
    const { lane, writer, entries } = setUp();
    const written: string[] = [];
    for (let number = 0; number < 1_200; number++) {
      writer.add(entry(`e${number}`), () => written.push(`e${number}`));
    }
    await eventually(() => written.length === 1_200);
    expect(entries().map(({ id }) => id)).to.deep.equal(written);
    expect(entries().map(({ ext: { seq } }) => seq)).to.deep.equal(Array.from({ length: 1_200 }, (_, i) => i + 1));
    for (const { first, last, records } of lane.frames) {
      expect(records.length).to.equal(last - first + 1);
      expect(records.length).to.be.at.most(500);
    }
    await writer.end(1_000);
    expect(lane.ended).to.equal(1_200);
  });

  it('tries again until the disk takes a batch, in order, and logs each refusal', async () => {
    const { lane, log, writer, entries } = setUp();
    lane.failures = 2;
    writer.add(entry('first'));
    await eventually(() => log.lines.length === 1);
    const done = new Promise<void>((resolve) => writer.add(entry('second'), resolve));
    await done;
    expect(entries().map(({ id }) => id)).to.deep.equal(['first', 'second']);
    expect(log.lines.map(({ level, message }) => `${level} ${message}`)).to.deep.equal([
      ...['error the outbox of events refused a batch', 'error the outbox of events refused a batch'],
    ]);
  });

  it('begins with what earlier runs lost', async () => {
    const lost = { kind: 'loss', epoch: 6, from: 3, to: 4, reason: 'crash', atFrom: 1, atTo: 2, tally: [] } as const;
    const { lane, writer } = setUp(new ListLane([lost]));
    await new Promise<void>((resolve) => writer.add(entry('first'), resolve));
    expect(lane.frames.map(({ first, last, markers }) => [first, last, markers.length])).to.deep.equal([
      ...[
        [1, 0, 1],
        [1, 1, 0],
      ],
    ]);
  });

  for (const [what, spoil] of [
    ['refuses', (lane: ListLane) => (lane.failures = Number.POSITIVE_INFINITY)],
    ['does not answer', (lane: ListLane) => (lane.hold = new Promise(() => {}))],
  ] as const) {
    it(`gives up a disk that ${what} at the end of its time, and leaves the run without an end`, async () => {
      const { lane, writer } = setUp();
      spoil(lane);
      let isWritten = false;
      writer.add(entry('first'), () => {
        isWritten = true;
      });
      await writer.end(20);
      expect([isWritten, lane.ended]).to.deep.equal([false, undefined]);
    });
  }
});
