/** Commands on organisations. */
import type { JsonObject } from '../../domain/event.ts';
import type { EventStore } from '../../domain/event-store.ts';
import { type OrgId, orgStream } from '../../domain/ids.ts';
import {
  defaultTerms,
  noLimits,
  noRetention,
  type OrganisationCommand,
  type OrganisationLimits,
  type OrganisationTerms,
  organisation,
} from '../../domain/organisation.ts';
import { demandAbsent, etagOf, matchesTag, preconditionFailed } from './conditional.ts';
import type { Command } from './handle-command.ts';
import { expectedOf, loadOrganisation } from './load.ts';

/** What is left out of a change stays. */
export type TermsChange = Partial<Omit<OrganisationTerms, 'limits'>> & {
  readonly limits?: Partial<OrganisationLimits>;
};

export const addOrganisation = (
  store: EventStore,
  orgId: OrgId,
  ifNoneMatch: string | undefined,
  terms: OrganisationTerms,
): Command =>
  onOrganisation('AddOrganisation', { store, orgId, ifNoneMatch }, () => ({
    type: 'AddOrganisation',
    orgId,
    ...terms,
  }));

export const updateOrganisation = (
  store: EventStore,
  orgId: OrgId,
  ifMatch: string | undefined,
  { limits, ...change }: TermsChange,
): Command =>
  onOrganisation('UpdateOrganisation', { store, orgId, ifMatch }, (before) => ({
    ...{ type: 'UpdateOrganisation', orgId },
    ...before,
    ...change,
    ...(limits ? { limits: { ...noLimits, ...before.limits, ...limits } } : {}),
  }));

const nobody: OrganisationTerms = { name: '', ...defaultTerms };

type Target = {
  readonly store: EventStore;
  readonly orgId: OrgId;
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
};

type Change = Extract<OrganisationCommand, { type: 'AddOrganisation' | 'UpdateOrganisation' }>;

const onOrganisation = (
  type: Change['type'],
  { store, orgId, ifMatch, ifNoneMatch }: Target,
  commandOf: (before: OrganisationTerms) => Change,
): Command => ({
  type,
  aggregate: orgStream(orgId),
  plan: async () => {
    const loaded = await loadOrganisation(store, orgId);
    const { terms } = loaded.state;
    const { era } = store.identity;
    const etag = etagOf(loaded.head ?? 0n, era);
    if (terms) demandAbsent(ifNoneMatch, etag);
    // That it is not there is said by the decision.
    if (terms && ifMatch !== undefined && !matchesTag(ifMatch, etag)) throw preconditionFailed(etag);
    const command = commandOf(terms ?? nobody);
    const events = organisation.decide(command, loaded.state);
    const isUnchanged = events.length === 0;
    const headers = {
      ETag: isUnchanged ? etag : etagOf((loaded.head ?? -1n) + BigInt(events.length), era),
      ...(isUnchanged ? { 'x-svc-unchanged': 'true' } : {}),
      ...(command.type === 'AddOrganisation' ? { Location: `/api/organisations/${orgId}` } : {}),
    };
    return {
      writes: [{ stream: orgStream(orgId), expected: expectedOf(loaded), events }],
      reply: { status: 200, headers, body: shownTerms(orgId, command) },
    };
  },
});

export const shownTerms = (
  id: OrgId,
  { name, disabled, requireIfMatch, strictKeys, ...rest }: OrganisationTerms,
): JsonObject => {
  const { limits = noLimits, detail = false, retention = noRetention } = rest;
  return {
    ...{ id, name, disabled, rate: limits.rate, per: limits.per },
    ...{ quota_max: limits.quotaMax, quota_renewal_rate: limits.quotaRenewalRate, detail },
    settings: { requireIfMatch, strictKeys, retention },
  };
};
