/** Invariants 2 and 4: revisions without hole or repeat, and one global order that extends each stream's and that of time. */
import { type StoredEvent, shortPosition } from '../../domain/event-store.ts';
import type { FinalLog, History } from './fault-history.ts';
import { byId, highestBefore, standsAsAnswered } from './fault-laws-appends.ts';

/** 2. Per stream: revisions 0..n without hole or repeat, whether it is read alone or out of the global order. */
export function revisionsAreWhole(_: History, { events, streams }: FinalLog): readonly string[] {
  const ordered = Map.groupBy(events, ({ stream }) => stream);
  const names = new Set([...ordered.keys(), ...streams.keys()]);
  const ids = Map.groupBy(events, ({ id }) => id);
  const repeated = [...ids].filter(([, same]) => same.length > 1).map(([id]) => `the event ${id} is in the log twice`);
  return [
    ...repeated,
    ...[...names].flatMap((name) => {
      const alone = streams.get(name) ?? [];
      const wrong = alone.findIndex(({ revision }, index) => revision !== BigInt(index));
      if (wrong >= 0) return [`${name} has revision ${alone[wrong]?.revision} where ${wrong} belongs`];
      const inOrder = (ordered.get(name) ?? []).toSorted((a, b) => Number(a.revision - b.revision));
      return sameEvents(alone, inOrder) ? [] : [`${name} reads otherwise alone than out of the global order`];
    }),
  ];
}

const sameEvents = (some: readonly StoredEvent[], others: readonly StoredEvent[]): boolean =>
  some.length === others.length &&
  some.every(({ id, revision, position }, index) => {
    const other = others[index];
    return id === other?.id && revision === other.revision && position === other.position;
  });

/** 4. The global order extends each stream's order, and the order of calls that followed each other; times never go back. */
export function orderExtends({ calls }: History, finalLog: FinalLog): readonly string[] {
  const wrong: string[] = [];
  const last = new Map<string, StoredEvent>();
  let before: StoredEvent | undefined;
  for (const event of finalLog.events) {
    const { position, stream, revision, at } = event;
    const place = `${shortPosition(position)} (${stream}, revision ${revision})`;
    if (before && position <= before.position) wrong.push(`${place} comes after ${shortPosition(before.position)}`);
    if (before && at < before.at) wrong.push(`${place} was stored before the event that it follows`);
    const inStream = last.get(stream);
    if (inStream && revision < inStream.revision) wrong.push(`${place} comes after revision ${inStream.revision}`);
    last.set(stream, event);
    before = event;
  }
  return [...wrong, ...judgeTime(calls, finalLog)];
}

/** An append that began when another had been acknowledged stands after it. */
function judgeTime(calls: History['calls'], finalLog: FinalLog): readonly string[] {
  const found = byId(finalLog);
  const placed = calls.flatMap((call) => {
    const { outcome, endUs, startUs, writes, commandId } = call;
    if (outcome.kind !== 'done' || outcome.duplicate || endUs === undefined) return [];
    if (!standsAsAnswered({ ...call, endUs, outcome }, found)) return [];
    const first = found.get(writes.flatMap(({ ids }) => ids)[0] ?? '');
    return first ? [{ commandId, startUs, endUs, first: first.position, last: outcome.position }] : [];
  });
  const reached = highestBefore(placed.map(({ endUs, last }) => [endUs, last]));
  return placed.flatMap(({ commandId, startUs, first }) => {
    const earlier = reached(startUs);
    const [own, other] = [first, earlier].map(shortPosition);
    return first > earlier ? [] : [`append ${commandId} stands at ${own} and began when ${other} was acknowledged`];
  });
}
