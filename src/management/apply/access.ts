/** Policies and access keys of a declarative set, and those that the set deletes. What they name may be in the same set. */
import { policiesIn } from '../../../domain/api/policy-references.ts';
import { type SetObject, sameMeaning } from '../../../domain/apply.ts';
import { keyInvalid } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import type { DomainEvent } from '../../../domain/events.ts';
import { keyStream, type OrgId, policyStream, toKeyHash, toPolicyId } from '../../../domain/ids.ts';
import { textAt } from '../../../domain/json.ts';
import { key } from '../../../domain/key.ts';
import { quotaBeginning } from '../../../domain/key-quota.ts';
import type { Labels } from '../../../domain/labels.ts';
import { policy } from '../../../domain/policy.ts';
import { givenByPolicy, refuseOthers, refuseOthersPolicy, withPolicies } from '../access/access-commands.ts';
import { keyFacts } from '../access/key-facts.ts';
import { settleKeySecrets } from '../access/key-secrets.ts';
import { openDocument, takeKeySecrets } from '../definitions/definition-secrets.ts';
import { documentSha256 } from '../derived-fields.ts';
import { expectedOf, type Loaded, loadKey, loadPolicy } from '../load.ts';
import { changeOf, claimed, deletion, isPrunable, refusedItem } from './item.ts';
import { type ApplyContext, type ApplyItem, type Existing, holeProblems, judged } from './world.ts';

type AccessState =
  | { readonly exists: false }
  | { readonly exists: true; readonly orgId: OrgId; readonly document: JsonObject; readonly labels?: Labels };

type Decided = {
  readonly events: readonly DomainEvent[];
  readonly checks?: ApplyItem['checks'];
  /** As it is stored, where that is not as the file has it: secrets masked. */
  readonly document?: JsonObject;
};

type Kind<State> = {
  readonly stream: string;
  readonly loaded: Loaded<State>;
  /** The document in the form in which it is stored. */
  readonly read: () => JsonObject;
  readonly decide: (document: JsonObject, labels: Labels) => Decided | Promise<Decided>;
};

export async function applyPolicy(context: ApplyContext, object: SetObject, index: number): Promise<ApplyItem> {
  const { deps, orgId, applier, world } = context;
  const policyId = toPolicyId(object.id);
  const loaded = await loadPolicy(deps.store, policyId);
  return applied(context, object, index, {
    stream: policyStream(policyId),
    loaded,
    read: () => deps.accessBodies.policy({ ...object.document, id: policyId }, orgId).document,
    decide: (wanted, labels) => {
      const { state } = loaded;
      refuseOthersPolicy(applier, deps.models, orgId, policyId, state.exists ? [state.document] : []);
      const document = givenByPolicy(applier, wanted, world);
      const isNameTaken = world.isPolicyNameTaken(textAt(document, 'name') ?? '', policyId);
      const stated = { orgId, policyId, document, docSha256: documentSha256(document), labels, isNameTaken };
      const type = state.exists ? 'UpdatePolicy' : 'CreatePolicy';
      return { events: policy.decide({ type, ...stated }, state) };
    },
  });
}

export async function applyKey(context: ApplyContext, object: SetObject, index: number): Promise<ApplyItem> {
  const { deps, orgId, applier, world } = context;
  const keyHash = toKeyHash(object.id);
  const loaded = await loadKey(deps.store, keyHash);
  const { state } = loaded;
  const own = state.exists && state.orgId === orgId ? state : undefined;
  const held = own ? await openDocument(deps.secrets, keyStream(keyHash), own) : undefined;
  return applied(context, object, index, {
    stream: keyStream(keyHash),
    loaded,
    read: () => {
      const { document, counters } = deps.accessBodies.key(object.document, orgId);
      refuseCounters(counters);
      return document;
    },
    decide: async (wanted, labels) => {
      if (own) refuseOthers(applier, withPolicies(deps.models, orgId, own.document));
      if (textAt(wanted, 'basic_auth_data', 'password') !== undefined) {
        const message = 'a set takes no passwords: users are made and changed at /api/keys';
        throw keyInvalid([{ pointer: '/basic_auth_data/password', code: 'not_offered', message }]);
      }
      const { document: filled, facts, checks } = keyFacts(applier, wanted, world);
      const { document: settled, generated } = await settleKeySecrets(filled, own?.document);
      if (generated !== undefined) {
        const message = 'is required: a set has nobody to tell a secret that is made; POST /api/keys makes one';
        throw keyInvalid([{ pointer: '/hmac_string', code: 'required', message }]);
      }
      const { document, secrets, problems } = takeKeySecrets(settled, held);
      if (problems.length > 0) throw keyInvalid(problems);
      const docSha256 = documentSha256(document, secrets);
      const stated = { orgId, keyHash, document, secrets, docSha256, labels, ...facts };
      const events = loaded.state.exists
        ? key.decide({ type: 'UpdateKey', ...stated }, loaded.state)
        : key.decide({ type: 'CreateKey', prefix: object.prefix ?? '', ...stated }, loaded.state);
      return { events, checks, document };
    },
  });
}

