/** Invariants 5, 6, 7 and 10: what readers, consumers, projections and gateways saw, against the log as it is afterwards. */
import { categoryOf, type Position, type StoredEvent, shortPosition } from '../../domain/event-store.ts';
import { categoryOfApis, foldedConfiguration, referenceFolds } from './fault-folds.ts';
import type { FinalLog, GatewaySample, History, SeenEvent, Wanted } from './fault-history.ts';

/** Events after one position and up to another, as the final order has them. */
function between(
  { events }: FinalLog,
  after: Position,
  upTo: Position,
  { categories }: Wanted,
): readonly StoredEvent[] {
  const inside = events.slice(indexAfter(events, after), indexAfter(events, upTo));
  return categories ? inside.filter(({ stream }) => categories.includes(categoryOf(stream))) : inside;
}

function indexAfter(events: readonly StoredEvent[], position: Position): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((events[middle]?.position ?? '') > position) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Says where two lists part; undefined when they do not. */
function difference(seen: readonly SeenEvent[], expected: readonly StoredEvent[]): string | undefined {
  const length = Math.max(seen.length, expected.length);
  for (let index = 0; index < length; index++) {
    const [one, other] = [seen[index], expected[index]];
    if (!one && other) return `did not see ${shortPosition(other.position)} (${other.stream})`;
    if (one && !other) return `saw ${shortPosition(one.position)} (${one.stream}), which is not there`;
    if (!one || !other) continue;
    const isSame = one.id === other.id && one.position === other.position && one.stream === other.stream;
    if (!isSame || BigInt(one.revision) !== other.revision) {
      return `saw ${shortPosition(one.position)} (${one.id}) where ${shortPosition(other.position)} (${other.id}) stands`;
    }
  }
  return undefined;
}

/** 5. Every reader that never resets sees a prefix of the final order; no hole fills behind it. */
export function readersSeePrefixes({ pages }: History, finalLog: FinalLog): readonly string[] {
  const head = finalLog.events.at(-1)?.position ?? '';
  return [...Map.groupBy(pages, ({ reader }) => reader)].flatMap(([reader, own]) =>
    own.flatMap((page, index) => {
      const { after, next, events } = page;
      const before = own[index - 1];
      const where = `${reader}, reading from ${shortPosition(after)} to ${shortPosition(next)},`;
      if (before && before.next !== after) return [`${where} had come to ${shortPosition(before.next)} before`];
      if (next < after) return [`${where} went back`];
      if (next > head) return [`${where} went beyond the end of the log`];
      const differs = difference(events, between(finalLog, after, next, page));
      return differs ? [`${where} ${differs}`] : [];
    }),
  );
}

/** 6. Each checkpointed consumer gets each event once (effect), in order, whatever became of it in between. */
export function consumersSeeOnce({ consumers }: History, finalLog: FinalLog): readonly string[] {
  return consumers.flatMap((consumer) => {
    const { name, batches } = consumer;
    const back = batches.find(({ checkpoint }, index) => checkpoint < (batches[index - 1]?.checkpoint ?? ''));
    if (back) return [`the checkpoint of ${name} went back to ${shortPosition(back.checkpoint)}`];
    const seen = batches.flatMap(({ events }) => events);
    const differs = difference(seen, between(finalLog, '', batches.at(-1)?.checkpoint ?? '', consumer));
    return differs ? [`${name} ${differs}`] : [];
  });
}

/** 7. A projection at position P equals the fold of the events ≤ P; so does the configuration that a gateway runs. */
export function projectionsEqualFolds({ folds, gateways }: History, finalLog: FinalLog): readonly string[] {
  const samples = [
    ...folds.map(({ projection, position, state }) => ({ of: projection, fold: projection, position, state })),
    ...gateways.map(({ gateway, position, objects }) => ({
      ...{ of: gateway, fold: foldedConfiguration, position, state: objects },
    })),
  ].toSorted((a, b) => (a.position < b.position ? -1 : Number(a.position > b.position)));
  const states = new Map(Object.keys(referenceFolds).map((name) => [name, new Map<string, string>()]));
  let index = 0;
  return samples.flatMap(({ of, fold, position, state }) => {
    const end = indexAfter(finalLog.events, position);
    for (; index < end; index++) advance(states, finalLog.events[index]);
    const expected = Object.fromEntries(states.get(fold) ?? []);
    return sameRecord(expected, state)
      ? []
      : [`${of} at ${shortPosition(position)} is ${JSON.stringify(state)}, the fold is ${JSON.stringify(expected)}`];
  });
}

function advance(states: ReadonlyMap<string, Map<string, string>>, event: StoredEvent | undefined): void {
  if (!event || categoryOf(event.stream) !== categoryOfApis) return;
  for (const [name, state] of states) {
    const [key, value] = referenceFolds[name]?.(state, event) ?? [];
    if (key !== undefined && value !== undefined) state.set(key, value);
  }
}

const sameRecord = (one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean =>
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([key, value]) => other[key] === value);

/** 10. Gateway positions never go back (within an era). */
export function gatewaysGoForward({ gateways }: History): readonly string[] {
  return [...Map.groupBy(gateways, ({ gateway }) => gateway)].flatMap(([gateway, own]) =>
    own.flatMap((sample, index) => {
      const before = own[index - 1];
      const reason = before && backwards(before, sample);
      return reason ? [`${gateway} went back: ${reason}`] : [];
    }),
  );
}

function backwards(before: GatewaySample, now: GatewaySample): string | undefined {
  if (now.logId !== before.logId) return `from log ${before.logId} to ${now.logId}`;
  if (now.era !== before.era) return now.era < before.era ? `from era ${before.era} to ${now.era}` : undefined;
  const fell = (['position', 'revision'] as const).find((name) => now[name] < before[name]);
  return fell && `${fell} ${shortPosition(before[fell])} to ${shortPosition(now[fell])}`;
}
