/** What a command on an API means for versions: a new one enters its base, a deleted one leaves it, and a base lists only what exists. */
import type { ApiState } from '../../../domain/api/api.ts';
import type { ApiDocument } from '../../../domain/api/definition.ts';
import {
  listedVersions,
  type NewVersion,
  picksVersions,
  withoutVersion,
  withVersion,
} from '../../../domain/api/versioning.ts';
import { definitionRefused, Refusal, tooManyConflicts, type Warning } from '../../../domain/errors.ts';
import { type ApiId, apiStream, type OrgId, toApiId } from '../../../domain/ids.ts';
import { isObject } from '../../../domain/json.ts';
import { basesOf } from '../../../projections/api-entries.ts';
import { awaitPosition, type Reads } from '../conditional.ts';
import { Rejection } from '../errors.ts';
import type { Plan, PlannedWrite } from '../handle-command.ts';
import { expectedOf, type Loaded, loadApi } from '../load.ts';
import type { ApiCommands, ApiWriteOptions } from './api-commands.ts';
import { type Beside, documentIn, isApiId, judgeVersions, nestedProblem, type VersionReads } from './version-rules.ts';

/** The new API is a version of this one. */
export type VersionRequest = Omit<NewVersion, 'id'> & { readonly baseId: ApiId };

export type VersionOptions = {
  readonly version?: VersionRequest | undefined;
  /** The versions of a deleted API go with it. */
  readonly isPurge?: boolean;
  /** The APIs that the caller may reach; absent: all. */
  readonly apis?: ReadonlySet<string> | undefined;
};

type ApiChange = Parameters<ApiCommands>[0];
type Options = ApiWriteOptions & VersionOptions;

/** `ApiCommands` that know of versions. */
export type VersionedCommands = (change: ApiChange, options: Options) => ReturnType<ApiCommands>;

export type VersionDeps = VersionReads & { readonly projector: Pick<Reads, 'waitFor'> };

type There = Extract<ApiState, { exists: true }>;

export function withVersions(apiCommands: ApiCommands, deps: VersionDeps): VersionedCommands {
  const planner: Planner = { ...deps, apiCommands };
  return function versionedCommand(change, options) {
    const command = apiCommands(change, options);
    return {
      ...command,
      aggregate: links(change, options) ? `versions of ${options.orgId}` : command.aggregate,
      plan: (commandId) =>
        onSteadyState(() => {
          const plain = (): Promise<Plan> => command.plan(commandId);
          if (change.type === 'DeleteApi') return planDelete(planner, change.apiId, options, commandId, plain);
          if (change.type === 'CreateApi' && options.version) {
            return planVersion(planner, { ...change, version: options.version }, options, commandId, plain);
          }
          return planWrite(planner, change, options, plain);
        }),
    };
  };
}

/** Whether a change may end or begin what joins a base and a version: such changes wait for each other. */
const links = (change: ApiChange, { version }: Options): boolean =>
  change.type === 'DeleteApi' ||
  change.type === 'RollbackApi' ||
  change.type === 'ConvertApi' ||
  version !== undefined ||
  mayList(change);

/** What a patch of parts lists is only known when it is laid over what is stored. */
function mayList(change: Extract<ApiChange, { readonly body: unknown }>): boolean {
  const body = change.type === 'PatchApi' ? change.body.whole : change.body;
  return body === undefined || listedVersions(body).length > 0 || picksVersions(body);
}

const maxPlans = 5;

/** A base is read twice, for what is put into it and for the decision; another writer may come between. */
async function onSteadyState(plan: () => Promise<Plan>): Promise<Plan> {
  for (let attempt = 1; attempt <= maxPlans; attempt++) {
    try {
      return await plan();
    } catch (error) {
      if (!(error instanceof Crossed)) throw error;
    }
  }
  throw tooManyConflicts();
}

class Crossed extends Error {}

function demandSame({ writes }: Plan, apiId: ApiId, loaded: Loaded<ApiState>): void {
  const write = writes.find(({ stream }) => stream === apiStream(apiId));
  if (write && write.expected !== expectedOf(loaded)) throw new Crossed();
}

