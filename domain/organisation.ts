/** Organisations: what owns APIs and certificates, and whose configuration is restored. Events, commands, state, decide, evolve. */
import type { Decider } from './decider.ts';
import { never } from './event.ts';
import type { Position } from './event-store.ts';
import type { OrgId } from './ids.ts';

/** One object that a restore changed. `toRevision`: what it was brought back to; absent for one that was deleted. */
export type RestoredObject = {
  readonly kind: string;
  readonly id: string;
  readonly change: 'created' | 'changed' | 'deleted';
  readonly toRevision?: string;
};

/** What a restore left out: the part of an object that is gone for good, or an object that was made later and kept. */
export type SkippedObject = { readonly kind: string; readonly id: string; readonly reason: 'hole' | 'kept' };

export type OrganisationEvent =
  | { readonly type: 'OrganisationCreated'; readonly orgId: OrgId; readonly name: string }
  | {
      readonly type: 'ConfigRestored';
      readonly orgId: OrgId;
      readonly toPosition: Position;
      readonly changed: readonly RestoredObject[];
      readonly skipped: readonly SkippedObject[];
      readonly comment: string;
    };

export type OrganisationCommand =
  | { readonly type: 'CreateOrganisation'; readonly orgId: OrgId; readonly name: string }
  | ({ readonly type: 'CloseRestore' } & Omit<Extract<OrganisationEvent, { type: 'ConfigRestored' }>, 'type'>);

export type OrganisationState = { readonly name?: string };

function decide(command: OrganisationCommand, state: OrganisationState): readonly OrganisationEvent[] {
  switch (command.type) {
    case 'CreateOrganisation':
      return state.name === undefined
        ? [{ type: 'OrganisationCreated', orgId: command.orgId, name: command.name }]
        : [];
    // A restore that changes nothing has not happened.
    case 'CloseRestore':
      return command.changed.length === 0 ? [] : [{ ...command, type: 'ConfigRestored' }];
    default:
      return never(command);
  }
}

function evolve(state: OrganisationState, event: OrganisationEvent): OrganisationState {
  switch (event.type) {
    case 'OrganisationCreated':
      return { name: event.name };
    case 'ConfigRestored':
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
