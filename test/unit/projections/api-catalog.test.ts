/** The API catalogue: given events, then documents and lists. */
import { expect } from 'chai';
import { Refusal } from '../../../domain/errors.ts';
import { toOrgId } from '../../../domain/ids.ts';
import { type ApiQuery, apiCatalog, getApi, listApis } from '../../../projections/api-catalog.ts';
import type { DocumentQuery, DocumentReader, ReadModelStore } from '../../../projections/read-model-store.ts';
import { apiDocument } from '../../support/documents.ts';
import {
  apiActivated,
  apiCreated,
  apiDeactivated,
  apiDeleted,
  apiReplaced,
  documentsOf,
  folded,
  org,
} from '../../support/given.ts';

const named = (id: string, name = id, parts: Parameters<typeof apiDocument>[0] = {}) => ({
  id,
  document: apiDocument({
    ...parts,
    info: { name, ...parts.info },
    server: { listenPath: { value: `/${id}/` }, ...parts.server },
  }),
});

describe('the API catalogue', () => {
  it('knows nothing of an API that was never made', () => {
    expect(getApi(folded(apiCatalog), org, 'orders')).to.equal(undefined);
  });

  it('holds the current document with its place in the log', () => {
    const second = named('orders', 'Orders 2', { server: { customDomain: { enabled: true, name: 'API.example:80' } } });
    const models = folded(apiCatalog, apiCreated(named('orders')), apiActivated(), [
      apiReplaced(second),
      { actorId: 'ann' },
    ]);
    expect(getApi(models, org, 'orders')).to.deep.include({
      name: 'Orders 2',
      kind: 'streams',
      listenPath: '/orders',
      domain: 'api.example',
      active: true,
      internal: false,
      revision: 2,
      position: '00000000000000000003',
      createdPosition: '00000000000000000001',
      createdAt: '2026-03-01T00:00:00.000Z',
      updatedAt: '2026-03-01T00:00:02.000Z',
      updatedBy: 'ann',
      document: second.document,
    });
  });

  it('moves on with a flag that the document of the same append already has', () => {
    const document = apiDocument({ info: { state: { active: false } } });
    const models = folded(apiCatalog, apiCreated(), apiActivated(), apiReplaced({ document }), apiDeactivated());
    expect(getApi(models, org, 'orders')).to.deep.include({ active: false, revision: 3 });
  });

  it('forgets a deleted API, and takes its id again as a new one', () => {
    const gone = folded(apiCatalog, apiCreated(), apiDeleted());
    expect(getApi(gone, org, 'orders')).to.equal(undefined);
    expect(documentsOf(gone, apiCatalog)).to.deep.equal({ apis: [], api_entries: [], api_names: [] });
    const again = folded(apiCatalog, apiCreated(), apiDeleted(), apiCreated());
    expect(getApi(again, org, 'orders')).to.deep.include({ revision: 2, createdPosition: '00000000000000000003' });
  });

  it('hides an API from other organisations', () => {
    const models = folded(apiCatalog, apiCreated({ orgId: 'others' }));
    expect(getApi(models, org, 'orders')).to.equal(undefined);
    expect(listApis(models, org)).to.deep.equal({ apis: [], next: null, total: 0 });
    expect(listApis(models, toOrgId('others')).total).to.equal(1);
  });
});

