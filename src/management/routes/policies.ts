/** Policies: creating, listing, reading, changing and deleting them. */
import { randomBytes } from 'node:crypto';
import { policyInvalid, policyUnknown } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { type PolicyId, policyStream, toPolicyId } from '../../../domain/ids.ts';
import { findPolicy, listPolicies, type StoredPolicy } from '../../../projections/policies.ts';
import { type AccessBody, readAccessPatch } from '../access/access-bodies.ts';
import { askerOf } from '../access/access-commands.ts';
import { createPolicy, deletePolicy, updatePolicy } from '../access/policy-commands.ts';
import { readObject, structuredTypes } from '../bodies/bodies.ts';
import {
  booleanParameter,
  type Call,
  commandContext,
  cursorParameter,
  numberParameter,
  textParameters,
} from '../call.ts';
import { awaitRevision } from '../conditional.ts';
import { patchTypes } from '../definitions/patch-body.ts';
import type { ErrorCode } from '../errors.ts';
import { loadPolicy } from '../load.ts';
import { readOwned } from '../object-reads.ts';
import { changeRow, changesBody, forced, readRow } from '../object-rows.ts';
import { pageReply } from '../paging.ts';
import * as parameter from '../parameters.ts';
import { documentsFor } from '../past-reads.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';

const idOf = ({ params }: Call): PolicyId => toPolicyId(params['policyId'] ?? '');

async function list(call: Call, services: Services): Promise<Reply> {
  const after = cursorParameter(call, 'after');
  const query = {
    ...textParameters(call, ['q', 'api']),
    active: booleanParameter(call, 'active'),
    limit: numberParameter(call, 'limit', { min: 1, max: 500, absent: 50 }),
    ...(after === undefined ? {} : { after }),
  };
  await awaitRevision(call.query, ['policies'], services.projector);
  const { documents } = await documentsFor(call, services, 'policy');
  const { policies, next, total } = listPolicies(documents, call.caller.orgId, query);
  return pageReply(call, { policies: policies.map(shown), next, total } as { readonly next: string | null });
}

type Shown = Pick<StoredPolicy, 'policyId' | 'orgId' | 'document' | 'updatedAt'>;

const shown = ({ policyId, orgId, document, updatedAt }: Shown): JsonObject => ({
  ...document,
  ...{ id: policyId, org_id: orgId, last_updated: updatedAt },
});

function read(call: Call, services: Services): Promise<Reply> {
  const { orgId } = call.caller;
  const policyId = idOf(call);
  return readOwned(call, services, {
    ...{ projection: 'policies', stream: policyStream(policyId), unknown: policyUnknown },
    load: (to) => loadPolicy(services.store, policyId, to),
    former: ({ document }, updatedAt) => shown({ policyId, orgId, document, updatedAt }),
    current: () => {
      const found = findPolicy(services.models, orgId, policyId);
      return found && { ...found, body: shown(found) };
    },
  });
}

const create = (call: Call, services: Services): Promise<Reply> => {
  const { id, ...wanted } = services.accessBodies.policy(readObject(call), call.caller.orgId);
  const policyId = toPolicyId(id ?? randomBytes(12).toString('hex'));
  return services.commands.run(commandContext(call), createPolicy(services, askerOf(call), policyId, wanted));
};

/** The body as the document of this policy. */
function documentOf(call: Call, { accessBodies }: Services, body: JsonObject): AccessBody {
  const { id, ...wanted } = accessBodies.policy(body, call.caller.orgId);
  if (id === undefined || id === idOf(call)) return wanted;
  throw policyInvalid([{ pointer: '/id', code: 'id', message: 'differs from the id in the path' }]);
}

const replace = (call: Call, services: Services): Promise<Reply> => {
  const wanted = documentOf(call, services, readObject(call));
  const command = updatePolicy(services, askerOf(call), idOf(call), () => wanted);
  return services.commands.run(commandContext(call), command);
};

async function patch(call: Call, services: Services): Promise<Reply> {
  const change = await readAccessPatch(call);
  const command = updatePolicy(services, askerOf(call), idOf(call), (before) => {
    const after = change(before);
    const isOtherForm = 'active' in after || 'is_inactive' in after;
    const { state, ...rest } = after;
    // What the patch says in the other form counts, not the state that stands.
    return documentOf(call, services, isOtherForm && state === before['state'] ? rest : after);
  });
  return services.commands.run(commandContext(call), command);
}

