/** The history of one API: its revisions, one of them with document and difference, and the way back to one. */
import type { ApiEvent } from '../../../domain/api/api.ts';
import { apiUnknown, bodyMalformed } from '../../../domain/errors.ts';
import type { Json, JsonObject, Recorded } from '../../../domain/event.ts';
import { type StoredEvent, shortPosition } from '../../../domain/event-store.ts';
import { decodeEvent } from '../../../domain/events.ts';
import { type ApiId, apiStream, toApiId } from '../../../domain/ids.ts';
import { listRevisions, toRevision as shownRevision } from '../../../projections/history-lists.ts';
import { entryFromLog } from '../../../projections/whole-entries.ts';
import { readOptions } from '../bodies/bodies.ts';
import { type Call, checkComment, commandContext, cursorParameter, numberParameter } from '../call.ts';
import { apiWriteOptions } from '../command-options.ts';
import { awaitRevision, etagOf } from '../conditional.ts';
import { comparable } from '../derived-fields.ts';
import { queryInvalid, Rejection } from '../errors.ts';
import { loadApi } from '../load.ts';
import { pageReply } from '../paging.ts';
import * as parameter from '../parameters.ts';
import { namedActor } from '../past/audit-entries.ts';
import { documentDifference } from '../past/config-diff.ts';
import { type ApiThen, apiAt, apiAtRevision, resolveAt } from '../past/time-travel.ts';
import { askedMoment } from '../past-reads.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

const apiIdOf = ({ params }: Call): ApiId => toApiId(params['apiId'] ?? '');

async function list(call: Call, services: Services): Promise<Reply> {
  const apiId = apiIdOf(call);
  const { orgId } = call.caller;
  const limit = numberParameter(call, 'limit', { min: 1, max: 500, absent: 50 });
  const after = cursorParameter(call, 'after');
  await awaitRevision(call.query, ['history'], services.projector);
  const moment = await askedMoment(call, services);
  const page = await listRevisions(services, orgId, apiId, {
    limit,
    ...(after === undefined ? {} : { after }),
    ...(moment === undefined ? {} : { to: moment.position }),
  });
  // A deleted API keeps its history; an id that never was has none.
  if (page.revisions.length === 0 && after === undefined) throw apiUnknown();
  const revisions = page.revisions.map((entry) => ({
    ...entry,
    actor: namedActor(services.models, orgId, entry.actor),
  }));
  return pageReply(call, { ...page, revisions } as { readonly next: string | null });
}

/** From the log itself, so that it is there even before the read model is. */
async function show(call: Call, { store, models, projector, now }: Services): Promise<Reply> {
  const apiId = apiIdOf(call);
  if (call.query.has('minRevision')) await awaitRevision(call.query, ['history'], projector);
  const revision = toRevision(call.params['revision'] ?? '');
  const at = call.query.get('at');
  const to = at === null ? undefined : await resolveAt(store, at, now().getTime());
  const wasThere = (stored: StoredEvent | undefined): stored is StoredEvent =>
    stored !== undefined && (to === undefined || stored.position <= to);
  const [stored] = await store.readStream(apiStream(apiId), { from: revision, to: revision, limit: 1 });
  if (!wasThere(stored)) {
    const [first] = await store.readStream(apiStream(apiId), { limit: 1 });
    throw wasThere(first) ? new Rejection('revision_unknown', `The API has no revision ${revision}`) : apiUnknown();
  }
  const recorded = decodeEvent(stored) as Recorded<ApiEvent>;
  if (recorded.event.orgId !== call.caller.orgId) throw apiUnknown();
  const { state } = await loadApi(store, apiId, revision);
  const entry = shownRevision(await entryFromLog(store, recorded));
  const actor = namedActor(models, call.caller.orgId, entry.actor);
  const headers = { ETag: etagOf(revision, store.identity.era), 'x-svc-revision': shortPosition(recorded.position) };
  return {
    status: 200,
    headers,
    body: { ...entry, ...detailsOf(recorded), actor, document: state.exists ? state.document : null },
  };
}

/** What the list leaves out. */
function detailsOf({ event, meta }: Recorded<ApiEvent>): JsonObject {
  const isWhole = 'document' in event;
  return {
    commandId: meta['commandId'] ?? '',
    diff: isWhole ? (event.diff ?? []) : [],
    diffOmitted: isWhole && event.diffOmitted === true,
    warnings: isWhole ? event.warnings.map((warning): Json => ({ ...warning })) : [],
    pruned: isWhole ? event.prunedOperations : [],
    intent: event.type === 'ApiDefinitionPatched' ? { ...event.intent } : null,
  };
}

function toRevision(text: string): bigint {
  if (/^\d{1,18}$/.test(text)) return BigInt(text);
  throw new Rejection('revision_unknown', 'A revision is a whole number from 0');
}

/** `from` and `to`: a revision, a time, a position after an at sign, or `current`, which `to` is when it is absent. */
async function diff(call: Call, services: Services): Promise<Reply> {
  const apiId = apiIdOf(call);
  await awaitRevision(call.query, ['history'], services.projector);
  const from = await sideOf(call, services, apiId, 'from');
  const to = await sideOf(call, services, apiId, 'to');
  const difference = documentDifference('api', comparable(from), comparable(to));
  return { status: 200, body: { from: placeOf(from), to: placeOf(to), ...difference } };
}

