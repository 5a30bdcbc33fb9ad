/** Turns a finished request into its analytics record, from values that the context has already (pump design 2 and 5.1). */
import { type AnalyticsRecord, keylessApiKey, noGeo, type RecordError } from '../../domain/analytics-record.ts';
import type { ApiDefinition } from '../../domain/api/definition.ts';
import type { OrgId } from '../../domain/ids.ts';
import { withoutKeys } from '../../domain/key-text.ts';
import type { RunningOrganisation } from '../access/organisations.ts';
import type { Context, Session } from '../http/context.ts';
import { isCredentialHeader, shownTarget } from '../http/credentials.ts';
import { type Failure, refusals } from '../http/errors.ts';
import { headerValue } from '../http/headers.ts';
import type { Clock } from '../ports.ts';
import type { GatewaySettings } from '../settings.ts';

/** Where a record stands: given by the recorder. */
export type Place = Pick<AnalyticsRecord['ext'], 'node' | 'epoch' | 'seq'>;

const hundredYearsMs = 100 * 365.25 * 86_400_000;

export type Surroundings = {
  readonly clock: Clock;
  /** Tags of the node stand behind those of the API and before those of key, organisation and API. */
  readonly settings: Pick<GatewaySettings, 'tags' | 'recording'>;
  readonly organisationOf: OrganisationOf;
};

type OrganisationOf = (orgId: OrgId) => RunningOrganisation;

export type MakeRecord = (context: Context, place: Place) => AnalyticsRecord;

export function recordMaker({ clock, settings, organisationOf }: Surroundings): MakeRecord {
  const enforcer = settings.recording.enforceOrgRetention ? organisationOf : undefined;
  const makes: Makes = { clock, nodeTags: settings.tags, enforcer, keyTags: new WeakMap() };
  return function makeRecord(context, place) {
    return recordOf(context, place, makes);
  };
}

/** `enforcer`: present where the period of organisations counts. */
type Makes = {
  readonly clock: Clock;
  readonly nodeTags: readonly string[];
  readonly enforcer: OrganisationOf | undefined;
  readonly keyTags: KeyTags;
};

/** By what records show of a key: its tags at the API that it was last used for. They stay the same as long as both do. */
type KeyTags = WeakMap<Session, { readonly definition: ApiDefinition; readonly tags: readonly string[] }>;

function recordOf(context: Context, place: Place, { clock, nodeTags, enforcer, keyTags }: Makes): AnalyticsRecord {
  const { head, route, connection, incoming } = context;
  const { definition } = route;
  const status = statusOf(context);
  const total = Math.max(0, Math.round(clock.monotonic() - context.startedMs));
  const upstream = Math.min(total, Math.round(context.upstreamMs));
  const path = withoutKeys(context.targetPath === '' ? forced(context.rest) : forced(context.targetPath));
  const { socket } = incoming;
  const read = socket.bytesRead;
  const written = socket.bytesWritten;
  const bytesIn = read - connection.countedIn;
  const bytesOut = written - connection.countedOut;
  connection.countedIn = read;
  connection.countedOut = written;
  return {
    method: head.method,
    host: context.targetHost,
    path,
    raw_path: decoded(path),
    user_agent: head.userAgent,
    content_length: head.contentLength >= 0 ? head.contentLength : context.bytesIn,
    response_code: status,
    api_key: context.session.keyId || keylessApiKey,
    api_version: route.version,
    api_name: definition.name,
    api_id: definition.apiId,
    org_id: definition.orgId,
    oauth_id: '',
    alias: context.session.alias,
    api_schema: '',
    ip_address: head.clientAddress,
    timestamp: context.arrivedMs,
    expireAt: context.arrivedMs + retentionMs(definition, enforcer?.(definition.orgId)),
    request_time: total,
    raw_request: '',
    raw_response: '',
    geo: noGeo,
    network: { open_connections: 0, closed_connections: 0, bytes_in: bytesIn, bytes_out: bytesOut },
    latency: { total, upstream, gateway: total - upstream },
    tags: tagsOf(context, nodeTags, keyTags),
    track_path: false,
    original_path: shownTarget(head.target, definition.authentication),
    listen_path: route.listenPath,
    ext: extensionOf(context, place, total, status),
  };
}

