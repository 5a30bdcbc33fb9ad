/** Reads what a run of the fault checker left behind: the log as it is, and the histories of its nodes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventStore, StoredEvent } from '../../domain/event-store.ts';
import { readWholeLog } from './event-store-events.ts';
import { batchesIn } from './fault-followers.ts';
import { emptyHistory, type FinalLog, type History, type HistoryLine, historyOf, parseLines } from './fault-history.ts';
import { consumerFile, consumersOf } from './fault-node.ts';

export async function readFinalLog(store: EventStore): Promise<FinalLog> {
  const events = await readWholeLog(store);
  const names = [...new Set(events.map(({ stream }) => stream))];
  const streams = new Map<string, readonly StoredEvent[]>();
  for (const name of names) streams.set(name, await readWholeStream(store, name));
  return { ...store.identity, isGapless: store.can.gapless, events, streams };
}

async function readWholeStream(store: EventStore, stream: string): Promise<readonly StoredEvent[]> {
  const found: StoredEvent[] = [];
  for (;;) {
    const from = (found.at(-1)?.revision ?? -1n) + 1n;
    const page = await store.readStream(stream, { from, limit: 1_000 });
    if (page.length === 0) return found;
    found.push(...page);
  }
}

/** One history for each life of each node, lives in their order, and one for its consumers. */
export function readHistory(folder: string, nodes: number): readonly History[] {
  return Array.from({ length: nodes }, (_, node) => node).flatMap((node) => [
    ...livesOf(folder, node).map((life) => {
      const text = readFileSync(join(folder, `history-${node}-${life}.jsonl`), 'utf8');
      return historyOf(`node ${node}.${life}`, parseLines<HistoryLine>(text));
    }),
    {
      ...emptyHistory,
      consumers: consumersOf(node).map(({ name, wanted }) => ({
        ...{ name, ...wanted },
        batches: batchesIn(consumerFile(folder, name)),
      })),
    },
  ]);
}

const livesOf = (folder: string, node: number): readonly number[] =>
  readdirSync(folder)
    .flatMap((name) => new RegExp(`^history-${node}-(\\d+)\\.jsonl$`).exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
