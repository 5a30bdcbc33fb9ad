/** The command that applies a declarative set: every problem before the first event, one append where the engine can. */
import { maskedNames } from '../../../domain/document-secrets.ts';
import type { Problem } from '../../../domain/errors.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';
import { type Position, shortPosition } from '../../../domain/event-store.ts';
import type { Projector } from '../../../projections/runner/projector.ts';
import { awaitPosition } from '../conditional.ts';
import { boundedDiff } from '../derived-fields.ts';
import { Rejection } from '../errors.ts';
import type { Command, Plan } from '../handle-command.ts';
import { policyNameWrites } from '../policy-names.ts';
import { type Conflict, restoreClaims } from '../restore/restore-claims.ts';
import { type ApplyOptions, type ApplyPlan, planSet, prunedKinds } from './plan.ts';
import { type ApplyDeps, type ApplyItem, nameOf } from './world.ts';

export type ApplyCommand = (options: ApplyOptions & { readonly isDryRun: boolean }) => Command;

type Deps = ApplyDeps & { readonly projector: Pick<Projector, 'waitFor'> };

export const createApplyCommand =
  (deps: Deps): ApplyCommand =>
  (options) => ({
    type: 'ApplyConfig',
    aggregate: `configuration of ${options.orgId}`,
    plan: (commandId) => planApply(deps, options, commandId),
  });

async function planApply(deps: Deps, options: Parameters<ApplyCommand>[0], commandId: string): Promise<Plan> {
  const { store } = deps;
  const head = await store.head();
  await awaitPosition(['apis', 'history', 'keys', 'policies', 'webhooks'], head, deps.projector.waitFor);
  const plan = await planSet(deps, options, head, commandId);
  // What this command did before, in a part that went through, is no change of others.
  const others = plan.moved.filter(({ now }) => now.commandId !== commandId);
  if (others.length > 0) throw baseMoved(others.filter(({ kind }) => options.applier.mayWrite(kind)));
  const { items } = plan;
  const { writes: claims, conflicts } = await restoreClaims(store, options.orgId, items, commandId);
  refuse(items, conflicts);
  const names = await policyNameWrites(store, options.orgId, items, { commandId });
  const objects = items.map(({ write }) => write).filter(({ events }) => events.length > 0);
  const checks = store.can.checks ? checksOf(items) : [];
  const isUnchanged = objects.length === 0;
  return {
    writes: isUnchanged ? [] : [...claims, ...names, ...objects, ...checks],
    reply: {
      status: 200,
      body: bodyOf(options, plan, head),
      ...(isUnchanged ? { headers: { 'x-svc-unchanged': 'true' } } : {}),
    },
    ...(head === '' ? {} : { position: head }),
  };
}

/** One check per stream, and none of a stream that is written. */
function checksOf(items: readonly ApplyItem[]): readonly ApplyItem['write'][] {
  const written = new Set(items.map(({ write }) => write.stream));
  const checks = items.flatMap((item) => (item.write.events.length > 0 ? (item.checks ?? []) : []));
  return [...new Map(checks.map((check) => [check.stream, check])).values()].filter(
    ({ stream }) => !written.has(stream),
  );
}

const maxListed = 100;

const baseMoved = (moved: ApplyPlan['moved']): Rejection => {
  const names = moved.slice(0, maxListed).map((one) => `\n${nameOf(one)} at ${shortPosition(one.now.position)}`);
  return new Rejection(
    'base_moved',
    `Changed since the plan was made:${names.join('') || ' what this token may not see'}`,
    {
      members: { moved: moved.slice(0, maxListed).map(({ kind, id, now }) => ({ kind, id, name: now.name })) },
    },
  );
};

/** Nothing is applied unless all of it can be; all that is wrong is told together. */
function refuse(items: readonly ApplyItem[], conflicts: readonly Conflict[]): void {
  const places = new Map(items.map((item) => [nameOf(item), item]));
  const taken = conflicts.map(({ kind, id, route, message }) => {
    const problem = { pointer: routePointer, code: 'route_taken', message: `${route}: ${message}` };
    return refusalOf(places.get(nameOf({ kind, id })), problem);
  });
  const refused = items.flatMap((item) => item.problems.map((problem) => refusalOf(item, problem)));
  const problems = [...refused, ...taken];
  if (problems.length === 0) return;
  const lines = problems.slice(0, maxListed).map(({ object, pointer, message }) => `${object}: ${pointer}: ${message}`);
  throw new Rejection('apply_refused', `Nothing is applied:\n${lines.join('\n')}`, { problems });
}

const routePointer = '/document/x-svc-api-gateway/server/listenPath/value';

function refusalOf(item: ApplyItem | undefined, { pointer, code, message }: Problem) {
  const object = item ? nameOf(item) : '';
  const place = item?.index === undefined ? '/prune' : `/objects/${item.index}`;
  return { object, pointer: `${place}${pointer}`, code, message };
}

const words = { created: 'created', changed: 'updated', deleted: 'deleted' } as const;
const isWord = (change: string): change is keyof typeof words => Object.hasOwn(words, change);

function bodyOf(
  { request, applier, isDryRun }: Parameters<ApplyCommand>[0],
  { items, existing, done }: ApplyPlan,
  head: Position,
): JsonObject {
  const changed = items.filter(({ change }) => isWord(change));
  const named = new Set(changed.map(nameOf));
  // A repeat that completes a series answers for the whole of it.
  const before = done
    .filter((one) => !named.has(nameOf(one)))
    .map(({ kind, id, now }) => ({ kind, id, name: now.name, change: now.listed ? 'updated' : 'deleted' }));
  const objects: readonly JsonObject[] = [...before, ...changed.map((item) => shownItem(item, isDryRun))];
  const count = (change: string): number => objects.filter((one) => one['change'] === change).length;
  return {
    base: shortPosition(head),
    owner: request.owner,
    objects,
    counts: {
      ...{ created: count('created'), updated: count('updated'), deleted: count('deleted') },
      unchanged: items.length - changed.length,
    },
    existing,
    warnings: [
      ...items.flatMap(({ kind, id, warnings }): readonly Json[] =>
        warnings.map((warning) => ({ kind, id, ...warning })),
      ),
      ...(request.prune ? keptKinds(applier) : []),
    ],
  };
}

/** What the token may not write it does not delete either, and does not learn of. */
const keptKinds = ({ mayWrite }: ApplyOptions['applier']): readonly JsonObject[] =>
  prunedKinds
    .filter((kind) => !mayWrite(kind))
    .map((kind) => ({
      ...{ kind, id: '', pointer: '/prune', code: 'scope_missing' },
      text: 'objects of this kind are not deleted: the token may not write them',
    }));

function shownItem(item: ApplyItem, isDryRun: boolean): JsonObject {
  const { kind, id, name, change, owner, ownerBefore, before, after } = item;
  return {
    ...{ kind, id, name, change: isWord(change) ? words[change] : change },
    ...(owner === undefined ? {} : { owner }),
    ...(ownerBefore === undefined ? {} : { ownerBefore }),
    ...(isDryRun && before ? { before: maskedNames(before) } : {}),
    ...(isDryRun && after ? { after: maskedNames(after) } : {}),
    ...(isDryRun && before && after ? boundedDiff(before, after) : {}),
  };
}
