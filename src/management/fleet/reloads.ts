/** Requests that gateways reload: the command, and what the nodes answered. */
import { fold } from '../../../domain/decider.ts';
import { bodyMalformed } from '../../../domain/errors.ts';
import type { JsonObject, Recorded } from '../../../domain/event.ts';
import { type EventStore, type Position, shortPosition } from '../../../domain/event-store.ts';
import { type DomainEvent, decodeEvent } from '../../../domain/events.ts';
import {
  type GatewayGroupEvent,
  gatewayGroup,
  type ReloadScope,
  reloadStream,
  repeatedRequest,
  sameRequestMs,
} from '../../../domain/gateway-group.ts';
import { type NodeId, type OrgId, toApiId, toGroupName, toNodeId } from '../../../domain/ids.ts';
import { isObject } from '../../../domain/json.ts';
import type { ReloadReport } from '../../../gateway/feed/feed.ts';
import { nodeOf, type RegisteredNode } from '../../../projections/nodes.ts';
import type { DocumentReader } from '../../../projections/read-model-store.ts';
import type { Command } from '../handle-command.ts';
import { goneAfterMs, type LastSeen, unknownGateway } from './nodes.ts';

export type ReloadRequest = {
  readonly scope: ReloadScope;
  readonly reason: string;
  /** Undefined: nobody waits. */
  readonly waitMs: number | undefined;
};

export const maxWaitMs = 30_000;
/** Requests of one management node that wait for gateways at the same time. */
export const maxReloadWaits = 8;
const maxReasonLength = 1_000;

/** Throws 400 for what does not read, and for bundles: none is kept, so nothing would be dropped. */
export function readReloadRequest({
  scope = 'all',
  reason = '',
  wait,
  dropBundleCache = [],
}: JsonObject): ReloadRequest {
  if (!Array.isArray(dropBundleCache) || dropBundleCache.length > 0) {
    throw bodyMalformed('/dropBundleCache: this version keeps no bundles, so there is none to drop; leave it out');
  }
  if (typeof reason !== 'string' || reason.length > maxReasonLength) {
    throw bodyMalformed(`/reason must be a text of at most ${maxReasonLength} characters`);
  }
  const isWait = wait === undefined || (typeof wait === 'number' && Number.isInteger(wait));
  if (!isWait || (wait !== undefined && (wait < 0 || wait > maxWaitMs))) {
    throw bodyMalformed(`/wait must be a whole number of milliseconds from 0 to ${maxWaitMs}`);
  }
  return { scope: readScope(scope), reason, waitMs: wait };
}

function readScope(scope: unknown): ReloadScope {
  if (scope === 'all') return scope;
  const [entry, ...others] = isObject(scope) ? Object.entries(scope) : [];
  const [kind, name] = entry ?? [];
  if (others.length === 0 && typeof name === 'string') {
    if (kind === 'group') return { group: toGroupName(name) };
    if (kind === 'node') return { node: toNodeId(name) };
    if (kind === 'api') return { api: toApiId(name) };
  }
  throw bodyMalformed('/scope must be "all" or one of {"group": …}, {"node": …}, {"api": …}');
}

type Request = Pick<ReloadRequest, 'scope' | 'reason'> & { readonly orgId: OrgId };

type Tools = { readonly store: EventStore; readonly now: () => Date; readonly newId: () => string };

/** Who asks again within a second for the same gateways gets the request that is on its way. */
export const requestReload = ({ store, now, newId }: Tools, { scope, reason, orgId }: Request): Command => ({
  type: 'RequestReload',
  aggregate: reloadStream(scope),
  plan: async () => {
    const stream = reloadStream(scope);
    const requestedAt = now().toISOString();
    const reloadId = newId();
    const recent = await recentRequests(store, stream, Date.parse(requestedAt) - sameRequestMs);
    const asked = { orgId, reloadId, scope, reason, dropBundleCache: [], requestedAt };
    const state = fold(
      gatewayGroup,
      recent.map(({ event }) => event),
    );
    const events = gatewayGroup.decide({ type: 'RequestReload', ...asked }, state);
    const expected = recent.at(-1)?.revision ?? 'noStream';
    const before = repeatedRequest(asked, state);
    const position = recent.find(({ event }) => 'reloadId' in event && event.reloadId === before?.reloadId)?.position;
    return {
      writes: [{ stream, expected, events }],
      reply: { status: 202, body: { reloadId: before?.reloadId ?? reloadId } },
      ...(position === undefined ? {} : { position }),
    };
  },
});

