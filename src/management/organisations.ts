/** In which organisation a request works: that of its token, or another one for those who look after organisations. */

import { organisationUnknown } from '../../domain/errors.ts';
import { type OrgId, readOrgId } from '../../domain/ids.ts';
import { defaultTerms, type OrganisationTerms } from '../../domain/organisation.ts';
import { findOrganisation } from '../../projections/organisations.ts';
import type { ReadModelStore } from '../../projections/read-model-store.ts';
import type { Projector } from '../../projections/runner/projector.ts';
import type { Caller } from './authenticate.ts';
import { awaitRevision } from './conditional.ts';
import { Rejection } from './errors.ts';
import { hasScope } from './scopes.ts';

export type Entered = { readonly caller: Caller; readonly terms: Omit<OrganisationTerms, 'name'> };

export type Organisations = {
  /** The one that the installation began with; gateways and read models are looked after from there. */
  readonly home: OrgId;
  /** `named`: the header `x-svc-org`. Throws 403 and 404. */
  enter(caller: Caller, named: string | undefined, route: EnteredRoute): Promise<Entered>;
};

/** `isOfGateways`: asked by gateways for all organisations, so that none of these is switched off with one of them. */
type EnteredRoute = { readonly path: string; readonly isOfGateways: boolean };

export type OrganisationsOptions = {
  readonly models: ReadModelStore;
  readonly projector: Pick<Projector, 'readable' | 'waitFor'>;
  readonly home: OrgId;
};

export function createOrganisations({ models, projector, home }: OrganisationsOptions): Organisations {
  const find = async (orgId: OrgId): Promise<OrganisationTerms | undefined> => {
    const found = findOrganisation(models, orgId);
    if (found) return found.terms;
    // Not there is different from not folded yet.
    await awaitRevision(new URLSearchParams(), ['organisations'], projector);
    return findOrganisation(models, orgId)?.terms;
  };
  return {
    home,
    enter: async (caller, named, { path, isOfGateways }) => {
      const isKeeper = hasScope(caller.scopes, 'orgs:admin');
      if (named !== undefined && named !== caller.orgId && !isKeeper) throw scopeMissing(path);
      const orgId = named === undefined ? caller.orgId : readOrgId(named);
      const terms = await find(orgId);
      if (!terms && orgId !== caller.orgId) throw organisationUnknown();
      if (terms?.disabled && !(isKeeper || isOfGateways)) throw disabled();
      return { caller: { ...caller, orgId }, terms: terms ?? defaultTerms };
    },
  };
}

/** Two spaces: texts of this API are relied on. */
export const scopeMissing = (path: string): Rejection =>
  new Rejection('scope_missing', `access denied: You do not have permission to access  ${path}`);

const disabled = (): Rejection =>
  new Rejection(
    'organisation_disabled',
    'this organisation access has been disabled, please contact your API administrator',
  );
