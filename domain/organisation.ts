/** Organisations: what owns APIs and certificates, and whose configuration is restored. Events, commands, state, decide, evolve. */
import type { Decider } from './decider.ts';
import { bodyMalformed, organisationExists, organisationUnknown } from './errors.ts';
import { never } from './event.ts';
import type { Position } from './event-store.ts';
import type { OrgId } from './ids.ts';
import { sameJson } from './json.ts';

/** One object that a restore changed. `toRevision`: what it was brought back to; absent for one that was deleted. */
export type RestoredObject = {
  readonly kind: string;
  readonly id: string;
  readonly change: 'created' | 'changed' | 'deleted';
  readonly toRevision?: string;
};

/** What a restore left out: the part of an object that is gone for good, or an object that was made later and kept. */
export type SkippedObject = { readonly kind: string; readonly id: string; readonly reason: 'hole' | 'kept' };

/** How much all callers of its APIs together may ask for on one gateway. `per`, `quotaRenewalRate` in seconds; 0 = no limit. */
export type OrganisationLimits = {
  readonly rate: number;
  readonly per: number;
  readonly quotaMax: number;
  /** From the first request of a window; 0: it never renews. */
  readonly quotaRenewalRate: number;
};

export type Retention = number | string;

/** What holds for all that an organisation owns. */
export type OrganisationTerms = {
  readonly name: string;
  /** Its tokens are refused, but for those that may look after organisations; gateways refuse calls of its APIs. */
  readonly disabled: boolean;
  /** A write of what is there names the revision that it changes. */
  readonly requireIfMatch: boolean;
  /** Unknown keys of definitions are errors. */
  readonly strictKeys: boolean;
  /** Absent: none. */
  readonly limits?: OrganisationLimits;
  /** Requests to its APIs are recorded in detail, where gateways ask their organisation. */
  readonly detail?: boolean;
  /** How long records of them are kept, where gateways ask their organisation: seconds, or a duration. Absent, 0, '': as the API says. */
  readonly retention?: Retention;
};

type Stated = { readonly orgId: OrgId } & OrganisationTerms;

export type OrganisationEvent =
  /** Those that were made before there were terms have a name only. */
  | ({
      readonly type: 'OrganisationCreated';
      readonly orgId: OrgId;
      readonly name: string;
    } & Partial<OrganisationTerms>)
  | ({ readonly type: 'OrganisationUpdated' } & Stated)
  | {
      readonly type: 'ConfigRestored';
      readonly orgId: OrgId;
      readonly toPosition: Position;
      readonly changed: readonly RestoredObject[];
      readonly skipped: readonly SkippedObject[];
      readonly comment: string;
    }
  | {
      /** No event of the stream that holds a secret under this data key opens any more. */
      readonly type: 'SecretShredded';
      readonly orgId: OrgId;
      readonly stream: string;
      readonly kid: string;
    };

export type OrganisationCommand =
  /** The first one: whoever comes second finds it made. */
  | { readonly type: 'CreateOrganisation'; readonly orgId: OrgId; readonly name: string }
  | ({ readonly type: 'AddOrganisation' } & Stated)
  | ({ readonly type: 'UpdateOrganisation' } & Stated)
  | ({ readonly type: 'CloseRestore' } & Omit<Extract<OrganisationEvent, { type: 'ConfigRestored' }>, 'type'>)
  | { readonly type: 'ShredSecret'; readonly orgId: OrgId; readonly stream: string; readonly kid: string };

export type OrganisationState = { readonly terms?: OrganisationTerms };

function decide(command: OrganisationCommand, state: OrganisationState): readonly OrganisationEvent[] {
  switch (command.type) {
    case 'CreateOrganisation':
      return state.terms === undefined
        ? [{ type: 'OrganisationCreated', orgId: command.orgId, name: command.name }]
        : [];
    case 'AddOrganisation':
      if (state.terms) throw organisationExists();
      judge(command);
      return [{ ...command, type: 'OrganisationCreated' }];
    case 'UpdateOrganisation':
      if (!state.terms) throw organisationUnknown();
      judge(command);
      return isSame(state.terms, command) ? [] : [{ ...command, type: 'OrganisationUpdated' }];
    // A restore that changes nothing has not happened.
    case 'CloseRestore':
      return command.changed.length === 0 ? [] : [{ ...command, type: 'ConfigRestored' }];
    case 'ShredSecret':
      return [{ ...command, type: 'SecretShredded' }];
    default:
      return never(command);
  }
}

/** A rate without its period would be no limit, and look like one. */
function judge({ limits = noLimits }: OrganisationTerms): void {
  if (limits.rate > 0 !== limits.per > 0) throw bodyMalformed('/rate and /per (seconds) go together');
}

const isSame = (a: OrganisationTerms, b: OrganisationTerms): boolean => sameJson(told(a), told(b));

const told = ({ name, disabled, requireIfMatch, strictKeys, ...rest }: OrganisationTerms) => {
  const { limits = noLimits, detail = false, retention = noRetention } = rest;
  return { name, disabled, requireIfMatch, strictKeys, limits, detail, retention };
};

export const noLimits: OrganisationLimits = { rate: 0, per: 0, quotaMax: 0, quotaRenewalRate: 0 };

export const noRetention: Retention = 0;

export const defaultTerms: Omit<OrganisationTerms, 'name'> = {
  disabled: false,
  requireIfMatch: false,
  strictKeys: false,
};

/** Events of before there were terms have the ones that hold then. */
export const termsOf = ({
  name,
  disabled = defaultTerms.disabled,
  requireIfMatch = defaultTerms.requireIfMatch,
  strictKeys = defaultTerms.strictKeys,
  limits,
  detail,
  retention,
}: Pick<OrganisationTerms, 'name'> & Partial<OrganisationTerms>): OrganisationTerms => ({
  ...{ name, disabled, requireIfMatch, strictKeys },
  ...(limits ? { limits } : {}),
  ...(detail === undefined ? {} : { detail }),
  ...(retention === undefined ? {} : { retention }),
});

function evolve(state: OrganisationState, event: OrganisationEvent): OrganisationState {
  switch (event.type) {
    case 'OrganisationCreated':
    case 'OrganisationUpdated':
      return { terms: termsOf(event) };
    case 'ConfigRestored':
    case 'SecretShredded':
      return state;
    default:
      return never(event);
  }
}

export const organisation = { initial: {} as OrganisationState, decide, evolve } satisfies Decider<
  OrganisationCommand,
  OrganisationEvent,
  OrganisationState
>;
