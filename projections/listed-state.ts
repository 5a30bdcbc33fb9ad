/** What a list shows of one object after an event: the same entry that the list's own projection makes, kept per event. */
import type { Recorded } from '../domain/event.ts';
import { categoryOf } from '../domain/event-store.ts';
import type { DomainEvent } from '../domain/events.ts';
import { apiListing } from './api-catalog.ts';
import { certificateListing } from './certificate-list.ts';
import { keyListing } from './keys.ts';
import { policyListing } from './policies.ts';
import type { Projection } from './projection.ts';
import type { Document, DocumentReader } from './read-model-store.ts';
import { webhookListing } from './webhooks.ts';

/** `whole`: the collection that the projection folds from; `entries`: the one that lists read. */
export type Listing = {
  readonly category: string;
  readonly projection: Projection;
  readonly whole: string;
  readonly entries: string;
};

/** Every kind of object whose past can be listed. */
export const listings: readonly Listing[] = [apiListing, certificateListing, keyListing, policyListing, webhookListing];

/**
 * The entry after the event; undefined when the object is gone or of a kind that no list shows. The projection reads the
 * entry before in the place of the whole object, because what it takes over from there stands in both.
 */
export function listedAfter(recorded: Recorded<DomainEvent>, before: Document | undefined): Document | undefined {
  const listing = listings.find(({ category }) => category === categoryOf(recorded.stream));
  if (!listing) return undefined;
  for (const change of listing.projection.apply(recorded, onlyOf(listing.whole, before))) {
    if (change.collection !== listing.entries) continue;
    return change.op === 'put' ? change.document : undefined;
  }
  return before;
}

const onlyOf = (collection: string, document: Document | undefined): DocumentReader => ({
  get: (asked, id) => (asked === collection && document?.id === id ? document : undefined),
  list: () => [],
  count: () => 0,
});
