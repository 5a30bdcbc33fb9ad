/** Reads the gateway extension of an OpenAPI document into a normalised definition; the document has passed schema and rules. */
import type { Problem } from '../errors.ts';
import type { Json, JsonObject } from '../event.ts';
import type { ApiId, OrgId } from '../ids.ts';
import { at, isObject, isOn, objectAt, textAt, texts } from '../json.ts';
import { readDetail } from '../record-detail.ts';
import { readAuthentication } from './authentication.ts';
import type {
  ApiDefinition,
  ApiDocument,
  ApiKind,
  Cors,
  HeaderTransform,
  IpAccess,
  RateLimit,
  TlsVersions,
} from './definition.ts';
import { gatewayExtension } from './definition.ts';
import { durationMs } from './duration.ts';
import { readEventHandlers } from './event-handlers.ts';
import { expirationMs } from './expiration.ts';
import { normalHost, normalListenPath } from './paths.ts';
import { readVersioning } from './read-versioning.ts';
import { readCache } from './response-cache.ts';

const defaultUpstreamTimeoutMs = 30_000;

const numberAt = (value: Json | undefined, ...path: readonly string[]): number => {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : 0;
};

export function readDefinition(
  document: ApiDocument,
  ids: { readonly apiId: ApiId; readonly orgId: OrgId; readonly kind: ApiKind },
): { readonly definition: ApiDefinition; readonly problems: readonly Problem[] } {
  const extension = objectAt(document, gatewayExtension) ?? {};
  const server = objectAt(extension, 'server') ?? {};
  const middleware = objectAt(extension, 'middleware', 'global') ?? {};
  const { authentication, problems } = readAuthentication(document);
  const versioning = readVersioning(extension);
  const cache = readCache(document, middleware);
  const expiresAt = expirationMs(textAt(extension, 'info', 'expiration') ?? '');
  const ipAccess = readIpAccess(server['ipAccessControl']);
  const domain = isOn(server['customDomain']) ? textAt(server, 'customDomain', 'name') : undefined;
  const requestSizeLimit = isOn(middleware['requestSizeLimit']) ? numberAt(middleware, 'requestSizeLimit', 'value') : 0;
  const definition: ApiDefinition = {
    ...ids,
    name: textAt(extension, 'info', 'name') ?? '',
    active: at(extension, 'info', 'state', 'active') === true,
    internal: at(extension, 'info', 'state', 'internal') === true,
    ...(versioning ? { versioning } : {}),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(domain === undefined ? {} : { domain: normalHost(domain) }),
    listenPath: normalListenPath(textAt(server, 'listenPath', 'value') ?? '/'),
    stripListenPath: at(server, 'listenPath', 'strip') === true,
    ...(ipAccess ? { ipAccess } : {}),
    tags: tagsIn(document),
    upstream: readUpstream(objectAt(extension, 'upstream') ?? {}),
    ...(authentication ? { authentication } : {}),
    eventHandlers: readEventHandlers(server['eventHandlers']),
    ...readMiddleware(middleware),
    // The older place counts where the newer one says nothing.
    contextVariables: isOn(middleware['contextVariables'] ?? server['contextVariables']),
    ...(cache ? { cache } : {}),
    ...(requestSizeLimit > 0 ? { requestSizeLimit } : {}),
    recordsDetail: isOn(server['detailedActivityLogs']),
    revisionHeader: isOn(server['revisionHeader']),
  };
  return { definition, problems };
}

/** Undefined while it is off, and when nobody is on either list. */
function readIpAccess(block: Json | undefined): IpAccess | undefined {
  const lists = { allow: texts(at(block, 'allow')), block: texts(at(block, 'block')) };
  return isOn(block) && lists.allow.length + lists.block.length > 0 ? lists : undefined;
}

/** Labels of the gateways that run it; none while they are switched off. */
export function tagsIn(document: ApiDocument): readonly string[] {
  const labels = at(document, gatewayExtension, 'server', 'gatewayTags');
  return isOn(labels) ? texts(at(labels, 'tags')) : [];
}

