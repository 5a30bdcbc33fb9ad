/** Definitions to take away: the list of OAS documents, and one document as a file with the addresses at which it is served. */
import { routeOf } from '../../../domain/api/api.ts';
import type { ApiDocument } from '../../../domain/api/definition.ts';
import { generatedServers, withServersInFront } from '../../../domain/api/servers.ts';
import { listedVersions } from '../../../domain/api/versioning.ts';
import { kindMismatch } from '../../../domain/errors.ts';
import { toApiId } from '../../../domain/ids.ts';
import { getApi, listApis } from '../../../projections/api-catalog.ts';
import { type Call, numberParameter, textParameters } from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import { type DefinitionKind, exampleDocument } from '../definition-rows.ts';
import { isPublic, publicDocument } from '../definitions/public-document.ts';
import { pageReply } from '../paging.ts';
import * as parameter from '../parameters.ts';
import { apiAt } from '../past/time-travel.ts';
import { askedMoment, documentsFor } from '../past-reads.ts';
import { readApi, replyWithApi, type ShownApi } from '../read-api.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

async function list(call: Call, services: Services): Promise<Reply> {
  const shown = isPublic(call) ? publicDocument : undefined;
  const limit = numberParameter(call, 'limit', { min: 1, max: 500, absent: 50 });
  await awaitRevision(call.query, ['apis'], services.projector);
  const { documents } = await documentsFor(call, services, 'api');
  const { orgId, apis: only } = call.caller;
  const query = { kind: 'oas', limit, ...textParameters(call, ['after']), ...(only ? { only } : {}) } as const;
  const page = listApis(documents, orgId, query);
  const moment = await askedMoment(call, services);
  const body: ApiDocument[] = [];
  for (const { id } of page.apis) {
    // The past of a list is not that of its documents.
    const found = moment
      ? await apiAt(services.store, orgId, toApiId(id), moment.position)
      : getApi(services.models, orgId, id);
    if (found) body.push(shown?.(found.document) ?? found.document);
  }
  return { ...pageReply(call, page), body };
}

async function exportOne(kind: DefinitionKind, call: Call, services: Services): Promise<Reply> {
  const apiId = toApiId(call.params['apiId'] ?? '');
  const isForAll = isPublic(call);
  const found = await readApi(call, services, apiId);
  if (found.kind !== kind) throw kindMismatch(apiId, found.kind, routeOf(found.kind));
  const served = withServersInFront(found.document, serversOf(call, services, found, apiId));
  const document = isForAll ? publicDocument(served) : served;
  const { headers, ...reply } = replyWithApi(call, services, { ...found, document });
  const name = isForAll ? `oas-${apiId}.json` : `SvcOasApiDef-${apiId}.json`;
  return {
    ...reply,
    headers: { ...headers, 'Content-Disposition': `attachment; filename="${name}"` },
    type: 'application/octet-stream',
  };
}

/** A version is reached through its base, which may be internal to nobody. */
function serversOf(call: Call, { models, publicGateways }: Services, found: ShownApi, apiId: string) {
  const base = found.baseId === undefined ? undefined : getApi(models, call.caller.orgId, found.baseId)?.document;
  const name = base && listedVersions(base).find(({ id }) => id === apiId)?.name;
  const version = base && name !== undefined ? { base, name } : undefined;
  return generatedServers(found.document, publicGateways, version);
}

const exportRow = (kind: DefinitionKind): Route => ({
  method: 'GET',
  path: `/api/apis/${kind}/{apiId}/export`,
  operationId: kind === 'oas' ? 'exportOasApi' : 'exportStreamsApi',
  summary: 'The document as a file, its servers led by the addresses at which gateways serve it',
  tag: 'apis',
  scope: 'apis:read',
  form: 'documented',
  parameters: [parameter.mode, parameter.at, parameter.minRevision, parameter.ifNoneMatch],
  answer: { description: 'The document as an attachment', type: 'application/octet-stream' },
  errors: ['api_unknown', 'kind_mismatch', 'at_invalid', 'id_invalid', 'revision_not_reached'],
  handle: (call, services) => exportOne(kind, call, services),
});

export const definitionExportRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/apis/oas',
    operationId: 'listOasApis',
    summary: 'The documents of all OAS APIs, now or at a time; the header Link leads to the next page',
    tag: 'apis',
    scope: 'apis:read',
    isNarrowed: true,
    form: 'documented',
    parameters: [parameter.mode, parameter.limit, parameter.after, parameter.at, parameter.minRevision],
    answer: {
      description: 'One page of documents',
      schema: { type: 'array', items: { $ref: '#/components/schemas/ApiDocument' } },
      example: [exampleDocument('oas')],
    },
    errors: ['at_invalid', 'revision_not_reached'],
    handle: list,
  },
  exportRow('oas'),
  exportRow('streams'),
];
