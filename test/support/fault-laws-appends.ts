/** Invariants 1 and 3: what an answer promised about an append, judged by the log as it is afterwards. */
import { type Position, type StoredEvent, shortPosition } from '../../domain/event-store.ts';
import type { AppendCall, AskedWrite, FinalLog, History, Outcome } from './fault-history.ts';

type Done = Extract<Outcome, { kind: 'done' }>;
type DoneCall = AppendCall & { readonly endUs: number; readonly outcome: Done };

const isDone = (call: AppendCall): call is DoneCall => call.outcome.kind === 'done' && call.endUs !== undefined;

const idsOf = ({ writes }: AppendCall): readonly string[] => writes.flatMap(({ ids }) => ids);

const named = ({ who, commandId }: AppendCall): string => `append ${commandId} of ${who}`;

export const byId = ({ events }: FinalLog): ReadonlyMap<string, StoredEvent> =>
  new Map(events.map((event) => [event.id, event]));

/** Whether the log has the events where the answer said. */
export function standsAsAnswered(call: DoneCall, found: ReadonlyMap<string, StoredEvent>): boolean {
  const { position, heads } = call.outcome;
  const last = found.get(idsOf(call).at(-1) ?? '');
  const isThere = (write: AskedWrite): boolean => {
    const end = found.get(write.ids.at(-1) ?? '');
    return end?.stream === write.stream && Number(end.revision) === heads[write.stream];
  };
  return last?.position === position && call.writes.filter(({ ids }) => ids.length > 0).every(isThere);
}

/** 1. Acknowledged ⇒ readable for ever: in the log, where the answer said, and by every read that began later. */
export function acknowledgedIsReadable({ calls, pages }: History, finalLog: FinalLog): readonly string[] {
  const found = byId(finalLog);
  const done = calls.filter(isDone).filter((call) => idsOf(call).length > 0);
  const lost = done.flatMap((call) => {
    const missing = idsOf(call).filter((id) => !found.has(id));
    if (missing.length > 0) return [`${named(call)} was acknowledged, and ${missing.join(', ')} is not in the log`];
    if (standsAsAnswered(call, found)) return [];
    return [`${named(call)} was acknowledged at ${shortPosition(call.outcome.position)} and stands elsewhere`];
  });
  const kept = done.filter((call) => standsAsAnswered(call, found));
  const reached = highestBefore(kept.map(({ endUs, outcome }) => [endUs, outcome.position]));
  const stale = pages.flatMap(({ reader, startUs, atHead, next }) => {
    const position = reached(startUs);
    if (!atHead || next >= position) return [];
    const [end, acknowledged] = [next, position].map(shortPosition);
    return [`${reader} was told that ${end} is the head when ${acknowledged} had been acknowledged`];
  });
  return [...lost, ...stale];
}

/** The highest position of all pairs whose time is before the one asked for. */
export function highestBefore(pairs: readonly (readonly [us: number, Position])[]): (us: number) => Position {
  const sorted = pairs.toSorted(([a], [b]) => a - b);
  const highest: Position[] = [];
  for (const [index, [, position]] of sorted.entries()) {
    const before = highest[index - 1];
    highest.push(before === undefined || position > before ? position : before);
  }
  return (us) => {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sorted[middle]?.[0] ?? 0) < us) low = middle + 1;
      else high = middle;
    }
    return highest[low - 1] ?? '';
  };
}

/** 3. Conflict answered ⇒ none of the events is present; unknown outcome ⇒ all or none; a success met its expectations. */
export function answersAreTrue({ calls }: History, finalLog: FinalLog): readonly string[] {
  const found = byId(finalLog);
  return [
    ...[...Map.groupBy(calls, ({ commandId }) => commandId).values()].flatMap((same) => [
      ...judgeRefusals(same, found),
      ...judgeWhole(same, found, finalLog),
    ]),
    ...judgeReasons(calls, finalLog, found),
  ];
}

