/** Turns what the KurrentDB client reports into the errors of the port, and conflicts into what the adapter judges. */
import { EventStoreError, type EventStoreErrorCode } from '../../../domain/event-store.ts';

/** An append was refused because streams do not stand where it expects them; nothing was written. */
export class KurrentConflict extends Error {
  /** Where the streams that are named stand; undefined for one that has no events. */
  readonly found: ReadonlyMap<string, bigint | undefined>;
  constructor(found: ReadonlyMap<string, bigint | undefined>) {
    super('the server refused the append because of an expectation');
    this.name = 'KurrentConflict';
    this.found = found;
  }
}

/** The node that was asked is not the leader; nothing was written, and the client goes to the leader with its next call. */
export class NotLeader extends Error {
  constructor() {
    super('the node is not the leader of its cluster');
    this.name = 'NotLeader';
  }
}

/** What the client's errors carry, by their type. */
type ClientError = {
  readonly type?: string;
  readonly streamName?: string;
  readonly actualState?: bigint | string;
  readonly violations?: readonly { readonly streamName: string; readonly actualState: bigint | string }[];
};

/** The client's word for an error; its own classes exist only once it is loaded. */
export const typeOf = (error: unknown): string | undefined => (error as ClientError | undefined)?.type;

const textOf = (error: unknown): string => (error instanceof Error && error.message) || typeOf(error) || String(error);

const refusals: Readonly<Record<string, EventStoreErrorCode>> = {
  'stream-deleted': 'StreamTombstoned',
  'stream-tombstoned': 'StreamTombstoned',
  'maximum-append-size-exceeded': 'EventTooLarge',
  'transaction-max-size-exceeded': 'EventTooLarge',
  'append-record-size-exceeded': 'EventTooLarge',
  'access-denied': 'StoreReadOnly',
  'invalid-argument': 'Unsupported',
  unsupported: 'Unsupported',
};

/** The call never left this process. */
const isUnsent = (error: unknown): boolean =>
  typeOf(error) === 'unavailable' &&
  /No connection established|ECONNREFUSED|Name resolution failed/.test(textOf(error));

/** Of everything that is no clear refusal it is unknown whether it was written (P6). */
export function fromAppend(cause: unknown): Error {
  if (cause instanceof EventStoreError) return cause;
  const error = cause as ClientError;
  const type = typeOf(cause);
  if (type === 'not-leader') return new NotLeader();
  if (type === 'wrong-expected-version') return conflictOf([{ streamName: '', actualState: 'no_stream', ...error }]);
  if (type === 'append-consistency-violation') return conflictOf(error.violations ?? []);
  const refusal = type === undefined ? undefined : refusals[type];
  const code = refusal ?? (isUnsent(cause) ? 'StoreUnavailable' : 'UnknownOutcome');
  return new EventStoreError(code, `kurrentdb: ${textOf(cause)}`, { cause });
}

function conflictOf(violations: NonNullable<ClientError['violations']>): KurrentConflict {
  const found = violations.map(
    ({ streamName, actualState }) =>
      [streamName, typeof actualState === 'bigint' && actualState >= 0n ? actualState : undefined] as const,
  );
  return new KurrentConflict(new Map(found));
}

export function fromRead(cause: unknown): Error {
  if (cause instanceof EventStoreError) return cause;
  const isDenied = typeOf(cause) === 'access-denied';
  const isEnded = typeOf(cause) === 'stream-deleted';
  const message = isDenied ? 'these credentials may not read here' : textOf(cause);
  return new EventStoreError(isEnded ? 'StreamTombstoned' : 'StoreUnavailable', `kurrentdb: ${message}`, { cause });
}
