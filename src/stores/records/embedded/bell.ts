/** Wakes readers of the same process as soon as a frame is stored; the others find it by looking. */

export class Bell {
  readonly #sleepers = new Set<() => void>();

  readonly ring = (): void => {
    for (const wake of this.#sleepers) wake();
  };

  /** Ends when it rings, when the time is over or when the signal aborts. */
  wait(longestMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        this.#sleepers.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, longestMs);
      signal.addEventListener('abort', wake, { once: true });
      this.#sleepers.add(wake);
    });
  }
}
