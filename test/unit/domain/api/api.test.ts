/** The API aggregate by given, when, then. */
import { assert, expect } from 'chai';
import { type ApiCommand, type ApiEvent, api } from '../../../../domain/api/api.ts';
import { fold } from '../../../../domain/decider.ts';
import { Refusal } from '../../../../domain/errors.ts';
import type { JsonObject } from '../../../../domain/event.ts';
import { toApiId, toOrgId } from '../../../../domain/ids.ts';
import { apiDocument } from '../../../support/documents.ts';

const target = { orgId: toOrgId('org'), apiId: toApiId('orders'), kind: 'streams' as const };
const settled = (document: JsonObject) => ({ document, warnings: [], prunedOperations: [] });
const active = apiDocument();
const inactive = apiDocument({ info: { state: { active: false } } });
const internal = apiDocument({ info: { state: { active: true, internal: true } } });
const intent = { mode: 'oas-replace' as const, settings: {}, bodySha256: 'x' };

const created = (document: JsonObject): ApiEvent => ({
  type: 'ApiDefinitionCreated',
  ...target,
  ...settled(document),
  docSha256: 'hash',
});
const create = (document: JsonObject): ApiCommand => ({ type: 'CreateApi', ...target, ...settled(document) });
const patch = (document: JsonObject): ApiCommand => ({ type: 'PatchApi', ...target, ...settled(document), intent });
const remove: ApiCommand = { type: 'DeleteApi', ...target };

const given = (...events: ApiEvent[]) => ({
  when: (command: ApiCommand) => ({
    decides: (...types: ApiEvent['type'][]) =>
      expect(api.decide(command, fold(api, events)).map(({ type }) => type)).to.deep.equal(types),
    refuses: (code: string) => {
      try {
        api.decide(command, fold(api, events));
      } catch (error) {
        expect(error).to.be.instanceOf(Refusal);
        return expect((error as Refusal).code).to.equal(code);
      }
      return assert.fail('was not refused');
    },
  }),
});
const deleted: ApiEvent = { type: 'ApiDefinitionDeleted', orgId: target.orgId, apiId: target.apiId, docSha256: 'hash' };

describe('CreateApi', () => {
  it('makes a definition and says that it is active', () =>
    given().when(create(active)).decides('ApiDefinitionCreated', 'ApiActivated'));
  it('says nothing of activity when it is not', () => given().when(create(inactive)).decides('ApiDefinitionCreated'));
  it('says that it is internal', () =>
    given().when(create(internal)).decides('ApiDefinitionCreated', 'ApiActivated', 'ApiInternalChanged'));
  it('refuses an id that exists', () => given(created(active)).when(create(active)).refuses('api_exists'));
  it('takes a deleted id again', () =>
    given(created(active), deleted).when(create(active)).decides('ApiDefinitionCreated', 'ApiActivated'));
});

describe('PatchApi', () => {
  it('keeps the whole resulting document in its event', () => {
    const [event] = api.decide(patch(inactive), fold(api, [created(active)]));
    assert(event?.type === 'ApiDefinitionPatched');
    expect(event.document).to.deep.equal(inactive);
  });
  it('makes no event when nothing changes, whatever the order of members', () => {
    const reordered = Object.fromEntries(Object.entries(active).reverse());
    given(created(active)).when(patch(reordered)).decides();
  });
  it('says that an API was deactivated', () =>
    given(created(active)).when(patch(inactive)).decides('ApiDefinitionPatched', 'ApiDeactivated'));
  it('says that an API was activated', () =>
    given(created(inactive)).when(patch(active)).decides('ApiDefinitionPatched', 'ApiActivated'));
  it('says that an API became internal', () =>
    given(created(active)).when(patch(internal)).decides('ApiDefinitionPatched', 'ApiInternalChanged'));
  it('refuses an API that does not exist', () => given().when(patch(active)).refuses('api_unknown'));
  it('refuses a deleted API', () => given(created(active), deleted).when(patch(active)).refuses('api_unknown'));
  it('does not know the API of another organisation', () =>
    given(created(active))
      .when({ ...patch(active), orgId: toOrgId('other') })
      .refuses('api_unknown'));
  it('refuses the route of another kind', () =>
    given(created(active))
      .when({ ...patch(active), kind: 'oas' })
      .refuses('kind_mismatch'));
});

describe('RollbackApi', () => {
  const rollback = (document: JsonObject): ApiCommand => ({
    type: 'RollbackApi',
    ...target,
    ...settled(document),
    toRevision: '0',
    reason: 'mistake',
  });
  it('is a new event with the old document', () => {
    const events = api.decide(
      rollback(active),
      fold(api, [created(active), { ...created(inactive), type: 'ApiDefinitionReplaced' } as ApiEvent]),
    );
    expect(events.map(({ type }) => type)).to.deep.equal(['ApiDefinitionRolledBack', 'ApiActivated']);
  });
  it('makes none when that is what stands', () => given(created(active)).when(rollback(active)).decides());
});

describe('DeleteApi', () => {
  it('ends the API', () => given(created(active)).when(remove).decides('ApiDefinitionDeleted'));
  it('names the document that was deleted', () => {
    const [event] = api.decide(remove, fold(api, [created(active)]));
    expect(event).to.deep.equal(deleted);
  });
  it('refuses an API that does not exist', () => given().when(remove).refuses('api_unknown'));
});
