/** The last deliveries of this node, as management shows them. */
import type { WebhookDelivery } from '../../domain/webhook-delivery.ts';

const maxKept = 1_000;

export class DeliveryList {
  readonly #deliveries = new Map<string, WebhookDelivery>();

  /** A known one keeps its place. */
  note(delivery: WebhookDelivery): void {
    this.#deliveries.set(delivery.id, delivery);
    if (this.#deliveries.size <= maxKept) return;
    for (const oldest of this.#deliveries.keys()) {
      this.#deliveries.delete(oldest);
      return;
    }
  }

  get all(): readonly WebhookDelivery[] {
    return [...this.#deliveries.values()];
  }
}
