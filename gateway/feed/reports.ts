/** Tells management what this node runs: the newest finding, tried again until it has arrived. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../ports.ts';
import type { Feed, GatewayReport } from './feed.ts';

const pauseMs = 2_000;

export class Reports {
  readonly #feed: Feed;
  readonly #log: Log;
  readonly #ending = new AbortController();
  #next: GatewayReport | undefined;
  #sending: Promise<void> | undefined;

  constructor(feed: Feed, log: Log) {
    this.#feed = feed;
    this.#log = log;
  }

  /** An earlier one that has not arrived yet is not worth sending any more. */
  send(report: GatewayReport): void {
    if (this.#ending.signal.aborted) return;
    this.#next = report;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    const { signal } = this.#ending;
    while (this.#next) {
      const report = this.#next;
      this.#next = undefined;
      try {
        await this.#feed.report(report);
      } catch (error) {
        if (signal.aborted) return;
        this.#log.debug('management did not take the report', { error });
        this.#next ??= report;
        await pause(pauseMs, undefined, { signal }).catch(() => {});
        if (signal.aborted) return;
      }
    }
  }
}
