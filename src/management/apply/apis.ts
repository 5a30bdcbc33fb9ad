/** APIs of a declarative set: each against what stands, and those that the set deletes. */
import { type ApiState, api, nameOfApi } from '../../../domain/api/api.ts';
import { type ApiDocument, type ApiKind, gatewayExtension } from '../../../domain/api/definition.ts';
import { portableApi, type SetObject, sameMeaning } from '../../../domain/apply.ts';
import { named as withKeyNames } from '../../../domain/document-secrets.ts';
import type { Problem } from '../../../domain/errors.ts';
import { type ApiId, apiStream, toApiId } from '../../../domain/ids.ts';
import { at, objectAt, withMember } from '../../../domain/json.ts';
import { bounded } from '../definitions/api-change.ts';
import { nextDocument } from '../definitions/api-next.ts';
import { type CertificateReferences, certificateReferences } from '../definitions/certificate-references.ts';
import { webhookRemarks } from '../definitions/webhook-references.ts';
import { comparable, sha256Hex, withDerivedFields } from '../derived-fields.ts';
import { maskedObject } from '../held-secrets.ts';
import { expectedOf, type Loaded, loadApi } from '../load.ts';
import { changeOf, claimed, deletion, isPrunable, refusedItem } from './item.ts';
import { type ApplyContext, type ApplyItem, type Existing, holeProblems, judged } from './world.ts';

type There = Extract<ApiState, { exists: true }>;

export async function applyApi(context: ApplyContext, object: SetObject, index: number): Promise<ApplyItem> {
  const { deps, orgId } = context;
  const apiId = toApiId(object.id);
  const loaded = await loadApi(deps.store, apiId);
  const current = loaded.state.exists && loaded.state.orgId === orgId ? loaded.state : undefined;
  const early = refusalOf(context, object, loaded.state, current);
  if (early) return refusedItem(object, index, [early]);
  const document = withId(object.document, apiId, object.apiKind);
  const isChanged = !current || !sameMeaning('api', maskedObject(current.document), document);
  const claim = claimed(context, object, current?.labels, isChanged);
  if ('problems' in claim) return refusedItem(object, index, claim.problems);
  const { isWritten, isTakenOver } = claim;
  const settled = isWritten ? await settledOf(context, object, document, current) : { value: undefined };
  if ('problems' in settled) return refusedItem(object, index, settled.problems);
  const found = settled.value ?? { document: current?.document ?? {}, warnings: [], prunedOperations: [] };
  // What settling takes away, such as operations that are not there, may be all that differed in the document.
  const same = current && sameMeaning('api', current.document, found.document) ? current : undefined;
  const named = same
    ? noReferences
    : await certificateReferences(deps.store, orgId, found.document, context.world.newCertificates);
  const remarks = same ? [] : await webhookRemarks(deps.store, orgId, found.document, context.world.webhooks);
  if (named.problems.length > 0) return refusedItem(object, index, named.problems.map(inDocument));
  const labels = same && !isTakenOver ? (same.labels ?? {}) : claim.labels;
  const next = same ? { ...found, document: same.document } : found;
  const target = { orgId, apiId, kind: current?.kind ?? object.apiKind ?? 'oas', ...next, labels };
  const type = current ? 'ReplaceApi' : 'CreateApi';
  const events = isWritten ? api.decide({ type, ...target }, loaded.state) : [];
  const before = current && { ...current, document: maskedObject(comparable(current)) };
  const shown = maskedObject(withKeyNames(next.document, next.secrets));
  return {
    ...itemOf(object.id, loaded, next.document, withDerivedFields(events, current)),
    checks: named.checks,
    ...{ index, warnings: bounded([...next.warnings, ...remarks]) },
    ...changeOf('api', events, { before, after: { labels, document: shown } }),
    api: { now: loaded.state, past: { exists: true, ...target, docSha256: '' } },
  };
}

