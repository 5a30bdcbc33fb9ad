/** Tells webhooks what happens in management itself: access keys that come, change and go, certificates that end (api-definition design 14.2, 14.4). */
import { setTimeout as delay } from 'node:timers/promises';
import type { EventStore } from '../../../domain/event-store.ts';
import { decodeEvent } from '../../../domain/events.ts';
import type { Lease } from '../../../domain/lease.ts';
import type { SharedCells } from '../../../domain/shared-cells.ts';
import { Redeliveries } from '../../../gateway/events/redeliveries.ts';
import type { Log } from '../../../gateway/ports.ts';
import type { Projector } from '../../../projections/runner/projector.ts';
import { listenersOf } from '../webhook-events/handlers.ts';
import { EventOutbox, type EventOutboxOptions, type EventOutboxStanding } from '../webhook-events/outbox.ts';
import { createLeasedReader, type LeasedReader } from '../webhook-events/reader.ts';
import { tell, toldTypes } from '../webhook-events/told.ts';

export type ManagementEventsOptions = Omit<EventOutboxOptions, 'log'> & {
  readonly cells: SharedCells;
  readonly projector: Pick<Projector, 'waitFor' | 'caughtUp' | 'changed'>;
  /** One node reads at a time; each delivers what it has read. */
  readonly lease: Lease;
  readonly log: Log;
  /** An earlier run has left an outbox. */
  readonly hasOutbox: boolean;
  /** Where this node remembers which dead letters it has sent again. */
  readonly redeliveredFile: string;
  /** Between two looks when nothing happens: the lease is renewed then. Default 5,000. */
  readonly everyMs?: number;
  readonly stopMs?: number;
};

export interface ManagementEvents {
  /** Of this node since its start; undefined as long as there was nothing to send. */
  standing(): EventOutboxStanding | undefined;
  stop(): Promise<void>;
}

const models = ['apis', 'certs', 'policies', 'webhooks'];
const waitMs = 2_000;
const gatherMs = 25;

export function startManagementEvents(options: ManagementEventsOptions): ManagementEvents {
  const ending = new AbortController();
  const { signal } = ending;
  const { log, stopMs = 5_000 } = options;
  const outbox = new EventOutbox(options);
  const redeliveries = new Redeliveries({
    ...{ file: options.redeliveredFile, log },
    redeliver: (asked) => outbox.redeliver(asked),
  });
  const reader = readerOf(options, outbox, signal);
  const run = async (): Promise<void> => {
    // Another node may be faster; one that fails here does it when it reads.
    await reader.begin().catch((error: unknown) => log.debug('the place of events is not kept yet', { error }));
    // Before that a target that is there would look as if it were not.
    const caughtUp = Promise.all(models.map((name) => options.projector.caughtUp(name)));
    await orEnd(caughtUp, signal).catch(() => undefined);
    if (options.hasOutbox) await openLeft(options, outbox, signal);
    await Promise.all([follow(options, reader, outbox, signal), followRequests(options, redeliveries, signal)]);
  };
  const running = run();
  return {
    standing: () => outbox.standing,
    stop: async () => {
      ending.abort();
      await redeliveries.stop();
      await running;
      await outbox.stop(stopMs);
    },
  };
}

/** What an earlier run has left goes on by itself. */
async function openLeft(
  { log, everyMs = 5_000 }: ManagementEventsOptions,
  outbox: EventOutbox,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      return await outbox.open();
    } catch (error) {
      log.error('the outbox of management does not open', { error });
      await delay(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Resolves with the work, or when the signal aborts. */
async function orEnd(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const end = (): void => resolve();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

function readerOf(options: ManagementEventsOptions, outbox: EventOutbox, signal: AbortSignal): LeasedReader {
  const { sources, projector, lease, cells } = options;
  return createLeasedReader({
    ...{ store: sources.store, cells, lease, key: 'reactor/management-events' },
    filter: { types: toldTypes },
    isReady: (position) => projector.waitFor(models, position, waitMs),
    take: async (recorded) => {
      const told = await tell(recorded, sources);
      // A disk that takes nothing must not hold up the end.
      if (told) await orEnd(outbox.add(told, listenersOf(sources.models, told, sources.handlers)), signal);
    },
  });
}

/** Until the signal aborts: what fails is tried again. */
async function follow(
  options: ManagementEventsOptions,
  reader: LeasedReader,
  outbox: EventOutbox,
  signal: AbortSignal,
): Promise<void> {
  const { projector, lease, log, everyMs = 5_000 } = options;
  const bell = createBell(projector, signal);
  while (!signal.aborted) {
    const rung = bell.next(everyMs);
    try {
      outbox.endGone();
      await reader.read(signal);
    } catch (error) {
      if (!signal.aborted) log.warn('events cannot be told to webhooks now', { error });
    }
    await rung;
    // One change moves many projections.
    await delay(gatherMs, undefined, { signal }).catch(() => undefined);
  }
  bell.close();
  await lease.release().catch(() => undefined);
}

/** Every node looks after its own dead letters. */
async function followRequests(
  { sources: { store }, log, everyMs = 5_000 }: ManagementEventsOptions,
  redeliveries: Redeliveries,
  signal: AbortSignal,
): Promise<void> {
  const filter = { types: ['WebhookRedeliveryRequested'] };
  while (!signal.aborted) {
    try {
      const after = await placeOf(store, redeliveries);
      for await (const batch of store.subscribe({ after, filter, signal })) {
        const requests = ('events' in batch ? batch.events : []).flatMap((stored) => {
          const { event, position } = decodeEvent(stored);
          return event.type === 'WebhookRedeliveryRequested' ? [{ ...event, position }] : [];
        });
        if (requests.length === 0) continue;
        redeliveries.follow({ ...store.identity, position: batch.checkpoint }, requests);
        await redeliveries.settled();
      }
    } catch (error) {
      if (signal.aborted) return;
      log.warn('requests to deliver again cannot be read now', { error });
      await delay(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** At a first start, and after a restore of the log, there is nothing to do of what was asked for before. */
async function placeOf(store: EventStore, redeliveries: Redeliveries): Promise<string> {
  const { logId, era } = store.identity;
  const reached = await redeliveries.reached();
  if (reached?.logId === logId && reached.era === era) return reached.position;
  const position = await store.head();
  await redeliveries.begin({ logId, era, position });
  return position;
}

/** Rings when a projection has moved, or when the time is over. */
function createBell({ changed }: Pick<Projector, 'changed'>, signal: AbortSignal) {
  let rung = Promise.withResolvers<void>();
  const ring = (): void => rung.resolve();
  const close = changed(ring);
  signal.addEventListener('abort', ring, { once: true });
  return {
    close,
    /** What rings from here on counts. */
    next(timeoutMs: number): Promise<void> {
      rung = Promise.withResolvers<void>();
      const { promise } = rung;
      if (signal.aborted) rung.resolve();
      const timer = setTimeout(rung.resolve, timeoutMs);
      return promise.finally(() => clearTimeout(timer));
    },
  };
}
