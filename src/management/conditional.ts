/** Conditions of requests: entity tags, If-Match and If-None-Match, and reads that wait for a revision. */
import type { JsonObject } from '../../domain/event.ts';
import { type Position, padPosition, shortPosition } from '../../domain/event-store.ts';
import { queryInvalid, Rejection } from './errors.ts';

/** The stream revision in quotes; after a restore from a backup with the era before it (event-store design 10.1). */
export const etagOf = (revision: bigint | number | string, era: number): string =>
  era === 0 ? `"${revision}"` : `"${era}.${revision}"`;

const tagsOf = (header: string): readonly string[] => header.split(',').map((tag) => tag.trim());

/** The revision that a tag of this era names. */
function revisionOf(tag: string, era: number): bigint | undefined {
  const found = /^"(?:(\d{1,9})\.)?(\d{1,18})"$/.exec(tag);
  return found?.[2] !== undefined && Number(found[1] ?? '0') === era ? BigInt(found[2]) : undefined;
}

/** Whether the header names the tag; `*` names every one. Weak tags never match. */
export const matchesTag = (header: string, etag: string): boolean =>
  tagsOf(header).some((tag) => tag === '*' || tag === etag);

/** The first revision that the header names, for the difference to it. */
export const namedRevision = (header: string, era: number): bigint | undefined =>
  tagsOf(header)
    .map((tag) => revisionOf(tag, era))
    .find((revision) => revision !== undefined);

/** 412 with the current tag; without one the object does not exist. */
export const preconditionFailed = (etag: string | undefined, diff?: readonly JsonObject[]): Rejection =>
  new Rejection('precondition_failed', 'precondition failed', {
    ...(etag === undefined ? {} : { headers: { ETag: etag } }),
    ...(diff ? { members: { diff } } : {}),
  });

/** If-None-Match of a write: 412 when what is there is what the client does not want to meet. */
export function demandAbsent(header: string | undefined, etag: string): void {
  if (header !== undefined && matchesTag(header, etag)) throw preconditionFailed(etag);
}

/** If-None-Match of a read: weak comparison (RFC 9110). */
export const isNotModified = (header: string | undefined, etag: string): boolean =>
  header !== undefined && matchesTag(header.replaceAll('W/', ''), etag);

export type WaitFor = (names: readonly string[], position: Position, timeoutMs: number) => Promise<boolean>;

const maxWaitMs = 2_000;

/** What reads wait for. */
export type Reads = {
  readonly waitFor: WaitFor;
  readonly readable: (names: readonly string[], timeoutMs: number) => Promise<boolean>;
};

/** Waits until there is something to read, and with `minRevision=` until the projections have reached the position; then 503. */
export async function awaitRevision(
  query: URLSearchParams,
  projections: readonly string[],
  { readable, waitFor }: Reads,
): Promise<void> {
  // An empty list would be a lie while it is made.
  if (!(await readable(projections, maxWaitMs))) {
    throw new Rejection('read_models_empty', 'The read models are folded from the log for the first time', {
      headers: { 'Retry-After': '1' },
    });
  }
  const text = query.get('minRevision');
  if (text === null) return;
  if (!/^\d{1,20}(?:-\d{1,20})?$/.test(text)) throw queryInvalid('minRevision', 'must be a revision (a position)');
  await awaitPosition(projections, padPosition(text), waitFor);
}

/** The same for a place that follows from the request. */
export async function awaitPosition(
  projections: readonly string[],
  position: Position,
  waitFor: WaitFor,
): Promise<void> {
  if (await waitFor(projections, position, maxWaitMs)) return;
  throw new Rejection('revision_not_reached', `revision ${shortPosition(position)} has not been reached yet`, {
    headers: { 'Retry-After': '1' },
  });
}

/** A write waits this long until reads show it; longer is no error of the write. */
const settleMs = 500;

const written = ['apis', 'certs', 'history', 'keys', 'organisations', 'policies', 'tokens', 'webhooks'];

/** After a write. A projection whose first fold goes on shows nothing yet, and nobody waits for it. */
export async function settled(position: Position, { readable, waitFor }: Reads): Promise<void> {
  const isThere = await Promise.all(written.map((name) => readable([name], 0)));
  const shown = written.filter((_, index) => isThere[index]);
  await waitFor(shown, position, settleMs);
}
