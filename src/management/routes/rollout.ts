/** Which gateways run the current revision of an API, which do not yet, and which refused it. */
import { setTimeout as pause } from 'node:timers/promises';
import { tagsOf } from '../../../domain/api/head.ts';
import { apiUnknown } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { padPosition, shortPosition } from '../../../domain/event-store.ts';
import { toApiId } from '../../../domain/ids.ts';
import { type CatalogApi, getApi } from '../../../projections/api-catalog.ts';
import { listNodes, type RegisteredNode } from '../../../projections/nodes.ts';
import { type Call, numberParameter } from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import { goneAfterMs, type LastSeen } from '../fleet/nodes.ts';
import { minRevision, queryParameter } from '../parameters.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

const maxWaitMs = 30_000;
const lookEveryMs = 200;

type State = 'applied' | 'behind' | 'rejected' | 'not_selected' | 'unreachable';

/** With `wait=` it answers when nobody is behind any more, or after the time. */
async function show(call: Call, services: Services): Promise<Reply> {
  const apiId = toApiId(call.params['apiId'] ?? '');
  const waitMs = numberParameter(call, 'wait', { min: 0, max: maxWaitMs, absent: 0 });
  await awaitRevision(call.query, ['apis', 'nodes'], services.projector);
  const end = performance.now() + waitMs;
  for (;;) {
    const api = getApi(services.models, call.caller.orgId, apiId);
    if (!api) throw apiUnknown();
    const seen = await services.nodes.lastSeen();
    const nodes = listNodes(services.models, services.organisations.home).map((node) =>
      standingOf(api, node, seen.get(node.nodeId), services.now()),
    );
    const isOver = performance.now() >= end || call.gone.aborted || services.stopping.aborted;
    if (isOver || nodes.every(({ state }) => state !== 'behind')) return { status: 200, body: bodyOf(api, nodes) };
    await pause(lookEveryMs);
  }
}

type Standing = JsonObject & { readonly state: State };

function standingOf(api: CatalogApi, node: RegisteredNode, seen: LastSeen | undefined, now: Date): Standing {
  const { nodeId, group, tags, applied } = node;
  const { position = '', revision = '' } = seen ?? applied ?? {};
  const refused = applied?.errors.find(({ kind, id }) => kind === 'api' && id === api.apiId);
  const state = stateOf(api, node, position, seen, now);
  return {
    ...{ node: nodeId, group, tags, position: shortPosition(position), revision: shortPosition(revision), state },
    ...(applied ? { since: applied.at } : {}),
    ...(state === 'rejected' && refused
      ? {
          error: {
            ...{ code: refused.code, message: refused.message },
            ...(refused.pointer === undefined ? {} : { pointer: refused.pointer }),
          },
          ...(refused.keptRevision === undefined ? {} : { keptRevision: refused.keptRevision }),
        }
      : {}),
  };
}

function stateOf(
  api: CatalogApi,
  { tags, applied }: RegisteredNode,
  position: string,
  seen: LastSeen | undefined,
  now: Date,
): State {
  if (tags.length > 0 && !tagsOf(api.document).some((tag) => tags.includes(tag))) return 'not_selected';
  if (!seen || now.getTime() - Date.parse(seen.seenAt) > goneAfterMs) return 'unreachable';
  const made = padPosition(api.position);
  if (position < made) return 'behind';
  const isRefused = applied?.errors.some(
    ({ kind, id, position: at = made }) => kind === 'api' && id === api.apiId && at >= made,
  );
  return isRefused ? 'rejected' : 'applied';
}

function bodyOf({ revision, position, updatedAt }: CatalogApi, nodes: readonly Standing[]): JsonObject {
  const selected = nodes.filter(({ state }) => state !== 'not_selected');
  return {
    ...{ revision, position: shortPosition(padPosition(position)), at: updatedAt },
    applied: selected.filter(({ state }) => state === 'applied').length,
    total: selected.length,
    nodes,
  };
}

export const rolloutRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/apis/{apiId}/rollout',
    operationId: 'getApiRollout',
    summary: 'Which gateways run the current revision of an API',
    tag: 'gateways',
    scope: 'gateways:read',
    form: 'documented',
    parameters: [
      queryParameter('wait', 'Milliseconds to wait until no gateway is behind.', {
        ...{ type: 'integer', minimum: 0, maximum: maxWaitMs, default: 0 },
      }),
      minRevision,
    ],
    answer: {
      description: 'The revision, and every gateway with its state; `total` counts those that are to run the API',
      schema: { $ref: '#/components/schemas/Rollout' },
      example: {
        ...{ revision: 3, position: '12', at: '2026-01-01T00:00:00.000Z', applied: 1, total: 1 },
        nodes: [{ node: 'edge-1', group: 'default', tags: [], position: '12', revision: '12', state: 'applied' }],
      },
    },
    errors: ['api_unknown', 'id_invalid', 'revision_not_reached'],
    handle: show,
  },
];
