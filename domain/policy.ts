/** Policies: limits and rights that keys share. Events, commands, state, decide, evolve. */
import type { Decider } from './decider.ts';
import { policyExists, policyInUse, policyNameTaken, policyUnknown } from './errors.ts';
import { type JsonObject, never } from './event.ts';
import type { OrgId, PolicyId } from './ids.ts';
import { type Labelled, labelled, sameLabels } from './labels.ts';

type Of = { readonly orgId: OrgId; readonly policyId: PolicyId };

/** The whole policy; `docSha256` over its RFC 8785 form. */
type Stated = Of & Labelled & { readonly document: JsonObject; readonly docSha256: string };

export type PolicyEvent =
  | ({ readonly type: 'PolicyCreated' } & Stated)
  | ({ readonly type: 'PolicyUpdated' } & Stated)
  /** `docSha256` of the last document. */
  | ({ readonly type: 'PolicyDeleted'; readonly docSha256: string } & Of);

/** `isNameTaken`: another policy of the organisation has the name. */
type Wanted = Stated & { readonly isNameTaken: boolean };

export type PolicyCommand =
  | ({ readonly type: 'CreatePolicy' } & Wanted)
  | ({ readonly type: 'UpdatePolicy' } & Wanted)
  /** `usedBy`: who names it, in words. */
  | ({ readonly type: 'DeletePolicy'; readonly usedBy: readonly string[]; readonly isForced: boolean } & Of);

export type PolicyState = { readonly exists: false } | ({ readonly exists: true } & Omit<Stated, 'policyId'>);

function decide(command: PolicyCommand, state: PolicyState): readonly PolicyEvent[] {
  const { orgId, policyId } = command;
  switch (command.type) {
    case 'CreatePolicy':
      if (state.exists) throw policyExists();
      if (command.isNameTaken) throw policyNameTaken();
      return [{ type: 'PolicyCreated', ...stated(command) }];
    case 'UpdatePolicy': {
      const before = known(command, state);
      const labels = command.labels ?? before.labels;
      if (before.docSha256 === command.docSha256 && sameLabels(before.labels, labels)) return [];
      if (command.isNameTaken) throw policyNameTaken();
      return [{ type: 'PolicyUpdated', ...stated({ ...command, ...labelled(labels) }) }];
    }
    case 'DeletePolicy': {
      const { docSha256 } = known(command, state);
      if (command.usedBy.length > 0 && !command.isForced) throw policyInUse(command.usedBy);
      return [{ type: 'PolicyDeleted', orgId, policyId, docSha256 }];
    }
    default:
      return never(command);
  }
}

const stated = ({ orgId, policyId, document, docSha256, labels }: Stated): Stated => ({
  ...{ orgId, policyId, document, docSha256, ...labelled(labels) },
});

function known({ orgId }: Of, state: PolicyState): Extract<PolicyState, { exists: true }> {
  if (!state.exists || state.orgId !== orgId) throw policyUnknown();
  return state;
}

function evolve(_: PolicyState, event: PolicyEvent): PolicyState {
  switch (event.type) {
    case 'PolicyCreated':
    case 'PolicyUpdated': {
      const { orgId, document, docSha256, labels } = event;
      return { exists: true, orgId, document, docSha256, ...labelled(labels) };
    }
    case 'PolicyDeleted':
      return { exists: false };
    default:
      return never(event);
  }
}

export const policy = { initial: { exists: false } as PolicyState, decide, evolve } satisfies Decider<
  PolicyCommand,
  PolicyEvent,
  PolicyState
>;
