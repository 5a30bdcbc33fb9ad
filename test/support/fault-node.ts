/** One management node of a fault checker's run: it appends, anchors, and has readers, consumers, projections and a gateway. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { toOrgId } from '../../domain/ids.ts';
import { startAnchorer } from '../../src/stores/integrity/anchorer.ts';
import type { OpenedLog } from '../../src/stores/opened-log.ts';
import { newSigner } from './audit-log.ts';
import { arrivalMs, type Follower, startConsumer, startProjections, startReader } from './fault-followers.ts';
import { type HistoryLine, parseLines } from './fault-history.ts';
import { createRandom, type Random } from './fault-random.ts';
import type { AskedAppend, Recorder } from './fault-recorder.ts';
import { runWorkload } from './fault-workload.ts';

/** Where a node keeps what it needs, and what it does; a life is one start of its process. */
export type NodeConfig = {
  readonly node: number;
  readonly life: number;
  readonly seed: number;
  readonly folder: string;
  readonly streams: number;
  /** Appends under way at the same time. */
  readonly lanes: number;
  readonly timeoutMs: number;
  readonly jumpsClock: boolean;
};

export type Clock = { aheadMs: number };

const hourMs = 3_600_000;

export const historyFile = ({ folder, node, life }: Pick<NodeConfig, 'folder' | 'node' | 'life'>): string =>
  join(folder, `history-${node}-${life}.jsonl`);

/** Names of the consumers of a node, and what each wants. */
export const consumersOf = (node: number) =>
  [
    { name: `consumer-${node}-all`, wanted: {} },
    { name: `consumer-${node}-nodes`, wanted: { categories: ['gwnode'] } },
    { name: `consumer-${node}-nothing`, wanted: { categories: ['policy'] } },
  ] as const;

export const consumerFile = (folder: string, name: string): string => join(folder, `${name}.jsonl`);

const namesOf = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

export type RunningNode = {
  /** Writes no more, waits until everybody who follows has come to the head, and stops. */
  finish(): Promise<void>;
  /** Stops without waiting for anybody to arrive. */
  stop(): Promise<void>;
};

export function startNode(
  config: NodeConfig,
  { store, cells }: OpenedLog,
  { recorder, clock, onAnswer }: { recorder: Recorder; clock: Clock; onAnswer: (events: number) => void },
): RunningNode {
  const { node, life, seed, folder, streams, lanes, timeoutMs, jumpsClock } = config;
  const randomFor = (purpose: string): Random => createRandom(seed, node, life, purpose);
  const ending = new AbortController();
  const past = pastOf(config);
  const jumps = randomFor('clock');
  const writing = Array.from({ length: lanes }, (_, lane) =>
    runWorkload({
      ...{ store, recorder, random: randomFor(`lane ${lane}`), timeoutMs, past, onAnswer, signal: ending.signal },
      ...{ strict: namesOf('api', streams), loose: namesOf('gwnode', 2), created: 'uniq-route.' },
      jumpClock: () => {
        if (jumpsClock) clock.aheadMs = jumps.pick([-hourMs, 0, hourMs]);
      },
    }),
  );
  const following = { store, recorder, random: randomFor('followers') };
  const followers: readonly Follower[] = [
    startReader(following, `reader ${node}.${life}`),
    ...consumersOf(node).map(({ name, wanted }) => startConsumer(following, consumerFile(folder, name), wanted)),
    startProjections(following, {
      models: join(folder, `models-${node}.db`),
      generations: join(folder, `generations-${node}`),
      gateway: `gateway ${node}.${life}`,
    }),
  ];
  const anchorer = startAnchorer({
    ...{
      store,
      cells,
      signer: newSigner(),
      orgId: toOrgId('acme'),
      owner: `node ${node}`,
      maxEvents: 25,
      everyMs: 100,
    },
    // The next look tries again; what it left behind is judged.
    log: { error: () => undefined },
    now: () => Date.now() + clock.aheadMs,
  });
  const stopWriting = async (): Promise<void> => {
    ending.abort();
    await Promise.all([...writing, anchorer.stop()]);
  };
  const stop = async (): Promise<void> => {
    await stopWriting();
    await Promise.all(followers.map((follower) => follower.stop()));
  };
  return {
    stop,
    async finish() {
      await stopWriting();
      const head = await store.head();
      await Promise.race([Promise.all(followers.map((follower) => follower.reach(head))), tooLate(head)]);
      await stop();
    },
  };
}

async function tooLate(head: string): Promise<never> {
  await pause(arrivalMs, undefined, { ref: false });
  throw new Error(`somebody who follows does not arrive at ${head}`);
}

/** The last appends of earlier lives of this node, among them those that nobody lived to hear the answer of. */
function pastOf({ folder, node, life }: NodeConfig): readonly AskedAppend[] {
  if (!existsSync(folder)) return [];
  const name = `history-${node}-${life - 1}.jsonl`;
  if (!readdirSync(folder).includes(name)) return [];
  const calls = parseLines<HistoryLine>(readFileSync(join(folder, name), 'utf8')).filter(({ kind }) => kind === 'call');
  return calls.slice(-10).flatMap((line) => (line.kind === 'call' ? [line] : []));
}
