/** The gateways of this installation: what each of them runs, the reports in which they say so, and forgetting one that is gone. */
import type { Json, JsonObject } from '../../../domain/event.ts';
import { type Position, padPosition, shortPosition } from '../../../domain/event-store.ts';
import type { NodeError } from '../../../domain/gateway-node.ts';
import { toNodeId } from '../../../domain/ids.ts';
import type { KeyUse } from '../../../domain/key-use.ts';
import type { WebhookDelivery } from '../../../domain/webhook-delivery.ts';
import { FeedRefusal, type GatewayReport, type ReloadReport } from '../../../gateway/feed/feed.ts';
import { nodeKeyIdOf } from '../../../gateway/feed/node-box.ts';
import { listNodes, type NodeKey, type RegisteredNode } from '../../../projections/nodes.ts';
import { readJsonObject } from '../bodies/bodies.ts';
import { lateSchema } from '../bodies/late-schema.ts';
import { type Call, commandContext } from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import { Rejection } from '../errors.ts';
import { demandReporter, registeredKey } from '../fleet/node-keys.ts';
import { forgetNode, goneAfterMs, type LastSeen, lagOf, unknownGateway } from '../fleet/nodes.ts';
import { shownReload } from '../fleet/reloads.ts';
import { minRevision, writeParameters } from '../parameters.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';
import { feedSchemas } from '../schemas/feed.ts';

async function list(call: Call, services: Services): Promise<Reply> {
  await awaitRevision(call.query, ['nodes'], services.projector);
  const { store, models, nodes, organisations } = services;
  const [seen, head] = await Promise.all([nodes.lastSeen(), store.head()]);
  const lagAt = lags(services, head);
  const gateways = listNodes(models, organisations.home).map((node) =>
    shown(services, node, seen.get(node.nodeId), lagAt),
  );
  return { status: 200, body: { position: shortPosition(head), gateways: await Promise.all(gateways) } };
}

async function show({ params, query }: Call, services: Services): Promise<Reply> {
  await awaitRevision(query, ['nodes'], services.projector);
  const { store, models, nodes, organisations } = services;
  const found = listNodes(models, organisations.home).find(({ nodeId }) => nodeId === params['nodeId']);
  if (!found) throw unknownGateway(params['nodeId'] ?? '');
  const [seen, head] = await Promise.all([nodes.lastSeen(), store.head()]);
  return { status: 200, body: await shown(services, found, seen.get(found.nodeId), lags(services, head)) };
}

type LagAt = (position: Position) => ReturnType<typeof lagOf>;

/** After an outage many stand at one place: the log is asked once for it. */
function lags({ store, now }: Services, head: Position): LagAt {
  const known = new Map<Position, ReturnType<typeof lagOf>>();
  return (position) => {
    const lag = known.get(position) ?? lagOf(store, position, head, now());
    known.set(position, lag);
    return lag;
  };
}

async function shown(
  { now }: Services,
  { nodeId, group, tags, version, key, applied }: RegisteredNode,
  seen: LastSeen | undefined,
  lagAt: LagAt,
): Promise<JsonObject> {
  const { position = '', revision = '' } = seen ?? applied ?? {};
  const errors = applied?.errors ?? [];
  const lag = await lagAt(position);
  const isGone = !seen || now().getTime() - Date.parse(seen.seenAt) > goneAfterMs;
  const isDoubtful =
    errors.length > 0 || seen?.trouble !== undefined || seen?.source === 'none' || isAlarming(key, now());
  return {
    ...{ node: nodeId, group, tags, version: seen?.version ?? version },
    ...(seen ? { startedAt: seen.startedAt, lastSeen: seen.seenAt, source: seen.source, apis: seen.apis } : {}),
    ...{ position: shortPosition(position), revision: shortPosition(revision) },
    ...(applied ? { snapshotSha256: applied.snapshotSha256 } : {}),
    rejected: errors.map(shownError),
    lag,
    ...(seen?.trouble ? { trouble: { ...seen.trouble } } : {}),
    ...(seen?.reload ? { reload: shownReload(seen.reload) } : {}),
    ...(key ? { key: shownKey(key, now()) } : {}),
    health: isGone ? 'fail' : isDoubtful ? 'warn' : 'pass',
  };
}

