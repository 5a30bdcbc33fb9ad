/** Who follows the log during a fault checker's run: a reader, checkpointed consumers, projections, and a gateway on their feed. */
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type EventStore, EventStoreError, type Position } from '../../domain/event-store.ts';
import { diskGenerations } from '../../gateway/feed/generations.ts';
import { Subscription } from '../../gateway/feed/subscription.ts';
import { gatewayConfig } from '../../projections/gateway-config.ts';
import type { GatewaySnapshot } from '../../projections/gateway-snapshot.ts';
import { startProjector } from '../../projections/runner/projector.ts';
import { createFeed } from '../../src/management/fleet/feed.ts';
import { openSqliteReadModels } from '../../src/stores/models/sqlite-read-models.ts';
import { counting, countsOf } from './fault-folds.ts';
import { type Consumer, parseLines, type Wanted } from './fault-history.ts';
import type { Random } from './fault-random.ts';
import { nowUs, type Recorder, seen } from './fault-recorder.ts';

export type Follower = {
  /** Resolves when it has come to this position. */
  reach(position: Position): Promise<void>;
  stop(): Promise<void>;
};

type Following = { readonly store: EventStore; readonly recorder: Recorder; readonly random: Random };

export const isAway = (error: unknown): boolean =>
  error instanceof EventStoreError && error.code === 'StoreUnavailable';

/** A store that is away for a moment is asked again; anything else ends the process. */
async function rideOut(error: unknown, signal: AbortSignal): Promise<void> {
  if (!isAway(error)) throw error;
  await pause(20, undefined, { signal }).catch(() => undefined);
}

/** Runs until it is stopped, tells where it is. A loop that fails makes `reach` and `stop` fail. */
function loop(run: (signal: AbortSignal, arrived: (position: Position) => void) => Promise<void>): Follower {
  const ending = new AbortController();
  const waiting = new Set<() => void>();
  let reached: Position = '';
  const running = run(ending.signal, (position) => {
    reached = position;
    for (const look of [...waiting]) look();
  });
  running.catch(() => undefined);
  const reach = (position: Position): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (reached < position) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  return {
    reach: (position) => Promise.race([reach(position), running]),
    async stop() {
      ending.abort();
      await running;
    },
  };
}

/** Reads the global order page by page and never goes back within its life. */
export const startReader = ({ store, recorder, random }: Following, reader: string): Follower =>
  loop(async (signal, arrived) => {
    let after: Position | undefined;
    while (!signal.aborted) {
      try {
        after ??= random.chance(0.5) ? '' : await store.head();
        const startUs = nowUs();
        const { events, next, atHead } = await store.readAll({ after, limit: 1 + random.below(60) });
        const page = { reader, startUs, endUs: nowUs(), after, next, atHead, events: events.map(seen) };
        if (next !== after || atHead) recorder.write({ kind: 'page', ...page });
        after = next;
        arrived(next);
        if (atHead) await pause(random.below(20), undefined, { signal }).catch(() => undefined);
      } catch (error) {
        await rideOut(error, signal);
      }
    }
  });

type BatchLine = Consumer['batches'][number];

/** What a consumer has done so far; a line that a kill cut off was not done and goes. */
export function batchesIn(path: string): readonly BatchLine[] {
  if (!existsSync(path)) return [];
  const text = readFileSync(path);
  truncateSync(path, text.lastIndexOf('\n') + 1);
  return parseLines<BatchLine>(text.toString());
}

/** Effect and checkpoint are one line, written at once; the next life goes on from the last whole one. */
export const startConsumer = ({ store }: Following, path: string, wanted: Wanted): Follower =>
  loop(async (signal, arrived) => {
    let checkpoint = batchesIn(path).at(-1)?.checkpoint ?? '';
    const file = openSync(path, 'a');
    try {
      while (!signal.aborted) {
        try {
          for await (const batch of store.subscribe({ after: checkpoint, filter: wanted, signal })) {
            const events = 'events' in batch ? batch.events.map(seen) : [];
            if (batch.checkpoint !== checkpoint || events.length > 0) {
              writeSync(file, `${JSON.stringify({ events, checkpoint: batch.checkpoint })}\n`);
            }
            checkpoint = batch.checkpoint;
            arrived(checkpoint);
          }
        } catch (error) {
          await rideOut(error, signal);
        }
      }
    } finally {
      closeSync(file);
    }
  });

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Short, so that who follows a killed process need not wait long. */
const leaseMs = 400;

export type ProjectionFolders = { readonly models: string; readonly generations: string; readonly gateway: string };

/** Projections on read models that live on, and a gateway that runs from their feed with its generations on disk. */
export function startProjections(
  { store, recorder, random }: Following,
  { models: path, generations, gateway }: ProjectionFolders,
): Follower {
  const ending = new AbortController();
  const models = openSqliteReadModels(path);
  const sample = (): void => {
    const position = models.checkpoint(counting.name)?.position;
    if (position === undefined) return;
    recorder.write({ kind: 'fold', projection: counting.name, position, state: countsOf(models) });
  };
  // As the last life left it.
  sample();
  const projector = startProjector({ store, models, projections: [counting, gatewayConfig], log: quiet, leaseMs });
  projector.changed(() => {
    if (random.chance(0.2)) sample();
  });
  const node = startGateway(recorder, gateway, {
    feed: createFeed({
      ...{ models, projector, identity: store.identity, signal: ending.signal, maxWaitMs: 1_000 },
      report: async () => undefined,
    }),
    generations: diskGenerations(generations, quiet),
  });
  return {
    async reach(position) {
      const names = [counting.name, gatewayConfig.name];
      if (!(await projector.waitFor(names, position, arrivalMs))) {
        const where = (await projector.status()).map((status) => JSON.stringify(status));
        throw new Error(`projections do not arrive at ${position}: ${where.join(' ')}`);
      }
      await node.reach(position);
      sample();
    },
    async stop() {
      await node.stop();
      ending.abort();
      await projector.stop();
      models.close();
    },
  };
}

/** Longer than anything is held up by a fault. */
export const arrivalMs = 30_000;

function startGateway(
  recorder: Recorder,
  gateway: string,
  source: Pick<ConstructorParameters<typeof Subscription>[0], 'feed' | 'generations'>,
): Follower {
  return loop(async (signal, arrived) => {
    let running: GatewaySnapshot | undefined;
    const note = (snapshot: GatewaySnapshot): void => {
      running = snapshot;
      const { logId, era, position, revision } = snapshot;
      const objects = Object.fromEntries(Object.values(snapshot.objects).map(({ id, ...own }) => [id, own.revision]));
      recorder.write({ kind: 'gateway', gateway, logId, era, position, revision, objects });
      arrived(position);
    };
    const subscription = new Subscription({
      ...source,
      clock: { now: Date.now, monotonic: () => performance.now() },
      log: quiet,
      swapEveryMs: 10,
      pauseMs: { first: 5, longest: 200 },
      apply({ snapshot, kept }) {
        note(snapshot);
        return { kept };
      },
      advance(position) {
        if (running) note({ ...running, position });
      },
    });
    await subscription.start();
    if (!signal.aborted) await once(signal, 'abort');
    await subscription.stop();
  });
}
