/** What becomes of one object of a set: refused, left to its owner, changed from one form to another, or deleted. */
import { ownership, portable, type SetKind, type SetObject } from '../../../domain/apply.ts';
import type { Problem } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import type { OrgId } from '../../../domain/ids.ts';
import type { Labels } from '../../../domain/labels.ts';
import type { ApplyContext, ApplyItem } from './world.ts';

/** An object that is refused: nothing of it is written. */
export const refusedItem = (object: SetObject, index: number, problems: readonly Problem[]): ApplyItem => ({
  ...{ kind: object.kind, id: object.id, name: object.id, change: 'none', index, problems, warnings: [] },
  write: { stream: '', expected: 'any', events: [] },
});

/** `isWritten`: it is changed, or taken over as it is. `labels`: with which it is written. */
type Claim =
  | { readonly problems: readonly Problem[] }
  | { readonly labels: Labels; readonly isTakenOver: boolean; readonly isWritten: boolean };

/** Whose the object is once the set is applied; `held`: the labels that it has. */
export function claimed(
  { request }: Pick<ApplyContext, 'request'>,
  object: SetObject,
  held: Labels | undefined,
  isChanged: boolean,
): Claim {
  const owner = object.labels?.owner ?? request.owner;
  const owned = ownership(held, owner, { takeOver: request.takeOver, isChanged });
  if (!owned.may) return { problems: [belongsTo(owned.owner)] };
  const { labels, isTakenOver } = owned;
  return { labels, isTakenOver, isWritten: isChanged || isTakenOver };
}

const belongsTo = (owner: string): Problem => ({
  ...{ pointer: '/labels/owner', code: 'owner', message: `belongs to ${owner}; only takeOver changes what others own` },
});

type Side = { readonly labels?: Labels; readonly document: JsonObject };

/** How it changes, whose it is and was, and both sides as files hold them. `before` is absent where it was not there. */
export const changeOf = (
  kind: SetKind,
  events: ApplyItem['write']['events'],
  { before, after }: { readonly before: Side | undefined; readonly after: Side },
): Pick<ApplyItem, 'change' | 'owner' | 'ownerBefore' | 'before' | 'after'> => ({
  change: events.length === 0 ? 'none' : before ? 'changed' : 'created',
  ...(after.labels?.owner === undefined ? {} : { owner: after.labels.owner }),
  ...(before?.labels?.owner === undefined ? {} : { ownerBefore: before.labels.owner }),
  ...(before ? { before: portable(kind, before.document) } : {}),
  after: portable(kind, after.document),
});

type Owned = { readonly exists: true; readonly orgId: OrgId; readonly labels?: Labels };

/** Whether it is the set's to delete: there, and of the same owner. */
export const isPrunable = <There extends Owned>(
  { orgId, request }: Pick<ApplyContext, 'orgId' | 'request'>,
  state: { readonly exists: false } | There,
): state is There => state.exists && state.orgId === orgId && state.labels?.owner === request.owner;

/** How a deleted object is told. */
export const deletion = (
  { request }: Pick<ApplyContext, 'request'>,
  kind: SetKind,
  document: JsonObject,
): Pick<ApplyItem, 'change' | 'ownerBefore' | 'before'> => ({
  ...{ change: 'deleted', ownerBefore: request.owner, before: portable(kind, document) },
});
