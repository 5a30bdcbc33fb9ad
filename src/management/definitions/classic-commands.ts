/** Classic definitions on their way in: ids, loss, the same checks as others after conversion; and their conversion for good. */
import { routeOf } from '../../../domain/api/api.ts';
import { lossesToOas } from '../../../domain/api/classic/losses.ts';
import type { Loss } from '../../../domain/api/classic/report.ts';
import { splitNames, splitVersions } from '../../../domain/api/classic-split.ts';
import { ownVersionProblems } from '../../../domain/api/classic-versions.ts';
import { type ApiDocument, gatewayExtension } from '../../../domain/api/definition.ts';
import {
  apiIdMismatch,
  apiUnknown,
  bodyMalformed,
  definitionInvalid,
  kindMismatch,
  type Problem,
  type Warning,
} from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { type ApiId, apiStream, type OrgId } from '../../../domain/ids.ts';
import { isObject, objectAt, pointerStep, withMember } from '../../../domain/json.ts';
import { Rejection } from '../errors.ts';
import {
  type BodyChange,
  bounded,
  type ConvertChange,
  type Deps,
  dbIdOf,
  type Existing,
  maxRemarks,
  type NextDocument,
  type Options,
  refuseProblems,
  refuseUnknown,
  storedOf,
} from './api-change.ts';
import { openDocument, takeApiSecrets } from './definition-secrets.ts';
import { versionId } from './version-id.ts';

/** The definition itself, which may come wrapped. */
export function unwrapped(body: JsonObject): JsonObject {
  const inner = body['api_definition'];
  if (inner === undefined) return body;
  if (!isObject(inner)) throw bodyMalformed('api_definition must be an object', '/api_definition');
  return inner;
}

export async function nextClassic(
  { secrets, check }: Omit<Deps, 'store'>,
  change: BodyChange,
  current: Existing | undefined,
  { orgId, isStrict }: Options,
): Promise<NextDocument> {
  const { apiId, kind } = change;
  const dbId = change.type === 'CreateApi' ? change.dbId : dbIdOf(current);
  const given = askedOf(change, current);
  const { document, warnings: ids } = withIds(given, { apiId, orgId, dbId }, current !== undefined);
  const held = current ? await openDocument(secrets, apiStream(apiId), current) : undefined;
  const taken = takeApiSecrets(document, held);
  const checked = check({ apiId, orgId, kind, document: taken.clear });
  // A document whose shape is not right cannot be converted; what is lost of it is not known yet.
  const losses = checked.stage === 'schema' ? [] : lossesToOas(taken.clear);
  if (change.acceptLoss !== true) refuseUnsupported(losses);
  refuseProblems([...checked.problems, ...taken.problems], checked.stage);
  const warnings = [...change.remarks, ...ids, ...checked.warnings, ...lossWarnings(losses)];
  if (isStrict) refuseUnknown(warnings);
  return { kind, settled: { ...storedOf(taken), warnings: bounded(warnings), prunedOperations: [] } };
}

const askedOf = (change: BodyChange, current: Existing | undefined): JsonObject =>
  change.type === 'PatchApi' ? change.body.over(current?.document ?? {}) : change.body;

/** What OpenAPI documents have would make it one of them. */
function withIds(
  given: JsonObject,
  { apiId, orgId, dbId }: { readonly apiId: ApiId; readonly orgId: OrgId; readonly dbId: string },
  isUpdate: boolean,
): { readonly document: ApiDocument; readonly warnings: readonly Warning[] } {
  const foreign = ['openapi', gatewayExtension].find((name) => given[name] !== undefined);
  if (foreign !== undefined) {
    const message = 'belongs to OpenAPI documents: use /api/apis/oas';
    throw definitionInvalid([{ pointer: `/${foreign}`, code: 'kind_mismatch', message }]);
  }
  const id = given['api_id'];
  if (isUpdate && id !== undefined && id !== '' && id !== apiId) throw apiIdMismatch();
  const ours = [
    ['org_id', orgId],
    ['id', dbId],
  ] as const;
  const warnings = ours
    .filter(([name, value]) => given[name] !== undefined && given[name] !== '' && given[name] !== value)
    .map(([name, value]) => ({
      pointer: `/${name}`,
      code: 'id_replaced',
      text: `is "${value}" here; the value in the body is ignored`,
    }));
  return { document: { ...given, id: dbId, api_id: apiId, org_id: orgId }, warnings };
}

function refuseUnsupported(losses: readonly Loss[]): void {
  const problems = losses
    .filter(({ severity }) => severity === 'unsupported')
    .slice(0, maxRemarks)
    .map(({ pointer, text }): Problem => ({ pointer, code: 'classic_unsupported', message: text }));
  if (problems.length === 0) return;
  const lines = problems.map(({ pointer, message }) => `${pointer.slice(1).replaceAll('/', '.')}: ${message}`);
  const text = `${lines.join('\n')}\nacceptLoss=true stores the definition without it`;
  throw new Rejection('classic_unsupported', text, { problems });
}

const order = ['unsupported', 'widened', 'narrowed', 'info'] as const;

/** What matters first: lists of warnings are bounded. */
export const lossWarnings = (losses: readonly Loss[]): readonly Warning[] =>
  losses
    .toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity))
    .map(({ pointer, severity, text }) => ({ pointer, code: `classic_${severity}`, text }));

/** The OAS form takes the place of the Classic one, secrets included. */
export async function convertedDocument(
  { secrets, check }: Deps,
  { apiId, acceptLoss, versionIds }: ConvertChange,
  current: Existing | undefined,
  { orgId }: Options,
): Promise<NextDocument> {
  if (!current) throw apiUnknown();
  if (current.kind !== 'classic') throw kindMismatch(apiId, current.kind, routeOf(current.kind));
  const held = await openDocument(secrets, apiStream(apiId), current);
  const clear = takeApiSecrets(current.document, held);
  refuseProblems([...ownVersionProblems(clear.clear), ...idProblems(clear.clear, apiId, versionIds)], 'rules');
  const { document, versions, losses } = splitVersions(clear.clear, (version) =>
    Object.hasOwn(versionIds, version) ? (versionIds[version] ?? '') : versionId(apiId, version),
  );
  if (!acceptLoss) refuseUnsupported(losses);
  const extension = withMember(objectAt(document, gatewayExtension) ?? {}, ['info', 'id'], apiId);
  const taken = takeApiSecrets({ ...document, [gatewayExtension]: extension });
  const checked = check({ apiId, orgId, kind: 'oas', document: taken.clear });
  refuseProblems([...checked.problems, ...clear.problems, ...taken.problems], checked.stage);
  const warnings = bounded([...checked.warnings, ...lossWarnings(losses)]);
  return { kind: 'oas', settled: { ...storedOf(taken), warnings, prunedOperations: [] }, versions };
}

/** What a new id is given to must be there, and become an API of its own. */
function idProblems(classic: JsonObject, apiId: ApiId, given: ConvertChange['versionIds']): readonly Problem[] {
  const names = splitNames(classic);
  const ids = Object.values(given);
  return Object.entries(given).flatMap(([name, id]): readonly Problem[] => {
    const pointer = `/versions/${pointerStep(name)}`;
    if (!names.includes(name)) {
      return [{ pointer, code: 'version_name', message: 'is no version that becomes an API of its own' }];
    }
    return id === apiId || ids.indexOf(id) !== ids.lastIndexOf(id)
      ? [{ pointer, code: 'version_id_taken', message: `the id ${id} is given to another API of this change` }]
      : [];
  });
}
