/** The past of lists: at every position they show what a fold up to there shows. */
import { expect } from 'chai';
import fc from 'fast-check';
import { padPosition } from '../../../domain/event-store.ts';
import type { DomainEvent } from '../../../domain/events.ts';
import { type OrgId, toOrgId } from '../../../domain/ids.ts';
import { apiCatalog, listApis } from '../../../projections/api-catalog.ts';
import { certificateList, listCertificates } from '../../../projections/certificate-list.ts';
import { historyProjection } from '../../../projections/history.ts';
import { objectsAt, pastDocuments } from '../../../projections/past.ts';
import type { ReadModelStore } from '../../../projections/read-model-store.ts';
import { apiDocument } from '../../support/documents.ts';
import {
  apiActivated,
  apiCreated,
  apiDeactivated,
  apiDeleted,
  apiPatched,
  certificateDeleted,
  certificateImported,
  folded,
  keyAttached,
  org,
} from '../../support/given.ts';

/** Any order of them is a log: folding never refuses. */
const anyEvent: fc.Arbitrary<DomainEvent> = fc.oneof(
  fc
    .record({ id: fc.constantFrom('a', 'b', 'c'), name: fc.constantFrom('one', 'Two'), active: fc.boolean() })
    .chain(({ id, name, active }) =>
      fc.constantFrom<DomainEvent>(
        apiCreated({ id, document: apiDocument({ info: { name, state: { active } } }) }),
        apiPatched({ id, document: apiDocument({ info: { name, state: { active } } }) }),
        apiActivated(id),
        apiDeactivated(id),
        apiDeleted(id),
      ),
    ),
  fc
    .record({ name: fc.constantFrom('x', 'y'), chain: fc.constantFrom([], ['root']), title: fc.constantFrom('t', 'u') })
    .chain(({ name, chain, title }) =>
      fc.constantFrom<DomainEvent>(
        certificateImported(name, { chain, name: title }),
        certificateImported(name, { hasKey: true }),
        keyAttached(name),
        certificateDeleted(name),
      ),
    ),
);

/** Entries that were folded one by one need no log. */
const there = (models: ReadModelStore, kind: string, position: string, orgId = org) =>
  Array.fromAsync(
    objectsAt(
      { models, store: { readStream: () => Promise.reject(new Error('the log is not asked')) } },
      orgId,
      kind,
      position,
    ),
  );

const now = Date.parse('2026-06-01T00:00:00Z');

describe('the past of lists', () => {
  it('is what was shown when each position was the newest', () =>
    fc.assert(
      fc.asyncProperty(fc.array(anyEvent, { minLength: 1, maxLength: 25 }), async (events) => {
        const history = folded(historyProjection, ...events);
        for (let length = 0; length <= events.length; length++) {
          const position = length === 0 ? '' : padPosition(String(length));
          const past = pastDocuments([
            ...(await there(history, 'api', position)),
            ...(await there(history, 'cert', position)),
          ]);
          const upTo = events.slice(0, length);
          const catalog = folded(apiCatalog, ...upTo);
          for (const query of [
            {},
            { sort: 'name' },
            { active: true },
            { q: 'two' },
            { sort: 'created', limit: 1 },
          ] as const)
            expect(listApis(past, org, query)).to.deep.equal(listApis(catalog, org, query));
          const certificates = folded(certificateList, ...upTo);
          for (const query of [{}, { page: 2, pageSize: 1 }, { mode: 'detailed', filter: 'with_pk' }] as const)
            expect(listCertificates(past, org, query, now)).to.deep.equal(
              listCertificates(certificates, org, query, now),
            );
        }
      }),
      { numRuns: 60 },
    ));

  it('names each object with the revision that it had', async () => {
    const history = folded(historyProjection, apiCreated(), apiPatched(), apiDeleted());
    const at = async (position: string) =>
      (await there(history, 'api', position)).map(({ id, revision }) => [id, revision]);
    expect(await at('')).to.deep.equal([]);
    expect(await at(padPosition('1'))).to.deep.equal([['orders', 0]]);
    expect(await at(padPosition('2'))).to.deep.equal([['orders', 1]]);
    expect(await at(padPosition('3'))).to.deep.equal([]);
  });

  it('knows what was there although another organisation has the id by now, and shows it to that one only then', async () => {
    const other = toOrgId('other');
    const taken = folded(
      historyProjection,
      ...[apiCreated(), apiPatched(), apiDeleted(), apiCreated({ orgId: other }), apiCreated({ id: 'x' })],
      ...[apiDeleted('x'), apiCreated({ id: 'x' })],
    );
    const at = async (orgId: OrgId, position: number) =>
      (await there(taken, 'api', padPosition(String(position)), orgId)).map(({ id, revision }) => [id, revision]);
    expect(await Promise.all([1, 2, 3, 4, 5, 6].map((position) => at(org, position)))).to.deep.equal([
      ...[[['orders', 0]], [['orders', 1]], [], [], [['x', 0]], []],
    ]);
    expect(await Promise.all([2, 3, 4, 7].map((position) => at(other, position)))).to.deep.equal([
      [],
      [],
      [['orders', 3]],
      [['orders', 3]],
    ]);
  });
});
