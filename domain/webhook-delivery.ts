/** One event on its way to one handler, as gateways tell it to management and management shows it; nothing of what is sent. */

export const deliveryStates = ['delivered', 'retrying', 'dead'] as const;

type DeliveryState = (typeof deliveryStates)[number];

/** Times RFC 3339. */
export type WebhookDelivery = {
  /** Of this event to this handler: the same on every attempt, one of its own on each node. */
  readonly id: string;
  /** Empty where the handler stands in a definition or in the configuration alone. */
  readonly webhookId: string;
  readonly orgId: string;
  /** Absent or empty where the event is about no API. */
  readonly apiId?: string;
  readonly trigger: string;
  /** As the receiver sees it. */
  readonly eventId: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** Of the last answer; null without one. */
  readonly lastStatus: number | null;
  /** Why there was no answer to the last attempt. */
  readonly error: string | null;
  /** When the event was raised. */
  readonly raisedAt: string;
  /** Of the last change of its state. */
  readonly at: string;
  /** Of the next attempt, while it is retried. */
  readonly nextAt: string | null;
  /** Why the default body was sent although there is a template. */
  readonly warning?: string;
};
