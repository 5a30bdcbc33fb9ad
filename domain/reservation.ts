/** Reservations: a name that only one aggregate may hold, such as a host and listen path or the name of a policy. Events, commands, state, decide, evolve. */
import type { Decider } from './decider.ts';
import { policyNameTaken, routeTaken } from './errors.ts';
import { never } from './event.ts';
import type { OrgId } from './ids.ts';

/** `route`: a host and listen path of all organisations; `name`: of a policy, within its organisation. */
type NameKind = 'route' | 'name';

export type ReservationEvent =
  | {
      readonly type: 'NameReserved';
      readonly orgId: OrgId;
      readonly kind: NameKind;
      readonly value: string;
      /** Id of the API or policy that holds the name. */
      readonly owner: string;
      readonly ownerName: string;
      readonly commandId: string;
    }
  | {
      readonly type: 'NameReleased';
      readonly orgId: OrgId;
      readonly kind: NameKind;
      readonly value: string;
      readonly owner: string;
      readonly commandId: string;
    };

type Wanted = Omit<Extract<ReservationEvent, { type: 'NameReserved' }>, 'type' | 'kind'>;

export type ReservationCommand =
  | ({ readonly type: 'ReserveName'; readonly kind: 'route'; readonly listenPath: string } & Wanted)
  | ({ readonly type: 'ReserveName'; readonly kind: 'name' } & Wanted)
  | ({ readonly type: 'ReleaseName' } & Omit<Extract<ReservationEvent, { type: 'NameReleased' }>, 'type'>);

export type ReservationState = {
  readonly holder?: { readonly orgId: OrgId; readonly owner: string; readonly ownerName: string };
};

function decide(command: ReservationCommand, state: ReservationState): readonly ReservationEvent[] {
  const { orgId, kind, value, owner, commandId } = command;
  const { holder } = state;
  switch (command.type) {
    case 'ReserveName': {
      if (holder?.owner === owner && holder.orgId === orgId) return [];
      if (holder && command.kind === 'name') throw policyNameTaken();
      if (holder && command.kind === 'route') {
        // Another organisation's API is not named.
        throw routeTaken(
          command.listenPath,
          holder.orgId === orgId ? { id: holder.owner, name: holder.ownerName } : undefined,
        );
      }
      return [{ type: 'NameReserved', orgId, kind, value, owner, ownerName: command.ownerName, commandId }];
    }
    case 'ReleaseName':
      return holder?.owner === owner && holder.orgId === orgId
        ? [{ type: 'NameReleased', orgId, kind, value, owner, commandId }]
        : [];
    default:
      return never(command);
  }
}

function evolve(_: ReservationState, event: ReservationEvent): ReservationState {
  switch (event.type) {
    case 'NameReserved':
      return { holder: { orgId: event.orgId, owner: event.owner, ownerName: event.ownerName } };
    case 'NameReleased':
      return {};
    default:
      return never(event);
  }
}

export const reservation = { initial: {} as ReservationState, decide, evolve } satisfies Decider<
  ReservationCommand,
  ReservationEvent,
  ReservationState
>;
