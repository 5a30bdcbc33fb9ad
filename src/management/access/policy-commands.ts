/** Commands on policies. */
import { policiesIn } from '../../../domain/api/policy-references.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { type OrgId, type PolicyId, policyStream } from '../../../domain/ids.ts';
import { textAt } from '../../../domain/json.ts';
import { type PolicyEvent, type PolicyState, policy } from '../../../domain/policy.ts';
import { eachApi } from '../../../projections/api-catalog.ts';
import { keysWithPolicy } from '../../../projections/keys.ts';
import { isNameTaken } from '../../../projections/policies.ts';
import type { DocumentReader } from '../../../projections/read-model-store.ts';
import { documentSha256 } from '../derived-fields.ts';
import type { Command, PlannedWrite } from '../handle-command.ts';
import { loadPolicy } from '../load.ts';
import { policyNameWrites } from '../policy-names.ts';
import type { AccessBody } from './access-bodies.ts';
import {
  type AccessServices,
  type Asker,
  givenByPolicy,
  namedIn,
  onDocument,
  refuseOthersPolicy,
} from './access-commands.ts';
import { remarked } from './key-commands.ts';

export const createPolicy = (
  services: AccessServices,
  asker: Asker,
  policyId: PolicyId,
  wanted: AccessBody,
): Command => ({
  ...onDocument(services, asker, {
    ...target(services, policyId, 'CreatePolicy'),
    decide: async (state, _, commandId) => {
      // Keys may name what is not there yet, or not any more.
      refuseOthersPolicy(asker, services.models, asker.orgId, policyId, []);
      const events = policy.decide({ type: 'CreatePolicy', ...wantedOf(services, asker, policyId, wanted) }, state);
      const headers = { Location: `/api/policies/${policyId}`, ...remarked(wanted.remarks) };
      const further = await namesFor(services, asker, policyId, { state, events }, commandId);
      return { events, further, body: answered(policyId, 'Policy created'), headers };
    },
  }),
  aggregate: namesOf(asker.orgId),
});

/** `change`: the new document from the one before. */
export const updatePolicy = (
  services: AccessServices,
  asker: Asker,
  policyId: PolicyId,
  change: (before: JsonObject) => AccessBody,
): Command => ({
  ...onDocument(services, asker, {
    ...target(services, policyId, 'UpdatePolicy'),
    decide: async (state, _, commandId) => {
      const own = state.exists && state.orgId === asker.orgId ? state : undefined;
      refuseOthersPolicy(asker, services.models, asker.orgId, policyId, own ? [own.document] : []);
      const wanted = own ? change(own.document) : { document: {}, remarks: [] };
      const events = policy.decide({ type: 'UpdatePolicy', ...wantedOf(services, asker, policyId, wanted) }, state);
      const further = await namesFor(services, asker, policyId, { state, events }, commandId);
      return { events, further, body: answered(policyId, 'Data updated'), headers: remarked(wanted.remarks) };
    },
  }),
  aggregate: namesOf(asker.orgId),
});

export const deletePolicy = (services: AccessServices, asker: Asker, policyId: PolicyId, isForced: boolean): Command =>
  onDocument(services, asker, {
    ...target(services, policyId, 'DeletePolicy'),
    decide: async (state, _, commandId) => {
      const { orgId } = asker;
      const isOwn = state.exists && state.orgId === orgId;
      refuseOthersPolicy(asker, services.models, orgId, policyId, isOwn ? [state.document] : []);
      const usedBy = usersOf(services.models, orgId, policyId);
      const events = policy.decide({ type: 'DeletePolicy', orgId, policyId, usedBy, isForced }, state);
      const further = await namesFor(services, asker, policyId, { state, events }, commandId);
      return { events, further, body: answered(policyId, 'Data deleted') };
    },
  });

/** Keys that name it, and APIs that give it to callers; in words. */
const usersOf = (models: DocumentReader, orgId: OrgId, policyId: PolicyId): readonly string[] => [
  ...keysWithPolicy(models, orgId, policyId).map((hash) => `key ${hash}`),
  ...(apisByPolicy(models, orgId).get(policyId) ?? []).map((id) => `api ${id}`),
];

/** Ids of the APIs that give policies to callers by their claims or clients, for each of these: one pass over the APIs. */
export function apisByPolicy(models: DocumentReader, orgId: OrgId): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { apiId, document } of eachApi(models, orgId)) {
    for (const id of policiesIn(document)) {
      const named = found.get(id);
      if (named) named.push(apiId);
      else found.set(id, [apiId]);
    }
  }
  return found;
}

const target = ({ store }: AccessServices, policyId: PolicyId, type: string) => ({
  type,
  stream: policyStream(policyId),
  load: (to?: bigint) => loadPolicy(store, policyId, to),
});

/** Two that want one name here wait for each other; two of different nodes meet at the reservation. */
const namesOf = (orgId: OrgId): string => `policy names of ${orgId}`;

type Change = { readonly state: PolicyState; readonly events: readonly PolicyEvent[] };

function namesFor(
  { store }: AccessServices,
  { orgId }: Asker,
  id: PolicyId,
  { state, events }: Change,
  commandId: string,
): Promise<readonly PlannedWrite[]> {
  const before = state.exists ? { before: state.document } : {};
  return policyNameWrites(store, orgId, [{ kind: 'policy', id, ...before, write: { events } }], { commandId });
}

const answered = (policyId: PolicyId, message: string): JsonObject => ({
  ...{ ID: policyId, Message: message, Meta: policyId, Status: 'OK' },
});

function wantedOf(services: AccessServices, asker: Asker, policyId: PolicyId, wanted: AccessBody) {
  const { orgId } = asker;
  const document = givenByPolicy(asker, wanted.document, namedIn(services.models, orgId));
  const name = textAt(document, 'name') ?? '';
  return {
    ...{ orgId, policyId, document, docSha256: documentSha256(document) },
    isNameTaken: isNameTaken(services.models, orgId, name, policyId),
  };
}
