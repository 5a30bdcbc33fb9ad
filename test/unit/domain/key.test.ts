/** Decisions about access keys. */
import type { JsonObject } from '../../../domain/event.ts';
import { type KeyHash, toOrgId } from '../../../domain/ids.ts';
import { type KeyEvent, key } from '../../../domain/key.ts';
import { givenFor, org } from '../../support/given.ts';

const given = givenFor(key);
const keyHash = 'a'.repeat(64) as KeyHash;
const of = { orgId: org, keyHash };
const facts = { unknownPolicies: [], unknownApis: [], apisBeyond: [], mayAllowAll: false, policies: [] };
const stated = (document: JsonObject = {}) => ({ ...of, document, docSha256: JSON.stringify(document) });
const created = (document: JsonObject = {}): KeyEvent => ({
  type: 'KeyCreated',
  prefix: 'svck_Ab1c',
  ...stated(document),
});
const deleted: KeyEvent = { type: 'KeyDeleted', ...of, docSha256: '{}' };
const create = (document: JsonObject = {}, further: Partial<typeof facts> = {}) =>
  ({ type: 'CreateKey', prefix: 'svck_Ab1c', ...stated(document), ...facts, ...further }) as const;
const update = (document: JsonObject, further: object = {}) =>
  ({ type: 'UpdateKey', ...stated(document), ...facts, ...further }) as const;

describe('an access key', () => {
  it('is created', () => given().when(create()).results(created()));
  it('is created once', () => given(created()).when(create()).refuses('key_exists'));
  it('is created again after its end', () => given(created(), deleted).when(create()).decides('KeyCreated'));
  it('is changed, and keeps what it is known by', () =>
    given(created())
      .when(update({ rate: 1 }))
      .results({ type: 'KeyUpdated', prefix: 'svck_Ab1c', ...stated({ rate: 1 }) }));
  it('is not changed by the same document', () =>
    given(created({ rate: 1 }))
      .when(update({ rate: 1 }))
      .results());
  it('is switched off by an event of its own', () =>
    given(created())
      .when(update({ is_inactive: true }))
      .decides('KeyDisabled'));
  it('is changed like any other while it is off, and when it is switched on', () => {
    given(created({ is_inactive: true }))
      .when(update({ is_inactive: true, rate: 1 }))
      .decides('KeyUpdated');
    given(created({ is_inactive: true }))
      .when(update({}))
      .decides('KeyUpdated');
  });
  const reset = { begins: { remaining: 3 }, kept: ['a'] };
  const wasReset = { type: 'KeyQuotaReset', ...of, ...reset } as const;
  it('begins its quota where the creation says', () =>
    given()
      .when({ ...create(), reset })
      .results(created(), wasReset));
  it('has its quota reset by a change, also by one that changes nothing else', () => {
    given(created())
      .when(update({ rate: 1 }, { reset }))
      .decides('KeyUpdated', 'KeyQuotaReset');
    given(created({ rate: 1 }))
      .when(update({ rate: 1 }, { reset }))
      .results(wasReset);
  });
  it('has its quota reset when that is asked for, and stays what it was', () => {
    given(created())
      .when({ type: 'ResetKeyQuota', ...of })
      .results({ type: 'KeyQuotaReset', ...of });
    given(created({ rate: 1 }), { type: 'KeyQuotaReset', ...of })
      .when(update({ rate: 1 }))
      .results();
  });
  it('is deleted', () =>
    given(created())
      .when({ type: 'DeleteKey', ...of })
      .results(deleted));

  for (const [name, events, command] of [
    ['that never was', [], { type: 'DeleteKey', ...of }],
    ['that is deleted', [created(), deleted], update({})],
    ['whose quota is to be reset', [created(), deleted], { type: 'ResetKeyQuota', ...of }],
    ['of another organisation', [created()], { ...update({}), orgId: toOrgId('other') }],
  ] as const) {
    it(`${name} is unknown`, () =>
      given(...events)
        .when(command)
        .refuses('key_unknown'));
  }

  const perApi = { partitions: { per_api: true } };
  for (const [name, further, code] of [
    ['names unknown policies', { unknownPolicies: ['gold'] }, 'key_invalid'],
    ['names unknown APIs', { unknownApis: ['orders'] }, 'key_invalid'],
    ['would give what is not the caller’s', { apisBeyond: ['orders'] }, 'access_exceeds'],
    ['mixes limits per API with general ones', { policies: [perApi, {}] }, 'key_invalid'],
    ['mixes them the other way round', { policies: [{ partitions: { quota: true } }, perApi] }, 'key_invalid'],
  ] as const) {
    it(`is refused when it ${name}`, () => {
      given()
        .when(create({}, further as object))
        .refuses(code);
      given(created())
        .when(update({ rate: 1 }, further))
        .refuses(code);
    });
  }
  it('may mix limits per API with the complexity of another policy', () =>
    given()
      .when(create({}, { policies: [perApi, { partitions: { complexity: true } }] as never }))
      .decides('KeyCreated'));
  it('reaches every API only when the caller may say so', () => {
    given()
      .when(create({ allow_all_apis: true }))
      .refuses('access_exceeds');
    given()
      .when(create({ allow_all_apis: true }, { mayAllowAll: true }))
      .decides('KeyCreated');
  });
});
