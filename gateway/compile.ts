/** Snapshot → route table: compiles what changed, reuses what did not, and keeps the previous good version of what does not compile. */
import { hash } from 'node:crypto';
import { notVersioned } from '../domain/analytics-record.ts';
import type { ApiDefinition, ApiDocument } from '../domain/api/definition.ts';
import { gatewayExtension } from '../domain/api/definition.ts';
import { tagsIn } from '../domain/api/oas.ts';
import { normalHost, normalListenPath } from '../domain/api/paths.ts';
import type { Problem } from '../domain/errors.ts';
import type { NodeError } from '../domain/gateway-node.ts';
import { type ApiId, toApiId } from '../domain/ids.ts';
import { at, isObject, isOn, objectAt, textAt } from '../domain/json.ts';
import {
  type ApiObject,
  type GatewayObject,
  type GatewaySnapshot,
  objectKey,
  objectsOfKind,
} from '../projections/gateway-snapshot.ts';
import { type DetailSurroundings, routeDetail } from './analytics/detail.ts';
import { keylessTags } from './analytics/outcome.ts';
import type { CheckApi, HeadOf } from './checked-api.ts';
import { sendAnswer } from './http/answer.ts';
import type { Context, Route, Step, Terminal } from './http/context.ts';
import { Lease } from './http/lease.ts';
import { type Claim, RouteTable } from './http/route-table.ts';
import { type Listed, ownVersionPicker, versionPicker } from './http/version.ts';
import type { Clock, Log } from './ports.ts';
import { buildStack, preflightRows, type Stack, type StackDependencies } from './stack.ts';
import type { Agents } from './upstream/agents.ts';
import { proxy } from './upstream/proxy.ts';
import { targetOf } from './upstream/target.ts';

/** The document with its secrets, and the places of those that the API needs and this node does not have. */
export type Reveal = (object: ApiObject) => { readonly document: ApiDocument; readonly missing: readonly string[] };

export type CompileDependencies = StackDependencies &
  DetailSurroundings & {
    readonly checkApi: CheckApi;
    readonly headOf: HeadOf;
    readonly reveal: Reveal;
    readonly agents: Agents;
    /** Labels of this node: with some, it loads only APIs that share one. */
    readonly tags: readonly string[];
  };

export type CompiledApi = {
  readonly object: ApiObject;
  readonly route: Route;
  readonly steps: readonly string[];
  /** Of an API with versions inside: what serves each, and what answers preflights for all of them. */
  readonly own?: { readonly versions: readonly CompiledVersion[]; readonly preflight: readonly Step[] };
};

type CompiledVersion = { readonly route: Route; readonly steps: readonly string[] };

type ApiResult = {
  readonly id: string;
  readonly result: 'loaded' | 'unchanged' | 'rejected';
  readonly code?: string;
  readonly message?: string;
  readonly pointer?: string;
  readonly keptRevision?: string;
};

export type Compiled = {
  readonly table: RouteTable;
  /** Of what it runs, over all APIs: kept versions count as themselves. */
  readonly sha256: string;
  /** By object key; what the next compilation may reuse. */
  readonly apis: ReadonlyMap<string, CompiledApi>;
  readonly results: readonly ApiResult[];
  /** An API that does not compile keeps its previous good revision, or is not served at all. */
  readonly rejected: readonly NodeError[];
  /** The good objects that run in place of rejected ones. */
  readonly kept: Readonly<Record<string, GatewayObject>>;
  /** Ids of all APIs that do not compile, also of those that other gateways run. */
  readonly failed: readonly string[];
};

/** What ran before and what the disk kept; both may stand in for an object that does not compile. */
export type Before = {
  readonly apis: ReadonlyMap<string, CompiledApi>;
  readonly kept: Readonly<Record<string, GatewayObject>>;
  /** APIs that are compiled again although nothing of them changed. */
  readonly isAnew?: ((apiId: string) => boolean) | undefined;
  /** The rules of this version have let them through already. */
  readonly isChecked?: ((apiId: string) => boolean) | undefined;
  /** What was compiled of the same objects. */
  readonly same?: Compiled | undefined;
};

