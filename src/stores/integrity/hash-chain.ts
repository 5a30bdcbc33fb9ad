/** The hash chain of an audited stream: each event carries the hash of the one before it (event-store design 11). */
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { NewEvent, StoredEvent } from '../../../domain/event-store.ts';

/** What the first event of a stream follows: 32 zero bytes, hex. */
export const noHash = '0'.repeat(64);

/** An event with its place in its stream. Position and store time are no part of the chain: they come later. */
export type ChainedEvent = Pick<NewEvent, 'id' | 'type' | 'schema' | 'data' | 'meta'> & {
  readonly stream: string;
  readonly revision: bigint;
};

/** SHA-256 hex over the hash before, the canonical envelope without the hash itself, and the payload as it is stored, sealed. */
export function chainHash(prevHash: string, { stream, revision, id, type, schema, meta, data }: ChainedEvent): string {
  const { hash: _, ...rest } = meta;
  const envelope = canonicalize({ stream, revision: String(revision), id, type, schema, meta: rest });
  return createHash('sha256').update(Buffer.from(prevHash, 'hex')).update(String(envelope)).update(data).digest('hex');
}

/** The event with `prevHash` and `hash` in its metadata. */
export function chained(prevHash: string, event: ChainedEvent): NewEvent {
  const { id, type, schema, data } = event;
  const meta = { ...event.meta, prevHash };
  return { id, type, schema, data, meta: { ...meta, hash: chainHash(prevHash, { ...event, meta }) } };
}

/** Why an event does not follow the one before it. */
export type ChainBreak = 'no_hash' | 'other_predecessor' | 'changed' | 'revision_missing';

/** The end of a stream as far as it was read. */
export type StreamEnd = { readonly revision: bigint; readonly hash: string };

/** `before` is where the stream stood; undefined before its first event, which has revision 0. */
export function chainBreak(before: StreamEnd | undefined, event: ChainedEvent): ChainBreak | undefined {
  if (event.revision !== (before?.revision ?? -1n) + 1n) return 'revision_missing';
  const { prevHash, hash } = event.meta;
  if (prevHash === undefined || hash === undefined) return 'no_hash';
  if (prevHash !== (before?.hash ?? noHash)) return 'other_predecessor';
  return chainHash(prevHash, event) === hash ? undefined : 'changed';
}

/** The first event of a whole stream, oldest first, that breaks the chain. */
export function verifyStream(
  events: readonly StoredEvent[],
): { readonly event: StoredEvent; readonly reason: ChainBreak } | undefined {
  let before: StreamEnd | undefined;
  for (const event of events) {
    const reason = chainBreak(before, event);
    if (reason) return { event, reason };
    before = { revision: event.revision, hash: event.meta['hash'] ?? noHash };
  }
  return undefined;
}
