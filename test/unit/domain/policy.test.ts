/** Decisions about policies. */
import type { JsonObject } from '../../../domain/event.ts';
import { toOrgId, toPolicyId } from '../../../domain/ids.ts';
import { type PolicyEvent, policy } from '../../../domain/policy.ts';
import { givenFor, org } from '../../support/given.ts';

const given = givenFor(policy);
const of = { orgId: org, policyId: toPolicyId('gold') };
const stated = (document: JsonObject = {}) => ({ ...of, document, docSha256: JSON.stringify(document) });
const created = (document: JsonObject = {}): PolicyEvent => ({ type: 'PolicyCreated', ...stated(document) });
const deleted: PolicyEvent = { type: 'PolicyDeleted', ...of, docSha256: '{}' };
const create = (isNameTaken = false) => ({ type: 'CreatePolicy', ...stated(), isNameTaken }) as const;
const update = (document: JsonObject, isNameTaken = false) =>
  ({ type: 'UpdatePolicy', ...stated(document), isNameTaken }) as const;
const remove = (usedBy: readonly string[] = [], isForced = false) =>
  ({ type: 'DeletePolicy', ...of, usedBy, isForced }) as const;

describe('a policy', () => {
  it('is created', () => given().when(create()).results(created()));
  it('is created once', () => given(created()).when(create()).refuses('policy_exists'));
  it('is created again after its end', () => given(created(), deleted).when(create()).decides('PolicyCreated'));
  it('cannot have the name of another one', () => {
    given().when(create(true)).refuses('policy_name_taken');
    given(created())
      .when(update({ name: 'x' }, true))
      .refuses('policy_name_taken');
  });
  it('is changed', () =>
    given(created())
      .when(update({ rate: 1 }))
      .results({ type: 'PolicyUpdated', ...stated({ rate: 1 }) }));
  it('is not changed by the same document', () => given(created()).when(update({})).results());
  it('is deleted', () => given(created()).when(remove()).results(deleted));
  it('is not deleted while keys name it, unless it is forced', () => {
    given(created())
      .when(remove(['k1', 'k2']))
      .refuses('policy_in_use', 'in use by k1, k2; force=true deletes it all the same');
    given(created())
      .when(remove(['k1'], true))
      .results(deleted);
  });
  it('that is gone, or of another organisation, is unknown', () => {
    given().when(remove()).refuses('policy_unknown');
    given(created(), deleted).when(update({})).refuses('policy_unknown');
    given(created())
      .when({ ...remove(), orgId: toOrgId('other') })
      .refuses('policy_unknown');
  });
});
