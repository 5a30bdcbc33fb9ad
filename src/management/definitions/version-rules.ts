/** Whether the APIs that a base lists may be its versions (api-definition design 4.4). */
import { type ApiDocument, gatewayExtension } from '../../../domain/api/definition.ts';
import { isBase, listedVersions, picksVersions, versionPointer } from '../../../domain/api/versioning.ts';
import type { Problem } from '../../../domain/errors.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import { type ApiId, apiStream, type OrgId } from '../../../domain/ids.ts';
import { basesOf } from '../../../projections/api-entries.ts';
import type { DocumentReader } from '../../../projections/read-model-store.ts';
import type { PlannedWrite } from '../handle-command.ts';
import { expectedOf, loadApi } from '../load.ts';

export type VersionReads = { readonly store: EventStore; readonly models: DocumentReader };

/** What the same append makes of an API: its new document, nothing, or what it is. */
export type Beside = (id: string) => ApiDocument | 'gone' | undefined;

export type BaseToJudge = {
  readonly orgId: OrgId;
  readonly apiId: ApiId;
  readonly document: ApiDocument;
  readonly beside?: Beside | undefined;
  /** The APIs that the caller may reach; absent: all. */
  readonly apis?: ReadonlySet<string> | undefined;
};

type JudgedVersions = {
  readonly problems: readonly Problem[];
  /** Writes without events, for the append that stores the base: they fail when a version is deleted meanwhile. */
  readonly guards: readonly PlannedWrite[];
};

/** A document whose versioning is off may list anything. */
export async function judgeVersions(
  { store, models }: VersionReads,
  { orgId, apiId, document, beside = alone, apis }: BaseToJudge,
): Promise<JudgedVersions> {
  if (!picksVersions(document)) return { problems: [], guards: [] };
  const all = isBase(document) ? listedVersions(document) : [];
  const listed = all.map(({ id }, index) => ({ id, pointer: versionPointer(index) }));
  const judged = await Promise.all(
    listed.map(async ({ id, pointer }) => {
      // A base opens what it lists to its own clients: who may not change an API does not put it behind another one.
      if (apis && !apis.has(id) && !basesOf(models, orgId, id).includes(apiId))
        return { problem: { pointer, ...foreign } };
      const found = await findApi(store, orgId, id, beside);
      const reason = refusalOf(found) ?? otherBase(basesBeside(models, orgId, id, beside), apiId);
      return reason ? { problem: { pointer, ...reason } } : { guard: found?.guard };
    }),
  );
  const own = basesBeside(models, orgId, apiId, beside).filter((id) => id !== apiId);
  const problems = judged.flatMap(({ problem }) => (problem ? [problem] : []));
  const guards = judged.flatMap(({ guard }) => (guard ? [[guard.stream, guard] as const] : []));
  return {
    problems: own.length === 0 ? problems : [...problems, nestedProblem(own.join(', '))],
    guards: store.can.checks ? [...new Map(guards).values()] : [],
  };
}

/** The document that events of an API store. */
export const documentIn = (events: PlannedWrite['events']): ApiDocument | undefined =>
  events.flatMap((event) => ('apiId' in event && 'document' in event ? [event.document] : [])).at(-1);

const alone: Beside = () => undefined;

/** The APIs that list this one once the append is made. */
export const basesBeside = (models: DocumentReader, orgId: OrgId, apiId: string, beside: Beside): readonly string[] =>
  basesOf(models, orgId, apiId).filter((id) => {
    const next = beside(id);
    return next === undefined || (next !== 'gone' && listedVersions(next).some((version) => version.id === apiId));
  });

type Found = { readonly document: ApiDocument; readonly guard?: PlannedWrite };

async function findApi(store: EventStore, orgId: OrgId, id: string, beside: Beside): Promise<Found | undefined> {
  const next = beside(id);
  if (next !== undefined) return next === 'gone' ? undefined : { document: next };
  if (!isApiId(id)) return undefined;
  const apiId = id as ApiId;
  const loaded = await loadApi(store, apiId);
  const { state } = loaded;
  if (!state.exists || state.orgId !== orgId) return undefined;
  return {
    document: state.document,
    guard: { stream: apiStream(apiId), expected: expectedOf(loaded), events: [] },
  };
}

export const isApiId = (text: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(text);

type Reason = Omit<Problem, 'pointer'>;

const foreign: Reason = { code: 'scope_missing', message: 'the token is not for this API' };

function refusalOf(found: Found | undefined): Reason | undefined {
  if (!found) return { code: 'version_api_unknown', message: 'there is no such API' };
  return picksVersions(found.document)
    ? { code: 'version_nested', message: 'this API has versions of its own, and can be none' }
    : undefined;
}

function otherBase(bases: readonly string[], apiId: ApiId): Reason | undefined {
  const others = bases.filter((base) => base !== apiId);
  return others.length === 0
    ? undefined
    : { code: 'version_taken', message: `this API is a version of ${others.join(', ')} already` };
}

export const nestedProblem = (bases: string): Problem => ({
  pointer: `/${gatewayExtension}/info/versioning`,
  code: 'version_nested',
  message: `a version (here of ${bases}) has no versions of its own`,
});
