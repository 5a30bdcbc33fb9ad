/** The outbox of a management node: opened when there is something for it; what becomes of its deliveries stands in the list of all. */
import type { WebhookHandler } from '../../../domain/api/event-handlers.ts';
import { webhookBody } from '../../../domain/webhook-body.ts';
import { Cooldowns } from '../../../gateway/events/cooldowns.ts';
import { HandlerCounts, type OutcomeCounts } from '../../../gateway/events/counts.ts';
import { DeliveryNews } from '../../../gateway/events/delivery-news.ts';
import { Outbox, type OutboxStore, type Redelivery } from '../../../gateway/events/outbox.ts';
import type { Unnumbered } from '../../../gateway/events/outbox-entry.ts';
import { type RetryPolicy, webhookRetries } from '../../../gateway/events/verdict.ts';
import type { Clock, Log } from '../../../gateway/ports.ts';
import { sha256Hex } from '../derived-fields.ts';
import type { Deliveries } from '../fleet/deliveries.ts';
import type { Listener } from './handlers.ts';
import { addressOf, sendTo, type TargetSources, targetOf } from './targets.ts';
import type { Told } from './told.ts';

export type EventOutboxOptions = {
  readonly sources: TargetSources;
  readonly open: () => Promise<OutboxStore>;
  readonly deliveries: Pick<Deliveries, 'take'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Default: that of gateways. */
  readonly policy?: RetryPolicy | undefined;
  /** Between two looks at what changed in the outbox. Default 1,000. */
  readonly tellEveryMs?: number;
};

export type EventOutboxStanding = { readonly waiting: number; readonly counts: OutcomeCounts };

/** The name of all management nodes among those that deliver. */
export const managementNode = 'management';

export class EventOutbox {
  readonly #options: EventOutboxOptions;
  readonly #counts = new HandlerCounts();
  readonly #cooldowns: Cooldowns;
  readonly #news: DeliveryNews;
  #outbox: Promise<Outbox> | undefined;
  #opened: Outbox | undefined;
  #timer: NodeJS.Timeout | undefined;
  #telling: Promise<void> | undefined;

  constructor(options: EventOutboxOptions) {
    this.#options = options;
    this.#cooldowns = new Cooldowns(() => options.clock.monotonic());
    this.#news = new DeliveryNews(() => this.#opened?.deliveries ?? []);
  }

  /** Goes on with what an earlier run has left. */
  async open(): Promise<void> {
    await this.#ready();
  }

  /** Resolves when a kill takes nothing of it any more. */
  async add(told: Told, listeners: readonly Listener[]): Promise<void> {
    for (const listener of listeners) this.#logTo(told, listener);
    const entries = this.#entriesOf(told, listeners);
    if (entries.length === 0) return;
    const outbox = await this.#ready();
    await Promise.all(entries.map((entry) => new Promise<void>((resolve) => outbox.add(entry, resolve))));
  }

  /** Without an outbox there are no dead letters. */
  async redeliver(asked: Redelivery): Promise<void> {
    const outbox = await this.#outbox;
    await outbox?.redeliver(asked);
  }

  /** What waits for targets that are not there any more is over. */
  endGone(): void {
    this.#opened?.endGone();
  }

  /** Undefined as long as nothing needed an outbox. */
  get standing(): EventOutboxStanding | undefined {
    return this.#opened && { waiting: this.#opened.held, counts: this.#counts.total };
  }

  async stop(deadlineMs: number): Promise<void> {
    clearInterval(this.#timer);
    const outbox = await this.#outbox?.catch(() => undefined);
    await outbox?.stop(deadlineMs);
    await this.#telling;
    await this.#tell();
  }

  /** One that does not open is tried again by who needs it next. */
  #ready(): Promise<Outbox> {
    this.#outbox ??= this.#openNow().catch((error: unknown) => {
      this.#outbox = undefined;
      throw error;
    });
    return this.#outbox;
  }

  async #openNow(): Promise<Outbox> {
    const { sources, open, policy = webhookRetries, clock, log, tellEveryMs = 1_000 } = this.#options;
    const store = await open();
    const outbox = new Outbox({
      ...{ store: { ...store, send: sendTo(sources, store.send) }, addressOf: (name) => addressOf(sources, name) },
      ...{ counts: this.#counts, cooldowns: this.#cooldowns, policy, random: Math.random, clock, log },
    });
    await outbox.start();
    this.#opened = outbox;
    this.#timer = setInterval(() => {
      this.#telling ??= this.#tell().finally(() => {
        this.#telling = undefined;
      });
    }, tellEveryMs).unref();
    return outbox;
  }

  /** Until all is told, or the cells do not take it: then later. */
  async #tell(): Promise<void> {
    const { deliveries, log } = this.#options;
    try {
      for (let news = this.#news.next(); news.length > 0; news = this.#news.next()) {
        await deliveries.take(managementNode, news);
        this.#news.taken(news);
      }
    } catch (error) {
      log.debug('deliveries of management cannot be told now', { error });
    }
  }

  #logTo({ trigger, about, facts, atMs }: Told, { handler }: Listener): void {
    if (handler.type !== 'log') return;
    const event = { Type: trigger, TimeStamp: new Date(atMs).toISOString(), Meta: webhookBody(trigger, facts) };
    this.#options.log.warn(`${handler.prefix}:${about}::`, { event });
  }

  #entriesOf(told: Told, listeners: readonly Listener[]): readonly Unnumbered[] {
    const found = new Map<string, Unnumbered>();
    for (const { handler, apiId } of listeners) {
      if (handler.type === 'log') continue;
      const target = targetOf({ handler, apiId }, told.orgId);
      const address = addressOf(this.#options.sources, target);
      if (!address) {
        this.#counts.add(target, 'undeliverable');
        this.#options.log.warn('an event has nowhere to go', { target, trigger: told.trigger });
      } else if (address.state === 'on' && !found.has(target)) {
        found.set(target, this.#entryOf(told, handler, target, address.cooldownMs));
      }
    }
    return [...found.values()];
  }

  #entryOf(told: Told, handler: WebhookHandler, target: string, cooldownMs: number): Unnumbered {
    const { eventId, trigger, atMs, orgId, apiId, about, facts } = told;
    const nowMs = this.#options.clock.now();
    return {
      ...{ id: `${eventId}.${sha256Hex(target).slice(0, 12)}`, eventId, target, orgId, apiId, trigger },
      webhookId: handler.type === 'stored' ? handler.webhookId : '',
      ...{ body: webhookBody(trigger, facts), equality: [trigger, apiId, about].join('\n') },
      cooldownMs: handler.cooldownMs ?? cooldownMs,
      ...{ raisedMs: atMs, sinceMs: nowMs, dueMs: nowMs, attempts: 0, lastStatus: null, error: null },
    };
  }
}
