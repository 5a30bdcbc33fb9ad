/** Where an API's requests go: its URL taken apart once, so that no request needs to. */
import type { ApiDefinition, TlsVersions } from '../../domain/api/definition.ts';
import type { Context } from '../http/context.ts';
import { percentDecoded } from '../http/percent.ts';

export type Target = {
  /** Scheme, host and port; `ws` is `http`, `wss` is `https`. */
  readonly origin: string;
  readonly isTls: boolean;
  readonly host: string;
  readonly hostName: string;
  readonly port: number;
  /** As in the URL, and without a slash at its end. */
  readonly path: string;
  readonly prefix: string;
  /** Without question mark. */
  readonly query: string;
  readonly stripListenPath: boolean;
  readonly preserveHost: boolean;
  readonly preserveTrailingSlash: boolean;
  readonly timeoutMs: number;
  readonly resends: boolean;
  readonly tls: TlsVersions;
  /** Basic authentication, from the user info of the URL; it takes the place of what the client sends. */
  readonly authorization?: string;
};

/** Undefined for a streams API without an upstream. Throws on a URL that the check would have refused. */
export function targetOf({ upstream, stripListenPath }: ApiDefinition): Target | undefined {
  if (upstream.url === undefined) return undefined;
  const url = new URL(upstream.url.replace(/^ws(s?):/i, 'http$1:'));
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`cannot proxy to ${url.protocol}`);
  const isTls = url.protocol === 'https:';
  return {
    origin: url.origin,
    isTls,
    host: url.host,
    hostName: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    path: url.pathname,
    prefix: url.pathname.replace(/\/+$/, ''),
    query: url.search.slice(1),
    stripListenPath,
    preserveHost: upstream.preserveHostHeader,
    preserveTrailingSlash: upstream.preserveTrailingSlash,
    timeoutMs: upstream.timeoutMs,
    resends: upstream.resends,
    tls: upstream.tls,
    ...basicOf(url),
  };
}

/** As the platform asks for them. */
export const tlsOptions = ({ min, max }: TlsVersions) =>
  ({ minVersion: `TLSv${min}`, maxVersion: `TLSv${max}` }) as const;

function basicOf({ username, password }: URL): Pick<Target, 'authorization'> {
  if (username === '' && password === '') return {};
  const credentials = `${percentDecoded(username)}:${percentDecoded(password)}`;
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

/** The path that is asked of the target (api-definition design 10.1). */
export function targetPath(target: Target, { head, rest }: Context): string {
  const remaining = target.stripListenPath ? rest : head.path;
  if (remaining === '' || (remaining === '/' && !target.preserveTrailingSlash)) return target.path;
  return target.prefix === '' ? remaining : target.prefix + remaining;
}

export function targetQuery({ query: own }: Target, query: string): string {
  if (own === '') return query;
  return query === '' || query === '?' ? `?${own}` : `${query}&${own}`;
}

/** The headers for the target, with `Host` when it is not the target's own. */
export function targetHeaders(target: Target, { headers, head, upstreamHost }: Context): readonly string[] {
  const sent = target.authorization === undefined ? headers : withAuthorization(headers, target.authorization);
  if (upstreamHost === '' && !target.preserveHost) return sent;
  return [...sent, 'Host', upstreamHost === '' ? head.host : upstreamHost];
}

function withAuthorization(headers: readonly string[], value: string): readonly string[] {
  const others = headers.filter((_, index) => headers[index - (index % 2)]?.toLowerCase() !== 'authorization');
  return [...others, 'Authorization', value];
}
