/** The projection that follows a run of the fault checker, and what every projection of a run has to come to, said a second time. */
import type { StoredEvent } from '../../domain/event-store.ts';
import type { Projection } from '../../projections/projection.ts';
import type { ReadModelStore } from '../../projections/read-model-store.ts';

export const categoryOfApis = 'api';

/** Per stream how many events it had, and which was the last one. */
export const counting: Projection = {
  name: 'counts',
  version: 1,
  collections: ['counts'],
  filter: { categories: [categoryOfApis] },
  onPoison: 'stop',
  apply: ({ stream, id }, documents) => {
    const body = String(documents.get('counts', stream)?.body ?? '0');
    const count = Number.parseInt(body, 10) + 1;
    const document = { id: stream, sort: stream, labels: [], body: `${count} ${id}` };
    return [{ op: 'put', collection: 'counts', document }];
  },
};

export const countsOf = (models: Pick<ReadModelStore, 'list'>): Readonly<Record<string, string>> =>
  Object.fromEntries(models.list('counts', { limit: 1_000 }).map(({ id, body }) => [id, String(body)]));

/** Name of the fold of what gateways run. */
export const foldedConfiguration = 'configuration';

/** What one event of an API changes. */
type Step = (state: ReadonlyMap<string, string>, event: StoredEvent) => readonly [key: string, value: string];

export const referenceFolds: Readonly<Record<string, Step>> = {
  // The last revision counts the events, because a stream has no holes.
  [counting.name]: (_, { stream, id, revision }) => [stream, `${revision + 1n} ${id}`],
  [foldedConfiguration]: (_, { stream, revision }) => [stream.slice(categoryOfApis.length + 1), String(revision)],
};
