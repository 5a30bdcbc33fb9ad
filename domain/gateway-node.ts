/** Gateway nodes: what each of them is and which configurations it has applied; operational, no audit. Events, commands, state, decide, evolve. */
import type { Decider } from './decider.ts';
import { never } from './event.ts';
import type { Position } from './event-store.ts';
import type { NodeId, OrgId } from './ids.ts';
import { sameJson } from './json.ts';

/** What a node is: text that it gives itself. */
export type NodeIdentity = {
  readonly group: string;
  readonly tags: readonly string[];
  readonly version: string;
  /** X25519, 32 bytes as base64url: what secrets are sealed for. Absent in a node that gets none. */
  readonly publicKey?: string;
};

/** An object that a node had to keep back; `keptRevision` is the one that it runs in its place, when there is one. */
export type NodeError = {
  readonly kind: string;
  readonly id: string;
  readonly code: string;
  readonly message: string;
  /** Where in the document, of several places the first. */
  readonly pointer?: string;
  /** Of the event that made the object as it was refused. */
  readonly position?: Position;
  readonly keptRevision?: string;
};

export type AppliedConfig = {
  /** How far the node has followed the log. */
  readonly position: Position;
  /** Position of the last event that changed what this node runs. */
  readonly revision: Position;
  /** SHA-256 hex over the names and digests of the objects that it runs: equal on nodes that run the same. */
  readonly snapshotSha256: string;
  /** How long compiling took. */
  readonly ms: number;
  readonly errors: readonly NodeError[];
};

type Of = { readonly orgId: OrgId; readonly nodeId: NodeId };

export type GatewayNodeEvent =
  | ({ readonly type: 'GatewayRegistered' } & Of & NodeIdentity)
  | ({ readonly type: 'GatewayDeregistered'; readonly reason: string } & Of)
  | ({ readonly type: 'GatewayConfigApplied' } & Of & AppliedConfig);

export type GatewayNodeCommand =
  /** `applied` is absent in a node that never had a configuration. */
  | ({ readonly type: 'ReportGateway'; readonly applied?: AppliedConfig } & Of & NodeIdentity)
  | ({ readonly type: 'DeregisterGateway'; readonly reason: string } & Of);

export type GatewayNodeState = {
  readonly identity?: NodeIdentity;
  readonly applied?: Pick<AppliedConfig, 'revision' | 'errors'>;
  /** Events after the registration: old events of the stream go, so it is said again before it is one of them. */
  readonly since: number;
};

/** The stream keeps 1,000. */
const maxSinceRegistration = 400;

function decide(command: GatewayNodeCommand, state: GatewayNodeState): readonly GatewayNodeEvent[] {
  switch (command.type) {
    case 'ReportGateway': {
      const { orgId, nodeId, group, tags, version, applied } = command;
      // A report without a key takes none away: the next key would come without its alarm.
      const { publicKey = state.identity?.publicKey } = command;
      const identity = { group, tags, version, ...(publicKey === undefined ? {} : { publicKey }) };
      const isKnown = sameJson(state.identity, identity) && state.since < maxSinceRegistration;
      return [
        ...(isKnown ? [] : [{ type: 'GatewayRegistered', orgId, nodeId, ...identity } as const]),
        // The event itself moves the log: a node that has only followed it has nothing to say.
        ...(applied && !sameJson(told(state.applied), told(applied))
          ? [{ type: 'GatewayConfigApplied', orgId, nodeId, ...applied } as const]
          : []),
      ];
    }
    case 'DeregisterGateway': {
      const { orgId, nodeId, reason } = command;
      return state.identity ? [{ type: 'GatewayDeregistered', orgId, nodeId, reason }] : [];
    }
    default:
      return never(command);
  }
}

const told = (applied: GatewayNodeState['applied']) =>
  applied && { revision: applied.revision, errors: applied.errors.map((error) => ({ ...error })) };

function evolve(state: GatewayNodeState, event: GatewayNodeEvent): GatewayNodeState {
  switch (event.type) {
    case 'GatewayRegistered': {
      const { group, tags, version, publicKey } = event;
      const key = publicKey === undefined ? {} : { publicKey };
      return { ...state, identity: { group, tags, version, ...key }, since: 0 };
    }
    case 'GatewayDeregistered':
      return { since: 0 };
    case 'GatewayConfigApplied': {
      const { revision, errors } = event;
      return { ...state, applied: { revision, errors }, since: state.since + 1 };
    }
    default:
      return never(event);
  }
}

export const gatewayNode = { initial: { since: 0 } as GatewayNodeState, decide, evolve } satisfies Decider<
  GatewayNodeCommand,
  GatewayNodeEvent,
  GatewayNodeState
>;
