/** What a node and management say to each other of deliveries: news of them in reports, requests to deliver again in the configuration. */
import { join } from 'node:path';
import type { WebhookDelivery } from '../../domain/webhook-delivery.ts';
import type { GatewaySnapshot } from '../../projections/gateway-snapshot.ts';
import type { Log } from '../ports.ts';
import { DeliveryNews } from './delivery-news.ts';
import type { GatewayEvents } from './gateway-events.ts';
import { Redeliveries, requestsIn } from './redeliveries.ts';

export type ExchangeOptions = {
  readonly events: Pick<GatewayEvents, 'deliveries' | 'redeliver'>;
  /** Of the outbox. */
  readonly directory: string;
  /** There is something to report. */
  readonly changed: () => void;
  readonly log: Log;
  /** Between two looks at what changed. Default 1,000. */
  readonly lookEveryMs?: number;
};

export class DeliveryExchange {
  readonly #news: DeliveryNews;
  readonly #redeliveries: Redeliveries;
  readonly #timer: NodeJS.Timeout;

  constructor({ events, directory, changed, log, lookEveryMs = 1_000 }: ExchangeOptions) {
    this.#news = new DeliveryNews(() => events.deliveries);
    this.#redeliveries = new Redeliveries({
      ...{ file: join(directory, 'redelivered.json'), log },
      redeliver: (asked) => events.redeliver(asked),
    });
    const look = (): void => {
      if (this.#news.next().length > 0) changed();
    };
    this.#timer = setInterval(look, lookEveryMs).unref();
  }

  follow(snapshot: GatewaySnapshot): void {
    const requests = requestsIn(snapshot.objects);
    if (requests.length > 0) this.#redeliveries.follow(snapshot, requests);
  }

  /** Its part of a report. */
  report(): { readonly deliveries?: readonly WebhookDelivery[] } {
    const deliveries = this.#news.next();
    return deliveries.length > 0 ? { deliveries } : {};
  }

  /** Management has taken that. Answers whether there is more. */
  taken({ deliveries = [] }: { readonly deliveries?: readonly WebhookDelivery[] }): boolean {
    return this.#news.taken(deliveries);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#redeliveries.stop();
  }
}
