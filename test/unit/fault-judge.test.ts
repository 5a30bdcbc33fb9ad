/** The judge of the fault checker: a sound history passes, and for each invariant histories that break that one alone. */
import { expect } from 'chai';
import fc from 'fast-check';
import { startProjector } from '../../projections/runner/projector.ts';
import { MemoryEventStore } from '../../src/stores/events/memory-event-store.ts';
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { append, event, write } from '../support/event-store-events.ts';
import { at, conflict, unknown, withRestore } from '../support/fault-break.ts';
import { brokenAppends } from '../support/fault-broken-appends.ts';
import { brokenFollowers } from '../support/fault-broken-followers.ts';
import { counting, countsOf } from '../support/fault-folds.ts';
import { emptyHistory, historyOf, parseLines, type Violation } from '../support/fault-history.ts';
import { judge } from '../support/fault-judge.ts';
import { readFinalLog } from '../support/fault-reading.ts';
import { type Case, soundCase } from '../support/fault-sound.ts';
import { apiActivated, appendEvents, keptLog } from '../support/given.ts';

describe('the judge of the fault checker', () => {
  let sound: Case;
  before(async () => {
    sound = await soundCase();
  });
  const verdict = ({ history, finalLog }: Case): readonly Violation[] => judge(history, finalLog);

  it('a sound history breaks nothing, and neither does one with a backup', () => {
    expect(verdict(sound)).to.deep.equal([]);
    expect(verdict(withRestore(sound))).to.deep.equal([]);
  });

  for (const [invariant, what, text, broken] of [...brokenAppends, ...brokenFollowers]) {
    it(`invariant ${invariant}: ${what}`, () => {
      const violations = verdict(broken(sound));
      expect(violations, JSON.stringify(violations)).to.have.length.above(0);
      for (const violation of violations) expect(violation.invariant, violation.text).to.equal(invariant);
      expect(violations.map((violation) => violation.text).join('\n')).to.match(text);
    });
  }

  it('a conflict is forgiven when the same append may have come through later', () => {
    const call = at(sound.history.calls, -1);
    const [{ stream, expected }] = [at(call.writes, 0)];
    const early = { ...call, endUs: 6, startUs: 5, outcome: conflict(stream, null) };
    const lost = { ...call, outcome: unknown };
    expect(typeof expected).to.equal('number');
    const others = sound.history.calls.slice(0, -1);
    expect(judge({ ...sound.history, calls: [...others, lost, early] }, sound.finalLog)).to.deep.equal([]);
  });

  it('calls without an answer are unknown, and a line that a kill cut off was not written', () => {
    const call = { kind: 'call', n: 1, us: 1, commandId: 'one', writes: [] } as const;
    const text = `${JSON.stringify(call)}\n{"kind":"answer","n":1,"us":2,"outc`;
    const { calls } = historyOf('node', parseLines(text));
    expect(calls).to.deep.equal([
      { who: 'node', startUs: 1, commandId: 'one', writes: [], outcome: { kind: 'unknown', code: 'no answer' } },
    ]);
  });

  it('the projection that follows a run equals the reference fold for every order of events', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 3 }), { maxLength: 30 }), async (choices) => {
        const store = new MemoryEventStore();
        const models = openSqliteReadModels(':memory:');
        for (const choice of choices) await appendEvents(store, apiActivated(`a${choice}`));
        await append(store, [write('gwnode-a', 'any', event())]);
        const projector = startProjector({ store, models, projections: [counting], log: keptLog() });
        await projector.ready;
        const position = await store.head();
        await projector.waitFor([counting.name], position, 5_000);
        const folds = [{ projection: counting.name, position, state: countsOf(models) }];
        const finalLog = await readFinalLog(store);
        await projector.stop();
        models.close();
        // Those events have no chain.
        const violations = judge({ ...emptyHistory, folds }, finalLog).filter(({ invariant }) => invariant !== 8);
        expect(violations).to.deep.equal([]);
      }),
      { numRuns: 20 },
    );
  });
});
