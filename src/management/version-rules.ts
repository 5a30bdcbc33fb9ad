/** Whether the APIs that a base lists may be its versions (api-definition design 4.4). */
import type { ApiState } from '../../domain/api/api.ts';
import { type ApiDocument, gatewayExtension } from '../../domain/api/definition.ts';
import { isBase, listedVersions, versionPointer } from '../../domain/api/versioning.ts';
import type { Problem } from '../../domain/errors.ts';
import type { EventStore } from '../../domain/event-store.ts';
import { type ApiId, apiStream, type OrgId } from '../../domain/ids.ts';
import { basesOf } from '../../projections/api-entries.ts';
import type { DocumentReader } from '../../projections/read-model-store.ts';
import type { PlannedWrite } from './handle-command.ts';
import { expectedOf, type Loaded, loadApi } from './load.ts';

export type VersionReads = { readonly store: EventStore; readonly models: DocumentReader };

export type BaseToJudge = {
  readonly orgId: OrgId;
  readonly apiId: ApiId;
  readonly document: ApiDocument;
  /** Made by the same append. */
  readonly coming?: ApiId | undefined;
};

type JudgedVersions = {
  readonly problems: readonly Problem[];
  /** Writes without events, for the append that stores the base: they fail when a version is deleted meanwhile. */
  readonly guards: readonly PlannedWrite[];
};

export async function judgeVersions(
  { store, models }: VersionReads,
  { orgId, apiId, document, coming }: BaseToJudge,
): Promise<JudgedVersions> {
  const listed = listedVersions(document).map(({ id }, index) => ({ id, pointer: versionPointer(index) }));
  const others = listed.filter(({ id }) => id !== coming);
  const judged = await Promise.all(
    others.map(async ({ id, pointer }) => {
      const loaded = isApiId(id) ? await loadApi(store, id as ApiId) : undefined;
      const reason = refusalOf(loaded, orgId) ?? otherBase(models, orgId, id, apiId);
      return reason ? { problem: { pointer, ...reason } } : { guard: guardOf(id as ApiId, loaded) };
    }),
  );
  const own = basesOf(models, orgId, apiId).filter((id) => id !== apiId);
  const problems = judged.flatMap(({ problem }) => (problem ? [problem] : []));
  return {
    problems: own.length === 0 ? problems : [...problems, nestedProblem(own.join(', '))],
    guards: [...new Map(judged.flatMap(({ guard }) => (guard ? [[guard.stream, guard] as const] : []))).values()],
  };
}

type Reason = Omit<Problem, 'pointer'>;

export const isApiId = (text: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(text);

function refusalOf(loaded: Loaded<ApiState> | undefined, orgId: OrgId): Reason | undefined {
  const state = loaded?.state;
  if (!state?.exists || state.orgId !== orgId) return { code: 'version_api_unknown', message: 'there is no such API' };
  return isBase(state.document)
    ? { code: 'version_nested', message: 'this API has versions of its own, and can be none' }
    : undefined;
}

function otherBase(models: DocumentReader, orgId: OrgId, id: string, apiId: ApiId): Reason | undefined {
  const others = basesOf(models, orgId, id).filter((base) => base !== apiId);
  return others.length === 0
    ? undefined
    : { code: 'version_taken', message: `this API is a version of ${others.join(', ')} already` };
}

export const nestedProblem = (bases: string): Problem => ({
  pointer: `/${gatewayExtension}/info/versioning`,
  code: 'version_nested',
  message: `a version (here of ${bases}) has no versions of its own`,
});

const guardOf = (id: ApiId, loaded: Loaded<ApiState> | undefined): PlannedWrite | undefined =>
  loaded && { stream: apiStream(id), expected: expectedOf(loaded), events: [] };
