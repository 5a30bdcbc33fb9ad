/** Reads with `at=`: the place that a request names, the lists as they were there, and one certificate as it was. */
import { certificateUnknown } from '../../domain/errors.ts';
import type { EventStore, Position } from '../../domain/event-store.ts';
import { decodeEvent } from '../../domain/events.ts';
import { certStream, type OrgId } from '../../domain/ids.ts';
import {
  certificateList,
  getCertificate,
  ownCertId,
  placeOfCertificate,
  type ShownCertificate,
} from '../../projections/certificate-list.ts';
import { lastEntryAt } from '../../projections/history.ts';
import { objectsAt, pastDocuments, readerOver } from '../../projections/past.ts';
import type { Document, DocumentReader } from '../../projections/read-model-store.ts';
import type { HistoryReads } from '../../projections/whole-entries.ts';
import type { Call } from './call.ts';
import { awaitPosition } from './conditional.ts';
import type { ConfigKind } from './past/config-objects.ts';
import { gather } from './past/gather.ts';
import { eventsUpTo, type Parameter, resolveAt, revisionAt } from './past/time-travel.ts';
import type { Services } from './route.ts';

/** A place in the past. `time` is ms since 1970: the one that was named, else that of the last event up to the position. */
export type Moment = { readonly position: Position; readonly time: number };

type Reads = Pick<Services, 'store' | 'models' | 'now'> & {
  readonly projector: Pick<Services['projector'], 'waitFor'>;
};

/** Throws `at_invalid`, and `revision_not_reached` when the history does not come to know the place in time. */
export async function momentOf(
  { store, models, projector, now }: Reads,
  orgId: OrgId,
  text: string,
  parameter?: Parameter,
): Promise<Moment> {
  const position = await resolveAt(store, text, now().getTime(), parameter);
  await awaitPosition(['history'], position, projector.waitFor);
  const named = /^[\d-]+$/.test(text) ? undefined : Date.parse(text.replace(' ', 'T'));
  const last = named === undefined ? lastEntryAt(models, orgId, position) : undefined;
  return { position, time: named ?? Date.parse(last?.at ?? new Date(0).toISOString()) };
}

/** The moment that `at=` names; undefined without it. */
export const askedMoment = async (call: Call, services: Reads): Promise<Moment | undefined> => {
  const text = call.query.get('at');
  return text === null ? undefined : momentOf(services, call.caller.orgId, text);
};

/** What a list reads: the read models of now, or those of the moment that the request names. */
export async function documentsFor(
  call: Call,
  services: Reads,
  ...kinds: readonly ConfigKind[]
): Promise<{ readonly documents: DocumentReader; readonly time: number }> {
  const moment = await askedMoment(call, services);
  if (!moment) return { documents: services.models, time: services.now().getTime() };
  return { documents: await documentsAt(services, call.caller.orgId, kinds, moment), time: moment.time };
}

async function documentsAt(
  reads: HistoryReads,
  orgId: OrgId,
  kinds: readonly ConfigKind[],
  { position }: Moment,
): Promise<DocumentReader> {
  const objects = [];
  for (const kind of kinds) objects.push(...(await gather(objectsAt(reads, orgId, kind, position))));
  return pastDocuments(objects);
}

/** `place`: what its tag is made of. */
export type PlacedCertificate = {
  readonly certificate: ShownCertificate;
  readonly place: ReturnType<typeof placeOfCertificate>;
};

/** Certificates as their details showed them then, by id or fingerprint. Throws `certificate_unknown`. */
export async function certificatesAt(
  { store, models }: Pick<Reads, 'store' | 'models'>,
  orgId: OrgId,
  ids: readonly string[],
  moment: Moment,
): Promise<readonly PlacedCertificate[]> {
  const users = await documentsAt({ store, models }, orgId, ['api'], moment);
  const shown: PlacedCertificate[] = [];
  for (const id of ids) shown.push(await certificateAt(store, orgId, id, moment, users));
  return shown;
}

/** Its own events, folded by the projection that shows it now. */
async function certificateAt(
  store: EventStore,
  orgId: OrgId,
  text: string,
  { position, time }: Moment,
  users: DocumentReader,
): Promise<PlacedCertificate> {
  const certId = ownCertId(orgId, text);
  const documents = new Map<string, readonly Document[]>();
  const reader = readerOver((collection) => documents.get(collection) ?? []);
  const stream = certStream(certId);
  const last = await revisionAt(store, stream, position);
  for (const stored of last === undefined ? [] : await eventsUpTo(store, stream, last)) {
    for (const change of certificateList.apply(decodeEvent(stored), reader)) {
      documents.set(change.collection, change.op === 'put' ? [change.document] : []);
    }
  }
  const certificate = getCertificate(reader, orgId, certId, time, users);
  if (!certificate) throw certificateUnknown();
  return { certificate, place: placeOfCertificate(reader, certId) };
}
