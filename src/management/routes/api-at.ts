/** The document of an API as it was at a revision or a time: what `at=` answers on the ordinary route, for those who know the revision. */
import { apiUnknown } from '../../../domain/errors.ts';
import { shortPosition } from '../../../domain/event-store.ts';
import { toApiId } from '../../../domain/ids.ts';
import type { Call } from '../call.ts';
import { etagOf } from '../conditional.ts';
import { queryInvalid, Rejection } from '../errors.ts';
import * as parameter from '../parameters.ts';
import { apiAt, apiAtRevision, resolveAt } from '../past/time-travel.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

async function show(call: Call, { store, now }: Services): Promise<Reply> {
  const apiId = toApiId(call.params['apiId'] ?? '');
  const { orgId } = call.caller;
  const [revision, time] = [call.query.get('revision'), call.query.get('time')];
  if ((revision === null) === (time === null)) throw queryInvalid('revision', 'either this or time is required');
  if (revision !== null && !/^\d{1,18}$/.test(revision))
    throw queryInvalid('revision', 'must be a whole number from 0');
  const found =
    revision === null
      ? await apiAt(store, orgId, apiId, await resolveAt(store, time ?? '', now().getTime(), ['time']))
      : await apiAtRevision(store, orgId, apiId, BigInt(revision));
  if (!found) {
    const isKnown = revision !== null && (await apiAt(store, orgId, apiId, await store.head())) !== undefined;
    throw isKnown ? new Rejection('revision_unknown', `The API has no state at revision ${revision}`) : apiUnknown();
  }
  const headers = {
    ETag: etagOf(found.revision, store.identity.era),
    'x-svc-revision': shortPosition(found.position),
    'x-svc-api-kind': found.kind,
  };
  return { status: 200, headers, body: found.document };
}

export const apiAtRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/apis/{apiId}/at',
    operationId: 'getApiAt',
    summary: 'The document of an API as it was at a revision or a time',
    tag: 'history',
    scope: 'apis:read',
    form: 'documented',
    parameters: [
      parameter.queryParameter('revision', 'A revision of the API; this or `time`.'),
      parameter.queryParameter('time', 'A time (RFC 3339) or position.'),
    ],
    answer: {
      description: 'The document',
      schema: { $ref: '#/components/schemas/ApiDocument' },
      example: { openapi: '3.0.3', info: { title: 'Orders', version: '1.0.0' }, paths: {} },
    },
    errors: ['api_unknown', 'at_invalid', 'id_invalid', 'query_invalid', 'revision_unknown'],
    handle: show,
  },
];
