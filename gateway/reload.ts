/** Reloads of one node: takes anew what is no change of the configuration, and joins those that come close together. */
import { setTimeout as pause } from 'node:timers/promises';
import { type GatewaySnapshot, objectsOfKind, type ReloadObject } from '../projections/gateway-snapshot.ts';
import type { Compiled } from './compile.ts';
import type { ReloadReport } from './feed/feed.ts';
import type { Clock, Log } from './ports.ts';

/** What a reload came to. `faults`: what could not be taken anew, in words; what runs goes on. */
type Reloaded = Pick<Compiled, 'results' | 'rejected'> & { readonly faults: readonly string[] };

type IsAnew = (apiId: string) => boolean;

export type ReloadsOptions = {
  /** Takes a fresh snapshot of the configuration. Rejects when the feed does not answer. */
  readonly refresh: () => Promise<void>;
  /** Takes anew what the settings of the node refer to. Rejects with what is wrong with them. */
  readonly renew: () => Promise<void>;
  /** Compiles those APIs again although nothing of them changed, and swaps. */
  readonly compileAnew: (isAnew: IsAnew) => Pick<Compiled, 'results' | 'rejected'>;
  readonly self: Addressed;
  /** A request was followed: `last` says what it came to. */
  readonly followed: () => void;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
  /** At most one reload in so many ms. Default 200. */
  readonly everyMs?: number;
};

type Asked = { readonly isAnew: IsAnew; readonly isFresh: boolean };

export class Reloads {
  readonly #options: ReloadsOptions;
  readonly #ending = new AbortController();
  #lastMs = Number.NEGATIVE_INFINITY;
  #running: Promise<Pick<Reloaded, 'faults'>> = Promise.resolve(nothing);
  #next: { readonly asked: Asked[]; readonly done: Promise<Reloaded> } | undefined;
  /** Ids of the requests in the last snapshot. */
  #known: ReadonlySet<string> | undefined;
  #last: ReloadReport | undefined;

  constructor(options: ReloadsOptions) {
    this.#options = options;
  }

  /** Resolves when what was asked for until now is done. */
  get idle(): Promise<Pick<Reloaded, 'faults'>> {
    return this.#running;
  }

  get last(): ReloadReport | undefined {
    return this.#last;
  }

  /** Looks again: at the configuration, at the settings, at what was rejected. APIs that did not change are reused. */
  look(): Promise<Reloaded> {
    return this.#run(() => false, { isFresh: true });
  }

  /** Follows the requests of a snapshot that was just compiled. A node that starts has everything anew: it has followed them. */
  follow(snapshot: GatewaySnapshot, compiled: Pick<Compiled, 'results' | 'rejected'>): void {
    const { self, followed } = this.#options;
    const requests = requestsFor(snapshot, self);
    const known = this.#known;
    this.#known = new Set(requests.map(({ body }) => body.reloadId));
    const due = requests.filter(({ body }) => known?.has(body.reloadId) === false);
    const [newest] = known ? due : requests;
    if (!newest) return;
    if (!known) {
      this.#last = reportOf(newest, { ...compiled, faults: [] });
      return;
    }
    const done = this.#run(isAbout(due), { isFresh: false });
    void done.then((reloaded) => {
      this.#last = reportOf(newest, reloaded);
      followed();
    });
  }

  /** Who asks while one is waiting shares it. */
  #run(isAnew: IsAnew, { isFresh }: { readonly isFresh: boolean }): Promise<Reloaded> {
    const asked = { isAnew, isFresh };
    if (this.#next) {
      this.#next.asked.push(asked);
      return this.#next.done;
    }
    const all = [asked];
    const done = this.#running.then(() => this.#runAll(all));
    this.#next = { asked: all, done };
    this.#running = done.catch(() => nothing);
    return done;
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  async #runAll(asked: readonly Asked[]): Promise<Reloaded> {
    const { clock, everyMs = 200, refresh, renew, compileAnew } = this.#options;
    const { signal } = this.#ending;
    const waitMs = this.#lastMs + everyMs - clock.monotonic();
    if (waitMs > 0) await pause(waitMs, undefined, { signal }).catch(() => {});
    this.#lastMs = clock.monotonic();
    this.#next = undefined;
    if (signal.aborted) return { results: [], rejected: [], faults: ['the gateway stops'] };
    // The settings first: they hold what lets this node ask for the configuration.
    const faults = [
      ...(await this.#tried('the settings of the node', renew)),
      ...(asked.some(({ isFresh }) => isFresh) ? await this.#tried('the configuration', refresh) : []),
    ];
    let compiled: Pick<Compiled, 'results' | 'rejected'> = { results: [], rejected: [] };
    const compileAll = async (): Promise<void> => {
      compiled = compileAnew((apiId) => asked.some(({ isAnew }) => isAnew(apiId)));
    };
    faults.push(...(await this.#tried('the APIs', compileAll)));
    return { ...compiled, faults };
  }

  async #tried(what: string, work: () => Promise<void>): Promise<readonly string[]> {
    try {
      await work();
      return [];
    } catch (error) {
      this.#options.log.warn(`${what} could not be taken anew; what runs goes on`, { error });
      return [`${what} could not be taken anew: ${error instanceof Error ? error.message : String(error)}`];
    }
  }
}

const nothing: Pick<Reloaded, 'faults'> = { faults: [] };

/** What this node is to requests. */
type Addressed = { readonly node: string; readonly group: string };

/** The requests for this node in a snapshot, newest first. */
const requestsFor = ({ objects }: GatewaySnapshot, { node, group }: Addressed): readonly ReloadObject[] =>
  [...objectsOfKind(objects, 'reload')]
    .map(([, object]) => object)
    .filter(({ body: { scope } }) => {
      if (scope === 'all' || 'api' in scope) return true;
      return 'group' in scope ? scope.group === group : scope.node === node;
    })
    .toSorted((a, b) => (a.position > b.position ? -1 : 1));

/** Whether one of the requests is about the API. */
const isAbout =
  (requests: readonly ReloadObject[]): IsAnew =>
  (apiId) =>
    requests.some(({ body: { scope } }) => scope === 'all' || !('api' in scope) || scope.api === apiId);

/** So many refused APIs are named. */
const maxRejected = 20;

function reportOf(
  { body: { reloadId }, position }: ReloadObject,
  { results, rejected, faults }: Reloaded,
): ReloadReport {
  const count = (wanted: string): number => results.filter(({ result }) => result === wanted).length;
  return {
    ...{ reloadId, position, loaded: count('loaded'), unchanged: count('unchanged'), rejected: count('rejected') },
    ...(rejected.length > 0 ? { errors: rejected.slice(0, maxRejected) } : {}),
    ...(faults.length > 0 ? { message: faults.join('; ') } : {}),
  };
}
