/** The command that brings the configuration back to a position: new events, one append where the engine can, a preview before. */
import type { Json, JsonObject } from '../../../domain/event.ts';
import { type EventStore, type Position, shortPosition } from '../../../domain/event-store.ts';
import { decodeEvent } from '../../../domain/events.ts';
import { type OrgId, orgStream } from '../../../domain/ids.ts';
import { organisation, type RestoredObject, type SkippedObject } from '../../../domain/organisation.ts';
import { listAggregates } from '../../../projections/history.ts';
import { listNodes } from '../../../projections/nodes.ts';
import { policiesNamed } from '../../../projections/policies.ts';
import type { Projector } from '../../../projections/runner/projector.ts';
import { awaitPosition } from '../conditional.ts';
import { Rejection } from '../errors.ts';
import type { Command, Plan, PlannedWrite } from '../handle-command.ts';
import { documentDifference } from '../past/config-diff.ts';
import type { ConfigKind } from '../past/config-objects.ts';
import { policyNameWrites, type TakenName } from '../policy-names.ts';
import { type Conflict as RouteConflict, restoreClaims, routeChanges } from './restore-claims.ts';
import { type RestoreDeps, type RestoreItem, type RestoreRequest, restoreItems } from './restore-plan.ts';
import { judgeReferences } from './restore-references.ts';

type RestoreOptions = RestoreRequest & {
  /** Of the state that is brought back, ms since 1970. */
  readonly time: number;
  readonly allowHoles: boolean;
  readonly isDryRun: boolean;
};

export type RestoreCommand = (options: RestoreOptions) => Command;

type Deps = RestoreDeps & {
  readonly projector: Pick<Projector, 'waitFor'>;
};

export const createRestoreCommand =
  (deps: Deps): RestoreCommand =>
  (options) => ({
    type: 'RestoreConfig',
    aggregate: `configuration of ${options.orgId}`,
    plan: (commandId) => planRestore(deps, options, commandId),
  });

async function planRestore(deps: Deps, options: RestoreOptions, commandId: string): Promise<Plan> {
  const { store } = deps;
  const { orgId, isDryRun, allowHoles } = options;
  const head = await store.head();
  await awaitPosition(['apis', 'history', 'keys', 'policies'], head, deps.projector.waitFor);
  const { items, checks } = await judgeReferences(deps, orgId, await restoreItems(deps, options, head));
  const { writes: claims, conflicts: routes } = await restoreClaims(store, orgId, items, commandId);
  const { names, conflicts: taken } = await restoredNames(deps, orgId, items, commandId);
  const conflicts = [...items.flatMap(takenId), ...routes, ...taken];
  if (!isDryRun) refuse(items, conflicts, allowHoles);
  const done = doneBefore(deps, options, head, commandId);
  const closing = await closingWrite(
    store,
    options,
    [...done.map(({ name: _, ...object }) => object), ...changedBy(items)],
    items,
    commandId,
  );
  const body = bodyOf(options, items, conflicts, nodesOf(deps, orgId));
  // A repeat that completes a series answers for the whole of it.
  const changed = [...done.map((object) => ({ ...object, toRevision: null })), ...(body['changed'] as Json[])];
  const objects = items.map(({ write }) => write).filter(({ events }) => events.length > 0);
  const isUnchanged = closing === undefined;
  return {
    // What closes the series is its last event; a route that is taken stands before the API that takes it.
    writes: closing ? [...claims, ...names, ...objects, ...checks, closing] : [],
    reply: {
      status: 200,
      body: { ...body, changed },
      ...(isUnchanged ? { headers: { 'x-svc-unchanged': 'true' } } : {}),
    },
    ...(head === '' ? {} : { position: head }),
  };
}

/** Names of policies that are let go and taken. What another policy has by now is told, not thrown. */
async function restoredNames(
  { store, models }: Deps,
  orgId: OrgId,
  items: readonly RestoreItem[],
  commandId: string,
): Promise<{ readonly names: readonly PlannedWrite[]; readonly conflicts: readonly Conflict[] }> {
  const conflicts: Conflict[] = [];
  const names = await policyNameWrites(store, orgId, items, {
    commandId,
    policiesNamed: (name) => policiesNamed(models, orgId, name),
    onTaken: (taken) => conflicts.push(takenName(taken)),
  });
  return { names, conflicts };
}

const takenName = ({ id, name, owner }: TakenName): Conflict => ({
  ...{ kind: 'policy', id, route: null },
  message: `the name ${JSON.stringify(name)} belongs to policy ${owner}`,
});

/** `route`: null where it is the id or the name that is taken. */
type Conflict = Pick<RestoreItem, 'kind'> &
  Omit<RouteConflict, 'kind' | 'route'> & { readonly route: RouteConflict['route'] | null };

const takenId = ({ kind, id, isTaken }: RestoreItem): readonly Conflict[] =>
  isTaken ? [{ kind, id, route: null, message: 'the id belongs to another organisation now' }] : [];

