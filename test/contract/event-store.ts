/** The contract of the event store port: every promise P1 to P13 as a test that each adapter runs. */
import type { EventStore } from '../../domain/event-store.ts';
import { appendContract } from './event-store-append.ts';
import { idempotenceContract } from './event-store-idempotence.ts';
import { readContract } from './event-store-reading.ts';
import { retentionContract } from './event-store-retention.ts';
import { sharingContract } from './event-store-sharing.ts';
import { subscriptionContract } from './event-store-subscription.ts';

/** A log of its own with a clock that the test moves. */
type LogUnderTest = {
  readonly store: EventStore;
  readonly clock: { nowMs: number };
  /** One more adapter on the same log; only where several may open one. */
  readonly openAgain?: () => Promise<EventStore>;
  /** Takes out for good what retention let go; only where the engine does that later, by itself. */
  readonly scavenge?: () => Promise<void>;
  /** Closes what was opened and removes the log. */
  readonly dispose: () => Promise<void>;
};

/**
 * `isShared`: several adapters may be open on one log. The others are promises that an engine cannot keep as the rest do; each
 * stands in docs/reference/engines.md, and its test says what holds instead.
 */
export type Traits = {
  readonly isShared: boolean;
  /** False: an append has one write. */
  readonly multiStream?: boolean;
  /** False: an append has no write without events. */
  readonly checks?: boolean;
  /** False: no record of commands is written with the append. */
  readonly commandRecord?: boolean;
  /** False: an event id is known again on its own stream only. */
  readonly idsOfWholeLog?: boolean;
  /** An append with more than this is refused. */
  readonly maxAppendBytes?: number;
  /** False: the tests move neither the engine's clock nor what takes out events that retention let go. */
  readonly isMovable?: boolean;
  /** False: one page may pass over any number of events that the filter leaves out. */
  readonly boundedScan?: boolean;
};

export type OpenLog = () => Promise<LogUnderTest>;

export function eventStoreContract(name: string, open: OpenLog, traits: Traits): void {
  describe(`event store contract: ${name}`, () => {
    appendContract(open, traits);
    idempotenceContract(open, traits);
    readContract(open, traits);
    subscriptionContract(open, traits);
    retentionContract(open, traits);
    if (traits.isShared) sharingContract(open);
  });
}
