/** The document that a change would store: settled against what is there, and checked by the rules of today. */
import type { ApiState, ImportSource, Settled } from '../../domain/api/api.ts';
import { type ApiDocument, type ApiKind, gatewayExtension } from '../../domain/api/definition.ts';
import { type SettleInput, settle } from '../../domain/api/import-settings.ts';
import type { ImportSettings } from '../../domain/api/query-settings.ts';
import type { PublicGateway } from '../../domain/api/servers.ts';
import type { TakenSecrets } from '../../domain/document-secrets.ts';
import { definitionInvalid, definitionRefused, type Problem, type Warning } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/event.ts';
import type { EventStore } from '../../domain/event-store.ts';
import { type ApiId, apiStream, type OrgId } from '../../domain/ids.ts';
import { objectAt, textAt, withMember } from '../../domain/json.ts';
import type { CheckApi } from '../../gateway/check-api.ts';
import { goneSecrets, openDocument, takeApiSecrets } from './definition-secrets.ts';
import { Rejection } from './errors.ts';
import type { HeldSecrets } from './held-secrets.ts';
import { loadApi } from './load.ts';
import type { PatchBody } from './patch-body.ts';
import type { ValidateOpenApi } from './validate.ts';

type FromBody = {
  readonly kind: ApiKind;
  readonly apiId: ApiId;
  /** Remarks on parameters of the request. */
  readonly remarks: readonly Warning[];
};

type Import = { readonly settings: ImportSettings; readonly source: ImportSource };

export type DocumentChange =
  | ({
      readonly type: 'CreateApi';
      readonly dbId: string;
      readonly body: JsonObject;
      /** An OpenAPI document without extension comes in. */
      readonly imported?: Import;
    } & FromBody)
  | ({ readonly type: 'ReplaceApi'; readonly body: JsonObject } & FromBody)
  | ({
      readonly type: 'PatchApi';
      readonly body: PatchBody;
      readonly settings: ImportSettings;
      readonly given: Readonly<Record<string, string>>;
      readonly bodySha256: string;
    } & FromBody)
  | { readonly type: 'RollbackApi'; readonly apiId: ApiId; readonly toRevision: bigint; readonly reason: string };

export type NextDocument = { readonly kind: ApiKind; readonly settled: Settled };

type Existing = Extract<ApiState, { exists: true }>;

type Deps = {
  readonly store: EventStore;
  readonly secrets: HeldSecrets;
  readonly check: CheckApi;
  readonly validate: ValidateOpenApi;
  /** Addresses that exports put into `servers`. */
  readonly gateways?: readonly PublicGateway[];
};

type Options = { readonly orgId: OrgId; readonly isStrict: boolean };

export const nextDocument = (
  deps: Deps,
  change: DocumentChange,
  current: Existing | undefined,
  options: Options,
): Promise<NextDocument> =>
  change.type === 'RollbackApi'
    ? nextFromHistory(deps, change, current, options)
    : nextFromBody(deps, change, current, options);

export async function nextFromBody(
  { secrets, check, validate, gateways = [] }: Omit<Deps, 'store'>,
  change: Exclude<DocumentChange, { type: 'RollbackApi' }>,
  current: Existing | undefined,
  { orgId, isStrict }: Options,
): Promise<NextDocument> {
  const { kind, apiId } = change;
  const asked = askedOf(change, current);
  await validate(asked.body);
  const dbId = change.type === 'CreateApi' ? change.dbId : dbIdOf(current);
  const stored = current ? { stored: current.document } : {};
  const settled = settle({ ...stored, ...asked, kind, gateways, ids: { apiId, orgId, dbId } });
  const held = current ? await openDocument(secrets, apiStream(apiId), current) : undefined;
  const taken = takeApiSecrets(settled.document, held);
  const checked = check({ apiId, orgId, kind, document: taken.clear });
  if (checked.problems.length + taken.problems.length > 0) {
    const problems = [...checked.problems, ...taken.problems].slice(0, maxRemarks);
    throw checked.stage === 'schema' ? definitionInvalid(problems) : definitionRefused(problems);
  }
  const warnings = [...change.remarks, ...settled.warnings, ...checked.warnings];
  if (isStrict) refuseUnknown(warnings);
  return { kind, settled: { ...settled, ...storedOf(taken), warnings: bounded(warnings) } };
}

