/** Versions in a declarative set: a base lists what there is once the set is applied, and nothing that stays lists what goes. */
import type { SetObject } from '../../../domain/apply.ts';
import { toApiId } from '../../../domain/ids.ts';
import { basesBeside, documentIn, judgeVersions } from '../definitions/version-rules.ts';
import { applyApi, pruneApi } from './apis.ts';
import { refusedItem } from './item.ts';
import type { ApplyContext, ApplyItem, Existing } from './world.ts';

export async function applyVersionedApi(context: ApplyContext, object: SetObject, index: number): Promise<ApplyItem> {
  const item = await applyApi(context, object, index);
  const document = documentIn(item.write.events);
  if (!document) return item;
  const { deps, orgId, world, applier } = context;
  const base = { orgId, apiId: toApiId(object.id), document, beside: world.api, apis: applier.apis };
  const { problems, guards } = await judgeVersions(deps, base);
  if (problems.length === 0) return { ...item, checks: [...(item.checks ?? []), ...guards] };
  return refusedItem(
    object,
    index,
    problems.map((problem) => ({ ...problem, pointer: `/document${problem.pointer}` })),
  );
}

export async function pruneVersionedApi(context: ApplyContext, one: Existing): Promise<ApplyItem | undefined> {
  const item = await pruneApi(context, one);
  const bases = item ? basesBeside(context.deps.models, context.orgId, one.id, context.world.api) : [];
  if (!item || bases.length === 0) return item;
  const message = `${one.id} is a version of ${bases.join(', ')}, which would go on to list it`;
  return { ...item, problems: [...item.problems, { pointer: '', code: 'version_listed', message }] };
}
