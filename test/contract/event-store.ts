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
  /** Closes what was opened and removes the log. */
  readonly dispose: () => Promise<void>;
};

/** `isShared`: several adapters may be open on one log. */
export type Traits = { readonly isShared: boolean };

export type OpenLog = () => Promise<LogUnderTest>;

export function eventStoreContract(name: string, open: OpenLog, { isShared }: Traits): void {
  describe(`event store contract: ${name}`, () => {
    appendContract(open);
    idempotenceContract(open);
    readContract(open);
    subscriptionContract(open);
    retentionContract(open);
    if (isShared) sharingContract(open);
  });
}
