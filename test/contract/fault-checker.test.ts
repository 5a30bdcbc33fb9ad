/** The fault checker: stores that are broken on purpose are found out, and SQLite holds every invariant while its processes are killed. */
import { randomInt, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { EventStore, Position } from '../../domain/event-store.ts';
import { AnswersBeforeCommit, SequencePositions, UncheckedCreation } from '../support/broken-stores.ts';
import {
  type AskedWrite,
  type HistoryLine,
  historyOf,
  type Outcome,
  type Violation,
} from '../support/fault-history.ts';
import { judge } from '../support/fault-judge.ts';
import { readFinalLog } from '../support/fault-reading.ts';
import { memoryRecorder, nowUs, recordedAppend, seen } from '../support/fault-recorder.ts';
import { reportOf } from '../support/fault-report.ts';
import { type RunOptions, runFaults } from '../support/fault-run.ts';

/** A client of a store whose calls and reads are recorded, and what the judge says in the end. Operational streams only: no chains. */
class Witness {
  readonly #store: EventStore;
  readonly #recorder = memoryRecorder();
  #cursor: Position = '';

  constructor(store: EventStore) {
    this.#store = store;
  }

  append(expected: AskedWrite['expected'], stream = 'gwnode-a'): Promise<Outcome> {
    const asked = { commandId: randomUUID(), writes: [{ stream, expected, ids: [randomUUID()] }] };
    return recordedAppend({ store: this.#store, recorder: this.#recorder }, asked, 1_000);
  }

  async read(): Promise<void> {
    const after = this.#cursor;
    const startUs = nowUs();
    const { events, next, atHead } = await this.#store.readAll({ after, limit: 100 });
    const line: HistoryLine = {
      ...{ kind: 'page', reader: 'reader', startUs, endUs: nowUs(), after, next, atHead, events: events.map(seen) },
    };
    this.#recorder.write(line);
    this.#cursor = next;
  }

  async verdict(): Promise<readonly Violation[]> {
    return judge(historyOf('witness', this.#recorder.lines), await readFinalLog(this.#store));
  }
}

const only = (violations: readonly Violation[], invariant: Violation['invariant'], text: RegExp): void => {
  expect(violations).to.have.length.above(0);
  for (const violation of violations) {
    expect(violation.invariant).to.equal(invariant);
    expect(violation.text).to.match(text);
  }
};

describe('the fault checker bites', () => {
  it('a store whose positions come from a sequence breaks invariant 5: a hole fills behind a reader', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const witness = new Witness(
      new SequencePositions(async (stream) => (stream === 'gwnode-slow' ? released : undefined)),
    );
    const slow = witness.append('any', 'gwnode-slow');
    await witness.append('any', 'gwnode-fast');
    await witness.read();
    release();
    await slow;
    await witness.read();
    only(await witness.verdict(), 5, /saw 2 .* where 1 .* stands/);
  });

  it('a store that does not check noStream fails the create race', async () => {
    const witness = new Witness(new UncheckedCreation());
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => witness.append('noStream')));
    expect(outcomes.filter(({ kind }) => kind === 'done')).to.have.length.above(1);
    await witness.read();
    only(await witness.verdict(), 3, /expected noStream of gwnode-a and was written when it stood at/);
  });

  it('a store that acknowledges before it commits breaks invariant 1 when it crashes', async () => {
    const store = new AnswersBeforeCommit();
    const witness = new Witness(store);
    await witness.append('any');
    await store.flush();
    await witness.append('any');
    await store.crash();
    await witness.append('any');
    await store.flush();
    await witness.read();
    only(await witness.verdict(), 1, /was acknowledged, and .* is not in the log/);
  });

  it('a sound store passes the same scenes', async () => {
    const witness = new Witness(new SequencePositions(async () => undefined));
    await Promise.all([witness.append('any', 'gwnode-slow'), witness.append('any', 'gwnode-fast')]);
    await witness.read();
    expect(await witness.verdict()).to.deep.equal([]);
  });
});

const small = { processes: 3, streams: 5, events: 300, kills: 12, seconds: 0 };

/** A failure names the seed, which brings the same decisions again. */
async function expectSound(options: RunOptions): Promise<void> {
  const result = await runFaults(options).catch((error: unknown) => {
    throw new Error(`${options.engine}, seed ${options.seed}: the run failed`, { cause: error });
  });
  const report = reportOf(options, result);
  expect(result.violations, report).to.deep.equal([]);
  const { kills, events, conflicts, pages, folds, gatewaySamples, anchors } = result.counts;
  expect(kills, report).to.be.at.least(options.kills);
  expect(events, report).to.be.at.least(options.events * options.processes);
  // A run in which nobody was refused or nobody followed would prove nothing.
  for (const count of [conflicts, pages, folds, gatewaySamples, anchors]) expect(count, report).to.be.above(0);
}

describe('three nodes with 300 events each, and 12 kills', function () {
  this.timeout(120_000);

  for (const engine of ['memory', 'sqlite'] as const) {
    it(`every invariant holds on ${engine}`, () => expectSound({ ...small, engine, seed: randomInt(1_000_000) }));
  }
});
