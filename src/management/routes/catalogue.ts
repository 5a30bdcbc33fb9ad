/** All APIs of an organisation: the list, and one API in its own kind. */

import { schemeNames } from '../../../domain/api/access-uses.ts';
import { toApiId } from '../../../domain/ids.ts';
import { objectAt } from '../../../domain/json.ts';
import { listApis } from '../../../projections/api-catalog.ts';
import { apisNamingPolicy } from '../../../projections/api-entries.ts';
import { findPolicy } from '../../../projections/policies.ts';
import type { DocumentReader } from '../../../projections/read-model-store.ts';
import { formats, inForm } from '../api-form.ts';
import {
  booleanParameter,
  type Call,
  commandContext,
  numberParameter,
  textParameters,
  wordParameter,
} from '../call.ts';
import { apiWriteOptions } from '../command-options.ts';
import { awaitRevision } from '../conditional.ts';
import { pageReply } from '../paging.ts';
import * as parameter from '../parameters.ts';
import { documentsFor } from '../past-reads.ts';
import { readApi, replyWithApi } from '../read-api.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

const sorts = ['name', '-name', 'created', '-created', 'updated', '-updated'] as const;
const kinds = ['streams', 'oas', 'classic'] as const;

async function list(call: Call, services: Services): Promise<Reply> {
  const kind = wordParameter(call, 'kind', kinds);
  const sort = wordParameter(call, 'sort', sorts);
  const auth = wordParameter(call, 'auth', schemeNames);
  const flags = (['active', 'internal'] as const).filter((name) => call.query.has(name));
  const query = {
    ...textParameters(call, ['q', 'after', 'tag', 'cert']),
    ...(kind === undefined ? {} : { kind }),
    ...(sort === undefined ? {} : { sort }),
    ...(auth === undefined ? {} : { auth }),
    ...Object.fromEntries(flags.map((name) => [name, booleanParameter(call, name)])),
    limit: numberParameter(call, 'limit', { min: 1, max: 500, absent: 50 }),
  };
  await awaitRevision(call.query, ['apis'], services.projector);
  const { documents } = await documentsFor(call, services, 'api');
  const { orgId, apis } = call.caller;
  const policy = call.query.get('policy');
  const opened = policy ? await apisOfPolicy(call, services, documents, policy) : undefined;
  const only = apis && opened ? apis.intersection(opened) : (apis ?? opened);
  return pageReply(call, listApis(documents, orgId, { ...query, ...(only ? { only } : {}) }));
}

/** APIs that the policy opens, and those that name it; all as they were then. */
async function apisOfPolicy(
  call: Call,
  services: Services,
  apis: DocumentReader,
  policyId: string,
): Promise<ReadonlySet<string>> {
  await awaitRevision(call.query, ['policies'], services.projector);
  const { documents } = await documentsFor(call, services, 'policy');
  const { orgId } = call.caller;
  const opened = Object.keys(objectAt(findPolicy(documents, orgId, policyId)?.document, 'access_rights') ?? {});
  return new Set([...opened, ...apisNamingPolicy(apis, orgId, policyId)]);
}

async function read(call: Call, services: Services): Promise<Reply> {
  const apiId = toApiId(call.params['apiId'] ?? '');
  const stored = await readApi(call, services, apiId);
  const { found, headers } = inForm(call, stored, apiId);
  const reply = replyWithApi(call, services, found);
  return { ...reply, headers: { ...reply.headers, ...headers, 'x-svc-api-kind': stored.kind } };
}

const remove = (call: Call, { commands, apiCommands }: Services): Promise<Reply> =>
  commands.run(
    commandContext(call),
    apiCommands({ type: 'DeleteApi', apiId: toApiId(call.params['apiId'] ?? '') }, apiWriteOptions(call)),
  );

const { queryParameter } = parameter;

export const catalogueRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/apis',
    operationId: 'listApis',
    summary: 'The catalogue of APIs of every kind, now or at a time',
    tag: 'apis',
    scope: 'apis:read',
    isNarrowed: true,
    form: 'documented',
    parameters: [
      queryParameter('q', 'Part of the name, id or path.'),
      queryParameter('kind', 'APIs of this kind only.', { type: 'string', enum: [...kinds] }),
      queryParameter('active', 'Active or inactive APIs only.', { type: 'boolean' }),
      queryParameter('internal', 'Internal or external APIs only.', { type: 'boolean' }),
      queryParameter('tag', 'APIs for gateways with this tag only.'),
      queryParameter('auth', 'APIs that ask for this scheme only; `keyless`: for none.', {
        type: 'string',
        enum: [...schemeNames],
      }),
      queryParameter('cert', 'APIs that name this certificate only.'),
      queryParameter('policy', 'APIs that this policy opens, and those that name it.'),
      queryParameter('sort', 'Order; a minus turns it round.', {
        type: 'string',
        enum: [...sorts],
        default: '-created',
      }),
      parameter.limit,
      parameter.after,
      parameter.at,
      parameter.minRevision,
    ],
    answer: {
      description: 'One page of the catalogue',
      schema: { $ref: '#/components/schemas/ApiList' },
      example: { apis: [], next: null, total: 0 },
    },
    errors: ['at_invalid', 'revision_not_reached'],
    handle: list,
  },
  {
    method: 'GET',
    path: '/api/apis/{apiId}',
    operationId: 'getApi',
    summary: 'The document of an API of any kind, now or at a time; the kind is in x-svc-api-kind',
    tag: 'apis',
    scope: 'apis:read',
    form: 'documented',
    parameters: [
      queryParameter('format', 'The document in this form; what it leaves out is counted in x-svc-warnings.', {
        type: 'string',
        enum: [...formats],
      }),
      ...[parameter.at, parameter.minRevision, parameter.ifNoneMatch, parameter.prefer],
    ],
    answer: {
      description: 'The document',
      schema: { $ref: '#/components/schemas/ApiDocument' },
      example: { openapi: '3.0.3', info: { title: 'Orders', version: '1.0.0' }, paths: {} },
    },
    errors: ['api_unknown', 'at_invalid', 'id_invalid', 'query_invalid', 'revision_not_reached'],
    handle: read,
  },
  {
    method: 'DELETE',
    path: '/api/apis/{apiId}',
    operationId: 'deleteApi',
    summary: 'Deletes an API of any kind; its paths become free at once',
    tag: 'apis',
    scope: 'apis:write',
    form: 'documented',
    parameters: [...parameter.writeParameters, parameter.ifMatch, parameter.purge],
    answer: {
      description: 'API deleted.',
      schema: { $ref: '#/components/schemas/Answer' },
      example: { Message: 'API deleted.', Meta: null, Status: 'OK' },
    },
    errors: ['api_unknown', 'precondition_failed', 'id_invalid', 'revision_not_reached'],
    handle: remove,
  },
];
