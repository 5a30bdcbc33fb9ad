/** Events of one gateway: raised behind the answers of requests, matched to handlers, logged, and handed to the outbox (api-definition design 14). */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { EventHandler, WebhookHandler } from '../../domain/api/event-handlers.ts';
import type { JsonObject } from '../../domain/event.ts';
import { textAt } from '../../domain/json.ts';
import { withoutKeys } from '../../domain/key-text.ts';
import { type WebhookTrigger, webhookBody } from '../../domain/webhook-body.ts';
import type { WebhookDelivery } from '../../domain/webhook-delivery.ts';
import type { GatewaySnapshot } from '../../projections/gateway-snapshot.ts';
import type { Context } from '../http/context.ts';
import type { Clock, Log } from '../ports.ts';
import type { BodyTemplates } from './body-templates.ts';
import { Cooldowns } from './cooldowns.ts';
import { HandlerCounts, type OutcomeCounts } from './counts.ts';
import { EventQueue, type Queued, type RaisedEvent } from './event-queue.ts';
import { originalRequest } from './original-request.ts';
import type { OpenOutbox, Outbox, Redelivery } from './outbox.ts';
import { coolingKey, type Unnumbered } from './outbox-entry.ts';
import { type Reveal, type RunningApi, TargetAddresses, type TargetDocuments, targetOf } from './targets.ts';
import { raisedBy } from './triggers.ts';
import type { RetryPolicy } from './verdict.ts';

export type EventOptions = {
  /** Opens the outbox when the first handler needs it. Without it no webhook is called. */
  readonly open: OpenOutbox | undefined;
  /** Of the node itself: for events of every API. */
  readonly handlers: readonly EventHandler[];
  readonly reveal: Reveal;
  readonly headOf: TargetDocuments['headOf'];
  readonly clock: Clock;
  readonly log: Log;
  readonly policy: RetryPolicy;
};

export type EventStanding = {
  /** Whether the outbox is open; undefined while nobody needs it. */
  readonly isOpen: boolean | undefined;
  readonly waiting: number;
  readonly counts: OutcomeCounts;
  readonly byTarget: Readonly<Record<string, OutcomeCounts>>;
  /** By target: what is wrong with its template. */
  readonly warnings: Readonly<Record<string, string>>;
};

const batchMs = 100;
const eventsPerBatch = 500;
const restMs = 1_000;
const longestRestMs = 60_000;
/** For attempts that are under way when the gateway stops; those that are cut off are made again after the start. */
const lingerMs = 2_000;

export class GatewayEvents {
  readonly #options: EventOptions;
  readonly #queue = new EventQueue();
  /** Events for the log, which waits for no disk. */
  readonly #lines = new EventQueue();
  readonly #counts = new HandlerCounts();
  readonly #cooldowns: Cooldowns;
  readonly #addresses: TargetAddresses;
  readonly #stop = new AbortController();
  #outbox: Outbox | undefined;
  #templates: BodyTemplates | undefined;
  #isFailing = false;
  #opening: Promise<Outbox | undefined> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;

  constructor(options: EventOptions) {
    this.#options = options;
    this.#cooldowns = new Cooldowns(() => options.clock.monotonic());
    this.#addresses = new TargetAddresses(options.handlers, options);
  }

  /** A new configuration: targets by their names of now. What waits for one that is gone is over. */
  swap(apis: readonly RunningApi[], objects: GatewaySnapshot['objects']): void {
    this.#addresses.swap(apis, objects);
    this.lookAgain();
    this.#outbox?.endGone();
    const isNeeded =
      this.#options.open?.isLeft ||
      !this.#options.handlers.every(isLogged) ||
      apis.some(({ definition }) => !definition.eventHandlers.every(isLogged));
    if (isNeeded) void this.#open();
  }