describe('listApis', () => {
  let models: ReadModelStore;
  before(() => {
    models = folded(
      apiCatalog,
      apiCreated(named('c', 'Beta')),
      apiCreated(named('a', 'Gamma', { info: { state: { active: false } } })),
      apiCreated(named('b', 'alpha', { info: { state: { active: true, internal: true } } })),
      apiReplaced(named('c', 'beta')),
    );
  });
  const list = (query: ApiQuery = {}) => listApis(models, org, query).apis.map(({ id }) => id);

  it('shows the members of the interface', () => {
    expect(listApis(models, org, { q: 'gamma' })).to.deep.equal({
      apis: [
        {
          id: 'a',
          name: 'Gamma',
          kind: 'streams',
          listenPath: '/a',
          domain: null,
          active: false,
          internal: false,
          baseId: null,
          revision: 0,
          position: '2',
          updatedAt: '2026-03-01T00:00:01.000Z',
          updatedBy: 'tester',
          warnings: [],
        },
      ],
      next: null,
      total: 1,
    });
  });

  const cases: readonly [name: string, query: ApiQuery, ids: readonly string[]][] = [
    ['the newest first', {}, ['b', 'a', 'c']],
    ['the oldest first', { sort: 'created' }, ['c', 'a', 'b']],
    ['names without regard to case', { sort: 'name' }, ['b', 'c', 'a']],
    ['names backwards', { sort: '-name' }, ['a', 'c', 'b']],
    ['the last change first', { sort: '-updated' }, ['c', 'b', 'a']],
    ['the last change last', { sort: 'updated' }, ['a', 'b', 'c']],
    ['only active ones', { active: true }, ['b', 'c']],
    ['only inactive ones', { active: false }, ['a']],
    ['only internal ones', { internal: true }, ['b']],
    ['two flags at once', { active: true, internal: false, kind: 'streams' }, ['c']],
    ['only one kind', { kind: 'oas' }, []],
    ['a part of a name', { q: 'ET' }, ['c']],
    ['a part of a path', { q: '/b' }, ['b']],
    ['nothing when nothing fits', { q: 'zzz' }, []],
  ];
  for (const [name, query, ids] of cases) it(`lists ${name}`, () => expect(list(query)).to.deep.equal(ids));

  for (const sort of ['created', '-created', 'name', '-name', 'updated', '-updated'] as const) {
    it(`pages by ${sort} without loss or repetition`, () => {
      const whole = list({ sort });
      const found: string[] = [];
      let after: string | undefined;
      do {
        const page = listApis(models, org, { sort, limit: 1, ...(after === undefined ? {} : { after }) });
        expect(page.total).to.equal(3);
        found.push(...page.apis.map(({ id }) => id));
        after = page.next ?? undefined;
      } while (after !== undefined);
      expect(found).to.deep.equal(whole);
    });
  }

  describe('by name, or in a search', () => {
    /** Whatever a list asks of the collection of whole entries. */
    const asked = (query: ApiQuery) => {
      const lists: DocumentQuery[] = [];
      const watched: DocumentReader = {
        get: (...args) => models.get(...args),
        count: (...args) => models.count(...args),
        list: (collection, given) => {
          if (collection === 'api_entries') lists.push(given);
          return models.list(collection, given);
        },
      };
      return { ids: listApis(watched, org, query).apis.map(({ id }) => id), lists };
    };
    for (const [query, ids] of [
      [{ sort: 'name' }, ['b', 'c', 'a']],
      [{ sort: '-name', limit: 1 }, ['a']],
      [{ q: 'ET' }, ['c']],
      [{ q: '/B', sort: 'name' }, ['b']],
      [{ q: 'a"b\\' }, []],
      [{ only: new Set(['c', 'a']), sort: 'created' }, ['c', 'a']],
    ] as const) {
      it(`reads the entries of the page alone: ${JSON.stringify(query)}`, () => {
        expect(asked(query)).to.deep.equal({ ids, lists: [] });
      });
    }

    it('finds what JSON writes otherwise, and nothing by how JSON writes it', () => {
      const odd = folded(apiCatalog, apiCreated(named('odd', 'a "quoted" \\ \u0007 name')), apiCreated(named('even')));
      const found = (q: string) => listApis(odd, org, { q }).apis.map(({ id }) => id);
      for (const q of ['"Quoted"', '\\ ', '\u0007']) expect(found(q), q).to.deep.equal(['odd']);
      for (const q of ['searched', '\\u0007', '","']) expect(found(q), q).to.deep.equal([]);
    });

    it('forgets the name that an API had, and the API that is gone', () => {
      const changed = folded(
        apiCatalog,
        ...[apiCreated(named('a', 'One')), apiCreated(named('b', 'Two')), apiReplaced(named('a', 'Three'))],
        apiDeleted('b'),
      );
      expect(listApis(changed, org, { q: 'one' }).total).to.equal(0);
      expect(listApis(changed, org, { sort: 'name' }).apis.map(({ name }) => name)).to.deep.equal(['Three']);
    });
  });

  for (const after of ['%', 'zzz', '7']) {
    it(`refuses ${after} as a cursor`, () => {
      expect(() => list({ after }))
        .to.throw(Refusal)
        .with.property('code', 'query_invalid');
    });
  }
});