/** Nothing is applied unless everything that was asked for can be. */
function refuse(items: readonly RestoreItem[], conflicts: readonly Conflict[], allowHoles: boolean): void {
  const refused = items.filter(({ problems }) => problems.length > 0);
  if (refused.length > 0) {
    const problems = refused.flatMap(({ kind, id, problems }) =>
      problems.map((problem) => ({ ...problem, pointer: `/${kind}/${id}${problem.pointer}` })),
    );
    const lines = problems.slice(0, maxLines).map(({ pointer, message }) => `${pointer}: ${message}`);
    throw new Rejection('restore_refused', `Today's rules refuse the state then:\n${lines.join('\n')}`, { problems });
  }
  if (conflicts.length > 0) {
    const lines = conflicts.slice(0, maxLines).map(({ id, message }) => `${id}: ${message}`);
    throw new Rejection('restore_conflicts', `Others have what comes back:\n${lines.join('\n')}`, {
      members: { conflicts: conflicts.map((conflict) => ({ ...conflict })) },
    });
  }
  const holes = items.flatMap(({ hole }) => (hole ? [{ ...hole }] : []));
  if (holes.length === 0 || allowHoles) return;
  const lines = holes.slice(0, maxLines).map(({ kind, id, name }) => `${kind} ${id} (${name})`);
  const text = `Secrets that were shredded cannot be brought back (allowHoles leaves them out):\n${lines.join('\n')}`;
  throw new Rejection('restore_holes', text, { members: { holes } });
}

const maxLines = 100;

const isChange = (item: RestoreItem): item is RestoreItem & { readonly change: RestoredObject['change'] } =>
  item.change === 'created' || item.change === 'changed' || item.change === 'deleted';

const changedBy = (items: readonly RestoreItem[]): readonly RestoredObject[] =>
  items.filter(isChange).map(({ kind, id, change, toRevision }) => ({
    ...{ kind, id, change },
    ...(toRevision === undefined ? {} : { toRevision }),
  }));

type Done = Pick<RestoredObject, 'kind' | 'id' | 'change'> & { readonly name: string };

/** What an earlier part of the same series has changed: the streams whose last event is of this command. */
function doneBefore({ models }: Deps, { orgId, kinds }: RestoreOptions, head: Position, commandId: string) {
  return kinds.flatMap((kind: ConfigKind) =>
    listAggregates(models, orgId, kind, head)
      .filter(({ now }) => now.commandId === commandId)
      .map(({ stream, now }): Done => {
        const change = now.listed ? 'changed' : 'deleted';
        return { kind, id: stream.slice(kind.length + 1), name: now.name, change };
      }),
  );
}

/** Undefined when nothing was changed, or when the series is closed already. */
async function closingWrite(
  store: EventStore,
  { orgId, position, reason }: RestoreOptions,
  changed: readonly RestoredObject[],
  items: readonly RestoreItem[],
  commandId: string,
): Promise<PlannedWrite | undefined> {
  const stream = orgStream(orgId);
  const [last] = await store.readStream(stream, { back: true, limit: 1 });
  if (last?.type === 'ConfigRestored' && decodeEvent(last).meta['commandId'] === commandId) return undefined;
  const skipped = items.flatMap(({ kind, id, change, hole }): readonly SkippedObject[] => {
    if (hole) return [{ kind, id, reason: 'hole' }];
    return change === 'kept' ? [{ kind, id, reason: 'kept' }] : [];
  });
  const events = organisation.decide(
    { type: 'CloseRestore', orgId, toPosition: position, changed, skipped, comment: reason },
    organisation.initial,
  );
  return events.length === 0 ? undefined : { stream, expected: last?.revision ?? 'noStream', events };
}

const nodesOf = ({ models }: Deps, orgId: OrgId): readonly string[] =>
  listNodes(models, orgId).map(({ nodeId }) => nodeId);

function bodyOf(
  options: RestoreOptions,
  items: readonly RestoreItem[],
  conflicts: readonly Conflict[],
  nodes: readonly string[],
): JsonObject {
  const { orgId, position, time, isDryRun } = options;
  const changed = items.filter(isChange);
  const apis = changed.filter(({ kind }) => kind === 'api').map(({ id }) => id);
  const idsOf = ({ kind, id, name }: RestoreItem): JsonObject => ({ kind, id, name });
  return {
    position: shortPosition(position),
    time: new Date(time).toISOString(),
    changed: changed.map((item) => ({ ...shownItem(item), ...(isDryRun ? differenceOf(item) : {}) })),
    kept: items.filter(({ change }) => change === 'kept').map(idsOf),
    holes: items.flatMap(({ hole }): readonly Json[] => (hole ? [{ ...hole }] : [])),
    conflicts: conflicts.map((conflict) => ({ ...conflict })),
    refused: items
      .filter(({ problems }) => problems.length > 0)
      .map((item) => ({ ...idsOf(item), problems: item.problems.map((problem) => ({ ...problem })) })),
    warnings: items.flatMap((item) => item.warnings.map((text) => ({ ...idsOf(item), text }))),
    affects: {
      routes: routeChanges(orgId, changed).map((route) => ({ ...route })),
      apis,
      certificates: changed.filter(({ kind }) => kind === 'cert').map(({ id }) => id),
      // Certificates are in no gateway's configuration by themselves.
      gateways: apis.length === 0 ? [] : nodes.map((node) => ({ node })),
    },
  };
}

const shownItem = ({ kind, id, name, change, toRevision }: RestoreItem): JsonObject => ({
  ...{ kind, id, name, change },
  toRevision: toRevision === undefined ? null : Number(toRevision),
});

/** Documents of both sides are there for a change only; the others appear or go whole. */
const differenceOf = ({ kind, before, after }: RestoreItem): JsonObject =>
  before && after ? documentDifference(kind, before, after) : {};
