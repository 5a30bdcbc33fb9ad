/** Which deliveries have died: after a kill the log may hold further entries of one, which are not sent. */
import type { Unnumbered } from './outbox-entry.ts';

type Life = Pick<Unnumbered, 'id' | 'sinceMs'>;

export class DeadDeliveries {
  /** By id, in the order in which they died. */
  readonly #died = new Map<string, { readonly sinceMs: number; readonly at: number }>();

  /** `at`: ms since 1970. */
  note({ id, sinceMs }: Life, at: number): void {
    this.#died.delete(id);
    this.#died.set(id, { sinceMs, at });
  }

  /** One that was sent again by hand has begun later, and lives. */
  has({ id, sinceMs }: Life): boolean {
    const died = this.#died.get(id);
    return died !== undefined && sinceMs <= died.sinceMs;
  }

  /** As the letters themselves are forgotten. */
  forget({ beforeMs, butNewest }: { readonly beforeMs: number; readonly butNewest: number }): void {
    for (const [id, { at }] of this.#died) {
      if (at >= beforeMs && this.#died.size <= butNewest) return;
      this.#died.delete(id);
    }
  }
}
