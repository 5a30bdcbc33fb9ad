/** The upstream address that the `servers` of an OpenAPI document give (management design 4.2). */
import type { Json, JsonObject } from '../event.ts';
import { isObject, objectAt, textAt } from '../json.ts';

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
    url = url.replaceAll(`{${name}}`, value);
  }
  if (/[{}]/.test(url)) return { pointer, reason: 'server URL contains undefined variables' };
  return URL.canParse(url) ? { url } : { pointer, reason: 'servers[0].url: must be an absolute URL' };
}
