/** Room for projections that are made anew: two at a time, so that the others keep the disk. */

const places = 2;

export class RebuildLanes {
  #free = places;
  #waiting: readonly (() => void)[] = [];

  /** Resolves with what gives the place back; undefined when the signal aborts first. */
  async take(signal: AbortSignal): Promise<(() => void) | undefined> {
    while (this.#free === 0 && !signal.aborted) await this.#freed(signal);
    if (signal.aborted) return undefined;
    this.#free -= 1;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#free += 1;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const wake of waiting) wake();
    };
  }

  #freed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting = [...this.#waiting, wake];
      signal.addEventListener('abort', wake);
    });
  }
}