type Planner = VersionDeps & { readonly apiCommands: ApiCommands };

/** A definition as it would be stored lists nothing that is no version. */
async function planWrite(
  planner: Planner,
  change: ApiChange,
  { orgId, apis }: Options,
  plain: () => Promise<Plan>,
  beside?: Beside,
): Promise<Plan> {
  const plan = await plain();
  const document = plannedDocument(plan, change.apiId);
  if (!document) return plan;
  // A conversion makes the versions that it lists.
  const around = beside ?? ((id: string) => (isApiId(id) ? plannedDocument(plan, toApiId(id)) : undefined));
  const base = { orgId, apiId: change.apiId, document, beside: around, apis };
  const { problems, guards } = await judgeVersions(planner, base);
  if (problems.length === 0) return { ...plan, writes: [...guards, ...plan.writes] };
  if (change.type !== 'RollbackApi') throw definitionRefused(problems);
  const reasons = problems.map(({ pointer, message }) => `${pointer}: ${message}`).join('\n');
  const text = `Rollback to revision ${change.toRevision} is refused: ${reasons}`;
  throw new Rejection('rollback_refused', text, { problems });
}

const plannedDocument = ({ writes }: Plan, apiId: ApiId): ApiDocument | undefined =>
  documentIn(writes.find(({ stream }) => stream === apiStream(apiId))?.events ?? []);

/** One append makes the API and enters it in its base. */
async function planVersion(
  planner: Planner,
  change: ApiChange & { readonly type: 'CreateApi'; readonly version: VersionRequest },
  options: Options,
  commandId: string,
  plain: () => Promise<Plan>,
): Promise<Plan> {
  const { baseId, ...entry } = change.version;
  const { orgId } = options;
  const base = await loadBase(planner, baseId, change, orgId);
  const document = withVersion(base.document, { ...entry, id: change.apiId });
  const made = await planWrite(planner, change, options, plain);
  const child = plannedDocument(made, change.apiId);
  if (child && picksVersions(child)) throw definitionRefused([nestedProblem(baseId)]);
  const beside: Beside = (id) => (id === change.apiId ? child : undefined);
  const entered = await planBase(planner, { orgId, base, document, options, commandId, beside });
  return { ...made, writes: [...made.writes, ...entered.writes] };
}

type Base = There & { readonly apiId: ApiId; readonly loaded: Loaded<ApiState> };

async function loadBase(
  { store, models }: Planner,
  apiId: ApiId,
  { kind }: ApiChange & { readonly type: 'CreateApi' },
  orgId: OrgId,
): Promise<Base> {
  const loaded = await loadApi(store, apiId);
  const { state } = loaded;
  if (!state.exists || state.orgId !== orgId) throw badBase(`There is no API ${apiId}`);
  if (state.kind !== kind) throw badBase(`API ${apiId} is in ${state.kind} format, its version would not be`);
  const [above] = basesOf(models, orgId, apiId);
  if (above !== undefined) throw badBase(`API ${apiId} is itself a version of ${above}`);
  return { ...state, apiId, loaded };
}

const badBase = (text: string): Refusal =>
  new Refusal('bad_base_api', text, [{ pointer: '/query/base_api_id', code: 'bad_base_api', message: text }]);

type BaseChange = {
  readonly orgId: OrgId;
  readonly base: Base;
  readonly document: ApiDocument;
  readonly options: Options;
  readonly commandId: string;
  readonly beside?: Beside;
};

/** The conditions of the request are about the API that it names, not about its base. */
async function planBase(
  planner: Planner,
  { orgId, base, document, options, commandId, beside }: BaseChange,
): Promise<Plan> {
  const { apiId, kind, loaded } = base;
  const change = { type: 'ReplaceApi', kind, apiId, body: document, remarks: [] } as const;
  const { isDryRun } = options;
  const own = { orgId, isDryRun, isStrict: false, wantsRepresentation: false };
  const plain = (): Promise<Plan> => planner.apiCommands(change, own).plan(commandId);
  const plan = await (beside ? planWrite(planner, change, own, plain, beside) : plain());
  demandSame(plan, apiId, loaded);
  return plan;
}