const noReferences: CertificateReferences = { problems: [], checks: [] };

const inDocument = (problem: Problem): Problem => ({ ...problem, pointer: `/document${problem.pointer}` });

function refusalOf(
  { applier }: ApplyContext,
  { id, apiKind, document }: SetObject,
  state: ApiState,
  current: There | undefined,
): Problem | undefined {
  if (applier.apis && !applier.apis.has(id)) {
    return { pointer: '/id', code: 'scope_missing', message: 'the token is not for this API' };
  }
  if (state.exists && !current) return { pointer: '/id', code: 'api_exists', message: 'the id is taken' };
  if (current && current.kind !== apiKind) {
    return { pointer: '/apiKind', code: 'kind_mismatch', message: `the API is of the kind ${current.kind}` };
  }
  return otherId({ id, document, ...(apiKind === undefined ? {} : { apiKind }) });
}

/** The document may name its id too; then it is the same one. */
export function otherId({
  id,
  apiKind,
  document,
}: Pick<SetObject, 'id' | 'apiKind' | 'document'>): Problem | undefined {
  const path = apiKind === 'classic' ? ['api_id'] : [gatewayExtension, 'info', 'id'];
  const named = at(document, ...path);
  if (named === undefined || named === '' || named === id) return undefined;
  const pointer = `/document/${path.join('/')}`;
  return { pointer, code: 'api_id_mismatch', message: `differs from the id of the object, ${id}` };
}

/** Files may leave the id out where it stands beside the document. */
function withId(document: ApiDocument, apiId: ApiId, kind: ApiKind | undefined): ApiDocument {
  if (kind === 'classic') return { ...document, api_id: apiId };
  const extension = objectAt(document, gatewayExtension);
  return extension ? { ...document, [gatewayExtension]: withMember(extension, ['info', 'id'], apiId) } : document;
}

async function settledOf(
  { deps, orgId, request, isStrict, commandId }: ApplyContext,
  { id, apiKind = 'oas' }: SetObject,
  document: ApiDocument,
  current: There | undefined,
) {
  const holes = holeProblems(document, '/document');
  if (holes.length > 0) return { problems: holes };
  const body = {
    kind: apiKind,
    apiId: toApiId(id),
    body: portableApi(document),
    remarks: [],
    acceptLoss: request.acceptLoss,
  };
  // The storage id of a repeat is the same.
  const dbId = sha256Hex(`${commandId}\n${id}`).slice(0, 24);
  const change = current ? ({ type: 'ReplaceApi', ...body } as const) : ({ type: 'CreateApi', dbId, ...body } as const);
  return judged('/document', async () => {
    const { settled } = await nextDocument(deps, change, current, { orgId, isStrict });
    return settled;
  });
}

/** Nothing for one that belongs to another owner or is not there. */
export async function pruneApi(context: ApplyContext, { id }: Existing): Promise<ApplyItem | undefined> {
  const { deps, orgId } = context;
  const apiId = toApiId(id);
  const loaded = await loadApi(deps.store, apiId);
  const { state } = loaded;
  if (!isPrunable(context, state)) return undefined;
  const events = api.decide({ type: 'DeleteApi', orgId, apiId, kind: state.kind }, state);
  return {
    ...itemOf(id, loaded, state.document, events),
    ...deletion(context, 'api', maskedObject(state.document)),
    api: { now: state, past: { exists: false } },
  };
}

const itemOf = (
  id: string,
  loaded: Loaded<ApiState>,
  document: ApiDocument,
  events: ApplyItem['write']['events'],
): Pick<ApplyItem, 'kind' | 'id' | 'name' | 'write' | 'problems' | 'warnings'> => ({
  ...{ kind: 'api', id, name: nameOfApi(document) ?? '' },
  ...{ write: { stream: apiStream(toApiId(id)), expected: expectedOf(loaded), events }, problems: [], warnings: [] },
});
