/** The organisations of the configuration of the moment, for steps that outlive it: whether they are switched off, and their limits. */
import type { OrgId } from '../../domain/ids.ts';
import { noLimits } from '../../domain/organisation.ts';
import { type GatewaySnapshot, type OrganisationObject, objectKey } from '../../projections/gateway-snapshot.ts';
import type { QuotaTerms } from '../ports.ts';
import type { CountedRate } from './session.ts';

type RunningTerms = {
  readonly isDisabled: boolean;
  readonly rate?: CountedRate;
  readonly quota?: QuotaTerms & { readonly counter: string };
};

/** `terms` is undefined while the organisation limits nothing: then its APIs pay for one look at it. */
export type RunningOrganisation = { readonly terms: RunningTerms | undefined };

export class Organisations {
  #objects: GatewaySnapshot['objects'] = {};
  readonly #known = new Map<OrgId, { terms: RunningTerms | undefined }>();

  /** From here on these terms count, also for requests that began with the configuration before. */
  swap(objects: GatewaySnapshot['objects']): void {
    this.#objects = objects;
    for (const [orgId, known] of this.#known) known.terms = this.#termsOf(orgId);
  }

  /** Always the same for an organisation, whatever its terms. */
  find(orgId: OrgId): RunningOrganisation {
    const known = this.#known.get(orgId) ?? { terms: this.#termsOf(orgId) };
    this.#known.set(orgId, known);
    return known;
  }

  #termsOf(orgId: OrgId): RunningTerms | undefined {
    const object = this.#objects[objectKey('organisation', orgId)];
    return object?.kind === 'organisation' ? running(object) : undefined;
  }
}

function running({ id, body: { terms } }: OrganisationObject): RunningTerms | undefined {
  const { disabled, limits } = terms;
  const { rate, per, quotaMax, quotaRenewalRate } = limits ?? noLimits;
  const hasRate = rate > 0 && per > 0;
  if (disabled !== true && !hasRate && !(quotaMax > 0)) return undefined;
  return {
    isDisabled: disabled === true,
    ...(hasRate ? { rate: { counter: `org:${id}`, rate, perMs: per * 1_000 } } : {}),
    ...(quotaMax > 0
      ? { quota: { counter: `org-quota:${id}`, max: quotaMax, renewalMs: Math.max(0, quotaRenewalRate) * 1_000 } }
      : {}),
  };
}
