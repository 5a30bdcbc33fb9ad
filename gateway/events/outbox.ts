/** The outbox of one node: events in, attempts out, nothing forgotten by a kill (api-definition design 14.4). One cursor per target and one over all. */
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { recordId } from '../../domain/analytics-record.ts';
import { type Cursor, lastSequenceOf, type RecordLog } from '../../domain/record-log.ts';
import type { WebhookDelivery } from '../../domain/webhook-delivery.ts';
import type { Clock, Log } from '../ports.ts';
import type { BodyTemplates } from './body-templates.ts';
import type { Cooldowns } from './cooldowns.ts';
import type { HandlerCounts, Outcome } from './counts.ts';
import { DeadDeliveries } from './dead-deliveries.ts';
import { DeliveryList } from './delivery-list.ts';
import { commitTo, LowWater } from './low-water.ts';
import { attemptOf, coolingKey, deliveryOf, type OutboxEntry, type Unnumbered } from './outbox-entry.ts';
import { type OutboxLane, OutboxWriter } from './outbox-writer.ts';
import { Target } from './target.ts';
import type { TargetAddress } from './targets.ts';
import { type RetryPolicy, verdictOf } from './verdict.ts';
import type { SendWebhook, Sent } from './webhook-sender.ts';

/** Opened on first use: a gateway without handlers has no outbox. */
export type OutboxStore = {
  readonly log: RecordLog<OutboxEntry>;
  readonly lane: OutboxLane;
  readonly send: SendWebhook;
  close(): Promise<void>;
};

/** `isLeft`: by an earlier run, and with it perhaps events whose handlers are gone: it is opened although nobody needs it. */
export type OpenOutbox = (() => Promise<OutboxStore>) & {
  readonly isLeft?: boolean;
  /** Of the sender; without them a template is no concern of the gateway. */
  readonly templates?: () => Promise<BodyTemplates>;
};

export type OutboxOptions = {
  readonly store: OutboxStore;
  readonly addressOf: (target: string) => TargetAddress | undefined;
  readonly counts: HandlerCounts;
  readonly cooldowns: Cooldowns;
  readonly policy: RetryPolicy;
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Log;
};

/** `ids`: of deliveries. */
export type Redelivery = { readonly webhookId: string; readonly ids: readonly string[] | 'all' };

/** Under this name stand dead letters and the mark before which every target is done. */
const everybody = 'targets';
const unknownTarget = 'outbox';
const consumerOf = (target: string): string => `target ${target}`;

