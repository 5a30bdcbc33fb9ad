/** Turns what SQLite reports into the errors of the port, and carries those between the threads. */
import {
  EventStoreError,
  type EventStoreErrorCode,
  type Expected,
  WrongExpectedVersion,
} from '../../../domain/event-store.ts';
import { type SqliteFault, sqliteFault } from '../sqlite.ts';

const codes: Readonly<Record<SqliteFault, EventStoreErrorCode>> = {
  full: 'StoreFull',
  busy: 'StoreUnavailable',
  readonly: 'StoreReadOnly',
  corrupt: 'Corrupt',
  'cannot-open': 'StoreUnavailable',
  io: 'StoreUnavailable',
};

/** `io` during an append leaves open whether the commit reached the disk. */
export function toStoreError(cause: unknown, call: 'append' | 'other'): EventStoreError {
  if (cause instanceof EventStoreError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  const fault = sqliteFault(cause);
  if (fault === 'io' && call === 'append') return new EventStoreError('UnknownOutcome', message, { cause });
  return new EventStoreError(fault ? codes[fault] : 'StoreUnavailable', message, { cause });
}

/** An error as a message between threads; class and own members do not survive the copy that threads make. */
export type ErrorMessage = {
  readonly code: EventStoreErrorCode;
  readonly message: string;
  readonly conflict?: { readonly stream: string; readonly expected: Expected; readonly actual: bigint | undefined };
};

export function toMessage(error: EventStoreError): ErrorMessage {
  const { code, message } = error;
  if (!(error instanceof WrongExpectedVersion)) return { code, message };
  const { stream, expected, actual } = error;
  return { code, message, conflict: { stream, expected, actual } };
}

export const fromMessage = ({ code, message, conflict }: ErrorMessage): EventStoreError =>
  conflict
    ? new WrongExpectedVersion(conflict.stream, conflict.expected, conflict.actual)
    : new EventStoreError(code, message);
