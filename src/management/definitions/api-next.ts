/** The document that a change would store: settled against what is there, and checked by the rules of today. */
import { isClassic } from '../../../domain/api/classic/codec.ts';
import { type ApiDocument, gatewayExtension } from '../../../domain/api/definition.ts';
import { type SettleInput, settle } from '../../../domain/api/import-settings.ts';
import type { Problem } from '../../../domain/errors.ts';
import { apiStream } from '../../../domain/ids.ts';
import { objectAt, withMember } from '../../../domain/json.ts';
import { Rejection } from '../errors.ts';
import { loadApi } from '../load.ts';
import {
  type BodyChange,
  bounded,
  type Deps,
  type DocumentChange,
  dbIdOf,
  type Existing,
  maxRemarks,
  type NextDocument,
  type Options,
  refuseProblems,
  refuseUnknown,
  storedOf,
} from './api-change.ts';
import { convertedDocument, nextClassic } from './classic-commands.ts';
import { goneSecrets, openDocument, takeApiSecrets } from './definition-secrets.ts';

export const nextDocument = (
  deps: Deps,
  change: DocumentChange,
  current: Existing | undefined,
  options: Options,
): Promise<NextDocument> => {
  if (change.type === 'RollbackApi') return nextFromHistory(deps, change, current, options);
  if (change.type === 'ConvertApi') return convertedDocument(deps, change, current, options);
  return nextFromBody(deps, change, current, options);
};

export async function nextFromBody(
  deps: Omit<Deps, 'store'>,
  change: BodyChange,
  current: Existing | undefined,
  options: Options,
): Promise<NextDocument> {
  if (change.kind === 'classic') return nextClassic(deps, change, current, options);
  const { secrets, check, validate, gateways = [] } = deps;
  const { orgId, isStrict } = options;
  const { kind, apiId } = change;
  const asked = askedOf(change, current);
  await validate(asked.body);
  const dbId = change.type === 'CreateApi' ? change.dbId : dbIdOf(current);
  const stored = current ? { stored: current.document } : {};
  const settled = settle({ ...stored, ...asked, kind, gateways, ids: { apiId, orgId, dbId } });
  const held = current ? await openDocument(secrets, apiStream(apiId), current) : undefined;
  const taken = takeApiSecrets(settled.document, held);
  const checked = check({ apiId, orgId, kind, document: taken.clear });
  refuseProblems([...checked.problems, ...taken.problems], checked.stage);
  const warnings = [...change.remarks, ...settled.warnings, ...checked.warnings];
  if (isStrict) refuseUnknown(warnings);
  return { kind, settled: { ...settled, ...storedOf(taken), warnings: bounded(warnings) } };
}

/** What the change wants to have settled. A patch of parts is laid over what is stored now. */
function askedOf(change: BodyChange, current: Existing | undefined): Pick<SettleInput, 'body' | 'settings' | 'mode'> {
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
  if (isClassic(document)) return { ...document, id: dbId };
  const extension = objectAt(document, gatewayExtension) ?? {};
  return { ...document, [gatewayExtension]: withMember(extension, ['info', 'dbId'], dbId) };
}

export const rollbackRefused = (revision: bigint, reason: string, problems: readonly Problem[] = []): Rejection =>
  new Rejection('rollback_refused', `Rollback to revision ${revision} is refused: ${reason}`, { problems });
