/** Organisations as they are listed and looked up with every request. */
import type { Recorded } from '../domain/event.ts';
import { type Position, padPosition, shortPosition } from '../domain/event-store.ts';
import type { DomainEvent } from '../domain/events.ts';
import type { OrgId } from '../domain/ids.ts';
import { type OrganisationTerms, organisation } from '../domain/organisation.ts';
import type { Projection } from './projection.ts';
import type { DocumentChange, DocumentReader } from './read-model-store.ts';

export type StoredOrganisation = {
  readonly orgId: OrgId;
  readonly terms: OrganisationTerms;
  readonly createdAt: string;
  readonly createdPosition: Position;
  readonly updatedAt: string;
  /** Of the last event of its stream. */
  readonly revision: string;
  readonly position: Position;
};

const organisations = 'organisations';

export const organisationsProjection: Projection = {
  name: 'organisations',
  version: 1,
  collections: [organisations],
  filter: { categories: ['org'] },
  // One that is switched off must not be let in because its stream was set aside.
  onPoison: 'stop',
  apply,
};

function apply(
  { event, at, position, revision }: Recorded<DomainEvent>,
  documents: DocumentReader,
): readonly DocumentChange[] {
  switch (event.type) {
    case 'OrganisationCreated':
    case 'OrganisationUpdated':
    case 'ConfigRestored':
    case 'SecretShredded': {
      const { orgId } = event;
      const before = findOrganisation(documents, orgId);
      const { terms } = organisation.evolve(before ? { terms: before.terms } : organisation.initial, event);
      if (!terms) return [];
      const time = at.toISOString();
      const createdPosition = before?.createdPosition ?? position;
      const body: StoredOrganisation = {
        ...{ orgId, terms, createdAt: before?.createdAt ?? time, createdPosition },
        // A restore moves the place in the stream, and with it the tag, and changes nothing else.
        updatedAt:
          event.type === 'ConfigRestored' || event.type === 'SecretShredded' ? (before?.updatedAt ?? time) : time,
        ...{ revision: String(revision), position },
      };
      return [
        { op: 'put', collection: organisations, document: { id: orgId, sort: createdPosition, labels: [every], body } },
      ];
    }
    // The filter lets no other event through.
    default:
      return [];
  }
}

const every = 'all';

export const findOrganisation = (documents: DocumentReader, orgId: OrgId): StoredOrganisation | undefined =>
  documents.get(organisations, orgId)?.body as StoredOrganisation | undefined;

export type OrganisationPage = {
  readonly organisations: readonly StoredOrganisation[];
  readonly next: string | null;
  readonly total: number;
};

/** Oldest first. `next`: the cursor of the following page, null at the end. */
export function listOrganisations(
  documents: DocumentReader,
  { after, limit = 50 }: { readonly after?: string; readonly limit?: number } = {},
): OrganisationPage {
  const range = after === undefined ? {} : { after: padPosition(after) };
  const found = documents
    .list(organisations, { labels: [every], ...range, limit: limit + 1 })
    .map(({ body }) => body as StoredOrganisation);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    organisations: page,
    next: last && found.length > limit ? shortPosition(last.createdPosition) : null,
    total: documents.count(organisations, [every]),
  };
}
