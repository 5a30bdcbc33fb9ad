/** The routes that a restore lets go and takes: one write per route, so that APIs can change places in one append. */
import type { ApiState } from '../../../domain/api/api.ts';
import { Refusal } from '../../../domain/errors.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import { type OrgId, toApiId } from '../../../domain/ids.ts';
import { type ClaimMove, moveClaim } from '../../../domain/restore.ts';
import { claimStream, routeOfDocument } from '../definitions/api-claims.ts';
import type { PlannedWrite } from '../handle-command.ts';
import { expectedOf, loadReservation } from '../load.ts';
import type { RestoreItem } from './restore-plan.ts';

/** An object whose change may move a route. */
export type ClaimingItem = Pick<RestoreItem, 'id' | 'name' | 'change' | 'api'>;

/** A route that an object would need and another one has. */
export type Conflict = {
  readonly kind: 'api';
  readonly id: string;
  readonly route: string;
  readonly message: string;
};

export type RouteChange = { readonly was: string | null; readonly becomes: string | null; readonly owner: string };

type Move = Pick<ClaimMove, 'value' | 'listenPath' | 'taker'> & {
  readonly releasedBy: Set<string>;
  readonly text: string;
};

/** The writes go into the append of the restore. What cannot be taken is told, not thrown. */
export async function restoreClaims(
  store: EventStore,
  orgId: OrgId,
  items: readonly ClaimingItem[],
  commandId: string,
): Promise<{ readonly writes: readonly PlannedWrite[]; readonly conflicts: readonly Conflict[] }> {
  const { moves, conflicts } = movesOf(orgId, items);
  const writes: PlannedWrite[] = [];
  for (const move of moves) {
    const { value, listenPath, taker, releasedBy, text } = move;
    const stream = claimStream(value);
    const held = await loadReservation(store, stream);
    try {
      const events = moveClaim(
        { orgId, value, listenPath, commandId, releasedBy, ...(taker ? { taker } : {}) },
        held.state,
      );
      // Without events the claim is the taker's already; the empty write still checks that it stays so.
      if (events.length > 0 || taker) writes.push({ stream, expected: expectedOf(held), events });
    } catch (error) {
      if (!(error instanceof Refusal && error.code === 'route_taken' && taker)) throw error;
      conflicts.push({ kind: 'api', id: taker.apiId, route: text, message: error.message });
    }
  }
  return { writes, conflicts };
}

/** Routes of the APIs that change, before and after. */
export const routeChanges = (orgId: OrgId, items: readonly ClaimingItem[]): readonly RouteChange[] =>
  items.flatMap((item) => {
    const { before, after } = routesOf(orgId, item);
    const [was, becomes] = [before?.text ?? null, after?.text ?? null];
    return was === becomes ? [] : [{ was, becomes, owner: item.id }];
  });

function movesOf(orgId: OrgId, items: readonly ClaimingItem[]) {
  const moves = new Map<string, Move>();
  const conflicts: Conflict[] = [];
  const moveOf = (route: { readonly claim: string; readonly listenPath: string; readonly text: string }): Move => {
    const { claim: value, listenPath, text } = route;
    return moves.get(value) ?? { value, listenPath, text, releasedBy: new Set() };
  };
  for (const item of items) {
    const { before, after } = routesOf(orgId, item);
    if (before?.claim === after?.claim) continue;
    if (before) {
      const move = moveOf(before);
      moves.set(before.claim, { ...move, releasedBy: new Set([...move.releasedBy, item.id]) });
    }
    if (!after) continue;
    const move = moveOf(after);
    if (move.taker) {
      const message = `API ${move.taker.apiId} comes back to the same route`;
      conflicts.push({ kind: 'api', id: item.id, route: after.text, message });
    } else {
      moves.set(after.claim, { ...move, taker: { apiId: toApiId(item.id), name: item.name } });
    }
  }
  return { moves: moves.values(), conflicts };
}

/** What the API listens on now and then; nothing for a change that leaves the API as it is. */
function routesOf(orgId: OrgId, { id, change, api }: ClaimingItem) {
  if (!api || change === 'kept') return {};
  const route = (state: ApiState) =>
    state.exists ? routeOfDocument(state.document, { orgId, apiId: toApiId(id), kind: state.kind }) : undefined;
  return { before: route(api.now), after: route(api.past) };
}
