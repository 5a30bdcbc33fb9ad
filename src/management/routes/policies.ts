/** Policies: creating, listing, reading, changing and deleting them. */
import { randomBytes } from 'node:crypto';
import { policyInvalid, policyUnknown } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { shortPosition } from '../../../domain/event-store.ts';
import { type PolicyId, policyStream, toPolicyId } from '../../../domain/ids.ts';
import { findPolicy, listPolicies, type StoredPolicy } from '../../../projections/policies.ts';
import { type AccessBody, readAccessPatch } from '../access-bodies.ts';
import { askerOf } from '../access-commands.ts';
import { readObject, structuredTypes } from '../bodies.ts';
import {
  booleanParameter,
  type Call,
  commandContext,
  cursorParameter,
  numberParameter,
  textParameters,
} from '../call.ts';
import { awaitRevision, etagOf, isNotModified } from '../conditional.ts';
import type { ErrorCode } from '../errors.ts';
import { loadPolicy } from '../load.ts';
import { pageReply } from '../paging.ts';
import * as parameter from '../parameters.ts';
import { askedMoment, documentsFor } from '../past-reads.ts';
import { patchTypes } from '../patch-body.ts';
import { createPolicy, deletePolicy, updatePolicy } from '../policy-commands.ts';
import type { Reply } from '../responses.ts';
import type { Route, Services } from '../route.ts';
import { revisionAt } from '../time-travel.ts';

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

const shown = ({ policyId, orgId, document, updatedAt }: Omit<StoredPolicy, 'createdPosition'>): JsonObject => ({
  ...document,
  ...{ id: policyId, org_id: orgId, last_updated: updatedAt },
});

async function read(call: Call, services: Services): Promise<Reply> {
  const { models, projector, store } = services;
  const { orgId } = call.caller;
  const policyId = idOf(call);
  await awaitRevision(call.query, ['policies'], projector);
  const moment = await askedMoment(call, services);
  if (moment) {
    const revision = await revisionAt(store, policyStream(policyId), moment.position);
    const { state, head, position } = revision === undefined ? gone : await loadPolicy(store, policyId, revision);
    if (!state.exists || state.orgId !== orgId) throw policyUnknown();
    const headers = { ETag: etagOf(head ?? 0n, store.identity.era), 'x-svc-revision': shortPosition(position ?? '') };
    return { status: 200, headers, body: { ...state.document, id: policyId, org_id: orgId } };
  }
  const found = findPolicy(models, orgId, policyId);
  if (!found) throw policyUnknown();
  const headers = {
    ETag: etagOf(found.revision, store.identity.era),
    'x-svc-revision': shortPosition(found.position),
  };
  if (isNotModified(call.header('if-none-match'), headers.ETag)) return { status: 304, headers };
  return { status: 200, headers, body: shown(found) };
}

const gone = { state: { exists: false }, head: undefined, position: undefined } as const;

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

export const policyRoutes: readonly Route[] = [
  {
    ...writing,
    method: 'POST',
    path: '/api/policies',
    operationId: 'createPolicy',
    summary: 'Creates a policy',
    parameters: parameter.writeParameters,
    body: { ...json, description: '`id` is made when it is left out', schema: 'PolicyRequest', example: document },
    answer: answered('Policy created'),
    errors: [...refused, 'policy_exists'],
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
  {
    ...reading,
    method: 'GET',
    path: '/api/policies/{policyId}',
    operationId: 'getPolicy',
    summary: 'One policy, now or at a time',
    parameters: [parameter.at, parameter.minRevision, parameter.ifNoneMatch],
    answer: { description: 'The policy', schema: { $ref: '#/components/schemas/Policy' }, example: whole },
    errors: ['at_invalid', 'id_invalid', 'policy_unknown', 'revision_not_reached'],
    handle: read,
  },
  {
    ...writing,
    method: 'PUT',
    path: '/api/policies/{policyId}',
    operationId: 'replacePolicy',
    summary: 'Replaces a policy',
    parameters: [...parameter.writeParameters, parameter.ifMatch],
    body: { ...json, description: 'The whole document', schema: 'PolicyRequest', example: document },
    answer: answered('Data updated'),
    errors: [...refused, 'policy_unknown', 'precondition_failed'],
    handle: replace,
  },
  {
    ...writing,
    method: 'PATCH',
    path: '/api/policies/{policyId}',
    operationId: 'patchPolicy',
    summary: 'Changes members of a policy: merge patch (RFC 7396) or JSON patch (RFC 6902)',
    parameters: [...parameter.writeParameters, parameter.ifMatch],
    body: {
      types: [...patchTypes, 'application/json'],
      maxBytes: json.maxBytes,
      description: 'What is to be different',
      example: { rate: 200 },
    },
    answer: answered('Data updated'),
    errors: [...refused, 'patch_test_failed', 'policy_unknown', 'precondition_failed'],
    handle: patch,
  },
  {
    ...writing,
    method: 'DELETE',
    path: '/api/policies/{policyId}',
    operationId: 'deletePolicy',
    summary: 'Deletes a policy; one that keys or APIs name only with `force=true`',
    parameters: [
      parameter.queryParameter('force', 'Deletes it although it is named; it then gives nothing.', {
        type: 'boolean',
      }),
      ...[...parameter.writeParameters, parameter.ifMatch],
    ],
    answer: answered('Data deleted'),
    errors: ['id_invalid', 'policy_in_use', 'policy_unknown', 'precondition_failed', 'revision_not_reached'],
    handle: remove,
  },
];