/** What the change wants to have settled. A patch of parts is laid over what is stored now. */
function askedOf(
  change: Exclude<DocumentChange, { type: 'RollbackApi' }>,
  current: Existing | undefined,
): Pick<SettleInput, 'body' | 'settings' | 'mode'> {
  switch (change.type) {
    case 'CreateApi': {
      const { body, imported } = change;
      return imported ? { body, settings: imported.settings, mode: 'import' } : { body, settings: {}, mode: 'create' };
    }
    case 'ReplaceApi':
      return { body: change.body, settings: {}, mode: 'replace' };
    case 'PatchApi': {
      const { body, settings } = change;
      const mode = body.mode === 'oas-replace' ? 'patch' : 'partial';
      return { body: body.over(current?.document ?? {}), settings, mode };
    }
  }
}

const storedOf = ({ document, secrets }: TakenSecrets): Pick<Settled, 'document' | 'secrets'> => ({
  document,
  secrets,
});

/** Problems of an answer, and warnings of an answer and its event. */
export const maxRemarks = 100;

export function bounded(warnings: readonly Warning[]): readonly Warning[] {
  const left = warnings.length - maxRemarks;
  if (left <= 0) return warnings;
  return [...warnings.slice(0, maxRemarks), { pointer: '', code: 'more_warnings', text: `${left} further warnings` }];
}

const dbIdOf = (current: Existing | undefined): string =>
  textAt(current?.document, gatewayExtension, 'info', 'dbId') ?? '';

/** `strict=true`: unknown keys are errors. */
function refuseUnknown(warnings: readonly Warning[]): void {
  const problems = warnings
    .filter(({ code }) => code === 'unknown_key')
    .map(({ pointer, code, text }): Problem => ({ pointer, code, message: text }));
  if (problems.length > 0) throw definitionInvalid(problems.slice(0, maxRemarks));
}

async function nextFromHistory(
  { store, secrets, check }: Deps,
  { apiId, toRevision }: Extract<DocumentChange, { type: 'RollbackApi' }>,
  current: Existing | undefined,
  { orgId }: Options,
): Promise<NextDocument> {
  const { state, head } = await loadApi(store, apiId, toRevision);
  if (head !== toRevision) throw new Rejection('revision_unknown', `The API has no revision ${toRevision}`);
  if (!state.exists || state.orgId !== orgId) throw rollbackRefused(toRevision, 'the API was deleted then');
  if (state.kind !== current?.kind) throw rollbackRefused(toRevision, `the API was of the kind ${state.kind} then`);
  const held = await openDocument(secrets, apiStream(apiId), state);
  const gone = goneSecrets(held).map(({ pointer }) => `${pointer}: the secret was shredded`);
  if (gone.length > 0) throw rollbackRefused(toRevision, gone.join('\n'));
  const taken = takeApiSecrets(withCurrentDbId(state.document, dbIdOf(current)), held);
  const checked = check({ apiId, orgId, kind: state.kind, document: taken.clear });
  if (checked.problems.length > 0) {
    throw rollbackRefused(toRevision, linesOf(checked.problems), checked.problems);
  }
  return {
    kind: state.kind,
    settled: { ...storedOf(taken), warnings: bounded(checked.warnings), prunedOperations: [] },
  };
}

export const linesOf = (problems: readonly Problem[]): string =>
  problems
    .slice(0, maxRemarks)
    .map(({ pointer, message }) => `${pointer}: ${message}`)
    .join('\n');

/** The storage id belongs to the API as it lives now, also when it was deleted and made again since. */
function withCurrentDbId(document: ApiDocument, dbId: string): ApiDocument {
  const extension = objectAt(document, gatewayExtension) ?? {};
  return { ...document, [gatewayExtension]: withMember(extension, ['info', 'dbId'], dbId) };
}

export const rollbackRefused = (revision: bigint, reason: string, problems: readonly Problem[] = []): Rejection =>
  new Rejection('rollback_refused', `Rollback to revision ${revision} is refused: ${reason}`, { problems });
