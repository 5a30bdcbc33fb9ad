/** Subscriptions of the embedded event stores: pages until the head, then a wait for the doorbell, without a seam. */
import type { Batch, EventStore, Page, Position, Superseding } from '../../../domain/event-store.ts';
import { skimmedPositions } from './event-rules.ts';

/** What a subscription needs of a log. */
export type FollowedLog = {
  readonly readAll: (range: PageRange) => Promise<Page>;
  /** Its pages may leave payloads out, and are larger then. */
  readonly canSkim?: boolean;
  /** Resolves when the log is longer than `position` or the signal aborts; rejects when the log can no longer be read. */
  readonly grown: (position: Position, signal: AbortSignal) => Promise<void>;
};

export type PageRange = Parameters<EventStore['readAll']>[0] & { readonly superseding?: Superseding };

const batchEvents = 500;

/** Pull-shaped: nothing is read ahead of the consumer, so a slow one costs no memory (P9). */
export async function* follow(
  log: FollowedLog,
  { after, filter, superseding, signal }: Parameters<EventStore['subscribe']>[0],
): AsyncGenerator<Batch> {
  let checkpoint = after;
  let skimming = log.canSkim && superseding && { limit: skimmedPositions(superseding), superseding };
  while (!signal.aborted) {
    const asked = { after: checkpoint, limit: batchEvents, ...(filter && { filter }), ...skimming };
    const page: Page = await log.readAll(asked);
    if (signal.aborted) return;
    if (page.next !== checkpoint) {
      checkpoint = page.next;
      yield { events: page.events, checkpoint };
    }
    if (!page.atHead) continue;
    if (signal.aborted) return;
    skimming = undefined;
    yield { caughtUp: true, checkpoint };
    await log.grown(checkpoint, signal);
  }
}

/** Wakes whoever waits for the log to grow. */
export class Doorbell {
  readonly #waiting = new Set<() => void>();

  ring(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves at the next ring or when the signal aborts. */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      if (signal.aborted) return resolve();
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}
