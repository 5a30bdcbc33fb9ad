/** Breaks one thing of a sound history, so that a test can see whether the judge finds it. */
import { padPosition, type StoredEvent } from '../../domain/event-store.ts';
import { event } from './event-store-events.ts';
import {
  type AppendCall,
  emptyHistory,
  type FinalLog,
  type History,
  type Outcome,
  type Violation,
} from './fault-history.ts';
import { type Case, firstOf, logOf } from './fault-sound.ts';

export const at = <T>(list: readonly T[], index: number): T => {
  const found = list.at(index);
  if (found === undefined) throw new RangeError(`there is no ${index}`);
  return found;
};

/** An event of an operational stream, which no chain protects. */
export const node = (position: number, revision: number, parts: Partial<StoredEvent> = {}): StoredEvent => ({
  ...event(),
  ...{ stream: 'gwnode-z', revision: BigInt(revision), position: padPosition(String(position)), at: new Date(9_000) },
  ...parts,
});

export const withCalls = ({ history, finalLog }: Case, ...calls: readonly AppendCall[]): Case => ({
  history: { ...history, calls: [...history.calls, ...calls] },
  finalLog,
});

/** The same append once more, with another answer. */
export const again = (call: AppendCall, outcome: Outcome): AppendCall => ({
  ...call,
  startUs: 5_000,
  endUs: 5_001,
  outcome,
});

export const conflict = (stream: string, actual: number | null): Outcome => ({ kind: 'conflict', stream, actual });

export const unknown: Outcome = { kind: 'unknown', code: 'UnknownOutcome' };

/** Only these events are in the log, and nobody said anything about them. */
export const bare = ({ finalLog }: Case, ...events: readonly StoredEvent[]): Case => ({
  history: emptyHistory,
  finalLog: logOf(finalLog, events),
});

export const callOf = (
  stream: string,
  events: readonly StoredEvent[],
  parts: Partial<AppendCall> = {},
): AppendCall => ({
  ...{ who: 'node 0.0', startUs: 1, endUs: 2, commandId: 'one', outcome: unknown },
  writes: [{ stream, expected: 'any', ids: events.map(({ id }) => id) }],
  ...parts,
});

export const changed = <K extends keyof History>(
  found: Case,
  key: K,
  index: number,
  change: (one: History[K][number]) => object,
): Case => {
  const list = found.history[key].map((one, place) => (place === index ? { ...one, ...change(one as never) } : one));
  return { ...found, history: { ...found.history, [key]: list } };
};

export const changedLog = (found: Case, index: number, parts: Partial<StoredEvent>): Case => ({
  history: emptyHistory,
  finalLog: logOf(
    found.finalLog,
    found.finalLog.events.map((one, place) => (place === index ? { ...one, ...parts } : one)),
  ),
});

export const apiIndex = ({ events }: FinalLog): number => events.findLastIndex(({ stream }) => stream === 'api-1');

const restoreOf = ({ finalLog }: Case, parts: Partial<History['restores'][number]> = {}): Partial<History> => {
  const restored = firstOf(finalLog, 10);
  const after = { ...restored, era: finalLog.era + 1 };
  return { restores: [{ startUs: 50, restored, history: emptyHistory, finalLog: after, ...parts }] };
};

export const withRestore = (found: Case, parts: Partial<History['restores'][number]> = {}): Case => ({
  ...found,
  history: { ...found.history, ...restoreOf(found, parts) },
});

export type Row = readonly [
  invariant: Violation['invariant'],
  what: string,
  text: RegExp,
  broken: (sound: Case) => Case,
];