/** All gateways of the group that a node registered in. Throws `gateway_unknown` for a node that has not. */
export function requestGroupReload(
  tools: Tools & { readonly models: DocumentReader },
  { node, orgId }: { readonly node: NodeId; readonly orgId: OrgId },
): Command {
  const registered = nodeOf(tools.models, node);
  if (!registered) throw unknownGateway(node);
  const scope = { group: toGroupName(registered.group) };
  return requestReload(tools, { scope, reason: `asked for on the control listener of ${node}`, orgId });
}

type Requested = Recorded<DomainEvent> & { readonly event: GatewayGroupEvent };

const pageEvents = 16;

/** The newest requests of a stream down to the first one that was made before the moment; oldest first. */
async function recentRequests(store: EventStore, stream: string, sinceMs: number): Promise<readonly Requested[]> {
  const newestFirst: Requested[] = [];
  for (let to: bigint | undefined; ; ) {
    const range = to === undefined ? {} : { to };
    const page = await store.readStream(stream, { ...range, back: true, limit: pageEvents });
    for (const stored of page) {
      const recorded = decodeEvent(stored) as Requested;
      newestFirst.push(recorded);
      if (Date.parse(recorded.event.requestedAt) < sinceMs) return newestFirst.toReversed();
    }
    const oldest = page.at(-1)?.revision ?? 0n;
    if (oldest === 0n) return newestFirst.toReversed();
    to = oldest - 1n;
  }
}

/** The places of those who wait. `enter` is false when all are taken. */
export type ReloadWaits = { enter(): boolean; leave(): void };

export function createReloadWaits(): ReloadWaits {
  let waiting = 0;
  return {
    enter: () => {
      if (waiting >= maxReloadWaits) return false;
      waiting += 1;
      return true;
    },
    leave: () => {
      waiting -= 1;
    },
  };
}

/** Whether the request is for the node. */
export function isAsked(scope: ReloadScope, { nodeId, group }: Pick<RegisteredNode, 'nodeId' | 'group'>): boolean {
  if (scope === 'all' || 'api' in scope) return true;
  return 'group' in scope ? scope.group === group : scope.node === nodeId;
}

/** What a node said of the request at the position, or of a later one: whoever followed that one has followed both. */
export function answerOf(
  { nodeId, group }: Pick<RegisteredNode, 'nodeId' | 'group'>,
  seen: LastSeen | undefined,
  position: Position,
  now: Date,
): JsonObject & { readonly status: 'ok' | 'partial' | 'waiting' | 'unreachable' } {
  const who = { node: nodeId, group };
  const reload = seen?.reload;
  if (reload && reload.position >= position) {
    const isWhole = reload.rejected === 0 && reload.message === undefined;
    const { reloadId: _, position: __, ...told } = shownReload(reload);
    return { ...who, status: isWhole ? 'ok' : 'partial', ...told };
  }
  const isGone = !seen || now.getTime() - Date.parse(seen.seenAt) > goneAfterMs;
  return { ...who, status: isGone ? 'unreachable' : 'waiting' };
}

export const shownReload = ({ position, errors, ...reload }: ReloadReport): JsonObject => ({
  ...reload,
  position: shortPosition(position),
  ...(errors
    ? {
        errors: errors.map(({ position: at, ...error }) => ({
          ...error,
          ...(at === undefined ? {} : { position: shortPosition(at) }),
        })),
      }
    : {}),
});
