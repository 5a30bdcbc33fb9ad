/** The `servers` of an OpenAPI document: the upstream address that they give, and the addresses at which gateways serve the API (management design 4.2, 4.5). */
import type { Json, JsonObject } from '../event.ts';
import { at, isObject, isOn, objectAt, textAt, texts } from '../json.ts';
import { type ApiDocument, gatewayExtension } from './definition.ts';
import { normalListenPath } from './paths.ts';

type Found = { readonly url: string } | { readonly pointer: string; readonly reason: string };

/** The first server with its variables replaced by their defaults, or the reason why there is none. */
export function upstreamFromServers(document: JsonObject): Found {
  const servers = document['servers'];
  const first: Json | undefined = Array.isArray(servers) ? servers[0] : undefined;
  if (!isObject(first)) {
    return { pointer: '/servers', reason: 'servers: empty; add a server or pass upstreamURL' };
  }
  let url = textAt(first, 'url') ?? '';
  const pointer = '/servers/0/url';
  for (const [name, variable] of Object.entries(objectAt(first, 'variables') ?? {})) {
    const value = textAt(variable, 'default');
    if (value === undefined) return { pointer, reason: `server variable ${name} does not have a default value` };
    url = url.replaceAll(`{${name}}`, () => value);
  }
  if (/[{}]/.test(url)) return { pointer, reason: 'server URL contains undefined variables' };
  return URL.canParse(url) ? { url } : { pointer, reason: 'servers[0].url: must be an absolute URL' };
}

/** An address of the installation at which gateways answer; `tags`: those of the APIs that run there, none = all. */
export type PublicGateway = { readonly url: string; readonly tags: readonly string[] };

/** The version of a base that a document is. */
export type VersionPlace = { readonly base: ApiDocument; readonly name: string };

/** Marks entries that an export added, so that they are known when it comes back. */
const generatedMark = 'x-svc-generated';

/** The entries that an export puts in front: where the API is reached. None for internal APIs. */
export function generatedServers(
  document: ApiDocument,
  gateways: readonly PublicGateway[],
  version?: VersionPlace,
): readonly JsonObject[] {
  if (at(document, gatewayExtension, 'info', 'state', 'internal') === true && !version) return [];
  const suffixes = version ? versionSuffix(version) : ownSuffixes(document);
  const holder = version?.base ?? document;
  return addressesOf(holder, gateways).flatMap((address) =>
    suffixes.map((suffix) => ({ url: `${address}${suffix}`, [generatedMark]: true })),
  );
}

/** Custom domain, else the public gateways whose tags match, else relative; with the listen path. */
function addressesOf(document: ApiDocument, gateways: readonly PublicGateway[]): readonly string[] {
  const server = objectAt(document, gatewayExtension, 'server');
  const path = normalListenPath(textAt(server, 'listenPath', 'value') ?? '/');
  const domain = isOn(at(server, 'customDomain')) ? textAt(server, 'customDomain', 'name') : undefined;
  if (domain) {
    const hasCertificate = texts(at(server, 'customDomain', 'certificates')).length > 0;
    return [`${hasCertificate ? 'https' : 'http'}://${domain}${path}`];
  }
  const tags = isOn(at(server, 'gatewayTags')) ? texts(at(server, 'gatewayTags', 'tags')) : [];
  const matching = gateways.filter((one) => one.tags.length === 0 || one.tags.some((tag) => tags.includes(tag)));
  return matching.length > 0 ? matching.map(({ url }) => `${url.replace(/\/+$/, '')}${path}`) : [path];
}

/** A base that serves versions is reached without one only when there is a default. */
function ownSuffixes(document: ApiDocument): readonly string[] {
  const versioning = objectAt(document, gatewayExtension, 'info', 'versioning');
  if (!isOn(versioning)) return [''];
  if (textAt(versioning, 'location') !== 'url' && textAt(versioning, 'location') !== 'url-param') return [''];
  const own = textAt(versioning, 'name');
  const named = own ? versionSuffix({ base: document, name: own }) : [];
  return [...named, ...(textAt(versioning, 'default') ? [''] : [])];
}

function versionSuffix({ base, name }: VersionPlace): readonly string[] {
  const versioning = objectAt(base, gatewayExtension, 'info', 'versioning');
  const key = textAt(versioning, 'key') || 'x-svc-api-version';
  const slash = normalListenPath(textAt(base, gatewayExtension, 'server', 'listenPath', 'value') ?? '/') === '/';
  switch (textAt(versioning, 'location')) {
    case 'url':
      return [`${slash ? '' : '/'}${encodeURIComponent(name)}`];
    case 'url-param':
      return [`?${encodeURIComponent(key)}=${encodeURIComponent(name)}`];
    default:
      // By a header every version has the same address.
      return [''];
  }
}

/** The user's entries behind the generated ones, each address once. */
export function withServersInFront(document: ApiDocument, generated: readonly JsonObject[]): ApiDocument {
  const own = Array.isArray(document['servers']) ? (document['servers'] as readonly Json[]) : [];
  const seen = new Set<string>();
  const servers = [...generated, ...own].filter((server) => {
    const url = textAt(server, 'url');
    if (url === undefined) return true;
    const normal = normalUrl(url);
    return !seen.has(normal) && seen.add(normal);
  });
  return servers.length === 0 ? document : { ...document, servers };
}

/** The document as its user wrote it: without what an export added. */
export function withoutGeneratedServers(document: ApiDocument, generated: readonly JsonObject[]): ApiDocument {
  const servers = document['servers'];
  if (!Array.isArray(servers)) return document;
  const known = new Set(generated.map((server) => normalUrl(textAt(server, 'url') ?? '')));
  const isGenerated = (server: Json): boolean => {
    const url = textAt(server, 'url') ?? '';
    // A relative address without the mark may be the user's own.
    return at(server, generatedMark) === true || (URL.canParse(url) && known.has(normalUrl(url)));
  };
  const own = servers.filter((server: Json) => !isGenerated(server));
  return own.length === servers.length ? document : { ...document, servers: own };
}

/** Trailing and doubled slashes do not tell addresses apart. */
const normalUrl = (url: string): string => url.replace(/(?<!:)\/{2,}/g, '/').replace(/\/+(?=$|\?)/, '');
