/** Events between the requests that raised them and the outbox: so many for each API, the oldest go first. */
import type { EventHandler } from '../../domain/api/event-handlers.ts';
import type { JsonObject } from '../../domain/event.ts';
import type { WebhookTrigger } from '../../domain/webhook-body.ts';

export type RaisedEvent = {
  readonly id: string;
  readonly trigger: WebhookTrigger;
  /** Ms since 1970. */
  readonly atMs: number;
  readonly apiId: string;
  readonly orgId: string;
  /** What bodies are made of (`domain/webhook-body.ts`). */
  readonly facts: JsonObject;
  /** Base64 of the request, where a handler shows it. */
  readonly request: string;
};

/** An event with those that listen to it: handlers of its API, and of the node. */
export type Queued = {
  readonly event: RaisedEvent;
  readonly own: readonly EventHandler[];
  /** Those of the node itself. */
  readonly ofNode: readonly EventHandler[];
};

const maxPerApi = 1_000;

export class EventQueue {
  readonly #queues = new Map<string, Queued[]>();

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  /** Answers what had to go for it. */
  push(queued: Queued): Queued | undefined {
    const { apiId } = queued.event;
    const queue = this.#queues.get(apiId);
    if (!queue) this.#queues.set(apiId, [queued]);
    else queue.push(queued);
    return queue && queue.length > maxPerApi ? queue.shift() : undefined;
  }

  /** The oldest of each API in turn, `count` at most. */
  take(count: number): readonly Queued[] {
    const share = Math.max(1, Math.floor(count / Math.max(1, this.#queues.size)));
    const taken: Queued[] = [];
    for (const [apiId, queue] of this.#queues) {
      if (taken.length >= count) break;
      taken.push(...queue.splice(0, Math.min(share, count - taken.length)));
      this.#queues.delete(apiId);
      // Behind the others, so that nobody is always last.
      if (queue.length > 0) this.#queues.set(apiId, queue);
      if (taken.length + share > count) break;
    }
    return taken;
  }
}
