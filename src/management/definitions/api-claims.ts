/** The domain and listen path that an API holds: which reservations a change of its document takes and lets go. */
import { nameOfApi } from '../../../domain/api/api.ts';
import { canonicalHead } from '../../../domain/api/classic/codec.ts';
import type { ApiDocument, ApiKind } from '../../../domain/api/definition.ts';
import { readDefinition } from '../../../domain/api/oas.ts';
import { routeClaim } from '../../../domain/api/paths.ts';
import type { EventStore } from '../../../domain/event-store.ts';
import { type ApiId, type OrgId, routeStream, toApiId } from '../../../domain/ids.ts';
import { type ReservationState, reservation } from '../../../domain/reservation.ts';
import { sha256Hex } from '../derived-fields.ts';
import type { PlannedWrite } from '../handle-command.ts';
import { expectedOf, type Loaded, loadApi, loadReservation } from '../load.ts';

export type Owner = { readonly orgId: OrgId; readonly apiId: ApiId; readonly kind: ApiKind };

type Route = { readonly claim: string; readonly listenPath: string; readonly text: string };

/** How an answer shows it: domain and path. */
export function routeOfDocument(document: ApiDocument, owner: Owner): Route {
  const { domain, listenPath } = readDefinition(canonicalHead(document), owner).definition;
  return { claim: routeClaim(domain, listenPath), listenPath, text: `${domain ?? ''}${listenPath}` };
}

const apiName = (document: ApiDocument): string => nameOfApi(document) ?? '';

export const claimStream = (claim: string): string => routeStream(sha256Hex(claim));

/** Writes that go into the same append as the change itself. Throws `route_taken` with the name of the holder. */
export async function claimWrites(
  store: EventStore,
  owner: Owner,
  change: { readonly before?: ApiDocument | undefined; readonly after?: ApiDocument | undefined },
  commandId: string,
): Promise<readonly PlannedWrite[]> {
  const was = change.before && routeOfDocument(change.before, owner);
  const becomes = change.after && routeOfDocument(change.after, owner);
  if (was?.claim === becomes?.claim) return [];
  const { orgId, apiId } = owner;
  const writes: PlannedWrite[] = [];
  if (becomes && change.after) {
    const stream = claimStream(becomes.claim);
    const held = await withCurrentName(store, await loadReservation(store, stream));
    const { claim: value, listenPath } = becomes;
    const ownerName = apiName(change.after);
    const events = reservation.decide(
      { type: 'ReserveName', orgId, kind: 'route', value, owner: apiId, ownerName, commandId, listenPath },
      held.state,
    );
    // Without events the claim is ours already; the empty write still checks that nobody takes it meanwhile.
    writes.push({ stream, expected: expectedOf(held), events });
  }
  if (was) {
    const stream = claimStream(was.claim);
    const held = await loadReservation(store, stream);
    const events = reservation.decide(
      { type: 'ReleaseName', orgId, kind: 'route', value: was.claim, owner: apiId, commandId },
      held.state,
    );
    if (events.length > 0) writes.push({ stream, expected: expectedOf(held), events });
  }
  return writes;
}

/** The holder may have been renamed since it took the route. */
async function withCurrentName(store: EventStore, held: Loaded<ReservationState>): Promise<Loaded<ReservationState>> {
  const { holder } = held.state;
  if (!holder) return held;
  const { state } = await loadApi(store, toApiId(holder.owner));
  return state.exists ? { ...held, state: { holder: { ...holder, ownerName: apiName(state.document) } } } : held;
}
