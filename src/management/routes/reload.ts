/** Asks gateways to reload, and tells what they answered. */
import { setTimeout as pause } from 'node:timers/promises';
import { apiUnknown } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { padPosition } from '../../../domain/event-store.ts';
import type { ReloadScope } from '../../../domain/gateway-group.ts';
import { toNodeId } from '../../../domain/ids.ts';
import { getApi } from '../../../projections/api-catalog.ts';
import { listNodes, type RegisteredNode } from '../../../projections/nodes.ts';
import { readOptions } from '../bodies/bodies.ts';
import { type Call, commandContext } from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import { Rejection } from '../errors.ts';
import { demandReporter } from '../fleet/node-keys.ts';
import {
  answerOf,
  isAsked,
  maxReloadWaits,
  maxWaitMs,
  type ReloadRequest,
  readReloadRequest,
  requestGroupReload,
  requestReload,
} from '../fleet/reloads.ts';
import { writeParameters } from '../parameters.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

/** A first look soon, and ever later ones: each of them reads what every node said last. */
const firstLookMs = 100;
const longestLookMs = 2_000;

async function asks(call: Call, services: Services, { scope, reason, waitMs }: ReloadRequest): Promise<Reply> {
  await awaitRevision(call.query, ['apis', 'nodes'], services.projector);
  refuseNobody(call, services, scope);
  const { organisations, commands } = services;
  // What is asked of gateways for one API is told to its organisation.
  const orgId = scope !== 'all' && 'api' in scope ? call.caller.orgId : organisations.home;
  const context = { ...commandContext(call), orgId };
  const reply = await commands.run(context, requestReload(services, { scope, reason, orgId }));
  const revision = reply.headers?.['x-svc-revision'];
  if (revision === undefined) return reply;
  const body: JsonObject = { ...(reply.body as JsonObject), revision };
  if (waitMs === undefined) return { ...reply, body };
  return { ...reply, status: 200, body: { ...body, nodes: await answers(call, services, scope, revision, waitMs) } };
}

/** The request of one who cannot wait is not made either: he would not know whether to ask again. */
async function reload(call: Call, services: Services): Promise<Reply> {
  const request = readReloadRequest(readOptions(call.body, ['scope', 'dropBundleCache', 'reason', 'wait']));
  if (request.waitMs === undefined) return asks(call, services, request);
  const { reloadWaits } = services;
  if (!reloadWaits.enter()) {
    const text = `${maxReloadWaits} requests wait for gateways already; ask without \`wait\`, or later`;
    throw new Rejection('rate_limited', text, { headers: { 'Retry-After': '1' } });
  }
  try {
    return await asks(call, services, request);
  } finally {
    reloadWaits.leave();
  }
}

/** A name that nobody has is a slip of the pen: all would wait for nothing. */
function refuseNobody({ caller }: Call, { models, organisations }: Services, scope: ReloadScope): void {
  if (scope === 'all') return;
  if ('api' in scope) {
    if (!getApi(models, caller.orgId, scope.api)) throw apiUnknown();
    return;
  }
  if (asked(models, organisations, scope).length > 0) return;
  const text = 'group' in scope ? `no gateway of group ${scope.group}` : `no gateway ${scope.node}`;
  throw new Rejection('gateway_unknown', `${text} has registered`);
}

const asked = (
  models: Services['models'],
  { home }: Services['organisations'],
  scope: ReloadScope,
): readonly RegisteredNode[] => listNodes(models, home).filter((node) => isAsked(scope, node));

/** Until no node is waited for, or after the time. */
async function answers(
  { gone }: Call,
  { models, organisations, nodes, now, stopping }: Services,
  scope: ReloadScope,
  revision: string,
  waitMs: number,
): Promise<readonly JsonObject[]> {
  const position = padPosition(revision);
  const end = performance.now() + waitMs;
  for (let lookMs = firstLookMs; ; lookMs = Math.min(2 * lookMs, longestLookMs)) {
    const seen = await nodes.lastSeen();
    const found = asked(models, organisations, scope).map((node) =>
      answerOf(node, seen.get(node.nodeId), position, now()),
    );
    const isOver = performance.now() >= end || gone.aborted || stopping.aborted;
    if (isOver || found.every(({ status }) => status !== 'waiting')) return found;
    await pause(Math.min(lookMs, Math.max(1, end - performance.now())), undefined, {
      signal: AbortSignal.any([gone, stopping]),
    }).catch(() => undefined);
  }
}

/** For a node, which may ask for its own group and for nothing else. */
async function reloadGroup(call: Call, services: Services): Promise<Reply> {
  const { projector, organisations, commands } = services;
  const node = toNodeId(call.params['nodeId'] ?? '');
  demandReporter(call.caller, node, services);
  await awaitRevision(call.query, ['nodes'], projector);
  const orgId = organisations.home;
  const reply = await commands.run({ ...commandContext(call), orgId }, requestGroupReload(services, { node, orgId }));
  const revision = reply.headers?.['x-svc-revision'];
  return revision === undefined ? reply : { ...reply, body: { ...(reply.body as JsonObject), revision } };
}

const example = { reloadId: '018f0000-0000-7000-8000-000000000001', revision: '12' };

export const reloadRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/api/gateways/reload',
    operationId: 'reloadGateways',
    summary: 'Asks gateways to take anew what is no change of the configuration: secrets of their settings, every API',
    tag: 'gateways',
    scope: 'gateways:write',
    form: 'problem',
    isInstallation: true,
    parameters: writeParameters,
    body: {
      description: `All gateways without \`scope\`; with \`wait\` (at most ${maxWaitMs}) the answer comes when every node is done or the time is over; ${maxReloadWaits} may wait at once, and who is one too many gets 429`,
      types: ['application/json'],
      maxBytes: 65_536,
      schema: 'ReloadRequest',
      example: { scope: 'all', reason: 'the secret of the control listener has changed' },
    },
    answer: {
      status: 202,
      isWaitable: true,
      description: '202 with the request; 200 with `wait`, and what each node answered',
      schema: { $ref: '#/components/schemas/ReloadAnswer' },
      example: {
        ...example,
        nodes: [{ node: 'edge-1', group: 'default', status: 'ok', loaded: 3, unchanged: 0, rejected: 0 }],
      },
    },
    errors: ['api_unknown', 'body_malformed', 'body_unreadable', 'gateway_unknown', 'id_invalid'],
    handle: reload,
  },
  {
    method: 'POST',
    path: '/api/gateways/{nodeId}/reload-group',
    operationId: 'reloadGroupOfGateway',
    summary: 'Asks every gateway of the group that this one registered in to reload; with a token of this gateway',
    tag: 'gateways',
    scope: 'gateways:report',
    form: 'problem',
    isInstallation: true,
    parameters: writeParameters,
    answer: {
      status: 202,
      description: 'The request',
      schema: { $ref: '#/components/schemas/ReloadAnswer' },
      example,
    },
    errors: ['gateway_unknown', 'id_invalid', 'node_foreign'],
    handle: reloadGroup,
  },
];
