/** What a declarative set would do: per object the events between what stands and what is wanted, and what it deletes. */
import { type SetKind, setKinds } from '../../../domain/apply.ts';
import { type Position, padPosition } from '../../../domain/event-store.ts';
import type { OrgId } from '../../../domain/ids.ts';
import { applyKey, applyPolicy, pruneKey, prunePolicy } from './access.ts';
import { applyCertificate } from './certificates.ts';
import type { ApplyRequest } from './set.ts';
import { applyVersionedApi, pruneVersionedApi } from './versions.ts';
import { applyWebhook, pruneWebhook } from './webhooks.ts';
import {
  type Applier,
  type ApplyContext,
  type ApplyDeps,
  type ApplyItem,
  type Existing,
  existingOf,
  nameOf,
  worldAfter,
} from './world.ts';

export type ApplyPlan = {
  readonly items: readonly ApplyItem[];
  readonly existing: Readonly<Record<SetKind, number>>;
  /** Changed after the base that the caller knows. */
  readonly moved: readonly Existing[];
  /** What an earlier part of the same series has changed. */
  readonly done: readonly Existing[];
};

export type ApplyOptions = {
  readonly orgId: OrgId;
  readonly applier: Applier;
  readonly request: ApplyRequest;
  /** Unknown keys of definitions are problems. */
  readonly isStrict: boolean;
};

/** So many objects are read at once. */
const parallel = 16;

const appliers = {
  ...{ api: applyVersionedApi, cert: applyCertificate, key: applyKey, policy: applyPolicy, webhook: applyWebhook },
} as const;

/** Certificates have no owner, so that none is deleted. */
const pruners = { api: pruneVersionedApi, key: pruneKey, policy: prunePolicy, webhook: pruneWebhook } as const;
/** What names others goes first. */
export const prunedKinds = ['key', 'policy', 'api', 'webhook'] as const;

/** `head`: the position up to which the read models are asked. */
export async function planSet(
  deps: ApplyDeps,
  { orgId, applier, request, isStrict }: ApplyOptions,
  head: Position,
  commandId: string,
): Promise<ApplyPlan> {
  const all = setKinds.flatMap((kind) => existingOf(deps.models, orgId, kind, head));
  const there = all.filter(({ now }) => now.listed);
  const shared = { deps, orgId, applier, request, isStrict, commandId };
  const gone = await deletions(shared, there);
  const names = new Set(gone.map(nameOf));
  const early = { ...shared, world: worldAfter(deps.models, request, orgId, names) };
  const certificates = await inOrder(placed(request, 'cert'), ({ object, index }) =>
    applyCertificate(early, object, index),
  );
  // What their certificates are is known once these have been read.
  const made = new Set(certificates.filter(({ change }) => change === 'created').map(({ id }) => id));
  const context = { ...shared, world: worldAfter(deps.models, request, orgId, names, made) };
  const { base } = request;
  return {
    items: [
      ...certificates,
      ...(await inOrder(
        setKinds.filter((kind) => kind !== 'cert').flatMap((kind) => placed(request, kind)),
        ({ object, index }) => appliers[object.kind](context, object, index),
      )),
      // Judged again, now that it is known what else goes.
      ...(await inOrder(gone, (one) => pruned(context, one))),
    ],
    existing: Object.fromEntries(
      setKinds.map((kind) => [kind, there.filter((one) => one.kind === kind).length]),
    ) as ApplyPlan['existing'],
    moved: base === undefined ? [] : all.filter(({ now }) => now.position > padPosition(base)),
    done: all.filter(({ now }) => now.commandId === commandId),
  };
}

const placed = ({ objects }: ApplyRequest, kind: SetKind) =>
  objects.flatMap((object, index) => (object.kind === kind ? [{ object, index }] : []));

async function deletions(
  shared: Omit<ApplyContext, 'world'>,
  there: readonly Existing[],
): Promise<readonly Existing[]> {
  const { request, deps, orgId } = shared;
  if (!request.prune) return [];
  const wanted = new Set(request.objects.map(nameOf));
  const candidates = prunedKinds.flatMap((kind) =>
    there.filter((one) => one.kind === kind && !wanted.has(nameOf(one)) && shared.applier.mayWrite(kind)),
  );
  const context = { ...shared, world: worldAfter(deps.models, request, orgId, new Set()) };
  const found = await inOrder(candidates, (one) => pruned(context, one));
  const names = new Set(found.map(nameOf));
  return candidates.filter((one) => names.has(nameOf(one)));
}

const pruned = async (context: ApplyContext, one: Existing): Promise<ApplyItem | undefined> =>
  one.kind === 'cert' ? undefined : pruners[one.kind](context, one);

async function inOrder<T>(
  list: readonly T[],
  make: (one: T) => Promise<ApplyItem | undefined>,
): Promise<readonly ApplyItem[]> {
  const items: ApplyItem[] = [];
  for (let start = 0; start < list.length; start += parallel) {
    const made = await Promise.all(list.slice(start, start + parallel).map(make));
    for (const item of made) if (item) items.push(item);
  }
  return items;
}
