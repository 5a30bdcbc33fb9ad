/** How long work shows how far it is: a bar for people, a line now and then for everybody else; on the error stream. */
import { SingleBar } from 'cli-progress';
import type { Terminal } from './terminal.ts';

export type Progress = Disposable & {
  /** `total` may grow. */
  show(done: number, total: number): void;
};

const lineEveryMs = 5_000;
const objectEveryMs = 1_000;

/** `what` is counted, in the plural: `events`. Ends with the block that holds it. Programs get an object a second. */
export function progressOn(terminal: Terminal, what: string, isJson = false): Progress {
  if (isJson) return linesOf(terminal, objectEveryMs, (done, total) => JSON.stringify({ done, total }));
  return terminal.isInteractive
    ? barOf(what)
    : linesOf(terminal, lineEveryMs, (done, total) => `${done} of ${total} ${what}`);
}

function barOf(what: string): Progress {
  const bar = new SingleBar({
    format: `{bar} {percentage} % | {value} of {total} ${what} | {eta_formatted} left`,
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: false,
  });
  let isStarted = false;
  return {
    show(done, total) {
      if (!isStarted) bar.start(total, done);
      isStarted = true;
      bar.setTotal(total);
      bar.update(done);
    },
    [Symbol.dispose]: () => {
      if (isStarted) bar.stop();
    },
  };
}

function linesOf(terminal: Terminal, everyMs: number, lineOf: (done: number, total: number) => string): Progress {
  let lastMs = performance.now();
  return {
    show(done, total) {
      if (performance.now() - lastMs < everyMs) return;
      lastMs = performance.now();
      terminal.printError(lineOf(done, total));
    },
    [Symbol.dispose]: () => undefined,
  };
}
