/** Whether the owner of a lease still lives: each has a file beside the read models that the kernel keeps locked for it. */
import { isLocked, type ProcessLock, takeLock } from '../process-lock.ts';

/** Whoever stands by asks often; a look opens a file. */
const lookEveryMs = 500;

export class Owners {
  readonly #path: string;
  readonly #locks = new Map<string, ProcessLock>();
  /** When others were seen alive, ms of the monotonic clock. */
  readonly #seen = new Map<string, number>();

  /** `:memory:` has no files: there nobody dies without the others. */
  constructor(path: string) {
    this.#path = path;
  }

  /** From here on this process answers for the owner. */
  live(owner: string): void {
    if (this.#path === ':memory:' || this.#locks.has(owner)) return;
    const lock = takeLock(this.#fileOf(owner));
    if (lock) this.#locks.set(owner, lock);
  }

  /** A process that sleeps is not dead. */
  isDead(owner: string): boolean {
    if (this.#path === ':memory:' || this.#locks.has(owner)) return false;
    const seenMs = this.#seen.get(owner);
    if (seenMs !== undefined && performance.now() - seenMs < lookEveryMs) return false;
    if (!isLocked(this.#fileOf(owner))) return true;
    this.#seen.set(owner, performance.now());
    return false;
  }

  /** Removes what a dead one left. */
  bury(owner: string): void {
    this.#seen.delete(owner);
    takeLock(this.#fileOf(owner))?.release();
  }

  close(): void {
    for (const lock of this.#locks.values()) lock.release();
    this.#locks.clear();
  }

  /** Owners are named by their programs, never by users. */
  #fileOf(owner: string): string {
    return `${this.#path}-owner-${owner.replaceAll(/[^A-Za-z0-9-]/g, '_')}`;
  }
}