/** An organisation whose period is enforced has the last word, whether an API says more or less; one without a period has none. */
function retentionMs({ recordRetentionS }: ApiDefinition, organisation: RunningOrganisation | undefined): number {
  const enforced = organisation?.records?.retentionMs ?? 0;
  if (enforced > 0) return enforced;
  return recordRetentionS > 0 ? recordRetentionS * 1000 : hundredYearsMs;
}

/** Two literals instead of a spread: this runs for every request. */
function extensionOf(
  context: Context,
  { node, epoch, seq }: Place,
  totalMs: number,
  status: number,
): AnalyticsRecord['ext'] {
  const { revision: config_rev, requestId: request_id, head } = context;
  const { apiRevision: api_rev } = context.route;
  const { host: client_host } = head;
  const bytes = { in: context.bytesIn, out: context.bytesOut };
  // By the monotonic clock, so that no step of the wall clock puts the end before the beginning.
  const end = context.arrivedMs + totalMs;
  const error = errorOf(context.failure, status);
  const { cache } = context;
  if (cache !== undefined) {
    const found = { node, epoch, seq, config_rev, api_rev, end, request_id, client_host, cache, bytes };
    return error ? { ...found, error } : found;
  }
  return error
    ? { node, epoch, seq, config_rev, api_rev, end, request_id, client_host, error, bytes }
    : { node, epoch, seq, config_rev, api_rev, end, request_id, client_host, bytes };
}

/** What was sent; 499 when the client left before there was anything. */
export const statusOf = ({ answer, failure }: Context): number =>
  failure?.code === 'client_gone' ? refusals.client_gone.status : (answer?.status ?? refusals.client_gone.status);

const fromUpstream: RecordError = { flag: 'URS', source: 'upstream', details: 'upstream_status' };

function errorOf(failure: Failure | undefined, status: number): RecordError | undefined {
  if (!failure) return status >= 500 ? fromUpstream : undefined;
  const row = refusals[failure.code];
  return { flag: failure.flag ?? row.flag, source: row.part, details: failure.details ?? failure.code };
}

const forced = (path: string): string => (path.charCodeAt(0) === 47 ? path : `/${path}`);

function decoded(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const maxTags = 64;
const maxTagLength = 256;

/** Those of a keyless API without tagged headers are the same for every request. */
function tagsOf(context: Context, nodeTags: readonly string[], keyTags: KeyTags): readonly string[] {
  const { session, access, route } = context;
  const { definition } = route;
  const isUsual = definition.recordTags.length === 0 && context.cache !== 'hit';
  if (!isUsual || (session.keyId !== '' && !access)) return allTags(context, nodeTags);
  if (!access) return route.recordTags;
  const known = keyTags.get(session);
  if (known?.definition === definition) return known.tags;
  const tags = allTags(context, nodeTags);
  keyTags.set(session, { definition, tags });
  return tags;
}

function allTags({ session, route, head, cache }: Context, nodeTags: readonly string[]): readonly string[] {
  const { recordTags: headers, orgId, apiId, authentication } = route.definition;
  const tags = [
    ...session.tags,
    ...headers.flatMap((header) => {
      const name = header.toLowerCase();
      // A header that a credential is read from makes no tag, whatever the API says.
      const value = isCredentialHeader(name, authentication) ? undefined : headerValue(head.headers, name);
      return value === undefined ? [] : [`${name}-${value}`];
    }),
    ...(cache === 'hit' ? ['cached-response'] : []),
    ...nodeTags,
    ...identityTags(session.keyId, orgId, apiId),
  ];
  return limitedTags(tags);
}

/** The tags of every record of a keyless API. */
export const keylessTags = (orgId: string, apiId: string, nodeTags: readonly string[]): readonly string[] =>
  limitedTags([...nodeTags, ...identityTags('', orgId, apiId)]);

const identityTags = (keyId: string, orgId: string, apiId: string): readonly string[] => [
  `key-${keyId || keylessApiKey}`,
  `org-${orgId}`,
  `api-${apiId}`,
];

const limitedTags = (tags: readonly string[]): readonly string[] =>
  [...new Set(tags.map((tag) => tag.slice(0, maxTagLength)))].slice(0, maxTags);
