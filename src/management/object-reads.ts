/** Answers reads of one object: with its tag, 304 to who has it, and as it was at a time. */
import type { Refusal } from '../../domain/errors.ts';
import type { Json } from '../../domain/event.ts';
import { type Position, shortPosition } from '../../domain/event-store.ts';
import type { OrgId } from '../../domain/ids.ts';
import type { Call } from './call.ts';
import { awaitRevision, etagOf, isNotModified } from './conditional.ts';
import type { Loaded } from './load.ts';
import { revisionAt } from './past/time-travel.ts';
import { askedMoment } from './past-reads.ts';
import type { Reply } from './responses.ts';
import type { Services } from './route.ts';

/** Where an object stands: the revision of its stream, and the position of its last event. */
type Place = { readonly revision: bigint | number | string; readonly position: Position };

const placeHeaders = ({ store }: Pick<Services, 'store'>, { revision, position }: Place) => ({
  ETag: etagOf(revision, store.identity.era),
  'x-svc-revision': shortPosition(position),
});

/** 304 when the client has it. What was before has a tag and no condition. */
export function taggedReply(call: Call, services: Pick<Services, 'store'>, place: Place, body: Json): Reply {
  const headers = placeHeaders(services, place);
  return !call.query.has('at') && isNotModified(call.header('if-none-match'), headers.ETag)
    ? { status: 304, headers }
    : { status: 200, headers, body };
}

type Owned = { readonly exists: false } | { readonly exists: true; readonly orgId: OrgId };

type ReadTarget<State extends Owned> = {
  /** The projection that has it as it is now. */
  readonly projection: string;
  readonly stream: string;
  readonly load: (to: bigint) => Promise<Loaded<State>>;
  readonly unknown: () => Refusal;
  /** Undefined when the organisation has no such object. */
  readonly current: () => (Place & { readonly body: Json }) | undefined;
  /** How a state of before is shown; `changedAt` is when it began. */
  readonly former: (state: Extract<State, { readonly exists: true }>, changedAt: string) => Json;
};

/** One object, now or at the moment that `at=` names. Throws what `unknown` makes when there is none. */
export async function readOwned<State extends Owned>(
  call: Call,
  services: Services,
  target: ReadTarget<State>,
): Promise<Reply> {
  await awaitRevision(call.query, [target.projection], services.projector);
  const moment = await askedMoment(call, services);
  const found = moment ? await readThen(call, services, target, moment.position) : target.current();
  if (!found) throw target.unknown();
  return taggedReply(call, services, found, found.body);
}

async function readThen<State extends Owned>(
  { caller }: Call,
  { store }: Services,
  { stream, load, former }: ReadTarget<State>,
  at: Position,
): Promise<(Place & { readonly body: Json }) | undefined> {
  const revision = await revisionAt(store, stream, at);
  if (revision === undefined) return undefined;
  const { state, position = '' } = await load(revision);
  if (!isOwnedBy(state, caller.orgId)) return undefined;
  const [last] = await store.readStream(stream, { from: revision, to: revision, limit: 1 });
  return { revision, position, body: former(state, last?.at.toISOString() ?? '') };
}

const isOwnedBy = <State extends Owned>(state: State, orgId: OrgId): state is Extract<State, { exists: true }> =>
  state.exists && state.orgId === orgId;