export function compile(snapshot: GatewaySnapshot, before: Before, dependencies: CompileDependencies): Compiled {
  if (before.same?.rejected.length === 0) return restampedTable(before.same, snapshot);
  const apis = new Map<string, CompiledApi>();
  const results: ApiResult[] = [];
  const rejected: NodeError[] = [];
  const kept: Record<string, GatewayObject> = {};
  const failed: string[] = [];
  const homeless: Claim[] = [];
  for (const [key, object] of objectsOfKind(snapshot.objects, 'api')) {
    const previous = before.isAnew?.(object.id) ? undefined : before.apis.get(key);
    const built = buildApi(object, { previous, isChecked: before.isChecked?.(object.id) }, dependencies);
    if ('api' in built) {
      if (!isForNode(built.api.route.definition.tags, dependencies.tags)) {
        retire(built.api, before.apis.get(key));
        continue;
      }
      apis.set(key, built.api);
      results.push({ id: object.id, result: built.api === before.apis.get(key) ? 'unchanged' : 'loaded' });
      continue;
    }
    failed.push(object.id);
    const good = before.apis.get(key) ?? fromKept(before.kept[key], dependencies);
    // What is wrong with an API of other gateways is for them to say.
    if (!good && !isForNode(tagsIn(dependencies.headOf(object.body.document)), dependencies.tags)) continue;
    if (good) {
      apis.set(key, good);
      kept[key] = good.object;
    } else homeless.push(...claimOfBroken(dependencies.headOf(object.body.document)));
    const keptRevision = good ? { keptRevision: good.object.revision } : {};
    rejected.push({ kind: 'api', id: object.id, ...built, position: object.position, ...keptRevision });
    results.push({ id: object.id, result: 'rejected', ...built, ...keptRevision });
  }
  const claims = [...homeless, ...[...apis.values()].map((api) => claimOf(api, withVersions(api, snapshot, apis)))];
  const table = new RouteTable(snapshot.position, snapshot.revision, claims);
  return { table, sha256: digestOf(apis), apis, results, rejected, kept, failed };
}

function digestOf(apis: Compiled['apis']): string {
  const lines = [...apis].map(([key, { object }]) => `${key} ${object.revision} ${object.sha256}\n`);
  return hash('sha256', lines.toSorted().join(''), 'hex');
}

/** Another revision of the same APIs: access keys have changed. */
function restampedTable(same: Compiled, { position, revision }: GatewaySnapshot): Compiled {
  const results = same.results.map(({ id }) => ({ id, result: 'unchanged' }) as const);
  return { ...same, table: same.table.at(position, revision), results };
}

/** Lets go of what the next table does not serve any more. */
export function retireOthers(before: ReadonlyMap<string, CompiledApi>, after: ReadonlyMap<string, CompiledApi>): void {
  for (const [key, api] of before) {
    const next = after.get(key);
    if (next?.route.lease !== api.route.lease) api.route.lease.retire();
  }
}

function retire(api: CompiledApi, previous: CompiledApi | undefined): void {
  if (api.route.lease !== previous?.route.lease) api.route.lease.retire();
}

type Built =
  | { readonly api: CompiledApi }
  | { readonly code: string; readonly message: string; readonly pointer?: string };

type Known = { readonly previous?: CompiledApi | undefined; readonly isChecked?: boolean | undefined };

