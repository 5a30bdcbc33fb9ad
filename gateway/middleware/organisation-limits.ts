/** Refuses calls of the APIs of an organisation that is switched off, and limits how often and how many of them there may be (api-definition design 11). */
import type { RunningOrganisation } from '../access/organisations.ts';
import type { Step } from '../http/context.ts';
import { retryAfter } from '../http/limits.ts';
import type { Clock, Counters } from '../ports.ts';

export type OrganisationDependencies = { readonly counters: Counters; readonly clock: Clock };

/** `organisation`: as it is at the moment, which changes without its APIs. Clients are not told of these limits before they refuse. */
export const organisationLimits = (
  organisation: RunningOrganisation,
  { counters, clock }: OrganisationDependencies,
): Step =>
  function organisationLimits(context) {
    const { terms } = organisation;
    if (terms === undefined) return undefined;
    if (terms.isDisabled) return context.refuse('org_disabled');
    const { rate, quota } = terms;
    if (rate) {
      const { allowed, retryAfterMs } = counters.take(rate.counter, rate.rate, rate.perMs);
      if (!allowed) return context.refuse('org_rate', retryAfter(retryAfterMs));
    }
    if (quota) {
      const { allowed, renewsAtMs } = counters.spend(quota.counter, quota);
      if (!allowed) return context.refuse('org_quota', renewsAtMs === 0 ? [] : retryAfter(renewsAtMs - clock.now()));
    }
    return undefined;
  };
