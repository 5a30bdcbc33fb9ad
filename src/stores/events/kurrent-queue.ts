/** Work on several keys at a time: two that share one run after each other, in the order in which they came. */

export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = keys.map((key) => this.#last.get(key));
    const mine = Promise.allSettled(before).then(work);
    for (const key of keys) this.#last.set(key, mine);
    const forget = (): void => {
      for (const key of keys) if (this.#last.get(key) === mine) this.#last.delete(key);
    };
    mine.then(forget, forget);
    return mine;
  }
}
