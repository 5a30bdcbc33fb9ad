/** The judge of the fault checker: the ten invariants of the event store over a history and the log as it is afterwards. */
import { shortPosition } from '../../domain/event-store.ts';
import {
  type AppendCall,
  emptyHistory,
  type FinalLog,
  type History,
  type Law,
  type Restore,
  type Violation,
} from './fault-history.ts';
import { acknowledgedIsReadable, answersAreTrue } from './fault-laws-appends.ts';
import {
  consumersSeeOnce,
  gatewaysGoForward,
  projectionsEqualFolds,
  readersSeePrefixes,
} from './fault-laws-followers.ts';
import { orderExtends, revisionsAreWhole } from './fault-laws-order.ts';
import { proofsHold } from './fault-laws-proof.ts';

const laws: readonly (readonly [Violation['invariant'], Law])[] = [
  [1, acknowledgedIsReadable],
  [2, revisionsAreWhole],
  [3, answersAreTrue],
  [4, orderExtends],
  [5, readersSeePrefixes],
  [6, consumersSeeOnce],
  [7, projectionsEqualFolds],
  [8, proofsHold],
  [9, restoresHold],
  [10, gatewaysGoForward],
];

export const judge = (history: History, finalLog: FinalLog): readonly Violation[] =>
  laws.flatMap(([invariant, law]) => law(history, finalLog).map((text) => ({ invariant, text })));

/** 9. After a restore from a backup 1–8 hold for the restored prefix. */
function restoresHold({ restores, calls }: History, finalLog: FinalLog): readonly string[] {
  return restores.flatMap((restore, index) =>
    judgeRestore(restore, calls, finalLog).map((text) => `backup ${index + 1}: ${text}`),
  );
}

function judgeRestore(restore: Restore, calls: History['calls'], finalLog: FinalLog): readonly string[] {
  const { startUs, restored, history, finalLog: after } = restore;
  const before = calls.flatMap((call) => (call.startUs < startUs ? [knownAt(startUs, call)] : []));
  const isSame = after.logId === finalLog.logId && after.era > finalLog.era;
  return [
    ...(isSame ? [] : [`it became era ${after.era} of ${after.logId}, from era ${finalLog.era} of ${finalLog.logId}`]),
    ...prefixBreak(restored, finalLog, 'the log that it was taken of'),
    ...prefixBreak(restored, after, 'the log that it became'),
    // Of what was acknowledged before the backup began nothing may be missing.
    ...judge({ ...emptyHistory, calls: before }, restored).map(({ text }) => text),
    ...judge({ ...history, restores: [] }, after).map(({ text }) => `afterwards: ${text}`),
  ];
}

/** What was answered later says nothing about a backup that had begun. */
function knownAt(us: number, { endUs, ...call }: AppendCall): AppendCall {
  if (endUs !== undefined && endUs < us) return { ...call, endUs };
  return { ...call, outcome: { kind: 'unknown', code: 'answered later' } };
}

function prefixBreak(part: FinalLog, whole: FinalLog, name: string): readonly string[] {
  const wrong = part.events.find(({ id, position, meta }, index) => {
    const other = whole.events[index];
    return other?.id !== id || other.position !== position || other.meta['hash'] !== meta['hash'];
  });
  return wrong ? [`its event at ${shortPosition(wrong.position)} is not what ${name} has there`] : [];
}
