/** The effective chain of an API: every step with its source and settings, and why a configured one does not run. */

import type { JsonObject } from '../../../domain/event.ts';
import { shortPosition } from '../../../domain/event-store.ts';
import { toApiId } from '../../../domain/ids.ts';
import { describeChain, describeVersions, type VersionChain } from '../../../gateway/describe-chain.ts';
import type { Call } from '../call.ts';
import { etagOf } from '../conditional.ts';
import * as parameter from '../parameters.ts';
import { readApi } from '../read-api.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

async function show(call: Call, services: Services): Promise<Reply> {
  const apiId = toApiId(call.params['apiId'] ?? '');
  const { kind, document, revision, position } = await readApi(call, services, apiId);
  const { definition, problems } = services.checkApi({ apiId, orgId: call.caller.orgId, kind, document });
  const chain = definition ? describeChain(definition, document) : [];
  const versions = definition ? describeVersions(definition, document) : [];
  const headers = {
    ETag: etagOf(revision, services.store.identity.era),
    'x-svc-revision': shortPosition(position),
  };
  return {
    status: 200,
    headers,
    body: {
      ...{ id: apiId, revision: Number(revision), active: definition?.active ?? false },
      internal: definition?.internal ?? false,
      chain: chain.map((entry) => ({ ...entry })),
      ...(versions.length === 0 ? {} : { versions: versions.map(shownVersion) }),
      // A definition of long ago that the rules of this version refuse: gateways keep what they have.
      problems: problems.map((problem) => ({ ...problem })),
    },
  };
}

const shownVersion = ({ name, chain }: VersionChain): JsonObject => ({
  name,
  chain: chain.map((entry) => ({ ...entry })),
});

export const chainRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/apis/{apiId}/chain',
    operationId: 'getApiChain',
    summary: 'What a request to an API goes through, step by step, and why a configured step does not run',
    tag: 'history',
    scope: 'apis:read',
    form: 'documented',
    parameters: [parameter.at, parameter.minRevision],
    answer: {
      description: 'First the steps that run, in their order, then what is configured and does not run',
      schema: { $ref: '#/components/schemas/Chain' },
      example: {
        ...{ id: 'orders', revision: 3, active: true, internal: false, problems: [] },
        chain: [
          {
            ...{ name: 'request-size', phase: 'request', source: 'global', settings: { maxBytes: 1024 }, runs: true },
            pointer: '/x-svc-api-gateway/middleware/global/requestSizeLimit',
          },
        ],
      },
    },
    errors: ['api_unknown', 'at_invalid', 'id_invalid', 'revision_not_reached'],
    handle: show,
  },
];
