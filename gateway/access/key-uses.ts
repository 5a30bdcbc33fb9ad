/** Which keys were used since management took the last report: a report carries the newest of them. Bounded, however many keys there are. */
import type { KeyUse } from '../../domain/key-use.ts';
import type { Clock, Counters } from '../ports.ts';
import type { KeySession } from './session.ts';

/** So many stand in one report, and no more are remembered between two. */
const maxTold = 1_000;

/** Reports that come more often, because the configuration changes, carry none. */
const everyMs = 5_000;

type Use = { readonly session: KeySession; readonly atMs: number };

type KeyUsesOptions = {
  readonly clock: Clock;
  readonly counters: Pick<Counters, 'standing'>;
};

export class KeyUses {
  readonly #options: KeyUsesOptions;
  /** By key, the one that was used last at the end. */
  readonly #used = new Map<string, Use>();
  #nextMs = 0;

  constructor(options: KeyUsesOptions) {
    this.#options = options;
  }

  /** `atMs`: ms since 1970. */
  saw(session: KeySession, atMs: number): void {
    const { keyId } = session;
    // A tunnel that ends now came before what was told of the key meanwhile.
    if ((this.#used.get(keyId)?.atMs ?? atMs) > atMs) return;
    this.#used.delete(keyId);
    this.#used.set(keyId, { session, atMs });
    if (this.#used.size <= maxTold) return;
    for (const oldest of this.#used.keys()) {
      this.#used.delete(oldest);
      break;
    }
  }

  /** Newest first; nothing so soon after the last time. */
  next(): readonly KeyUse[] {
    if (this.#options.clock.monotonic() < this.#nextMs) return [];
    return [...this.#used.values()].toReversed().map((use) => this.#told(use));
  }

  /** Management has taken these. A key that was used again meanwhile is told again. */
  taken(told: readonly KeyUse[]): void {
    if (told.length === 0) return;
    this.#nextMs = this.#options.clock.monotonic() + everyMs;
    for (const { key, at } of told) {
      if (this.#used.get(key)?.atMs === Date.parse(at)) this.#used.delete(key);
    }
  }

  #told({ session: { keyId, limits }, atMs }: Use): KeyUse {
    const use = { key: keyId, at: new Date(atMs).toISOString() };
    const { quota } = limits;
    if (!quota) return use;
    const { remaining, renewsAtMs } = this.#options.counters.standing(quota.counter, quota);
    return { ...use, remaining, ...(renewsAtMs === 0 ? {} : { renews: Math.ceil(renewsAtMs / 1_000) }) };
  }
}
