/** Organisations: what owns APIs and certificates. The first start makes one. Events, commands, state, decide, evolve. */
import type { Decider } from './decider.ts';
import { never } from './event.ts';
import type { OrgId } from './ids.ts';

export type OrganisationEvent = { readonly type: 'OrganisationCreated'; readonly orgId: OrgId; readonly name: string };

export type OrganisationCommand = { readonly type: 'CreateOrganisation'; readonly orgId: OrgId; readonly name: string };

export type OrganisationState = { readonly name?: string };

function decide(command: OrganisationCommand, state: OrganisationState): readonly OrganisationEvent[] {
  switch (command.type) {
    case 'CreateOrganisation':
      return state.name === undefined
        ? [{ type: 'OrganisationCreated', orgId: command.orgId, name: command.name }]
        : [];
    default:
      return never(command.type);
  }
}

function evolve(_: OrganisationState, event: OrganisationEvent): OrganisationState {
  switch (event.type) {
    case 'OrganisationCreated':
      return { name: event.name };
    default:
      return never(event.type);
  }
}

export const organisation = { initial: {} as OrganisationState, decide, evolve } satisfies Decider<
  OrganisationCommand,
  OrganisationEvent,
  OrganisationState
>;