const remove = (call: Call, services: Services): Promise<Reply> => {
  const isForced = booleanParameter(call, 'force');
  return services.commands.run(commandContext(call), deletePolicy(services, askerOf(call), idOf(call), isForced));
};

const document = { name: 'Gold', rate: 100, per: 60, quota_max: 10_000, quota_renewal_rate: 3_600 };
const whole = { ...document, access_rights: {}, state: 'active', id: 'gold', org_id: '68ff52c1a3a94f0d92c1b7aa' };
const answered = (Message: string) => ({
  description: 'What happened, with the id',
  schema: { $ref: '#/components/schemas/PolicyAnswer' },
  example: { ID: 'gold', Message, Meta: 'gold', Status: 'OK' },
});

const json = { types: [...structuredTypes], maxBytes: 1024 * 1024 };
const reading = { tag: 'policies', form: 'documented', scope: 'policies:read' } as const;
const writing = { tag: 'policies', form: 'documented', scope: 'policies:write' } as const;
const refused: readonly ErrorCode[] = [
  ...(['access_exceeds', 'body_malformed', 'id_invalid', 'policy_invalid', 'policy_name_taken'] as const),
  'revision_not_reached',
];

const path = '/api/policies/{policyId}';

export const policyRoutes: readonly Route[] = [
  {
    ...writing,
    method: 'POST',
    path: '/api/policies',
    operationId: 'createPolicy',
    summary: 'Creates a policy',
    parameters: [...parameter.writeParameters, parameter.ifNoneMatch],
    body: { ...json, description: '`id` is made when it is left out', schema: 'PolicyRequest', example: document },
    answer: answered('Policy created'),
    errors: [...refused, 'policy_exists', 'precondition_failed'],
    handle: create,
  },
  {
    ...reading,
    method: 'GET',
    path: '/api/policies',
    operationId: 'listPolicies',
    summary: 'Policies, oldest first, now or at a time',
    parameters: [
      parameter.queryParameter('active', 'Those in the state `active` only.', { type: 'boolean' }),
      parameter.queryParameter('q', 'Part of the name or id.'),
      parameter.queryParameter('api', 'Policies with rights for this API only.'),
      ...[parameter.limit, parameter.after, parameter.at, parameter.minRevision],
    ],
    answer: {
      description: 'One page',
      schema: { $ref: '#/components/schemas/PolicyList' },
      example: { policies: [whole], next: null, total: 1 },
    },
    errors: ['at_invalid', 'revision_not_reached'],
    handle: list,
  },
  readRow({
    ...{ ...reading, path, operationId: 'getPolicy', summary: 'One policy, now or at a time' },
    answer: { description: 'The policy', schema: { $ref: '#/components/schemas/Policy' }, example: whole },
    errors: ['policy_unknown'],
    handle: read,
  }),
  changeRow({
    ...{ ...writing, method: 'PUT', path, operationId: 'replacePolicy', summary: 'Replaces a policy' },
    body: { ...json, description: 'The whole document', schema: 'PolicyRequest', example: document },
    answer: answered('Data updated'),
    errors: [...refused, 'policy_unknown'],
    handle: replace,
  }),
  changeRow({
    ...{ ...writing, method: 'PATCH', path, operationId: 'patchPolicy' },
    summary: 'Changes members of a policy: merge patch (RFC 7396) or JSON patch (RFC 6902)',
    body: changesBody([...patchTypes, 'application/json'], json.maxBytes, { rate: 200 }),
    answer: answered('Data updated'),
    errors: [...refused, 'patch_test_failed', 'policy_unknown'],
    handle: patch,
  }),
  changeRow({
    ...{ ...writing, method: 'DELETE', path, operationId: 'deletePolicy' },
    summary: 'Deletes a policy; one that keys or APIs name only with `force=true`',
    parameters: [forced('Deletes it although it is named; it then gives nothing.')],
    answer: answered('Data deleted'),
    errors: ['access_exceeds', 'policy_in_use', 'policy_unknown', 'revision_not_reached'],
    handle: remove,
  }),
];
