/** Gateway groups: requests that gateways take anew what is no change of the configuration, or forget what they keep. Events, commands, state, decide, evolve. */
import type { Decider } from './decider.ts';
import { never } from './event.ts';
import { type ApiId, type GroupName, groupStream, type NodeId, type OrgId } from './ids.ts';

/** Who is asked: every gateway, those of a group, one of them, or all of them for one API. */
export type ReloadScope = 'all' | { readonly group: GroupName } | { readonly node: NodeId } | { readonly api: ApiId };

type ReloadRequested = {
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

/** Every gateway forgets the answers that it keeps of an API. `api` and not `apiId`: the API does not change. */
type FlushRequested = {
  readonly type: 'CacheFlushRequested';
  readonly orgId: OrgId;
  readonly flushId: string;
  readonly api: ApiId;
  /** RFC 3339 with ms. */
  readonly requestedAt: string;
};

export type GatewayGroupEvent = ReloadRequested | FlushRequested;

type ReloadCommand = { readonly type: 'RequestReload' } & Omit<ReloadRequested, 'type'>;
type FlushCommand = { readonly type: 'FlushCache' } & Omit<FlushRequested, 'type'>;

export type GatewayGroupCommand = ReloadCommand | FlushCommand;

type Request = Pick<ReloadRequested, 'reloadId' | 'requestedAt' | 'dropBundleCache'>;

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
  { scope, requestedAt, dropBundleCache }: Pick<ReloadCommand, 'scope' | 'requestedAt' | 'dropBundleCache'>,
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
    case 'FlushCache': {
      // Never the same as the one before: an answer may have been kept between the two.
      const { orgId, flushId, api, requestedAt } = command;
      return [{ type: 'CacheFlushRequested', orgId, flushId, api, requestedAt }];
    }
    default:
      return never(command);
  }
}

function evolve(state: GatewayGroupState, event: GatewayGroupEvent): GatewayGroupState {
  switch (event.type) {
    case 'GatewayReloadRequested': {
      const { reloadId, requestedAt, dropBundleCache, scope } = event;
      return { requests: { ...state.requests, [scopeName(scope)]: { reloadId, requestedAt, dropBundleCache } } };
    }
    case 'CacheFlushRequested':
      return state;
    default:
      return never(event);
  }
}

export const gatewayGroup = { initial: { requests: {} } as GatewayGroupState, decide, evolve } satisfies Decider<
  GatewayGroupCommand,
  GatewayGroupEvent,
  GatewayGroupState
>;
