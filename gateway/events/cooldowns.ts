/** Which events are left out because equal ones were delivered a moment ago (api-definition design 14.4, point 4). */

/** Beyond so many the oldest are forgotten: an event too much is better than a memory without bounds. */
const maxKept = 100_000;

export class Cooldowns {
  readonly #now: () => number;
  /** End by key, monotonic ms. */
  readonly #ends = new Map<string, number>();

  /** `now`: monotonic. */
  constructor(now: () => number) {
    this.#now = now;
  }

  isCooling(key: string): boolean {
    const end = this.#ends.get(key);
    if (end === undefined) return false;
    if (end > this.#now()) return true;
    this.#ends.delete(key);
    return false;
  }

  start(key: string, durationMs: number): void {
    if (durationMs <= 0) return;
    this.#ends.delete(key);
    this.#ends.set(key, this.#now() + durationMs);
    if (this.#ends.size <= maxKept) return;
    for (const oldest of this.#ends.keys()) {
      this.#ends.delete(oldest);
      return;
    }
  }
}
