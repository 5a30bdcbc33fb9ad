/** The versions of an API: the base and the APIs that it lists, now or at a time. */

import { routeOf } from '../../../domain/api/api.ts';
import { shownVersions } from '../../../domain/api/classic-versions.ts';
import type { ApiKind } from '../../../domain/api/definition.ts';
import { apiUnknown, kindMismatch } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { toApiId } from '../../../domain/ids.ts';
import { type ListedVersion, listVersions } from '../../../projections/api-entries.ts';
import { type Call, wordParameter } from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import * as parameter from '../parameters.ts';
import { documentsFor } from '../past-reads.ts';
import { readApi } from '../read-api.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

const access = ['internal', 'external'] as const;

async function list(kind: ApiKind | undefined, call: Call, services: Services): Promise<Reply> {
  const accessType = wordParameter(call, 'accessType', access);
  const apiId = toApiId(call.params['apiId'] ?? '');
  await awaitRevision(call.query, ['apis'], services.projector);
  const { documents } = await documentsFor(call, services, 'api');
  const found = listVersions(documents, call.caller.orgId, apiId);
  if (!found) throw apiUnknown();
  if (kind !== undefined && found.kind !== kind) throw kindMismatch(apiId, found.kind, routeOf(found.kind));
  const { apis: reached } = call.caller;
  const text = (call.query.get('searchText') ?? '').toLowerCase();
  const isWanted = ({ id, versionName, internal }: ListedVersion): boolean =>
    (!reached || reached.has(id)) &&
    versionName.toLowerCase().includes(text) &&
    (accessType === undefined || internal === (accessType === 'internal'));
  // Only a Classic definition says more than the list knows.
  const document = found.kind === 'classic' ? (await readApi(call, services, apiId)).document : undefined;
  const inside = ownRows(document, found.versions);
  const apis = inside.filter(isWanted).map((version) => ({ ...version }));
  return { status: 200, body: { status: 'success', apis } };
}

/** An API with versions inside stands there once for each of them, under its own id. */
function ownRows(
  document: JsonObject | undefined,
  [base, ...others]: readonly ListedVersion[],
): readonly ListedVersion[] {
  if (!base) return [];
  const own = document ? shownVersions(document) : [];
  if (own.length === 0) return [base, ...others];
  return own
    .map(({ name, end, isDefault }) => ({
      ...base,
      ...{ versionName: name, expirationDate: end, isDefaultVersion: isDefault },
    }))
    .toSorted((a, b) => (a.versionName < b.versionName ? -1 : 1));
}

const row = (path: string, operationId: string, kind?: ApiKind): Route => ({
  method: 'GET',
  path: `${path}/{apiId}/versions`,
  operationId,
  summary: `The versions of ${kind === undefined ? 'an API' : `an API of the kind ${kind}`}, the base first`,
  tag: 'apis',
  scope: 'apis:read',
  form: 'documented',
  parameters: [
    parameter.queryParameter('searchText', 'Part of the version name, in any case.'),
    parameter.queryParameter('accessType', 'Internal or external versions only.', {
      type: 'string',
      enum: [...access],
    }),
    parameter.at,
    parameter.minRevision,
  ],
  answer: { description: 'The base and its versions', schema: versionsSchema, example: exampleVersions },
  errors: ['api_unknown', 'kind_mismatch', 'at_invalid', 'id_invalid', 'revision_not_reached'],
  handle: (call, services) => list(kind, call, services),
});

const text = { type: 'string' };
const flag = { type: 'boolean' };
const versionMembers = {
  ...{ id: text, name: text, versionName: text, internal: flag, expirationDate: text, isDefaultVersion: flag },
};

const versionsSchema = {
  type: 'object',
  properties: {
    status: { const: 'success' },
    apis: {
      type: 'array',
      items: {
        type: 'object',
        properties: versionMembers,
        required: Object.keys(versionMembers),
        additionalProperties: false,
      },
    },
  },
  required: ['status', 'apis'],
  additionalProperties: false,
};

const exampleVersions = {
  status: 'success',
  apis: [
    {
      ...{ id: 'orders-oas', name: 'Orders', versionName: 'v1' },
      ...{ internal: false, expirationDate: '', isDefaultVersion: true },
    },
    {
      ...{ id: 'orders-v2', name: 'Orders', versionName: 'v2' },
      ...{ internal: true, expirationDate: '2030-01-31 00:00', isDefaultVersion: false },
    },
  ],
};

export const versionRoutes: readonly Route[] = [
  row('/api/apis', 'listVersions'),
  row('/api/apis/oas', 'listOasVersions', 'oas'),
  row('/api/apis/streams', 'listStreamsVersions', 'streams'),
];
