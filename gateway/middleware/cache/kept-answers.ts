/** The kept answers of a gateway: finds and keeps them, lets the first of several equal requests go ahead, and forgets those of an API. */
import { type GatewaySnapshot, objectsOfKind } from '../../../projections/gateway-snapshot.ts';
import type { CacheStanding, Clock, KeptAnswer, ResponseCache } from '../../ports.ts';

export type CacheOutcome = 'hit' | 'miss' | 'bypass';
export type CacheCounts = Readonly<Record<CacheOutcome, number>>;

/** The first of several equal requests; the others wait until it has landed. */
export type Flight = { readonly landed: Promise<void>; land(): void };

/** The name of one of several answers of a key. */
export type VariantKey = (key: string, names: readonly string[]) => string;

export type KeepTerms = {
  readonly key: string;
  readonly apiId: string;
  readonly epoch: number;
  readonly vary: readonly string[];
  readonly lifetimeMs: number;
  readonly variantKey: VariantKey;
};

/** A key whose answer could not be kept: nobody waits for the next one for so long. So many keys are remembered. */
const passMs = 10_000;
const maxPasses = 10_000;
const maxNames = 32;
/** Memory for copies of answers on their way: a client that reads slowly keeps its copy waiting. */
const maxCopiedBytes = 67_108_864;

export class KeptAnswers {
  readonly #cache: ResponseCache;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #flights = new Map<string, Flight>();
  readonly #passes = new Map<string, number>();
  /** By API id: how often it was flushed. */
  readonly #epochs = new Map<string, number>();
  #copiedBytes = 0;
  /** Positions of the requests to flush that were followed; undefined before the first snapshot. */
  #followed: ReadonlyMap<string, string> | undefined;
  readonly #counts = new Map<string, Record<CacheOutcome, number>>();

  constructor(cache: ResponseCache, clock: Pick<Clock, 'monotonic'>) {
    this.#cache = cache;
    this.#clock = clock;
  }

  epochOf(apiId: string): number {
    return this.#epochs.get(apiId) ?? 0;
  }

  find(key: string, variantKey: VariantKey): KeptAnswer | undefined {
    const found = this.#cache.get(key);
    if (found === undefined || found.kind === 'answer') return found;
    const variant = this.#cache.get(variantKey(key, found.names));
    return variant?.kind === 'answer' ? variant : undefined;
  }

  /** Nothing is kept that was asked for before a flush. */
  keep({ key, apiId, epoch, vary, lifetimeMs, variantKey }: KeepTerms, answer: KeptAnswer): void {
    if (epoch !== this.epochOf(apiId)) return;
    this.#passes.delete(key);
    const terms = { apiId, lifetimeMs };
    const before = this.#cache.get(key);
    // What one answer depended on may decide about the next one too.
    const known = before?.kind === 'names' ? before.names : [];
    const names = [...new Set([...vary, ...known])].toSorted();
    if (names.length > maxNames) return;
    if (names.length === 0) {
      this.#cache.put(key, answer, terms);
      return;
    }
    this.#cache.put(key, { kind: 'names', names }, terms);
    this.#cache.put(variantKey(key, names), answer, terms);
  }

  /** Who goes ahead for this key; undefined when nobody does. */
  flightOf(key: string): Flight | undefined {
    return this.#flights.get(key);
  }

  /** Undefined where waiting would be in vain: the last answer could not be kept. */
  takeOff(key: string): Flight | undefined {
    const until = this.#passes.get(key);
    if (until !== undefined && until > this.#clock.monotonic()) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const flight: Flight = {
      landed: promise,
      land: () => {
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
        resolve();
      },
    };
    this.#flights.set(key, flight);
    return flight;
  }

  /** The answer for this key cannot be kept. */
  pass(key: string): void {
    this.#passes.delete(key);
    this.#passes.set(key, this.#clock.monotonic() + passMs);
    if (this.#passes.size <= maxPasses) return;
    for (const oldest of this.#passes.keys()) {
      this.#passes.delete(oldest);
      return;
    }
  }

  /** Room for so many bytes of a copy; false when there is none. Whoever got it gives it back. */
  takeRoom(bytes: number): boolean {
    if (this.#copiedBytes + bytes > maxCopiedBytes) return false;
    this.#copiedBytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#copiedBytes -= bytes;
  }

  flush(apiId: string): number {
    this.#epochs.set(apiId, this.epochOf(apiId) + 1);
    return this.#cache.flush(apiId);
  }

  /** Follows the requests to flush of a snapshot; what was asked before this process began is done. */
  follow({ objects }: Pick<GatewaySnapshot, 'objects'>): void {
    const known = this.#followed;
    const asked = [...objectsOfKind(objects, 'cache-flush')].map(([, { id, position }]) => [id, position] as const);
    this.#followed = new Map(asked);
    for (const [apiId, position] of asked) if (known && known.get(apiId) !== position) this.flush(apiId);
  }

  count(apiId: string, outcome: CacheOutcome): void {
    let counts = this.#counts.get(apiId);
    if (counts === undefined) {
      counts = { hit: 0, miss: 0, bypass: 0 };
      this.#counts.set(apiId, counts);
    }
    counts[outcome]++;
  }

  /** `counts`: of requests, by API id; `copied`: bytes of answers on their way. */
  standing(): CacheStanding & { readonly counts: ReadonlyMap<string, CacheCounts>; readonly copied: number } {
    return { ...this.#cache.standing(), counts: this.#counts, copied: this.#copiedBytes };
  }
}
