/** The names that policies hold: which reservations a change takes and lets go, so that two nodes cannot give one name twice. */

import { policyNameTaken } from '../../domain/errors.ts';
import type { EventStore } from '../../domain/event-store.ts';
import type { DomainEvent } from '../../domain/events.ts';
import { nameStream, type OrgId, toPolicyId } from '../../domain/ids.ts';
import { isObject, textAt } from '../../domain/json.ts';
import { type ReservationEvent, type ReservationState, reservation } from '../../domain/reservation.ts';
import { sha256Hex } from './derived-fields.ts';
import type { PlannedWrite } from './handle-command.ts';
import { expectedOf, loadPolicy, loadReservation } from './load.ts';

/** An object that may be a policy: its document before, and what is written of it. */
type NamedItem = {
  readonly kind: string;
  readonly id: string;
  readonly before?: unknown;
  readonly write: { readonly events: readonly DomainEvent[] };
};

/** A policy whose name another one has, or gets by the same change. */
export type TakenName = { readonly id: string; readonly name: string; readonly owner: string };

type Options = {
  readonly commandId: string;
  /** Told of a name that cannot be taken; without it that is thrown. */
  readonly onTaken?: (taken: TakenName) => void;
  /** Ids of all policies that have the name, for who has not looked yet. */
  readonly policiesNamed?: (name: string) => readonly string[];
};

/** One name, and which policies of this change let it go and take it. */
type Move = { readonly releasedBy: ReadonlySet<string>; readonly takers: readonly string[] };

type Claim = { readonly orgId: OrgId; readonly value: string };

const prefix = 'policy\n';

/**
 * Writes for the append of the change itself, one per name, so that policies can change places. Policies of logs that
 * are older than reservations hold none: what says that their names are taken is the list of policies.
 * Throws `policy_name_taken`.
 */
export async function policyNameWrites(
  store: EventStore,
  orgId: OrgId,
  items: readonly NamedItem[],
  options: Options,
): Promise<readonly PlannedWrite[]> {
  const writes: PlannedWrite[] = [];
  for (const [name, move] of movesOf(items)) {
    const claim = { orgId, value: `${prefix}${name}` };
    const stream = nameStream(sha256Hex(`${orgId}\n${claim.value}`));
    const held = await loadReservation(store, stream);
    const events = await moved(store, claim, move, held.state, options);
    if (events.length > 0) writes.push({ stream, expected: expectedOf(held), events });
  }
  return writes;
}

/** Whether the policy has the name now that it holds. */
export async function isNamed(store: EventStore, { orgId, owner, value }: Claim & { readonly owner: string }) {
  const { state } = await loadPolicy(store, toPolicyId(owner));
  return state.exists && state.orgId === orgId && `${prefix}${textAt(state.document, 'name')}` === value;
}

function movesOf(items: readonly NamedItem[]): ReadonlyMap<string, Move> {
  const moves = new Map<string, Move>();
  for (const { kind, id, before, write } of items) {
    const last = write.events.at(-1);
    if (kind !== 'policy' || !last) continue;
    const was = isObject(before) ? textAt(before, 'name') : undefined;
    const becomes = 'document' in last ? textAt(last.document, 'name') : undefined;
    if (was === becomes) continue;
    if (was !== undefined) {
      const move = moves.get(was) ?? nobody;
      moves.set(was, { ...move, releasedBy: new Set([...move.releasedBy, id]) });
    }
    if (becomes !== undefined) {
      const move = moves.get(becomes) ?? nobody;
      moves.set(becomes, { ...move, takers: [...move.takers, id] });
    }
  }
  return moves;
}

const nobody: Move = { releasedBy: new Set(), takers: [] };

async function moved(
  store: EventStore,
  claim: Claim,
  { releasedBy, takers }: Move,
  state: ReservationState,
  { commandId, onTaken = refuse, policiesNamed = () => [] }: Options,
): Promise<readonly ReservationEvent[]> {
  const { holder } = state;
  const [taker, ...late] = takers;
  const ownerName = claim.value.slice(prefix.length);
  const tell = (id: string, owner: string): void => onTaken({ id, name: ownerName, owner });
  if (taker) for (const id of late) tell(id, taker);
  const another = taker && policiesNamed(ownerName).find((id) => !takers.includes(id) && !releasedBy.has(id));
  if (another) tell(taker, another);
  if (another || (holder && holder.owner === taker)) return [];
  const common = { ...claim, kind: 'name', commandId } as const;
  const isFreed = holder && (releasedBy.has(holder.owner) || (taker && (await isStale(store, claim, holder.owner))));
  const released = isFreed ? reservation.decide({ type: 'ReleaseName', ...common, owner: holder.owner }, state) : [];
  if (!taker) return released;
  if (holder && !isFreed) tell(taker, holder.owner);
  const reserve = { type: 'ReserveName', ...common, owner: taker, ownerName } as const;
  return [...released, ...reservation.decide(reserve, reservation.initial)];
}

function refuse(): never {
  throw policyNameTaken();
}

/** Held by a policy that does not have it. Where claim and policy are two appends it may be about to: the sweeper waits for that. */
const isStale = async (store: EventStore, claim: Claim, owner: string): Promise<boolean> =>
  store.can.multiStream && !(await isNamed(store, { ...claim, owner }));