function buildApi(object: ApiObject, { previous, isChecked }: Known, dependencies: CompileDependencies): Built {
  if (previous?.object.sha256 === object.sha256 && previous.object.body.apiKind === object.body.apiKind) {
    if (previous.object.revision === object.revision) return { api: previous };
    // The same document again under a new number: only the stamp of its records changes.
    return { api: restamped(previous, object) };
  }
  try {
    const { orgId, apiKind } = object.body;
    const { document, missing } = dependencies.reveal(object);
    if (missing.length > 0) return withoutSecrets(missing);
    const apiId: ApiId = toApiId(object.id);
    const { definition, problems } = dependencies.checkApi({ apiId, orgId, kind: apiKind, document }, isChecked);
    if (!definition) return refused(problems);
    return { api: compileApi(object, definition, dependencies) };
  } catch (error) {
    dependencies.log.error('an API could not be compiled', { apiId: object.id, error });
    return { code: 'compile_failed', message: error instanceof Error ? error.message : String(error) };
  }
}

const refused = (problems: readonly Problem[]): Built => ({
  code: problems[0]?.code ?? 'definition_invalid',
  message: problems.map(({ pointer, message }) => `${pointer}: ${message}`).join('\n') || 'the definition is not valid',
  ...(problems[0] ? { pointer: problems[0].pointer } : {}),
});

/** It is never run with a mask in the place of a secret. */
const withoutSecrets = (missing: readonly string[]): Built => ({
  code: 'secret_not_available',
  message: missing.map((pointer) => `${pointer}: the secret is not available on this node`).join('\n'),
  ...(missing[0] === undefined ? {} : { pointer: missing[0] }),
});

function fromKept(object: GatewayObject | undefined, dependencies: CompileDependencies): CompiledApi | undefined {
  if (object?.kind !== 'api') return undefined;
  const built = buildApi(object, {}, dependencies);
  return 'api' in built ? built.api : undefined;
}

function restamped({ route, own, ...rest }: CompiledApi, object: ApiObject): CompiledApi {
  const stamp = { apiRevision: object.revision };
  const versions = own?.versions.map((version) => ({ ...version, route: { ...version.route, ...stamp } }));
  return { ...rest, object, route: { ...route, ...stamp }, ...(own && versions ? { own: { ...own, versions } } : {}) };
}

/** One lease for all that the API owns, however many versions it has inside. */
function compileApi(object: ApiObject, definition: ApiDefinition, dependencies: CompileDependencies): CompiledApi {
  const releases: (() => void)[] = [];
  const lease = new Lease(() => {
    for (const release of releases) release();
  });
  const compiled = (one: ApiDefinition, stack: Stack): Route => {
    const { terminal, release } = terminalOf(one, stack.response, dependencies);
    releases.push(release);
    return routeOf(one, { stack, terminal, lease, object, nodeTags: dependencies.tags, recorded: dependencies });
  };
  const { ownVersions } = definition;
  try {
    const revision = `${object.position} ${object.sha256}`;
    const stack = buildStack(definition, dependencies, revision, ownVersions ? preflightRows : undefined);
    const route = compiled(definition, stack);
    if (!ownVersions) return { object, route, steps: stack.names };
    const versions = ownVersions.versions.map((one) => {
      const own = buildStack(one, dependencies, revision);
      return { route: compiled(one, own), steps: own.names };
    });
    // Without its versions it serves nothing.
    const request = [...stack.request, (context: Context) => context.refuse('version_missing')];
    return { object, route: { ...route, request }, steps: stack.names, own: { versions, preflight: stack.request } };
  } catch (error) {
    lease.retire();
    throw error;
  }
}

type RouteParts = {
  readonly stack: Stack;
  readonly terminal: Terminal;
  readonly lease: Lease;
  readonly object: ApiObject;
  readonly nodeTags: readonly string[];
  readonly recorded: DetailSurroundings;
};

const routeOf = (
  definition: ApiDefinition,
  { stack, terminal, lease, object, nodeTags, recorded }: RouteParts,
): Route => ({
  definition,
  apiRevision: object.revision,
  request: stack.request,
  response: stack.response,
  terminal,
  guarded: guardedNames(definition),
  version: definition.versionName ?? notVersioned,
  listenPath: definition.listenPath,
  versions: undefined,
  recordTags: keylessTags(definition.orgId, definition.apiId, nodeTags),
  detail: routeDetail(definition, recorded),
  lease,
});

