/** The first fold of a long log in threads of its own (`first-fold-worker.ts`), while this one starts to serve. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type EventStore, forwardedStore } from '../../domain/event-store.ts';
import type { Projection } from '../../projections/projection.ts';
import type { ReadModelStore } from '../../projections/read-model-store.ts';
import type { Log } from '../../projections/runner/projection-run.ts';
import { severalConnectionsAreSafe } from '../stores/sqlite.ts';

/** What a thread opens for itself. */
type FirstFoldPlace = { readonly storeUrl: string; readonly modelsPath: string };

/** `projections` by name. */
export type FirstFoldData = FirstFoldPlace & { readonly projections: readonly string[] };

export type FirstFoldLine = { readonly level: keyof Log; readonly message: string; readonly fields: object };

export type FirstFold = {
  /** Of a projection. Until it is over, however it ends, the lease is not to be asked for: a refused one waits for a transaction. */
  isGoing(projection: string): boolean;
  /** Of all of them. */
  readonly ended: Promise<void>;
  /** Ends it before it is over; what was folded so far is kept. */
  stop(): Promise<void>;
};

type Start = FirstFoldPlace & {
  readonly store: EventStore;
  readonly models: ReadModelStore;
  readonly projections: readonly Projection[];
  readonly log: Log;
  /** So few events are folded before a thread has started. Default 10,000. */
  readonly fewEvents?: number;
};

/** A log that cannot tell how long it is is long when it has more than this. */
const firstPage = 1_000;

/** Undefined when there is not much to fold, or when nobody else may open the stores. */
export async function startFirstFold({
  store,
  models,
  projections,
  log,
  fewEvents = 10_000,
  ...place
}: Start): Promise<FirstFold | undefined> {
  const isWhole = ({ name }: Projection): boolean => models.generations(name).some((generation) => generation.isWhole);
  if (projections.every(isWhole) || /^memory:/i.test(place.storeUrl) || !severalConnectionsAreSafe()) return undefined;
  if (!(await isLong(store, fewEvents))) return undefined;
  const [late, awaited] = [projections.filter(isLate), projections.filter((projection) => !isLate(projection))];
  const groups = [awaited, late].filter((group) => !group.every(isWhole));
  return inTurn(groups, (group) => fold(group, place, log));
}

const isLate = (projection: Projection): boolean => projection.isLate ?? false;

/** What nobody waits for takes no core from what a node needs to be ready. */
function inTurn(
  groups: readonly (readonly Projection[])[],
  start: (group: readonly Projection[]) => ThreadFold,
): FirstFold {
  const isToCome = new Set(groups.flat().map(({ name }) => name));
  let isStopped = false;
  let current: ThreadFold | undefined;
  async function run(): Promise<void> {
    for (const group of groups) {
      if (!isStopped) {
        current = start(group);
        await current.ended;
      }
      for (const { name } of group) isToCome.delete(name);
    }
  }
  const ended = run();
  return {
    isGoing: (projection) => isToCome.has(projection),
    ended,
    async stop() {
      isStopped = true;
      current?.stop();
      await ended;
    },
  };
}

const isLong = async (store: EventStore, fewEvents: number): Promise<boolean> =>
  store.can.gapless
    ? Number(await store.head()) > fewEvents
    : !(await store.readAll({ after: '', limit: firstPage })).atHead;

type ThreadFold = { readonly ended: Promise<void>; stop(): void };

function fold(group: readonly Projection[], place: FirstFoldPlace, log: Log): ThreadFold {
  const projections = group.map(({ name }) => name);
  const thread = new Worker(new URL(`./first-fold-worker${extname(import.meta.filename)}`, import.meta.url), {
    name: 'first-fold',
    workerData: { ...place, projections } satisfies FirstFoldData,
  });
  let isGoing = true;
  const ended = new Promise<void>((resolve) => {
    thread.once('exit', () => {
      isGoing = false;
      resolve();
    });
  });
  thread.on('message', ({ level, message, fields }: FirstFoldLine) => log[level](message, { ...fields }));
  // Whatever it was, the projector of this thread meets it again and says so in its status.
  thread.on('error', (error) => log.warn('the first fold goes on among requests', { reason: String(error) }));
  return {
    ended,
    stop() {
      if (isGoing) thread.postMessage('stop');
    },
  };
}

/** The same store for those who read in the background: they begin when the fold is over, because people wait for that. */
export const afterFirstFold = (store: EventStore, fold: FirstFold | undefined): EventStore =>
  fold
    ? {
        ...forwardedStore(store),
        readAll: async (...args) => {
          await fold.ended;
          return store.readAll(...args);
        },
        async *subscribe(...args) {
          await fold.ended;
          yield* store.subscribe(...args);
        },
      }
    : store;
