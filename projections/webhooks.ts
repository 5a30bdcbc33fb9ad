/** Webhooks as they are listed and looked up. */
import type { JsonObject, Recorded } from '../domain/event.ts';
import { type Position, padPosition, shortPosition } from '../domain/event-store.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { OrgId, WebhookId } from '../domain/ids.ts';
import { textAt } from '../domain/json.ts';
import type { Projection } from './projection.ts';
import type { DocumentChange, DocumentReader } from './read-model-store.ts';

export type StoredWebhook = {
  readonly orgId: OrgId;
  readonly webhookId: WebhookId;
  /** Shows masks where secrets stand. */
  readonly document: JsonObject;
  readonly createdPosition: Position;
  readonly updatedAt: string;
  /** Of the last event of its stream. */
  readonly revision: string;
  readonly position: Position;
};

const webhooks = 'webhooks';

const every = (orgId: OrgId): string => `org:${orgId}`;

export const webhooksProjection: Projection = {
  name: 'webhooks',
  version: 1,
  collections: [webhooks],
  filter: { categories: ['webhook'] },
  onPoison: 'park-by-stream',
  apply,
};

/** Where the list reads, for those who ask what it showed before. */
export const webhookListing = {
  category: 'webhook',
  projection: webhooksProjection,
  whole: webhooks,
  entries: webhooks,
} as const;

function apply(recorded: Recorded<DomainEvent>, documents: DocumentReader): readonly DocumentChange[] {
  const { event, position, at, revision } = recorded;
  switch (event.type) {
    case 'WebhookCreated':
    case 'WebhookUpdated': {
      const { orgId, webhookId, document } = event;
      const before = event.type === 'WebhookUpdated' ? stored(documents, webhookId) : undefined;
      const createdPosition = before?.createdPosition ?? position;
      const place = { createdPosition, updatedAt: at.toISOString(), revision: String(revision), position };
      const body: StoredWebhook = { orgId, webhookId, document, ...place };
      const labels = [every(orgId)];
      return [{ op: 'put', collection: webhooks, document: { id: webhookId, sort: createdPosition, labels, body } }];
    }
    case 'WebhookDeleted':
      return [{ op: 'remove', collection: webhooks, id: event.webhookId }];
    // The tag of the webhook moves on with its stream.
    case 'WebhookRedeliveryRequested': {
      const before = documents.get(webhooks, event.webhookId);
      if (!before) return [];
      const place = { updatedAt: at.toISOString(), revision: String(revision), position };
      const body = { ...(before.body as StoredWebhook), ...place };
      return [{ op: 'put', collection: webhooks, document: { ...before, body } }];
    }
    // The filter lets no other event through.
    default:
      return [];
  }
}

const stored = (documents: DocumentReader, webhookId: string): StoredWebhook | undefined =>
  documents.get(webhooks, webhookId)?.body as StoredWebhook | undefined;

export function findWebhook(documents: DocumentReader, orgId: OrgId, webhookId: string): StoredWebhook | undefined {
  const found = stored(documents, webhookId);
  return found?.orgId === orgId ? found : undefined;
}

export type WebhookQuery = {
  /** Part of the name, id or address. */
  readonly q?: string;
  readonly after?: string;
  readonly limit?: number;
};

export type WebhookPage = {
  readonly webhooks: readonly StoredWebhook[];
  readonly next: string | null;
  readonly total: number;
};

/** Oldest first. `next`: the cursor of the following page, null at the end. */
export function listWebhooks(documents: DocumentReader, orgId: OrgId, query: WebhookQuery = {}): WebhookPage {
  const { q = '', after, limit = 50 } = query;
  const wanted = [every(orgId)];
  const text = q.toLowerCase();
  const found = documents
    .list(webhooks, { labels: wanted, limit: documents.count(webhooks, wanted) })
    .map(({ body }) => body as StoredWebhook)
    .filter(({ webhookId, document }) =>
      [webhookId, textAt(document, 'name') ?? '', textAt(document, 'url') ?? ''].some((place) =>
        place.toLowerCase().includes(text),
      ),
    );
  const start = after === undefined ? '' : padPosition(after);
  const rest = found.filter(({ createdPosition }) => createdPosition > start);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  return {
    webhooks: page,
    next: last && rest.length > limit ? shortPosition(last.createdPosition) : null,
    total: found.length,
  };
}