/** A key that took the place of another one is looked at for so long. */
const keyAlarmMs = 24 * 3_600_000;

const isAlarming = (key: NodeKey | undefined, now: Date): boolean =>
  key?.before !== undefined && now.getTime() - Date.parse(key.since) < keyAlarmMs;

const shownKey = (key: NodeKey, now: Date): JsonObject => ({
  ...{ id: nodeKeyIdOf(key.publicKey), since: key.since },
  ...(key.before === undefined ? {} : { before: nodeKeyIdOf(key.before) }),
  ...(isAlarming(key, now) ? { alarm: true } : {}),
});

const shownError = ({ position, ...error }: NodeError): JsonObject => ({
  ...error,
  ...(position === undefined ? {} : { position: shortPosition(position) }),
});

async function report({ params, body, caller }: Call, { models, nodes, judgeReport }: Services): Promise<Reply> {
  const node = toNodeId(params['nodeId'] ?? '');
  demandReporter(caller, node, { models });
  const given = readJsonObject(body);
  const problems = judgeReport(given);
  if (problems.length > 0) throw new Rejection('body_malformed', `request malformed: ${problems.join('; ')}`);
  const key = registeredKey(caller, given['publicKey']);
  try {
    await nodes.receive({ ...toReport(node, given as unknown as Omit<GatewayReport, 'node'>), ...key });
  } catch (error) {
    if (!(error instanceof FeedRefusal && error.code === 'node_superseded')) throw error;
    throw new Rejection('node_superseded', error.message, { cause: error });
  }
  return { status: 200, body: { status: 'ok' } };
}

/** Names no more than the schema does, and positions in the form of the log. */
function toReport(node: string, given: Omit<GatewayReport, 'node'>): GatewayReport {
  const { run, startedAt, group, tags, version, source, apis, snapshotSha256, ms, trouble } = given;
  return {
    ...{ node, run, startedAt, group, tags, version, source, apis, snapshotSha256, ms },
    ...{ position: padded(given.position), revision: padded(given.revision) },
    rejected: given.rejected.map(toError),
    ...(trouble ? { trouble: { code: trouble.code, message: trouble.message } } : {}),
    ...(given.reload ? { reload: toReload(given.reload) } : {}),
    ...(given.deliveries ? { deliveries: given.deliveries.map(toDelivery) } : {}),
    ...(given.keys ? { keys: given.keys.map(toKeyUse) } : {}),
  };
}

const toKeyUse = ({ key, at, remaining, renews }: KeyUse): KeyUse => ({
  ...{ key, at },
  ...(remaining === undefined ? {} : { remaining }),
  ...(renews === undefined ? {} : { renews }),
});

function toDelivery({ id, webhookId, orgId, apiId, trigger, eventId, ...rest }: WebhookDelivery): WebhookDelivery {
  const { state, attempts, lastStatus, error, raisedAt, at, nextAt, warning } = rest;
  return {
    ...{ id, webhookId, orgId, ...(apiId === undefined ? {} : { apiId }), trigger, eventId },
    ...{ state, attempts, lastStatus, error, raisedAt, at, nextAt },
    ...(warning === undefined ? {} : { warning }),
  };
}

const toError = ({ kind, id, code, message, pointer, position, keptRevision }: NodeError): NodeError => ({
  ...{ kind, id, code, message },
  ...(position === undefined ? {} : { position: padded(position) }),
  ...(pointer === undefined ? {} : { pointer }),
  ...(keptRevision === undefined ? {} : { keptRevision }),
});

const toReload = ({
  reloadId,
  position,
  loaded,
  unchanged,
  rejected,
  errors,
  message,
}: ReloadReport): ReloadReport => ({
  ...{ reloadId, position: padded(position), loaded, unchanged, rejected },
  ...(errors ? { errors: errors.map(toError) } : {}),
  ...(message === undefined ? {} : { message }),
});

const padded = (position: string): Position => (/^0*$/.test(position) ? '' : padPosition(position));

