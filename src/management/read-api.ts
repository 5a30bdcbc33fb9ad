/** One API as a read shows it: from the catalogue, or with `at=` from its history. */
import type { ApiDocument, ApiKind } from '../../domain/api/definition.ts';
import { apiUnknown } from '../../domain/errors.ts';
import type { Position } from '../../domain/event-store.ts';
import type { ApiId } from '../../domain/ids.ts';
import { getApi } from '../../projections/api-catalog.ts';
import { basesOf } from '../../projections/api-entries.ts';
import type { Call } from './call.ts';
import { awaitRevision } from './conditional.ts';
import { taggedReply } from './object-reads.ts';
import { apiAt, resolveAt } from './past/time-travel.ts';
import type { Reply } from './responses.ts';
import type { Services } from './route.ts';

export type ShownApi = {
  readonly kind: ApiKind;
  readonly document: ApiDocument;
  readonly revision: bigint | number;
  /** At which the answer was made. */
  readonly position: Position;
  /** The API of which this one is a version; not told of the past. */
  readonly baseId?: string;
};

/** Throws 404 when the API does not exist, or did not then. */
export async function readApi(
  { query, caller }: Call,
  { store, models, projector, now }: Services,
  apiId: ApiId,
): Promise<ShownApi> {
  const time = query.get('at');
  if (time !== null) {
    const position = await resolveAt(store, time, now().getTime());
    const past = await apiAt(store, caller.orgId, apiId, position);
    if (!past) throw apiUnknown();
    return { ...past, position };
  }
  await awaitRevision(query, ['apis'], projector);
  const api = getApi(models, caller.orgId, apiId);
  if (!api) throw apiUnknown();
  const [baseId] = basesOf(models, caller.orgId, apiId);
  const position = models.checkpoint('apis')?.position ?? api.position;
  return { ...api, position, ...(baseId === undefined ? {} : { baseId }) };
}

/** The document with its ETag; 304 when the client has it. */
export function replyWithApi(
  call: Call,
  services: Services,
  { document, revision, position, baseId }: ShownApi,
): Reply {
  const reply = taggedReply(call, services, { revision, position }, document);
  return baseId === undefined ? reply : { ...reply, headers: { ...reply.headers, 'x-svc-base-api-id': baseId } };
}