function terminalOf(
  definition: ApiDefinition,
  response: Route['response'],
  { agents, clock, log, bodyIdleMs }: { agents: Agents; clock: Clock; log: Log; bodyIdleMs: number },
): { readonly terminal: Terminal; readonly release: () => void } {
  const target = targetOf(definition);
  // A streams API without an upstream: its paths lead nowhere.
  if (!target) return { terminal: (context) => sendAnswer(context, context.refuse('no_route')), release: () => {} };
  const { origin, timeoutMs, tls } = target;
  const agent = agents.acquire({ apiId: definition.apiId, origin, timeoutMs, tls });
  const terminal = proxy({ target, agent, response, clock, log, bodyIdleMs });
  return { terminal, release: () => agent.release() };
}

/** What the API sets, removes or reads as a credential. */
const guardedNames = ({ requestHeaders, authentication }: ApiDefinition): ReadonlySet<string> =>
  new Set(
    [
      ...(requestHeaders?.remove ?? []),
      ...(requestHeaders?.add ?? []).map(({ name }) => name),
      ...(authentication?.sources ?? []).flatMap(({ header }) => (header === undefined ? [] : [header])),
    ].map((name) => name.toLowerCase().replaceAll('_', '-')),
  );

const isForNode = (labels: readonly string[], tags: readonly string[]): boolean =>
  tags.length === 0 || labels.some((label) => tags.includes(label));

/**
 * Made anew for each table, so that a base picks among its versions of this moment; the base itself is built again only
 * when it changes.
 */
function withVersions({ route, own }: CompiledApi, { objects }: GatewaySnapshot, apis: Compiled['apis']): Route {
  const { versioning, ownVersions, orgId } = route.definition;
  if (own && ownVersions) {
    const versions = new Map(own.versions.map((version) => [version.route.version, version.route]));
    return { ...route, versions: ownVersionPicker(route, ownVersions, { versions, preflight: own.preflight }) };
  }
  if (!versioning) return route;
  const listed = (id: string): Listed => {
    const key = objectKey('api', id);
    const version = apis.get(key)?.route;
    const owner = version ? version.definition.orgId : objects[key]?.body.orgId;
    if (owner !== undefined && owner !== orgId) return 'unknown';
    // It may be on its way, not compile, or carry other labels: a reason to come back, not to say that it is no version.
    if (!version) return 'not_loaded';
    const { active, ownVersions } = version.definition;
    // Versions do not nest.
    return active && !ownVersions ? version : 'unknown';
  };
  return { ...route, versions: versionPicker(route, versioning, listed) };
}

const claimOf = ({ route: { definition } }: CompiledApi, route: Route): Claim => {
  const { domain, listenPath, active, internal } = definition;
  return {
    ...(domain === undefined ? {} : { domain }),
    listenPath,
    serves: active && !internal ? route : 'hidden',
  };
};

/** An API without any good version still holds its place, so that its callers learn what is wrong, and no other API gets them. */
function claimOfBroken(head: ApiDocument): readonly Claim[] {
  const extension = head[gatewayExtension];
  if (!isObject(extension)) return [];
  const path = textAt(extension, 'server', 'listenPath', 'value');
  if (path === undefined || path.trim() === '') return [];
  const isDomainOn = isOn(at(extension, 'server', 'customDomain'));
  const domain = isDomainOn ? textAt(extension, 'server', 'customDomain', 'name') : undefined;
  const { active, internal } = objectAt(extension, 'info', 'state') ?? {};
  return [
    {
      ...(domain ? { domain: normalHost(domain) } : {}),
      listenPath: normalListenPath(path),
      serves: active === false || internal === true ? 'hidden' : 'not_loaded',
    },
  ];
}
