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
