/** Which deliveries management has not heard of yet, as they are now: a report carries some of them, until all are told. */
import type { WebhookDelivery } from '../../domain/webhook-delivery.ts';

/** So many stand in one report. */
const maxTold = 100;

export class DeliveryNews {
  readonly #all: () => readonly WebhookDelivery[];
  /** By id, as management has it. A node that starts tells everything again. */
  #told: ReadonlyMap<string, string> = new Map();

  /** `all`: those that the node knows, oldest first. */
  constructor(all: () => readonly WebhookDelivery[]) {
    this.#all = all;
  }

  next(): readonly WebhookDelivery[] {
    return this.#untold().slice(0, maxTold);
  }

  /** Management has taken these. Answers whether there is more to tell. */
  taken(told: readonly WebhookDelivery[]): boolean {
    const known = new Set(this.#all().map(({ id }) => id));
    const before = [...this.#told].filter(([id]) => known.has(id));
    this.#told = new Map([...before, ...told.map((delivery) => [delivery.id, stateOf(delivery)] as const)]);
    return this.#untold().length > 0;
  }

  #untold(): readonly WebhookDelivery[] {
    // Management shows those of its webhooks; what stands in a definition alone has no list there.
    const listed = this.#all().filter(({ webhookId }) => webhookId !== '');
    return listed.filter((delivery) => this.#told.get(delivery.id) !== stateOf(delivery));
  }
}

const stateOf = ({ state, attempts, at }: WebhookDelivery): string => `${state} ${attempts} ${at}`;