/** One append takes the API away and out of every base that lists it. */
async function planDelete(
  planner: Planner,
  apiId: ApiId,
  options: Options,
  commandId: string,
  plain: () => Promise<Plan>,
): Promise<Plan> {
  const { store, models, projector } = planner;
  const { orgId, isPurge = false } = options;
  const loaded = await loadApi(store, apiId);
  const plan = await plain();
  demandSame(plan, apiId, loaded);
  // A base that has come to list this API a moment ago is known as well.
  await awaitPosition(['apis'], await store.head(), projector.waitFor);
  const { state } = loaded;
  const listed = isPurge && state.exists ? listedVersions(state.document).map(({ id }) => id) : [];
  const purged = await planPurge(planner, new Set(listed), options, commandId);
  const bases = basesOf(models, orgId, apiId).filter((id) => id !== apiId && !listed.includes(id));
  const left = await Promise.all(bases.map((id) => planLeft(planner, { orgId, id, apiId, options, commandId })));
  const others = [...left.flatMap(({ writes }) => writes), ...purged];
  const warnings = left.flatMap((base) => base.warnings);
  // The bases first: no gateway sees one that lists what is gone.
  return { ...plan, writes: [...others, ...plan.writes], reply: warned(plan.reply, warnings) };
}

type Leaving = Omit<BaseChange, 'base' | 'document'> & { readonly id: string; readonly apiId: ApiId };

async function planLeft(
  planner: Planner,
  { id, apiId, ...change }: Leaving,
): Promise<{ readonly writes: readonly PlannedWrite[]; readonly warnings: readonly Warning[] }> {
  const baseId = toApiId(id);
  const loaded = await loadApi(planner.store, baseId);
  const { state } = loaded;
  if (!state.exists || state.orgId !== change.orgId) return { writes: [], warnings: [] };
  const { document, warnings } = withoutVersion(state.document, apiId);
  const base = { ...state, apiId: baseId, loaded };
  const { writes } = await planBase(planner, { ...change, base, document });
  return { writes, warnings };
}

/** Each version as by a command of its own; what is gone already is passed over. */
async function planPurge(
  { store, apiCommands }: Planner,
  listed: ReadonlySet<string>,
  { orgId, isDryRun, apis }: Options,
  commandId: string,
): Promise<readonly PlannedWrite[]> {
  const ids = [...listed].filter(isApiId).map(toApiId);
  const own = { orgId, isDryRun, isStrict: false, wantsRepresentation: false };
  const plans = await Promise.all(
    ids.map(async (apiId): Promise<readonly PlannedWrite[]> => {
      const { state } = await loadApi(store, apiId);
      if (!state.exists || state.orgId !== orgId) return [];
      if (apis && !apis.has(apiId)) {
        throw new Rejection('scope_missing', `access denied: the token is not for API ${apiId}, which would go too`);
      }
      return (await apiCommands({ type: 'DeleteApi', apiId }, own).plan(commandId)).writes;
    }),
  );
  return plans.flat();
}

function warned(reply: Plan['reply'], warnings: readonly Warning[]): Plan['reply'] {
  if (warnings.length === 0) return reply;
  const before = Number(reply.headers?.['x-svc-warnings'] ?? 0);
  const headers = { ...reply.headers, 'x-svc-warnings': String(before + warnings.length) };
  const { body } = reply;
  const meta = isObject(body) ? body['Meta'] : undefined;
  if (!isObject(body) || !isObject(meta)) return { ...reply, headers };
  const shown = Array.isArray(meta['warnings']) ? meta['warnings'] : [];
  const all = [...shown, ...warnings.map((warning) => ({ ...warning }))];
  return { ...reply, headers, body: { ...body, Meta: { ...meta, warnings: all } } };
}