async function forget(call: Call, { commands, nodes, organisations, store }: Services): Promise<Reply> {
  const node = toNodeId(call.params['nodeId'] ?? '');
  const context = { ...commandContext(call), orgId: organisations.home };
  const letGo = async (): Promise<void> => {
    if (!context.isDryRun) await nodes.forgotten(node);
  };
  try {
    const reply = await commands.run(context, forgetNode(store, organisations.home, node));
    await letGo();
    return reply;
  } catch (error) {
    // Who asked before may have died between the event and this.
    if (error instanceof Rejection && error.code === 'gateway_unknown') await letGo();
    throw error;
  }
}

export type JudgeReport = (report: Json) => readonly string[];

export function createJudgeReport(): JudgeReport {
  const validate = lateSchema(feedSchemas['GatewayReport'] as JsonObject);
  return (report) =>
    validate(report) ? [] : validate.errors.map(({ instancePath, message }) => `${instancePath} ${message}`);
}

const example = {
  ...{ node: 'edge-1', group: 'default', tags: [], version: '0.1.0', startedAt: '2026-01-01T00:00:00.000Z' },
  ...{ lastSeen: '2026-01-01T00:00:09.000Z', source: 'feed', apis: 3, position: '12', revision: '9' },
  ...{ snapshotSha256: '', rejected: [], lag: { events: 0, seconds: 0 }, health: 'pass' },
};

const status = { type: 'object', required: ['status'], properties: { status: { type: 'string' } } };

const route = { tag: 'gateways', form: 'problem', parameters: [] } as const;

export const gatewayRoutes: readonly Route[] = [
  {
    ...route,
    method: 'GET',
    path: '/api/gateways',
    operationId: 'listGateways',
    summary:
      'What every gateway runs, how far it is, and what it had to keep back; as they are now, their past is not kept',
    scope: 'gateways:read',
    isInstallation: true,
    answer: {
      description: 'Gateways that registered; `position` is the head of the log',
      schema: { $ref: '#/components/schemas/GatewayList' },
      example: { position: '12', gateways: [example] },
    },
    parameters: [minRevision],
    errors: ['revision_not_reached'],
    handle: list,
  },
  {
    ...route,
    method: 'GET',
    path: '/api/gateways/{nodeId}',
    operationId: 'getGateway',
    summary: 'One gateway',
    scope: 'gateways:read',
    isInstallation: true,
    answer: { description: 'The gateway', schema: { $ref: '#/components/schemas/Gateway' }, example },
    parameters: [minRevision],
    errors: ['gateway_unknown', 'revision_not_reached'],
    handle: show,
  },
  {
    ...route,
    method: 'DELETE',
    path: '/api/gateways/{nodeId}',
    operationId: 'forgetGateway',
    summary: 'Forgets a gateway that is gone; one that runs registers again',
    scope: 'gateways:write',
    isInstallation: true,
    parameters: writeParameters,
    answer: { description: 'Forgotten', schema: status, example: { status: 'ok' } },
    errors: ['gateway_unknown', 'id_invalid'],
    handle: forget,
  },
  {
    ...route,
    method: 'POST',
    path: '/api/gateways/{nodeId}/reports',
    operationId: 'reportGateway',
    summary: 'What a gateway says of itself, when something changed and as a sign of life',
    scope: 'gateways:report',
    isInstallation: true,
    body: {
      description: 'The whole state of the node',
      types: ['application/json'],
      maxBytes: 1_048_576,
      schema: 'GatewayReport',
      example: {
        ...{ run: '018f0000-0000-7000-8000-000000000000', startedAt: '2026-01-01T00:00:00.000Z' },
        ...{ group: 'default', tags: [], version: '0.1.0', source: 'feed', apis: 3, position: '12', revision: '9' },
        ...{ snapshotSha256: '', ms: 4, rejected: [] },
      },
    },
    answer: { description: 'Taken', schema: status, example: { status: 'ok' } },
    errors: ['body_malformed', 'body_unreadable', 'id_invalid', 'node_foreign', 'node_superseded'],
    handle: report,
  },
];
