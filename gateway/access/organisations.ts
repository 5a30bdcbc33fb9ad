/** The organisations of the configuration of the moment, for steps that outlive it: whether they are switched off, and their limits. */
import { durationMs } from '../../domain/api/duration.ts';
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

/** `retentionMs` 0: as each API says. */
type RunningRecords = { readonly detail: boolean; readonly retentionMs: number };

export type RunningOrganisation = {
  /** Undefined while the organisation limits nothing: then its APIs pay for one look at it. */
  readonly terms: RunningTerms | undefined;
  /** What it says of records; undefined when nobody knows the organisation. */
  readonly records: RunningRecords | undefined;
};

type Known = { -readonly [Member in keyof RunningOrganisation]: RunningOrganisation[Member] };

export class Organisations {
  #objects: GatewaySnapshot['objects'] = {};
  readonly #known = new Map<OrgId, Known>();

  /** From here on these terms count, also for requests that began with the configuration before. */
  swap(objects: GatewaySnapshot['objects']): void {
    this.#objects = objects;
    for (const [orgId, known] of this.#known) Object.assign(known, this.#running(orgId));
  }

  /** Always the same for an organisation, whatever its terms. */
  find(orgId: OrgId): RunningOrganisation {
    const known = this.#known.get(orgId) ?? this.#running(orgId);
    this.#known.set(orgId, known);
    return known;
  }

  #running(orgId: OrgId): Known {
    const object = this.#objects[objectKey('organisation', orgId)];
    if (object?.kind !== 'organisation') return { terms: undefined, records: undefined };
    return { terms: runningTerms(object), records: runningRecords(object) };
  }
}

function runningTerms({ id, body: { terms } }: OrganisationObject): RunningTerms | undefined {
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

function runningRecords({ body: { terms } }: OrganisationObject): RunningRecords {
  const { detail, retention = 0 } = terms;
  const retentionMs = typeof retention === 'number' ? retention * 1_000 : (durationMs(retention) ?? 0);
  return { detail: detail === true, retentionMs: Math.max(0, retentionMs) };
}
