/** Policies as they are listed and looked up. */
import type { JsonObject, Recorded } from '../domain/event.ts';
import { type Position, padPosition, shortPosition } from '../domain/event-store.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { OrgId, PolicyId } from '../domain/ids.ts';
import { objectAt, textAt } from '../domain/json.ts';
import type { Projection } from './projection.ts';
import type { DocumentChange, DocumentReader } from './read-model-store.ts';

export type StoredPolicy = {
  readonly orgId: OrgId;
  readonly policyId: PolicyId;
  readonly document: JsonObject;
  readonly createdPosition: Position;
  readonly updatedAt: string;
  /** Of the last event of its stream. */
  readonly revision: string;
  readonly position: Position;
};

const policies = 'policies';

const every = (orgId: OrgId): string => `org:${orgId}`;
const within = (orgId: OrgId, label: string): string => `org:${orgId}/${label}`;

export const policiesProjection: Projection = {
  name: 'policies',
  version: 1,
  collections: [policies],
  filter: { categories: ['policy'] },
  onPoison: 'park-by-stream',
  apply,
};

/** Where the list reads, for those who ask what it showed before. */
export const policyListing = {
  category: 'policy',
  projection: policiesProjection,
  whole: policies,
  entries: policies,
} as const;

function apply(recorded: Recorded<DomainEvent>, documents: DocumentReader): readonly DocumentChange[] {
  const { event, position, at, revision } = recorded;
  switch (event.type) {
    case 'PolicyCreated':
    case 'PolicyUpdated': {
      const { orgId, policyId, document } = event;
      const before = event.type === 'PolicyUpdated' ? stored(documents, policyId) : undefined;
      const createdPosition = before?.createdPosition ?? position;
      const place = { createdPosition, updatedAt: at.toISOString(), revision: String(revision), position };
      const body: StoredPolicy = { orgId, policyId, document, ...place };
      const labels = [
        every(orgId),
        within(orgId, `name:${textAt(document, 'name') ?? ''}`),
        ...(document['state'] === 'active' ? [within(orgId, 'active')] : []),
        ...Object.keys(objectAt(document, 'access_rights') ?? {}).map((id) => within(orgId, `api:${id}`)),
      ];
      return [{ op: 'put', collection: policies, document: { id: policyId, sort: createdPosition, labels, body } }];
    }
    case 'PolicyDeleted':
      return [{ op: 'remove', collection: policies, id: event.policyId }];
    // The filter lets no other event through.
    default:
      return [];
  }
}

const stored = (documents: DocumentReader, policyId: string): StoredPolicy | undefined =>
  documents.get(policies, policyId)?.body as StoredPolicy | undefined;

export function findPolicy(documents: DocumentReader, orgId: OrgId, policyId: string): StoredPolicy | undefined {
  const found = stored(documents, policyId);
  return found?.orgId === orgId ? found : undefined;
}

/** Ids of the policies that open an API. */
export function policiesOfApi(documents: DocumentReader, orgId: OrgId, apiId: string): readonly string[] {
  const labels = [within(orgId, `api:${apiId}`)];
  return documents.list(policies, { labels, limit: documents.count(policies, labels) }).map(({ id }) => id);
}

/** Whether a policy of the organisation other than this one has the name. */
export const isNameTaken = (documents: DocumentReader, orgId: OrgId, name: string, besides: PolicyId): boolean =>
  documents.list(policies, { labels: [within(orgId, `name:${name}`)], limit: 2 }).some(({ id }) => id !== besides);

/** Ids of the policies that have the name: one, but for logs that are older than reservations. */
export function policiesNamed(documents: DocumentReader, orgId: OrgId, name: string): readonly string[] {
  const labels = [within(orgId, `name:${name}`)];
  return documents.list(policies, { labels, limit: documents.count(policies, labels) }).map(({ id }) => id);
}

export type PolicyQuery = {
  /** Part of the name or id. */
  readonly q?: string;
  readonly api?: string;
  readonly active?: boolean;
  readonly after?: string;
  readonly limit?: number;
};

export type PolicyPage = {
  readonly policies: readonly StoredPolicy[];
  readonly next: string | null;
  readonly total: number;
};

/** Oldest first. `next`: the cursor of the following page, null at the end. */
export function listPolicies(documents: DocumentReader, orgId: OrgId, query: PolicyQuery = {}): PolicyPage {
  const { q = '', api, active = false, after, limit = 50 } = query;
  const labels = [
    ...(api === undefined ? [] : [within(orgId, `api:${api}`)]),
    ...(active ? [within(orgId, 'active')] : []),
  ];
  const wanted = labels.length === 0 ? [every(orgId)] : labels;
  const text = q.toLowerCase();
  const found = documents
    .list(policies, { labels: wanted, limit: documents.count(policies, wanted) })
    .map(({ body }) => body as StoredPolicy)
    .filter(({ policyId, document }) =>
      [policyId, textAt(document, 'name') ?? ''].some((place) => place.toLowerCase().includes(text)),
    );
  const start = after === undefined ? '' : padPosition(after);
  const rest = found.filter(({ createdPosition }) => createdPosition > start);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  return {
    policies: page,
    next: last && rest.length > limit ? shortPosition(last.createdPosition) : null,
    total: found.length,
  };
}
