/** A small sound history with everything in it that the judge looks at, for tests that break one thing of it. */
import type { StoredEvent } from '../../domain/event-store.ts';
import { anchorStream } from '../../domain/ids.ts';
import { anchoredLog } from './audit-log.ts';
import { foldedConfiguration, referenceFolds } from './fault-folds.ts';
import type { AppendCall, FinalLog, GatewaySample, History, SeenEvent } from './fault-history.ts';
import { readFinalLog } from './fault-reading.ts';
import { seen } from './fault-recorder.ts';

export type Case = { readonly history: History; readonly finalLog: FinalLog };

const doneCall = ({ id, stream, revision, position }: StoredEvent, index: number): AppendCall => ({
  who: 'node 0.0',
  startUs: index * 10,
  endUs: index * 10 + 5,
  commandId: `command-${index}`,
  writes: [{ stream, expected: expectedOf(stream, Number(revision)), ids: [id] }],
  outcome: { kind: 'done', position, heads: { [stream]: Number(revision) }, duplicate: false },
});

const expectedOf = (stream: string, revision: number): 'any' | 'noStream' | number => {
  if (stream.startsWith('gwnode-')) return 'any';
  return revision === 0 ? 'noStream' : revision - 1;
};

/** The state of a fold after these events, the plain way. */
function folded(name: string, events: readonly StoredEvent[]): Readonly<Record<string, string>> {
  const steps = events.filter(({ stream }) => stream.startsWith('api-'));
  return Object.fromEntries(steps.flatMap((event) => [referenceFolds[name]?.(new Map(), event) ?? ['', '']]));
}

const inPages = (events: readonly SeenEvent[], size: number): readonly (readonly SeenEvent[])[] =>
  Array.from({ length: Math.ceil(events.length / size) }, (_, page) => events.slice(page * size, (page + 1) * size));

const endOf = (events: readonly SeenEvent[]): string => events.at(-1)?.position ?? '';

export async function soundCase(): Promise<Case> {
  const log = await anchoredLog();
  const finalLog = await readFinalLog(log.store);
  const { events, logId, era } = finalLog;
  const all = events.map(seen);
  const calls = events.filter(({ stream }) => stream !== anchorStream).map(doneCall);
  const endUs = events.length * 10;
  const pages = inPages(all, 7).map((own, index, list) => ({
    ...{ reader: 'reader 0.0', startUs: endUs + index, endUs: endUs + index, events: own },
    ...{ after: endOf(list[index - 1] ?? []), next: endOf(own), atHead: index === list.length - 1 },
  }));
  const nodes = all.filter(({ stream }) => stream.startsWith('gwnode-'));
  const consumers = [
    { name: 'all', batches: inPages(all, 4).map((own) => ({ events: own, checkpoint: endOf(own) })) },
    {
      ...{ name: 'nodes', categories: ['gwnode'] },
      batches: [
        ...nodes.map((one) => ({ events: [one], checkpoint: one.position })),
        { events: [], checkpoint: endOf(all) },
      ],
    },
  ];
  const places = [3, 9, events.length].map((count) => events.slice(0, count));
  const gateways = places.map(
    (part): GatewaySample => ({
      ...{ gateway: 'gateway 0.0', logId, era, position: endOf(part.map(seen)), revision: endOf(part.map(seen)) },
      objects: folded(foldedConfiguration, part),
    }),
  );
  const folds = places.map((part) => ({
    ...{ projection: 'counts', position: endOf(part.map(seen)), state: folded('counts', part) },
  }));
  return { history: { calls, pages, consumers, folds, gateways, restores: [] }, finalLog };
}

/** The first events of a log, as a backup has them. */
export function firstOf({ events, streams, ...rest }: FinalLog, count: number): FinalLog {
  const kept = events.slice(0, count);
  const last = kept.at(-1)?.position ?? '';
  const cut = [...streams].map(([name, own]) => [name, own.filter(({ position }) => position <= last)] as const);
  return { ...rest, events: kept, streams: new Map(cut.filter(([, own]) => own.length > 0)) };
}

/** The same log with other events in it, in the order of their positions. */
export function logOf({ logId, era, isGapless }: FinalLog, events: readonly StoredEvent[]): FinalLog {
  const streams = Map.groupBy(events, ({ stream }) => stream);
  const ordered = [...streams].map(
    ([name, own]) => [name, own.toSorted((a, b) => Number(a.revision - b.revision))] as const,
  );
  return { logId, era, isGapless, events, streams: new Map(ordered) };
}
