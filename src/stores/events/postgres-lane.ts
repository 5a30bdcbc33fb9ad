/** One write after the other, in the order in which they were asked for, so that a node holds one place in the line for the lock. */
import { PostgresError } from '../postgres.ts';

export class Lane {
  #last: Promise<unknown> = Promise.resolve();

  /** `work` gets what is left of the time. One that waited for all of it is given up with nothing done. */
  run<T>(timeoutMs: number, work: (restMs: number) => Promise<T>): Promise<T> {
    const end = performance.now() + timeoutMs;
    const outcome = Promise.withResolvers<T>();
    const timer = setTimeout(
      () => outcome.reject(new PostgresError('StoreUnavailable', `other writes took longer than ${timeoutMs} ms`)),
      timeoutMs,
    );
    this.#last = this.#last.then(async () => {
      clearTimeout(timer);
      const restMs = end - performance.now();
      if (restMs <= 0) return;
      try {
        outcome.resolve(await work(restMs));
      } catch (error) {
        outcome.reject(error);
      }
    });
    return outcome.promise;
  }
}
