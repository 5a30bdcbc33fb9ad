/** An event with its envelope: what happened to one aggregate, where it stands in the log, and who caused it. */
import type { Position } from './event-store.ts';

/** Flat map of text, always (event-store design 8.3). Values hold ids only, never names, addresses or secrets. */
export type EventMetadata = Readonly<Record<string, string>>;

/** Who issued a command. */
export type Actor = {
  readonly type: 'token' | 'system' | 'gateway';
  readonly id: string;
};

/** An event as projections and readers see it: decoded, upcast, with its envelope. */
export type Recorded<E> = {
  readonly event: E;
  readonly id: string;
  readonly stream: string;
  readonly revision: bigint;
  readonly position: Position;
  readonly at: Date;
  readonly meta: EventMetadata;
};

/** Of an event that changes nothing of its aggregate: the revision of the last one that does. Absent in older logs. */
export type WholeAt = { readonly wholeAt?: string };

/** Plain JSON, the form of every document that users send. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

/**
 * A secret inside an event. `clear` exists only between the decider and the sealing step; the codec refuses to write it.
 * With `kid` it is one that is held already and is sealed under the same key again, for a new place; `isNew` says that the
 * key of that name is still to be made.
 * Sealed: AES-256-GCM under the data key `kid` of the key ring; all texts base64url.
 */
export type Secret =
  | { readonly clear: string; readonly kid?: string; readonly isNew?: true }
  | {
      readonly kid: string;
      readonly alg: 'A256GCM';
      readonly iv: string;
      readonly ct: string;
      readonly tag: string;
    };

/** For the end of a `switch` over a union: a member that was forgotten does not compile. */
export function never(value: never): never {
  throw new Error(`unexpected ${JSON.stringify(value)}`);
}
