/** Long work of this thread in turns, between which others have theirs. */

/** Undefined while the turn lasts. */
export type Pause = () => Promise<void> | undefined;

export function turnsOf(turnMs: number): Pause {
  let turnEnds = performance.now() + turnMs;
  return function pause() {
    if (performance.now() < turnEnds) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        turnEnds = performance.now() + turnMs;
        resolve();
      });
    });
  };
}