/** A set says what is to hold, again and again; a counter would begin anew with each time. */
function refuseCounters(counters: JsonObject): void {
  if (!quotaBeginning(counters, 0)) return;
  const message = 'a set takes no counters: where a quota begins is said at /api/keys';
  throw keyInvalid(Object.keys(counters).map((name) => ({ pointer: `/${name}`, code: 'not_offered', message })));
}

async function applied<State extends AccessState>(
  context: ApplyContext,
  object: SetObject,
  index: number,
  { stream, loaded, read, decide }: Kind<State>,
): Promise<ApplyItem> {
  const { kind } = object;
  const state: AccessState = loaded.state;
  const current = state.exists && state.orgId === context.orgId ? state : undefined;
  if (state.exists && !current) {
    return refusedItem(object, index, [{ pointer: '/id', code: `${kind}_exists`, message: 'the id is taken' }]);
  }
  const wanted = await judged('/document', read);
  if ('problems' in wanted) return refusedItem(object, index, wanted.problems);
  const isChanged = !current || !sameMeaning(kind, current.document, wanted.value);
  const claim = claimed(context, object, current?.labels, isChanged);
  if ('problems' in claim) return refusedItem(object, index, claim.problems);
  const { labels } = claim;
  const document = isChanged || !current ? wanted.value : current.document;
  const holes = isChanged ? holeProblems(document, '/document') : [];
  if (holes.length > 0) return refusedItem(object, index, holes);
  const decided = claim.isWritten
    ? await judged('/document', () => decide(document, labels))
    : { value: { events: [] } as Decided };
  if ('problems' in decided) return refusedItem(object, index, decided.problems);
  const { events, checks = [], document: stored = document } = decided.value;
  return {
    ...{ kind, id: object.id, name: nameIn(document), index, problems: [], warnings: [], checks },
    write: { stream, expected: expectedOf(loaded), events },
    ...changeOf(kind, events, { before: current, after: { labels, document: stored } }),
  };
}

const nameIn = (document: JsonObject): string => textAt(document, 'name') ?? textAt(document, 'alias') ?? '';

/** Nothing for one that belongs to another owner or is not there. */
export async function prunePolicy(context: ApplyContext, { id }: Existing): Promise<ApplyItem | undefined> {
  const { deps, orgId, request, world } = context;
  const policyId = toPolicyId(id);
  const loaded = await loadPolicy(deps.store, policyId);
  // Asked only for those of this owner: it takes a look at every API.
  return pruned(context, { kind: 'policy', id, stream: policyStream(policyId) }, loaded, () => {
    const inSet = request.objects.filter((one) => one.kind === 'api');
    const wanted = new Set(inSet.map((one) => one.id));
    const outside = world.apisWithPolicy(id).filter((api) => world.apiName(api) !== undefined && !wanted.has(api));
    const naming = [...outside, ...inSet.filter((one) => policiesIn(one.document).has(id)).map((one) => one.id)];
    const usedBy = [...world.keysWithPolicy(id).map((hash) => `key ${hash}`), ...naming.map((api) => `api ${api}`)];
    return policy.decide({ type: 'DeletePolicy', orgId, policyId, usedBy, isForced: false }, loaded.state);
  });
}

/** The same for a key. */
export async function pruneKey(context: ApplyContext, { id }: Existing): Promise<ApplyItem | undefined> {
  const { deps, orgId } = context;
  const keyHash = toKeyHash(id);
  const loaded = await loadKey(deps.store, keyHash);
  return pruned(context, { kind: 'key', id, stream: keyStream(keyHash) }, loaded, () =>
    key.decide({ type: 'DeleteKey', orgId, keyHash }, loaded.state),
  );
}

async function pruned<State extends AccessState>(
  context: ApplyContext,
  { kind, id, stream }: Pick<Existing, 'kind' | 'id' | 'stream'>,
  loaded: Loaded<State>,
  decide: () => readonly DomainEvent[],
): Promise<ApplyItem | undefined> {
  const state: AccessState = loaded.state;
  if (!isPrunable(context, state)) return undefined;
  const decided = await judged('', decide);
  const events = 'value' in decided ? decided.value : [];
  return {
    ...{ kind, id, name: nameIn(state.document), warnings: [] },
    write: { stream, expected: expectedOf(loaded), events },
    problems: 'problems' in decided ? decided.problems : [],
    ...deletion(context, kind, state.document),
  };
}