function judgeRefusals(same: readonly AppendCall[], found: ReadonlyMap<string, StoredEvent>): readonly string[] {
  const mayHaveWritten = same.some(({ outcome }) => outcome.kind === 'done' || outcome.kind === 'unknown');
  return same.flatMap((call) => {
    const { outcome } = call;
    if (!idsOf(call).some((id) => found.has(id))) return [];
    if (outcome.kind === 'refused' && !mayHaveWritten) {
      return [`${named(call)} was refused (${outcome.code}), and its events are in the log`];
    }
    if (outcome.kind !== 'conflict' || (mayHaveWritten && couldHoldLater(call, outcome))) return [];
    return [`${named(call)} was answered with a conflict on ${outcome.stream}, and its events are in the log`];
  });
}

/** Only then may the same append have come through after it was refused: the stream was shorter than it expected. */
function couldHoldLater({ writes }: AppendCall, { stream, actual }: Extract<Outcome, { kind: 'conflict' }>): boolean {
  const expected = writes.find((write) => write.stream === stream)?.expected;
  if (expected === 'streamExists') return actual === null;
  return typeof expected === 'number' && expected > (actual ?? -1);
}

function judgeWhole(
  [call]: readonly AppendCall[],
  found: ReadonlyMap<string, StoredEvent>,
  finalLog: FinalLog,
): readonly string[] {
  if (!call) return [];
  const ids = idsOf(call);
  const present = ids.flatMap((id) => found.get(id) ?? []);
  const [first] = present;
  if (!first) return [];
  if (present.length < ids.length) {
    return [`${named(call)} is half in the log: ${present.length} of ${ids.length} events`];
  }
  const isTogether = (): boolean =>
    present.every(({ position }, index) => BigInt(position) === BigInt(first.position) + BigInt(index));
  if (finalLog.isGapless && !isTogether()) return [`${named(call)} does not stand in one piece, in its order`];
  return call.writes.flatMap((write) => {
    const before = headBefore(finalLog, write.stream, first.position);
    if (holds(write.expected, before)) return [];
    return [
      `${named(call)} expected ${write.expected} of ${write.stream} and was written when it stood at ${before ?? 'nothing'}`,
    ];
  });
}

function headBefore({ streams }: FinalLog, stream: string, position: Position): number | undefined {
  const last = streams.get(stream)?.findLast((event) => event.position < position);
  return last && Number(last.revision);
}

function holds(expected: AskedWrite['expected'], head: number | undefined): boolean {
  if (expected === 'any') return true;
  if (expected === 'noStream') return head === undefined;
  return expected === 'streamExists' ? head !== undefined : expected === head;
}

/** A conflict names what it found: that must have been so at some moment of the call. */
function judgeReasons(
  calls: readonly AppendCall[],
  finalLog: FinalLog,
  found: ReadonlyMap<string, StoredEvent>,
): readonly string[] {
  const acknowledgedUs = new Map<string, number>();
  for (const call of calls.filter(isDone)) {
    for (const id of idsOf(call)) {
      acknowledgedUs.set(id, Math.min(call.endUs, acknowledgedUs.get(id) ?? Number.POSITIVE_INFINITY));
    }
  }
  return calls.flatMap((call) => {
    const { outcome, writes, startUs } = call;
    if (outcome.kind !== 'conflict') return [];
    const { stream, actual } = outcome;
    const expected = writes.find((write) => write.stream === stream)?.expected;
    const said = `${named(call)} was told that ${stream} stands at ${actual ?? 'nothing'}`;
    if (expected === undefined || holds(expected, actual ?? undefined)) return [`${said}, which is no conflict`];
    const events = finalLog.streams.get(stream) ?? [];
    if (actual !== null && !events[actual]) return [`${said}, which it never did`];
    const next = events[(actual ?? -1) + 1];
    const nextUs = next && found.has(next.id) ? acknowledgedUs.get(next.id) : undefined;
    return nextUs !== undefined && nextUs < startUs
      ? [`${said}, when a later event had been acknowledged before it asked`]
      : [];
  });
}