function readUpstream(upstream: JsonObject): ApiDefinition['upstream'] {
  const url = textAt(upstream, 'url');
  const rateLimit = readRateLimit(upstream['rateLimit']);
  const timeout = objectAt(upstream, 'enforceTimeout');
  const retry = objectAt(upstream, 'retry');
  return {
    ...(url ? { url } : {}),
    ...(rateLimit ? { rateLimit } : {}),
    preserveHostHeader: isOn(upstream['preserveHostHeader']),
    preserveTrailingSlash: isOn(upstream['preserveTrailingSlash']),
    // An empty text says nothing (api-definition design 0.7); who wants to wait for ever says 0s.
    timeoutMs: (isOn(timeout) ? durationMs(textAt(timeout, 'duration') ?? '') : undefined) ?? defaultUpstreamTimeoutMs,
    tls: readTlsVersions(upstream['tlsTransport']),
    // On unless it is switched off (api-definition design 10.1).
    resends: retry?.['enabled'] !== false && retry?.['attempts'] !== 0,
  };
}

/** Older versions are refused by the rules. */
const readTlsVersions = (block: Json | undefined): TlsVersions => ({
  min: textAt(block, 'minVersion') === '1.3' ? '1.3' : '1.2',
  max: textAt(block, 'maxVersion') === '1.2' ? '1.2' : '1.3',
});

function readRateLimit(block: Json | undefined): RateLimit | undefined {
  if (!isOn(block)) return undefined;
  return { rate: numberAt(block, 'rate'), perMs: durationMs(textAt(block, 'per') ?? '') ?? 0 };
}

function readMiddleware(
  middleware: JsonObject,
): Pick<
  ApiDefinition,
  | 'skipsKeyRate'
  | 'skipsKeyQuota'
  | 'cors'
  | 'requestHeaders'
  | 'responseHeaders'
  | 'trafficLogs'
  | 'recordRetentionS'
  | 'recordTags'
  | 'detail'
> {
  const cors = readCors(middleware['cors']);
  const requestHeaders = readHeaders(middleware['transformRequestHeaders']);
  const responseHeaders = readHeaders(middleware['transformResponseHeaders']);
  return {
    skipsKeyRate: middleware['skipRateLimit'] === true,
    skipsKeyQuota: middleware['skipQuota'] === true,
    ...(cors ? { cors } : {}),
    ...(requestHeaders ? { requestHeaders } : {}),
    ...(responseHeaders ? { responseHeaders } : {}),
    // An absent block counts as on (api-definition design 6.2).
    trafficLogs: at(middleware, 'trafficLogs', 'enabled') !== false,
    recordRetentionS: retentionS(at(middleware, 'trafficLogs', 'customRetentionPeriod')),
    recordTags: texts(at(middleware, 'trafficLogs', 'tagHeaders')),
    detail: readDetail(at(middleware, 'trafficLogs', 'detail')),
  };
}

/** Seconds as a number, or a duration. */
const retentionS = (value: Json | undefined): number =>
  typeof value === 'number' ? value : Math.round((durationMs(typeof value === 'string' ? value : '') ?? 0) / 1000);

function readCors(block: Json | undefined): Cors | undefined {
  if (!isOn(block) || !isObject(block)) return undefined;
  return {
    allowedOrigins: texts(block['allowedOrigins']),
    allowedMethods: texts(block['allowedMethods']),
    allowedHeaders: texts(block['allowedHeaders']),
    exposedHeaders: texts(block['exposedHeaders']),
    allowCredentials: block['allowCredentials'] === true,
    maxAge: numberAt(block, 'maxAge'),
    optionsPassthrough: block['optionsPassthrough'] === true,
    debug: block['debug'] === true,
  };
}

function readHeaders(block: Json | undefined): HeaderTransform | undefined {
  if (!isOn(block) || !isObject(block)) return undefined;
  const added = Array.isArray(block['add']) ? block['add'] : [];
  const transform = {
    remove: texts(block['remove']),
    add: added.map((pair: Json) => ({ name: textAt(pair, 'name') ?? '', value: textAt(pair, 'value') ?? '' })),
  };
  return transform.remove.length + transform.add.length > 0 ? transform : undefined;
}
