/** What a key may do with its policies: every rule of their application as a row, and laws that hold for all of them. */
import { expect } from 'chai';
import fc from 'fast-check';
import { effectiveSession, isMixed } from '../../../domain/access-session.ts';
import type { JsonObject } from '../../../domain/event.ts';

const createdAt = 1_000_000;

const session = (key: JsonObject, ...policies: readonly (JsonObject | undefined)[]): JsonObject =>
  effectiveSession(
    key,
    policies.map((document, index) => ({ id: `p${index}`, document })),
    createdAt,
  ).session;

const only = (name: string): JsonObject => ({ partitions: { [name]: true } });
const rights = (members: JsonObject): JsonObject => ({ access_rights: { a: members } });

const rows: readonly [name: string, key: JsonObject, policies: readonly JsonObject[], expected: JsonObject][] = [
  ['a key without policies stays as it is', { rate: 5, per: 1 }, [], { rate: 5, per: 1 }],
  [
    'a policy without partitions supplies all of them',
    { rate: 5, per: 1, quota_max: 9, access_rights: { own: {} } },
    [{ rate: 7, per: 1, quota_max: 3, quota_renewal_rate: 60, max_query_depth: 4, access_rights: { a: {} } }],
    { rate: 7, quota_max: 3, quota_renewal_rate: 60, max_query_depth: 4 },
  ],
  [
    'a policy with partitions leaves the others to the key',
    { rate: 5, per: 1 },
    [{ ...only('quota'), quota_max: 3 }],
    { rate: 5, quota_max: 3 },
  ],
  [
    'the highest rate a second wins',
    {},
    [
      { rate: 100, per: 60 },
      { rate: 5, per: 1 },
    ],
    { rate: 5, per: 1 },
  ],
  [
    'no rate wins over every rate, the key’s too',
    { rate: 5, per: 1 },
    [
      { rate: 9, per: 1 },
      { rate: 0, per: 0 },
    ],
    { rate: 0, per: 0 },
  ],
  [
    'the highest quota wins with its own renewal',
    {},
    [
      { quota_max: 5, quota_renewal_rate: 1 },
      { quota_max: 9, quota_renewal_rate: 60 },
    ],
    { quota_max: 9, quota_renewal_rate: 60 },
  ],
  ['no quota wins over every quota', { quota_max: 4 }, [{ quota_max: 5 }, { quota_max: -1 }], { quota_max: -1 }],
  ['tags are united', { tags: ['k', 'x'] }, [{ tags: ['x', 'y'] }], { tags: ['x', 'y', 'k'] }],
  [
    'metadata is merged in order, the key’s last',
    { meta_data: { a: 'key' } },
    [{ meta_data: { a: 1, b: 1 } }, { meta_data: { b: 2 } }],
    { meta_data: { a: 'key', b: 2 } },
  ],
  ['the earliest end counts', { expires: 5_000 }, [{ key_expires_in: 60 }, { key_expires_in: 90 }], { expires: 1_060 }],
  ['an end of its own counts when it is earlier', { expires: 1_010 }, [{ key_expires_in: 60 }], { expires: 1_010 }],
  ['a key that never ends gets the end of a policy', { expires: -1 }, [{ key_expires_in: 60 }], { expires: 1_060 }],
  [
    'a policy of state deny switches the key off',
    {},
    [{ state: 'deny' }, { rate: 1, per: 1 }],
    { is_inactive: true, rate: 1 },
  ],
  ['a depth without end wins', {}, [{ max_query_depth: 4 }, { max_query_depth: -1 }], { max_query_depth: -1 }],
  ['signatures that a policy asks for are asked for', {}, [{ hmac_enabled: true }], { hmac_enabled: true }],
];

