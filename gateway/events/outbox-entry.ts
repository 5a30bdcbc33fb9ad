/** What stands in the outbox: one event on its way to one target, with all that a restart has to know. Addresses and secrets are looked up when it is sent. */
import { hash } from 'node:crypto';
import type { JsonObject } from '../../domain/event.ts';
import type { Numbered } from '../../domain/record-log.ts';
import type { WebhookDelivery } from '../../domain/webhook-delivery.ts';
import { eventEnvelope } from '../../domain/webhook-template.ts';

/** Times in ms since 1970. */
export type Unnumbered = {
  /** Of this event to this target, the same on every attempt. */
  readonly id: string;
  readonly eventId: string;
  readonly target: string;
  /** Empty for a target that stands in a handler. */
  readonly webhookId: string;
  readonly orgId: string;
  readonly apiId: string;
  readonly trigger: string;
  readonly body: JsonObject;
  /** Base64 of the request, where the template of the target asks for it. */
  readonly request?: string;
  /** Why the default body was sent although there is a template. */
  readonly warning?: string;
  /** The same for events that count as equal for one target. */
  readonly equality: string;
  readonly cooldownMs: number;
  readonly raisedMs: number;
  /** From when on it is tried; later than `raisedMs` when it was sent again by hand. */
  readonly sinceMs: number;
  /** That were made. */
  readonly attempts: number;
  readonly dueMs: number;
  readonly lastStatus: number | null;
  readonly error: string | null;
};

export type OutboxEntry = Unnumbered & Numbered;

/** The next attempt, for the sender. */
export const attemptOf = ({ eventId: id, attempts, body, raisedMs: atMs, ...rest }: Unnumbered) => ({
  ...{ id, attempt: attempts + 1, body },
  envelope: () => eventEnvelope({ ...rest, body, atMs }),
});

export function deliveryOf(entry: Unnumbered, state: WebhookDelivery['state'], nowMs: number): WebhookDelivery {
  const { id, webhookId, orgId, apiId, trigger, eventId, attempts, lastStatus, error, raisedMs, dueMs, warning } =
    entry;
  return {
    ...{ id, webhookId, orgId, apiId, trigger, eventId, state, attempts, lastStatus, error },
    raisedAt: new Date(raisedMs).toISOString(),
    at: new Date(nowMs).toISOString(),
    nextAt: state === 'retrying' ? new Date(dueMs).toISOString() : null,
    ...(warning === undefined ? {} : { warning }),
  };
}

/** Of one length: hundred thousands of them are kept, and their paths come from clients. */
export const coolingKey = ({ target, equality }: Pick<Unnumbered, 'target' | 'equality'>): string =>
  hash('sha256', `${target}\n${equality}`, 'base64');