async function sideOf(call: Call, { store, now }: Services, apiId: ApiId, name: 'from' | 'to'): Promise<ApiThen> {
  const text = call.query.get(name) ?? (name === 'to' ? 'current' : undefined);
  if (text === undefined) throw queryInvalid(name, 'is required: a revision, a time, @position, or current');
  const { orgId } = call.caller;
  const isRevision = /^\d{1,18}$/.test(text);
  const place = text === 'current' ? shortPosition(await store.head()) : text.replace(/^@/, '');
  const found = isRevision
    ? await apiAtRevision(store, orgId, apiId, BigInt(text))
    : await apiAt(store, orgId, apiId, await resolveAt(store, place, now().getTime(), [name]));
  if (found) return found;
  if (isRevision) throw new Rejection('revision_unknown', `${name}: the API has no state at revision ${text}`);
  throw apiUnknown();
}

const placeOf = ({ revision, position, at }: ApiThen): JsonObject => ({
  revision: Number(revision),
  position: shortPosition(position),
  at: at.toISOString(),
});

async function rollback(call: Call, { commands, apiCommands }: Services): Promise<Reply> {
  const apiId = apiIdOf(call);
  const { revision, comment } = readOptions(call.body, ['revision', 'comment']);
  if (typeof revision !== 'number' || !Number.isSafeInteger(revision) || revision < 0) {
    throw bodyMalformed('revision must be a whole number from 0', '/revision');
  }
  if (comment !== undefined && typeof comment !== 'string') throw bodyMalformed('comment must be a text', '/comment');
  const context = commandContext(call);
  const reason = comment === undefined ? (context.comment ?? '') : checkComment(comment);
  const change = { type: 'RollbackApi', apiId, toRevision: BigInt(revision), reason } as const;
  const withReason = reason === '' ? context : { ...context, comment: reason };
  return commands.run(withReason, apiCommands(change, apiWriteOptions(call)));
}

const rollbackRoute: Route = {
  method: 'POST',
  path: '/api/apis/{apiId}/rollback',
  operationId: 'rollbackApi',
  summary: 'Brings an API back to the state of a revision, as a new revision',
  tag: 'history',
  scope: 'apis:write',
  form: 'documented',
  parameters: [...parameter.writeParameters, parameter.ifMatch, parameter.prefer],
  body: {
    types: ['application/json'],
    maxBytes: 256 * 1024,
    description: 'The revision to go back to, and why',
    schema: 'Rollback',
    example: { revision: 0, comment: 'the new path broke orders' },
  },
  answer: {
    description: 'The new revision and what it changed',
    schema: { $ref: '#/components/schemas/Answer' },
    example: { Message: 'API rolled back to revision 0', Meta: { revision: 2, diff: [] }, Status: 'OK' },
  },
  errors: [
    ...(['api_unknown', 'body_malformed', 'id_invalid', 'precondition_failed', 'revision_unknown'] as const),
    ...(['rollback_refused', 'route_taken'] as const),
  ],
  handle: rollback,
};

const exampleChange = [{ op: 'replace', path: '/x-svc-api-gateway/upstream/url', value: 'http://127.0.0.1:8091/' }];

const exampleRevision = {
  ...{ revision: 3, position: '12', at: '2026-01-01T00:00:00.000Z', type: 'ApiDefinitionPatched' },
  ...{ actor: { type: 'token', id: 'bootstrap' }, comment: 'the new upstream', requestId: '1', commandId: '2' },
  ...{ summary: ['upstream: upstream URL changed'], docSha256: 'ab'.repeat(32), active: true, internal: false },
  ...{ diff: exampleChange, diffOmitted: false, warnings: [], pruned: [], intent: null, document: null },
};

const exampleDiff = {
  from: { revision: 2, position: '11', at: '2026-01-01T00:00:00.000Z' },
  to: { revision: 3, position: '12', at: '2026-01-02T00:00:00.000Z' },
  diff: exampleChange,
  summary: {
    ...{ authentication: [], routes: [], limits: [], plugins: [], certificates: [] },
    ...{ upstream: ['upstream.url changed'], streams: [], other: [] },
  },
};

export const revisionRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/apis/{apiId}/revisions',
    operationId: 'listRevisions',
    summary: 'Who changed an API, when, why and what, newest first',
    tag: 'history',
    scope: 'apis:read',
    form: 'documented',
    parameters: [parameter.limit, parameter.after, parameter.at, parameter.minRevision],
    answer: {
      description: 'One page of revisions',
      schema: { $ref: '#/components/schemas/RevisionList' },
      example: { revisions: [], next: null },
    },
    errors: ['api_unknown', 'at_invalid', 'id_invalid', 'revision_not_reached'],
    handle: list,
  },
  {
    method: 'GET',
    path: '/api/apis/{apiId}/revisions/{revision}',
    operationId: 'getRevision',
    summary: 'One revision with its document, difference, warnings and intent',
    tag: 'history',
    scope: 'apis:read',
    form: 'documented',
    parameters: [parameter.at, parameter.minRevision],
    answer: {
      description: 'The revision',
      schema: { $ref: '#/components/schemas/Revision' },
      example: exampleRevision,
    },
    errors: ['api_unknown', 'revision_unknown', 'revision_not_reached', 'at_invalid', 'id_invalid'],
    handle: show,
  },
  {
    method: 'GET',
    path: '/api/apis/{apiId}/diff',
    operationId: 'diffApi',
    summary: 'What differs between two states of an API, as RFC 6902 and in words by feature',
    tag: 'history',
    scope: 'apis:read',
    form: 'documented',
    parameters: [
      parameter.queryParameter('from', 'A revision, a time (RFC 3339), `@` and a position, or `current`.'),
      parameter.queryParameter('to', 'The same; `current` when absent.'),
      parameter.minRevision,
    ],
    answer: { description: 'The difference', schema: { $ref: '#/components/schemas/ApiDiff' }, example: exampleDiff },
    errors: ['api_unknown', 'revision_unknown', 'revision_not_reached', 'at_invalid', 'query_invalid', 'id_invalid'],
    handle: diff,
  },
  rollbackRoute,
];
