/** A projection with one document per stream: how many events it had. */
import type { Projection } from '../../projections/projection.ts';

export const countingProjection = (overrides: Partial<Projection> = {}): Projection => ({
  name: 'counts',
  version: 1,
  collections: ['counts'],
  filter: { categories: ['api'] },
  onPoison: 'park-by-stream',
  apply: ({ stream }, documents) => {
    const count = Number(documents.get('counts', stream)?.body ?? 0) + 1;
    return [{ op: 'put', collection: 'counts', document: { id: stream, sort: stream, labels: [], body: count } }];
  },
  ...overrides,
});
