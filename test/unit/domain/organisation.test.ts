/** The organisation aggregate by given, when, then. */
import { type OrganisationCommand, type OrganisationEvent, organisation } from '../../../domain/organisation.ts';
import { givenFor, org } from '../../support/given.ts';

const given = givenFor(organisation);
const create: OrganisationCommand = { type: 'CreateOrganisation', orgId: org, name: 'Acme' };
const created: OrganisationEvent = { type: 'OrganisationCreated', orgId: org, name: 'Acme' };

describe('CreateOrganisation', () => {
  it('makes an organisation', () => given().when(create).results(created));
  it('changes nothing for one that is there', () => given(created).when(create).results());
});

describe('CloseRestore', () => {
  const place = { orgId: org, toPosition: '00000000000000000004', skipped: [], comment: 'why' } as const;
  const changed = [{ kind: 'api', id: 'orders', change: 'changed', toRevision: '2' }] as const;

  it('says what a restore changed', () =>
    given(created)
      .when({ type: 'CloseRestore', ...place, changed })
      .results({ type: 'ConfigRestored', ...place, changed }));
  it('says nothing of a restore that changed nothing', () =>
    given(created)
      .when({ type: 'CloseRestore', ...place, changed: [] })
      .results());
});