  /** Files of templates may be others by now. */
  lookAgain(): void {
    this.#lookAgain().catch((error: unknown) => {
      this.#options.log.error('templates of webhooks cannot be looked at', { error });
    });
  }

  /** What renders them is loaded with the first. */
  async #lookAgain(): Promise<void> {
    const { open, log } = this.#options;
    if (!this.#templates && this.#addresses.bodyTemplates.length === 0) return;
    this.#templates ??= await open?.templates?.();
    // The configuration may be another one by now.
    const all = this.#addresses.bodyTemplates;
    const faults = this.#templates?.take(all.map(([, bodyTemplate]) => bodyTemplate));
    for (const [target, bodyTemplate] of faults ? all : []) {
      const reason = faults?.get(bodyTemplate);
      if (this.#counts.warn(target, reason)) log.warn('a template of a webhook is none', { target, reason });
    }
  }

  /** Whether the template of a target asks for the request itself. */
  #needsRequest(target: string): boolean {
    const bodyTemplate = textAt(this.#addresses.find(target)?.document, 'bodyTemplate') ?? '';
    if (bodyTemplate === '' || !this.#options.open?.templates) return false;
    // While they are loaded each may.
    return this.#templates?.of(bodyTemplate).needsRequest ?? true;
  }

  /** The one place where what became of a request becomes events: called when it is over. */
  over(context: Context): void {
    const { failure, route } = context;
    for (const percent of context.quotaAlarms) {
      const facts = { org: route.definition.orgId, key: context.session.keyId, trigger_limit: String(percent) };
      this.#raise(context, 'TriggerExceeded', facts);
    }
    const row = failure && raisedBy[failure.code];
    if (!row) return;
    const { message, reason } = row;
    this.#raise(context, row.trigger, {
      ...(message === undefined ? {} : { message }),
      ...(reason === undefined ? {} : { reason }),
      ...{ path: pathOf(context), origin: context.head.clientAddress, key: context.session.keyId },
      ...{ org: route.definition.orgId, api_id: route.definition.apiId },
    });
  }

  #raise(context: Context, trigger: WebhookTrigger, facts: JsonObject): void {
    const { eventHandlers, apiId, orgId } = context.route.definition;
    const listens = (handler: EventHandler): boolean => handler.trigger === trigger;
    const own = eventHandlers.filter(listens);
    const ofNode = this.#options.handlers.filter(listens);
    if (own.length + ofNode.length === 0 || this.#stop.signal.aborted) return;
    const all = [...own, ...ofNode];
    const event = { id: randomUUID(), trigger, atMs: this.#options.clock.now(), apiId, orgId, facts, request: '' };
    const asksFor = (id: string) => (one: EventHandler) => one.type === 'log' || this.#needsRequest(targetOf(one, id));
    const isAsked = own.some(asksFor(apiId)) || ofNode.some(asksFor(''));
    const asked = isAsked ? { ...event, request: originalRequest(context) } : event;
    if (all.some(isLogged)) {
      const line = { event: asked, own, ofNode };
      if (this.#lines.push(line)) this.#counts.add('log', 'dropped');
    }
    const dropped = all.every(isLogged) ? undefined : this.#queue.push({ event: asked, own, ofNode });
    if (dropped) for (const { target } of webhooksOf(dropped)) this.#counts.add(target, 'dropped');
    this.#timer ??= setTimeout(() => this.#flushSoon(), batchMs);
  }

  get deliveries(): readonly WebhookDelivery[] {
    return this.#outbox?.deliveries ?? [];
  }

  /** Sends dead letters again; answers how many there are. */
  async redeliver(redelivery: Redelivery): Promise<number> {
    const outbox = await this.#open();
    return outbox ? outbox.redeliver(redelivery) : 0;
  }

  get standing(): EventStanding {
    const isOpen = this.#outbox ? true : this.#isFailing ? false : undefined;
    const { total: counts, byTarget, warnings } = this.#counts;
    return { isOpen, waiting: this.#outbox?.held ?? 0, counts, byTarget, warnings };
  }

  /** Events that were raised are in the outbox afterwards; those that are on their way get the time to arrive. */
  async stop(deadlineMs: number): Promise<void> {
    clearTimeout(this.#timer);
    this.#flushSoon();
    // Nothing is kept where nothing opens.
    if (!this.#outbox && this.#isFailing) this.#stop.abort();
    const deadline = AbortSignal.timeout(Math.max(1, deadlineMs));
    const isLate = new Promise<void>((resolve) => deadline.addEventListener('abort', () => resolve(), { once: true }));
    await Promise.race([this.#flushing, isLate]);
    this.#stop.abort();
    await Promise.race([this.#opening, isLate]);
    await this.#outbox?.stop(Math.min(deadlineMs, lingerMs));
  }

  #flushSoon(): void {
    this.#timer = undefined;
    while (!this.#lines.isEmpty) for (const queued of this.#lines.take(eventsPerBatch)) this.#logTo(queued);
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
  }

  /** The next batch is taken when the disk has the one before: what comes meanwhile waits in the queue, which has its bound. */
  async #flush(): Promise<void> {
    while (!this.#queue.isEmpty && !this.#stop.signal.aborted) {
      const outbox = this.#opening || this.#outbox ? await this.#open() : undefined;
      const entries = this.#queue
        .take(eventsPerBatch)
        .flatMap((queued) => this.#entriesOf(queued, outbox !== undefined));
      if (outbox && entries.length > 0) await addAll(outbox, entries);
    }
  }

  #logTo({ event, own, ofNode }: Queued): void {
    const { trigger, atMs, facts, request } = event;
    const {
      event: _,
      message,
      path = '',
      origin = '',
      key = '',
    } = { ...facts, ...webhookBody(trigger, facts) } as Shown;
    const meta = { Message: message, OriginatingRequest: request, Path: path, Origin: origin, Key: key };
    for (const handler of [...own, ...ofNode]) {
      if (handler.type !== 'log') continue;
      const fields = { Type: trigger, TimeStamp: new Date(atMs).toISOString(), Meta: meta };
      this.#options.log.warn(`${handler.prefix}:${key}:${origin}:${path}`, { apiId: event.apiId, event: fields });
    }
  }

  #entriesOf(queued: Queued, isOpen: boolean): readonly Unnumbered[] {
    const { event } = queued;
    const body = webhookBody(event.trigger, event.facts);
    return webhooksOf(queued).flatMap(({ handler, target }, index) => {
      const address = this.#addresses.find(target);
      if (address?.state === 'off') return [];
      const isTheirs = address !== undefined && (address.orgId === '' || address.orgId === event.orgId);
      if (!isOpen || !isTheirs || address.state === 'closed') {
        this.#counts.add(target, 'undeliverable');
        return [];
      }
      const entry = entryOf(event, body, `${event.id}.${index}`, {
        ...{ target, webhookId: handler.type === 'stored' ? handler.webhookId : '' },
        cooldownMs: handler.cooldownMs ?? address.cooldownMs,
        ...(this.#needsRequest(target) ? { request: event.request } : {}),
      });
      if (entry.cooldownMs === 0 || !this.#cooldowns.isCooling(coolingKey(entry))) return [entry];
      this.#counts.add(target, 'suppressed');
      return [];
    });
  }

  /** The disk may be full or not be there yet: tried until it opens or the gateway stops. */
  #open(): Promise<Outbox | undefined> {
    if (this.#outbox) return Promise.resolve(this.#outbox);
    this.#opening ??= this.#openNow().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #openNow(): Promise<Outbox | undefined> {
    const { open, clock, log, policy } = this.#options;
    for (let pauseMs = restMs; open && !this.#stop.signal.aborted; pauseMs = Math.min(pauseMs * 2, longestRestMs)) {
      try {
        const [store, room] = await Promise.all([open(), import('./outbox.ts')]);
        const outbox = new room.Outbox({
          ...{ store, counts: this.#counts, cooldowns: this.#cooldowns, policy, random: Math.random, clock, log },
          addressOf: (target) => this.#addresses.find(target),
        });
        await outbox.start();
        this.#outbox = outbox;
        // The configuration may be another one by now.
        outbox.endGone();
        return outbox;
      } catch (error) {
        this.#isFailing = true;
        log.error('the outbox of events does not open', { error });
        await pause(pauseMs, undefined, { signal: this.#stop.signal, ref: false }).catch(ignore);
      }
    }
    return undefined;
  }
}

type Shown = { readonly event: string; readonly message: string } & Readonly<
  Partial<Record<'path' | 'origin' | 'key', string>>
>;

const isLogged = ({ type }: EventHandler): boolean => type === 'log';

type Sent = { readonly handler: WebhookHandler; readonly target: string };

/** In the order of their lists, those of the API first; a webhook that is named twice gets it once. */
function webhooksOf({ event, own, ofNode }: Queued): readonly Sent[] {
  const found = new Map<string, Sent>();
  const add = (handlers: readonly EventHandler[], apiId: string): void => {
    for (const handler of handlers) {
      if (handler.type === 'log') continue;
      const target = targetOf(handler, apiId);
      if (!found.has(target)) found.set(target, { handler, target });
    }
  };
  add(own, event.apiId);
  add(ofNode, '');
  return [...found.values()];
}

function entryOf(
  { id: eventId, trigger, atMs, apiId, orgId, facts }: RaisedEvent,
  body: JsonObject,
  id: string,
  to: Pick<Unnumbered, 'target' | 'webhookId' | 'cooldownMs' | 'request'>,
): Unnumbered {
  // A percentage of a quota stands in the place of a path: each of them is told.
  const equality = [trigger, apiId, facts['key'], facts['path'] ?? facts['trigger_limit']].join('\n');
  const times = { raisedMs: atMs, sinceMs: atMs, dueMs: atMs };
  return {
    ...to,
    ...times,
    id,
    eventId,
    orgId,
    apiId,
    trigger,
    body,
    equality,
    attempts: 0,
    lastStatus: null,
    error: null,
  };
}

const addAll = (outbox: Outbox, entries: readonly Unnumbered[]): Promise<void> =>
  new Promise((resolve) => {
    const last = entries.length - 1;
    for (const [index, entry] of entries.entries()) outbox.add(entry, index === last ? resolve : undefined);
  });

/** As the client asked for it, without the query and without keys; also where a version sees a part of it only. */
function pathOf({ head }: Context): string {
  const [path = ''] = head.target.split('?', 1);
  return withoutKeys(path.startsWith('/') ? path : head.path);
}

const ignore = (): void => {};