describe('effectiveSession', () => {
  for (const [name, key, policies, expected] of rows) {
    it(name, () => expect(session(key, ...policies)).to.deep.include(expected));
  }

  const accesses: readonly [name: string, policies: readonly JsonObject[], expected: JsonObject][] = [
    [
      'APIs are united',
      [{ access_rights: { a: {} } }, { access_rights: { b: {} } }],
      { a: { versions: [], allowed_urls: [] }, b: { versions: [], allowed_urls: [] } },
    ],
    [
      'versions are united',
      [rights({ versions: ['1'] }), rights({ versions: ['2'] })],
      { a: { versions: ['1', '2'], allowed_urls: [] } },
    ],
    [
      'an empty list of versions means all',
      [rights({ versions: ['1'] }), rights({})],
      { a: { versions: [], allowed_urls: [] } },
    ],
    [
      'addresses are united with their methods',
      [
        rights({ allowed_urls: [{ url: '/x', methods: ['GET'] }] }),
        rights({
          allowed_urls: [
            { url: '/x', methods: ['PUT'] },
            { url: '/y', methods: [] },
          ],
        }),
      ],
      {
        a: {
          versions: [],
          allowed_urls: [
            { url: '/x', methods: ['GET', 'PUT'] },
            { url: '/y', methods: [] },
          ],
        },
      },
    ],
    [
      'limits of an API are the highest ones',
      [rights({ limit: { rate: 1, per: 1, quota_max: 9 } }), rights({ limit: { rate: 2, per: 1, quota_max: 3 } })],
      { a: { versions: [], allowed_urls: [], limit: { rate: 2, per: 1, quota_max: 9 } } },
    ],
    [
      'limits of an API come from those that supply limits',
      [{ ...only('acl'), ...rights({ limit: { rate: 9, per: 1 } }) }, rights({ limit: { rate: 2, per: 1 } })],
      { a: { versions: [], allowed_urls: [], limit: { rate: 2, per: 1 } } },
    ],
    [
      'endpoints get the highest rate, method by method',
      [
        rights({ endpoints: [{ path: '/x', methods: [{ name: 'GET', limit: { rate: 1, per: 1 } }] }] }),
        rights({
          endpoints: [
            {
              path: '/x',
              methods: [
                { name: 'GET', limit: { rate: 3, per: 1 } },
                { name: 'PUT', limit: { rate: 1, per: 1 } },
              ],
            },
          ],
        }),
      ],
      {
        a: {
          ...{ versions: [], allowed_urls: [] },
          endpoints: [
            {
              path: '/x',
              methods: [
                { name: 'GET', limit: { rate: 3, per: 1 } },
                { name: 'PUT', limit: { rate: 1, per: 1 } },
              ],
            },
          ],
        },
      },
    ],
    [
      'a policy per API gives its own limits',
      [{ ...only('per_api'), ...rights({ limit: { rate: 2, per: 1 } }) }],
      { a: { versions: [], allowed_urls: [], limit: { rate: 2, per: 1 } } },
    ],
    ['policies that contradict each other give nothing', [{ ...only('per_api'), ...rights({}) }, rights({})], {}],
    ['a draft gives nothing', [{ state: 'draft', ...rights({}) }], {}],
  ];
  for (const [name, policies, expected] of accesses) {
    it(name, () => expect(session({}, ...policies)['access_rights']).to.deep.equal(expected));
  }

  it('grants nothing by policies that contradict each other, not even to a key for every API', () => {
    const key = { allow_all_apis: true, access_rights: { own: {} } };
    const contrary = [
      { ...only('per_api'), ...rights({}) },
      { rate: 1, per: 1 },
    ];
    expect(session(key, ...contrary)).to.deep.include({ access_rights: {}, allow_all_apis: false });
    expect(session(key, { rate: 1, per: 1 })).to.include({ allow_all_apis: true });
  });

  it('keeps rights of the key only where no policy supplies rights', () => {
    const key = { access_rights: { own: {} } };
    expect(session(key, only('quota'))['access_rights']).to.deep.equal({ own: {} });
    expect(session(key, { access_rights: {} })['access_rights']).to.deep.equal({});
    expect(session(key, undefined)['access_rights']).to.deep.equal({ own: {} });
  });

  it('takes no policy for one that grants an API because every object has a member of that name', () => {
    const named: JsonObject = { access_rights: JSON.parse('{"__proto__": {"versions": ["1"]}}') };
    const { access_rights: granted } = session({}, named, { access_rights: { b: {} } });
    expect(JSON.stringify(granted)).to.include('"__proto__":{"versions":["1"]');
  });

  it('says which policies gave something and why others did not', () => {
    const { applied, skipped } = effectiveSession(
      {},
      [
        { id: 'good', document: {} },
        { id: 'gone', document: undefined },
        { id: 'draft', document: { state: 'draft' } },
      ],
      createdAt,
    );
    expect(applied).to.deep.equal(['good']);
    expect(skipped).to.deep.equal([
      { id: 'gone', reason: 'missing' },
      { id: 'draft', reason: 'draft' },
    ]);
  });

  describe('for any policies', () => {
    const amount = fc.integer({ min: -1, max: 5 });
    const policy = fc.record(
      {
        rate: amount,
        per: amount,
        quota_max: amount,
        state: fc.constantFrom('active', 'draft'),
        tags: fc.subarray(['x', 'y', 'z']),
        access_rights: fc.dictionary(fc.constantFrom('a', 'b'), fc.record({ versions: fc.subarray(['1', '2']) })),
        partitions: fc.record({ acl: fc.boolean(), quota: fc.boolean() }, { requiredKeys: [] }),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<JsonObject>;
    const speed = ({ rate, per }: JsonObject): number =>
      Number(rate ?? 0) <= 0 || Number(per ?? 0) <= 0 ? Number.POSITIVE_INFINITY : Number(rate) / Number(per);

    it('their order changes no limit and no right', () =>
      fc.assert(
        fc.property(fc.array(policy, { maxLength: 4 }), (policies) => {
          const [one, other] = [session({}, ...policies), session({}, ...policies.toReversed())];
          expect(speed(one)).to.equal(speed(other));
          const rightsIn = (found: JsonObject) => Object.keys(found['access_rights'] as JsonObject).toSorted();
          expect(rightsIn(one)).to.deep.equal(rightsIn(other));
        }),
      ));

    it('one more never takes a right away', () =>
      fc.assert(
        fc.property(fc.array(policy, { minLength: 1, maxLength: 4 }), (policies) => {
          const fewer = session({}, ...policies.slice(1))['access_rights'] as JsonObject;
          expect(Object.keys(session({}, ...policies)['access_rights'] as JsonObject)).to.include.members(
            Object.keys(fewer),
          );
        }),
      ));

    it('what is given is given again: applying to the result changes nothing but its end', () =>
      fc.assert(
        fc.property(fc.array(policy, { maxLength: 3 }), (policies) => {
          const once = session({}, ...policies);
          const twice = session(once, ...policies);
          expect(speed(twice)).to.equal(speed(once));
          expect(twice['access_rights']).to.deep.equal(once['access_rights']);
        }),
      ));
  });
});

describe('isMixed', () => {
  const cases: readonly [name: string, policies: readonly JsonObject[], isSo: boolean][] = [
    ['one policy per API', [only('per_api')], false],
    ['two policies per API', [only('per_api'), only('per_api')], false],
    ['one per API and one with a quota', [only('per_api'), only('quota')], true],
    ['one per API and one without partitions', [{}, only('per_api')], true],
    ['one per API and one for complexity', [only('per_api'), only('complexity')], false],
  ];
  for (const [name, policies, isSo] of cases) it(name, () => expect(isMixed(policies)).to.equal(isSo));
});
