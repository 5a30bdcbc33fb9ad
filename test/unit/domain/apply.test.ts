/** Declarative sets: which documents mean the same, what a file leaves out, and who may change whose objects. */
import { expect } from 'chai';
import { ownership, portable, type SetKind, sameMeaning } from '../../../domain/apply.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { apiDocument } from '../../support/documents.ts';

const api = (info: JsonObject = {}, members: JsonObject = {}): JsonObject => apiDocument({ info }, members);

const reversed = (document: JsonObject): JsonObject => Object.fromEntries(Object.entries(document).toReversed());

const pairs: readonly { name: string; kind: SetKind; a: JsonObject; b: JsonObject; same: boolean }[] = [
  { name: 'members in another order', kind: 'api', a: api(), b: reversed(api()), same: true },
  { name: 'ids of another server', kind: 'api', a: api(), b: api({ dbId: '1', orgId: '2' }), same: true },
  { name: 'an empty list of tags', kind: 'api', a: api(), b: api({ tags: [] }), same: true },
  { name: 'another name', kind: 'api', a: api(), b: api({ name: 'other' }), same: false },
  { name: 'no security, which OpenAPI says', kind: 'api', a: api(), b: api({}, { security: [] }), same: false },
  {
    name: 'the name of an API in rights',
    kind: 'policy',
    a: { access_rights: { orders: { versions: ['v1'] } } },
    b: { access_rights: { orders: { api_id: 'orders', api_name: 'Orders', versions: ['v1'] } } },
    same: true,
  },
  {
    name: 'other versions in rights',
    kind: 'key',
    a: { access_rights: { o: {} } },
    b: { access_rights: {} },
    same: false,
  },
  {
    name: 'facts of a certificate',
    kind: 'cert',
    a: { pem: 'x' },
    b: { pem: 'x', parsed: { serial: '1' } },
    same: true,
  },
];

describe('two documents of a set', () => {
  for (const { name, kind, a, b, same } of pairs) {
    it(`${same ? 'mean the same' : 'differ'} with ${name}`, () => {
      expect(sameMeaning(kind, a, b)).to.equal(same);
      expect(sameMeaning(kind, b, a)).to.equal(same);
    });
  }

  it('are written without what the server knows better, twice as once', () => {
    const document = {
      name: 'gold',
      org_id: 'o',
      last_updated: 'now',
      access_rights: { a: { api_name: 'A' }, b: true },
    };
    expect(portable('policy', document)).to.deep.equal({ name: 'gold', access_rights: { a: {}, b: true } });
    expect(portable('policy', portable('policy', document))).to.deep.equal(portable('policy', document));
  });
});

describe('the owner of an object in a set', () => {
  const shop = { owner: 'shop' };
  const cases = [
    ['its own, changed', shop, false, true, { may: true, labels: shop, isTakenOver: false }],
    ['nobody, unchanged', undefined, false, false, { may: true, labels: {}, isTakenOver: false }],
    ['nobody, changed', undefined, false, true, { may: true, labels: shop, isTakenOver: false }],
    ['nobody, taken over', undefined, true, false, { may: true, labels: shop, isTakenOver: true }],
    [
      'another one, unchanged',
      { owner: 'till' },
      false,
      false,
      { may: true, labels: { owner: 'till' }, isTakenOver: false },
    ],
    ['another one, changed', { owner: 'till' }, false, true, { may: false, owner: 'till' }],
    ['another one, taken over', { owner: 'till' }, true, true, { may: true, labels: shop, isTakenOver: true }],
  ] as const;
  for (const [name, held, takeOver, isChanged, expected] of cases) {
    it(`was ${name}`, () => expect(ownership(held, 'shop', { takeOver, isChanged })).to.deep.equal(expected));
  }
});
