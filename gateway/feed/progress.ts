/** How far this node has followed the configuration, and who waits until it has come further. */
export class Progress {
  readonly #waiting = new Set<() => void>();
  /** Of the feed; '' before the first snapshot. */
  position = '';

  moveTo(position: string): void {
    this.position = position;
    for (const check of [...this.#waiting]) check();
  }

  /** Resolves when the position is reached. Rejects when the signal aborts. */
  reached(position: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        if (!signal.aborted && this.position < position) return;
        this.#waiting.delete(check);
        signal.removeEventListener('abort', check);
        if (signal.aborted) reject(signal.reason);
        else resolve();
      };
      this.#waiting.add(check);
      signal.addEventListener('abort', check);
      check();
    });
  }
}
