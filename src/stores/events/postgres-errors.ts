/** Turns what PostgreSQL reports into the errors of the port. */
import { EventStoreError, type EventStoreErrorCode } from '../../../domain/event-store.ts';
import { PostgresError, type PostgresFault } from '../postgres.ts';

/** Only a lost answer to COMMIT leaves the outcome open; whatever fails before was rolled back, and may be tried again. */
const codes: Readonly<Record<PostgresFault, EventStoreErrorCode>> = {
  full: 'StoreFull',
  busy: 'StoreUnavailable',
  readonly: 'StoreReadOnly',
  corrupt: 'Corrupt',
  unfit: 'Unsupported',
  unavailable: 'StoreUnavailable',
  unknown: 'UnknownOutcome',
};

export function toStoreError(cause: unknown): unknown {
  if (!(cause instanceof PostgresError)) return cause;
  return new EventStoreError(codes[cause.fault], `postgresql: ${cause.message}`, { cause });
}

export const isUnavailable = (error: unknown): boolean =>
  error instanceof EventStoreError && error.code === 'StoreUnavailable';
