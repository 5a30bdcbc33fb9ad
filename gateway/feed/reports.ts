/** Tells management what this node runs: at once when that changed, and every few seconds that it is there. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../ports.ts';
import { type Feed, FeedRefusal, type GatewayReport } from './feed.ts';

export type ReportsOptions = {
  readonly feed: Pick<Feed, 'report'>;
  readonly log: Log;
  /** What there is to say now. */
  readonly report: () => GatewayReport;
  /** Management has taken it. Answers whether there is more to say. */
  readonly taken?: (report: GatewayReport) => boolean;
  /** Another process has the name of this node: it is the one that counts. */
  readonly superseded: (reason: FeedRefusal) => void;
  /** A sign of life comes so often. Default 10,000. */
  readonly everyMs?: number;
  /** A node that has only followed the log says so no sooner than this after the last time. Default 2,000. */
  readonly soonMs?: number;
  /** After a failure. Default 2,000. */
  readonly pauseMs?: number;
};

export class Reports {
  readonly #options: ReportsOptions;
  readonly #ending = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isAsked = false;
  #isStarted = false;
  #sending: Promise<void> | undefined;

  constructor(options: ReportsOptions) {
    this.#options = options;
  }

  /** Nothing is sent before. */
  start(afterMs = 0): void {
    const begin = (): void => {
      this.#isStarted = true;
      this.now();
    };
    if (afterMs > 0) setTimeout(begin, afterMs).unref();
    else begin();
  }

  /** What it runs has changed. Of several reports that wait the newest counts. */
  now(): void {
    if (this.#ending.signal.aborted) return;
    this.#isAsked = true;
    if (!this.#isStarted) return;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
      if (this.#isAsked) this.now();
    });
  }

  /** It has followed the log. */
  soon(): void {
    const { soonMs = 2_000 } = this.#options;
    if (this.#sending === undefined && !this.#isSoon) this.#after(soonMs, true);
  }

  #isSoon = false;

  async stop(): Promise<void> {
    this.#ending.abort();
    clearTimeout(this.#timer);
    await this.#sending;
  }

  #after(ms: number, isSoon: boolean): void {
    clearTimeout(this.#timer);
    this.#isSoon = isSoon;
    if (this.#ending.signal.aborted) return;
    this.#timer = setTimeout(() => this.now(), ms);
    // Nobody waits for a sign of life at the end of a process.
    this.#timer.unref();
  }

  async #sendAll(): Promise<void> {
    const { feed, log, report, taken, superseded, everyMs = 10_000, pauseMs = 2_000 } = this.#options;
    const { signal } = this.#ending;
    while (this.#isAsked && !signal.aborted) {
      this.#isAsked = false;
      try {
        const said = report();
        await feed.report(said);
        if (taken?.(said)) this.#isAsked = true;
        this.#after(everyMs, false);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof FeedRefusal && error.code === 'node_superseded') {
          log.error('another process has the name of this node and follows the configuration in its place', { error });
          this.#ending.abort();
          return superseded(error);
        }
        log.debug('management did not take the report', { error });
        this.#isAsked = true;
        await pause(pauseMs, undefined, { signal }).catch(() => {});
      }
    }
  }
}
