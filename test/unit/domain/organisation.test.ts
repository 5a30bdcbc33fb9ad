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

const terms = { name: 'Acme', disabled: false, requireIfMatch: true, strictKeys: false } as const;
const added: OrganisationEvent = { type: 'OrganisationCreated', orgId: org, ...terms };

describe('AddOrganisation', () => {
  const add: OrganisationCommand = { type: 'AddOrganisation', orgId: org, ...terms };
  it('makes one with its terms', () => given().when(add).results(added));
  it('refuses an id that is taken', () => given(created).when(add).refuses('organisation_exists'));
});

describe('UpdateOrganisation', () => {
  const update = (change: object): OrganisationCommand => ({
    type: 'UpdateOrganisation',
    orgId: org,
    ...terms,
    ...change,
  });
  it('says the whole of what holds now', () =>
    given(added)
      .when(update({ disabled: true }))
      .results({ type: 'OrganisationUpdated', orgId: org, ...terms, disabled: true }));
  it('knows one that was made before there were terms', () =>
    given(created)
      .when(update({ requireIfMatch: false }))
      .results());
  it('changes nothing twice', () => given(added).when(update({})).results());
  it('refuses one that is not there', () => given().when(update({})).refuses('organisation_unknown'));

  it('says whether requests are recorded in detail and how long records are kept, and knows when both are the same', () =>
    given(added, { type: 'OrganisationUpdated', orgId: org, ...terms, detail: true, retention: '720h' })
      .when(update({ detail: true, retention: '720h' }))
      .results());
  it('takes no word on records for what one without it has', () =>
    given(added)
      .when(update({ detail: false, retention: 0 }))
      .results());

  const limits = { rate: 100, per: 60, quotaMax: 5_000, quotaRenewalRate: 86_400 };
  it('says the limits of its APIs, and knows when they are the same', () =>
    given(added)
      .when(update({ limits }))
      .results({ type: 'OrganisationUpdated', orgId: org, ...terms, limits }));
  it('takes limits of nothing for what one without limits has', () =>
    given(added)
      .when(update({ limits: { rate: 0, per: 0, quotaMax: 0, quotaRenewalRate: 0 } }))
      .results());
  for (const half of [{ rate: 0 }, { per: 0 }]) {
    it(`refuses a rate with half of it missing: ${Object.keys(half)}`, () =>
      given(added)
        .when(update({ limits: { ...limits, ...half } }))
        .refuses('body_malformed'));
  }
});