const commitEveryMs = 1_000;
const tidyEveryMs = 3_600_000;
const restMs = 1_000;
const lettersKeptMs = 7 * 86_400_000;
const maxLetters = 10_000;

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #writer: OutboxWriter;
  readonly #targets = new Map<string, Target>();
  readonly #deliveries = new DeliveryList();
  readonly #dead = new DeadDeliveries();
  readonly #lowWater = new LowWater();
  /** By lane: what was read last. */
  readonly #place = new Map<string, Cursor>();
  readonly #stop = new AbortController();
  #reading = new AbortController();
  #ended: Promise<void> = Promise.resolve();
  #timers: readonly NodeJS.Timeout[] = [];

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#writer = new OutboxWriter(options.store.lane, options);
  }

  /** Goes on where the cursors stand. */
  async start(): Promise<void> {
    const { log } = this.#options.store;
    await this.#tidy();
    for (const { record, at } of await log.deadLetters(everybody)) {
      if (!record) continue;
      this.#dead.note(record, at);
      this.#deliveries.note(deliveryOf(record, 'dead', at));
    }
    for (const cursor of (await log.marks(everybody)) ?? []) this.#place.set(cursor.lane, cursor);
    this.#ended = this.#read();
    this.#timers = [
      setInterval(() => void this.#commit(), commitEveryMs).unref(),
      setInterval(() => void this.#tidy(), tidyEveryMs).unref(),
    ];
  }

  add(entry: Unnumbered, written?: () => void): void {
    this.#writer.add(entry, written);
  }

  get deliveries(): readonly WebhookDelivery[] {
    return this.#deliveries.all;
  }

  /** In memory, of all targets. */
  get held(): number {
    return [...this.#targets.values()].reduce((sum, { held }) => sum + held, 0);
  }

  /** Sends dead letters again, as new: answers how many, once the disk has them. */
  async redeliver({ webhookId, ids }: Redelivery): Promise<number> {
    const { store, clock } = this.#options;
    const letters = (await store.log.deadLetters(everybody)).flatMap(({ record }) =>
      record?.webhookId === webhookId && (ids === 'all' || ids.includes(record.id)) ? [record] : [],
    );
    const written = letters.map(({ ext: _, ...entry }) => {
      const nowMs = clock.now();
      const sinceMs = Math.max(nowMs, entry.sinceMs + 1);
      const again = { ...entry, attempts: 0, sinceMs, dueMs: nowMs };
      this.#deliveries.note(deliveryOf(again, 'retrying', nowMs));
      return new Promise<void>((resolve) => this.#writer.add(again, resolve));
    });
    await Promise.all(written);
    // A kill before this sends them twice, not never.
    await store.log.forgetDeadLetters(everybody, { records: letters.map(({ ext }) => recordId(ext)) });
    return letters.length;
  }

  /** The configuration is another one: what waits for targets that it does not have is over. */
  endGone(): void {
    for (const target of this.#targets.values()) target.endIfGone();
  }

  async stop(deadlineMs: number): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#stop.abort();
    await this.#ended;
    await Promise.all([...this.#targets.values()].map((target) => target.stop(deadlineMs)));
    await this.#writer.end(deadlineMs);
    await this.#commit();
    await this.#options.store.close();
  }

  async #read(): Promise<void> {
    const { store, log } = this.#options;
    while (!this.#stop.signal.aborted) {
      this.#reading = new AbortController();
      const signal = AbortSignal.any([this.#stop.signal, this.#reading.signal]);
      try {
        for await (const delivery of store.log.read(everybody, [...this.#place.values()], signal)) {
          if ('frame' in delivery) await this.#take(delivery.cursor, delivery.frame.records);
          else {
            const reason = 'bad' in delivery ? delivery.bad.reason : 'it became too large or too old';
            this.#noteLost(delivery.cursor, reason);
            await this.#take(delivery.cursor, []);
          }
          if (signal.aborted) break;
        }
      } catch (error) {
        log.error('the outbox of events cannot be read', { error });
      }
      if (!signal.aborted) await pause(restMs, undefined, { signal: this.#stop.signal, ref: false }).catch(ignore);
    }
  }

  async #take(cursor: Cursor, entries: readonly OutboxEntry[]): Promise<void> {
    const { lane } = cursor;
    const guard = this.#lowWater.enter(cursor);
    for (const [name, all] of Map.groupBy(entries, ({ target }) => target)) {
      const target = this.#targets.get(name) ?? (await this.#open(name));
      if (target.hasTaken(cursor)) continue;
      const left = target.left.get(lane);
      if (left && left.mark.cursor.pos < cursor.pos) continue;
      if (target.isFull) {
        if (!left) target.left.set(lane, { mark: this.#lowWater.enter(cursor), after: this.#place.get(lane) });
        continue;
      }
      // Also when nothing of it is left: the target has taken this place, and goes on behind it.
      const own = all.filter((entry) => !this.#dead.has(entry));
      const marks = own.map(() => this.#lowWater.enter(cursor));
      target.take(cursor, own, () => {
        const mark = marks.pop();
        if (mark) this.#lowWater.leave(mark);
      });
      this.#noteRetried(own);
      if (left) {
        target.left.delete(lane);
        this.#lowWater.leave(left.mark);
      }
    }
    this.#lowWater.leave(guard);
    this.#place.set(lane, cursor);
  }

  /** Which targets they were for stands nowhere any more. */
  #noteLost(cursor: Cursor, reason: string): void {
    const before = this.#place.get(cursor.lane);
    const events = lastSequenceOf(cursor) - (before ? lastSequenceOf(before) : 0);
    this.#options.counts.add(unknownTarget, 'dropped', events);
    this.#options.log.error('events in the outbox are lost', { lane: cursor.lane, events, reason });
  }

  #noteRetried(entries: readonly OutboxEntry[]): void {
    for (const entry of entries) {
      if (entry.attempts > 0) this.#deliveries.note(deliveryOf(entry, 'retrying', this.#options.clock.now()));
    }
  }

  /** Reads again from where the first of the targets has left something. */
  #goBack(): void {
    // It is on its way already.
    if (this.#reading.signal.aborted) return;
    for (const { left } of this.#targets.values()) {
      for (const [lane, { after }] of left) {
        if (after === undefined) this.#place.delete(lane);
        else if (after.pos < (this.#place.get(lane)?.pos ?? '')) this.#place.set(lane, after);
      }
    }
    this.#reading.abort();
  }

  async #open(name: string): Promise<Target> {
    const { store, addressOf, cooldowns, clock } = this.#options;
    const marks = (await store.log.marks(consumerOf(name))) ?? [];
    const target = new Target({
      address: () => addressOf(name),
      send: (address, entry, stop) => this.#send(address, entry, stop),
      isCooling: (entry) => entry.cooldownMs > 0 && cooldowns.isCooling(coolingKey(entry)),
      judge: (entry, sent, cursor) => this.#judge(entry, sent, cursor),
      suppressed: (entry) => this.#count(entry, 'suppressed'),
      gone: (entry, cursor, state) => this.#gone(entry, cursor, state),
      write: (entry, written) => this.#writer.add(entry, written),
      hasRoom: () => this.#goBack(),
      now: () => clock.now(),
      marks,
    });
    this.#targets.set(name, target);
    return target;
  }

  async #send(address: TargetAddress, entry: Unnumbered, stop: AbortSignal): Promise<Sent> {
    if (address.state === 'closed') return closed;
    return this.#options.store.send(address.document, attemptOf(entry), stop);
  }

  async #judge(entry: OutboxEntry, sent: Sent, cursor: Cursor): Promise<Unnumbered | undefined> {
    const { policy, random, clock, cooldowns } = this.#options;
    const nowMs = clock.now();
    const { ext: _, warning: __, ...before } = entry;
    const { warning } = sent;
    this.#warn(entry, warning);
    const attempts = entry.attempts + 1;
    const warned = warning === undefined ? {} : { warning };
    const tried = { ...before, ...warned, attempts, lastStatus: sent.status, error: sent.error };
    const verdict = verdictOf({ sent, attempts, sinceMs: entry.sinceMs, nowMs, random: random() }, policy);
    switch (verdict.state) {
      case 'delivered':
        cooldowns.start(coolingKey(entry), entry.cooldownMs);
        this.#note(tried, 'delivered', 'delivered');
        return undefined;
      case 'retrying': {
        const next = { ...tried, dueMs: verdict.dueMs };
        this.#note(next, 'retrying', 'retried');
        return next;
      }
      case 'dead':
        await this.#bury({ ...tried, ext: entry.ext }, cursor, nowMs);
        this.#note(tried, 'dead', 'dead');
        return undefined;
    }
  }

  /** The same again is said once. */
  #warn({ target, trigger }: Unnumbered, warning: string | undefined): void {
    const { counts, log } = this.#options;
    if (warning !== undefined) counts.add(target, 'defaulted');
    if (counts.warn(target, warning)) log.warn('a template came to nothing', { target, trigger, reason: warning });
  }

  async #gone(entry: OutboxEntry, cursor: Cursor, state: 'gone' | 'off'): Promise<void> {
    // Requests come first, however many wait.
    await turn();
    const over = { ...entry, error: state === 'off' ? 'the handler is switched off' : 'the handler is gone' };
    await this.#bury(over, cursor, this.#options.clock.now());
    this.#note(over, 'dead', 'dead');
  }

  async #bury(record: OutboxEntry, cursor: Cursor, at: number): Promise<void> {
    const { store, log } = this.#options;
    const { attempts, target, eventId, lastStatus, error } = record;
    log.warn('an event could not be delivered', { target, eventId, attempts, status: lastStatus, reason: error });
    const reason = error ?? `the target answered ${lastStatus}`;
    this.#dead.note(record, at);
    try {
      await store.log.deadLetter(everybody, { cursor, reason, attempts, at, record });
    } catch (failure) {
      log.error('a dead letter could not be kept', { target, eventId, error: failure });
    }
  }

  #note(entry: Unnumbered, state: WebhookDelivery['state'], outcome: Outcome): void {
    this.#count(entry, outcome);
    this.#deliveries.note(deliveryOf(entry, state, this.#options.clock.now()));
  }

  #count({ target }: Unnumbered, outcome: Outcome): void {
    this.#options.counts.add(target, outcome);
  }

  /** Targets first: what all are done with is what each is done with. */
  async #commit(): Promise<void> {
    try {
      const { log } = this.#options.store;
      for (const [name, { lowWater }] of this.#targets) await commitTo(log, consumerOf(name), lowWater);
      await commitTo(log, everybody, this.#lowWater);
    } catch (error) {
      this.#options.log.error('the cursors of the outbox could not be kept', { error });
    }
  }

  async #tidy(): Promise<void> {
    const { store, clock, log } = this.#options;
    const beforeMs = clock.now() - lettersKeptMs;
    this.#dead.forget({ beforeMs, butNewest: maxLetters });
    try {
      await store.log.forgetDeadLetters(everybody, { beforeMs });
      const taken = await store.log.forgetDeadLetters(everybody, { butNewest: maxLetters });
      if (taken > 0) log.error('dead letters of events are lost', { count: taken, reason: 'there are too many' });
    } catch (error) {
      log.error('dead letters could not be tidied', { error });
    }
  }
}

const closed: Sent = { status: null, timeMs: 0, error: 'a secret of the target, or its API, is not on this node' };

const ignore = (): void => {};
