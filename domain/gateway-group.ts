/** Gateway groups: requests that gateways take anew what is no change of the configuration. Events, commands, state, decide, evolve. */
import type { Decider } from './decider.ts';
import { never } from './event.ts';
import { type ApiId, type GroupName, groupStream, type NodeId, type OrgId } from './ids.ts';

/** Who is asked: every gateway, those of a group, one of them, or all of them for one API. */
export type ReloadScope = 'all' | { readonly group: GroupName } | { readonly node: NodeId } | { readonly api: ApiId };

export type GatewayGroupEvent = {
  readonly type: 'GatewayReloadRequested';
  readonly orgId: OrgId;
  readonly reloadId: string;
  readonly scope: ReloadScope;
  readonly reason: string;
  /** Names of bundles that are fetched again. */
  readonly dropBundleCache: readonly string[];
  /** RFC 3339 with ms. */
  readonly requestedAt: string;
};

export type GatewayGroupCommand = { readonly type: 'RequestReload' } & Omit<GatewayGroupEvent, 'type'>;

type Request = Pick<GatewayGroupEvent, 'reloadId' | 'requestedAt' | 'dropBundleCache'>;

/** The last request for each scope, by its name. */
export type GatewayGroupState = { readonly requests: Readonly<Record<string, Request>> };

/** Who asks again so soon gets the request that is on its way. */
export const sameRequestMs = 1_000;

/** One name per scope, also of the object in the feed: a colon stands in no id. */
export function scopeName(scope: ReloadScope): string {
  if (scope === 'all') return 'all';
  if ('group' in scope) return `group:${scope.group}`;
  return 'node' in scope ? `node:${scope.node}` : `api:${scope.api}`;
}

/** Requests that are for no single group stand together. */
export const reloadStream = (scope: ReloadScope): string =>
  groupStream(scope !== 'all' && 'group' in scope ? scope.group : ('all' as GroupName));

/** The request that this one repeats. */
export function repeatedRequest(
  { scope, requestedAt, dropBundleCache }: Pick<GatewayGroupCommand, 'scope' | 'requestedAt' | 'dropBundleCache'>,
  { requests }: GatewayGroupState,
): Request | undefined {
  const before = requests[scopeName(scope)];
  if (!before) return undefined;
  const agoMs = Date.parse(requestedAt) - Date.parse(before.requestedAt);
  // A clock that was set back must not hold requests up.
  const isSoon = Math.abs(agoMs) < sameRequestMs;
  return isSoon && dropBundleCache.every((name) => before.dropBundleCache.includes(name)) ? before : undefined;
}

function decide(command: GatewayGroupCommand, state: GatewayGroupState): readonly GatewayGroupEvent[] {
  switch (command.type) {
    case 'RequestReload': {
      const { orgId, reloadId, scope, reason, dropBundleCache, requestedAt } = command;
      if (repeatedRequest(command, state)) return [];
      const asked = { orgId, reloadId, scope, reason, dropBundleCache, requestedAt };
      return [{ type: 'GatewayReloadRequested', ...asked }];
    }
    default:
      return never(command.type);
  }
}

function evolve({ requests }: GatewayGroupState, event: GatewayGroupEvent): GatewayGroupState {
  switch (event.type) {
    case 'GatewayReloadRequested': {
      const { reloadId, requestedAt, dropBundleCache, scope } = event;
      return { requests: { ...requests, [scopeName(scope)]: { reloadId, requestedAt, dropBundleCache } } };
    }
    default:
      return never(event.type);
  }
}

export const gatewayGroup = { initial: { requests: {} } as GatewayGroupState, decide, evolve } satisfies Decider<
  GatewayGroupCommand,
  GatewayGroupEvent,
  GatewayGroupState
>;
