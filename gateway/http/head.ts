/** Reads the head of a request once: target, host, framing, and the headers that may go on. */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Connection, Host } from './connections.ts';
import type { RefusalCode } from './errors.ts';
import { HeaderNames, headerValue, headerValues, kind, kindOf, namedByConnection, withoutHeaders } from './headers.ts';
import { normalPath } from './path.ts';
import { clientIn, plainAddress } from './trusted-networks.ts';

export type Head = {
  readonly method: string;
  /** The target as sent. */
  readonly target: string;
  /** In normal form. */
  readonly path: string;
  /** With its question mark, byte for byte; empty without one. */
  readonly query: string;
  /** `Host` as sent, and in the form in which hosts are compared. */
  readonly host: string;
  readonly hostName: string;
  /** What may be passed on; `Host`, hop-by-hop headers and those that `Connection` names are not in it. */
  readonly headers: readonly string[];
  /** A header name with an underscore is among them. */
  readonly hasUnderscore: boolean;
  /** -1 when no length was declared. */
  readonly contentLength: number;
  readonly isChunked: boolean;
  readonly contentType: string;
  readonly userAgent: string;
  readonly clientAddress: string;
};

/** Why a request is refused before it has an API; `isFatal` closes its connection, whose framing is in doubt. */
export type HeadProblem = { readonly code: RefusalCode; readonly contentType: string; readonly isFatal: boolean };

export type HeadLimits = { readonly maxUrlBytes: number };

export function readHead(incoming: IncomingMessage, connection: Connection, limits: HeadLimits): Head | HeadProblem {
  const target = incoming.url ?? '';
  const fields = readFields(incoming.rawHeaders, connection.isTrusted);
  const { contentType } = fields;
  if (target.length > limits.maxUrlBytes) return { code: 'url_too_long', contentType, isFatal: true };
  if (!hasClearFraming(incoming, fields)) return { code: 'bad_framing', contentType, isFatal: true };
  const { authority, pathAndQuery } = originForm(target);
  const host = hostOf(authority ?? fields.host, connection);
  const hostName = host.name;
  if (fields.hosts > 1 || hostName === undefined) return { code: 'bad_host', contentType, isFatal: true };
  const question = pathAndQuery.indexOf('?');
  const path = normalPath(question < 0 ? pathAndQuery : pathAndQuery.slice(0, question));
  if (path === undefined) return { code: 'bad_path', contentType, isFatal: false };
  const clientAddress = connection.isTrusted ? claimedAddress(fields, connection) : connection.address;
  addForwarded(fields, connection, host);
  return {
    method: incoming.method ?? 'GET',
    target,
    path,
    query: question < 0 ? '' : pathAndQuery.slice(question),
    host: host.sent,
    hostName,
    headers: fields.headers,
    hasUnderscore: fields.hasUnderscore,
    contentLength: fields.contentLength,
    isChunked: fields.coding !== '',
    contentType,
    userAgent: fields.userAgent,
    clientAddress,
  };
}

type Fields = {
  headers: string[];
  host: string;
  hosts: number;
  contentLength: number;
  lengths: number;
  coding: string;
  codings: number;
  contentType: string;
  userAgent: string;
  hasUnderscore: boolean;
  /** `X-Forwarded-*`, `Forwarded`, `X-Real-IP`; kept from trusted proxies only. */
  forwarded: string[];
};

function readFields(raw: readonly string[], isTrusted: boolean): Fields {
  const fields: Fields = {
    headers: [],
    host: '',
    hosts: 0,
    contentLength: -1,
    lengths: 0,
    coding: '',
    codings: 0,
    contentType: '',
    userAgent: '',
    hasUnderscore: false,
    forwarded: [],
  };
  let connection = '';
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string;
    const value = raw[i + 1] as string;
    const meaning = kindOf(name);
    if (meaning === 0) {
      if (name.includes('_')) fields.hasUnderscore = true;
      fields.headers.push(name, value);
    } else if (meaning === kind.connection) connection = connection === '' ? value : `${connection},${value}`;
    else if (meaning === kind.forwarded) {
      if (isTrusted) fields.forwarded.push(name, value);
    } else readField(fields, meaning, name, value);
  }
  const named = connection === '' ? undefined : namedByConnection(connection);
  if (named) fields.headers = withoutHeaders(fields.headers, named);
  return fields;
}

function readField(fields: Fields, meaning: number, name: string, value: string): void {
  switch (meaning) {
    case kind.host:
      fields.host = value;
      fields.hosts++;
      return;
    case kind.contentLength:
      fields.contentLength = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
      fields.lengths++;
      fields.headers.push(name, value);
      return;
    case kind.transferEncoding:
      fields.coding = value.trim().toLowerCase();
      fields.codings++;
      return;
    case kind.contentType:
      if (fields.contentType === '') fields.contentType = value;
      break;
    case kind.userAgent:
      fields.userAgent = value;
      break;
    case kind.te:
      // The only part that is the client's own wish; the rest belongs to the connection.
      if (/(?:^|,)\s*trailers\s*(?:,|$)/i.test(value)) fields.headers.push('TE', 'trailers');
      return;
    default:
      // Hop-by-hop, Upgrade and Expect are ours to answer.
      return;
  }
  fields.headers.push(name, value);
}

/** Promise 1 of conventions 12.2: a length or a chunked coding, once, or no body. The parser lets odd forms pass. */
function hasClearFraming({ httpVersionMinor }: IncomingMessage, fields: Fields): boolean {
  if (fields.codings === 0) return fields.lengths <= 1 && !Number.isNaN(fields.contentLength);
  return fields.lengths === 0 && fields.codings === 1 && fields.coding === 'chunked' && httpVersionMinor === 1;
}

/** The absolute form names its host itself, and that one counts. */
function originForm(target: string): { readonly authority?: string; readonly pathAndQuery: string } {
  if (target.charCodeAt(0) === 47) return { pathAndQuery: target };
  const match = /^https?:\/\/([^/?#]*)([^#]*)$/i.exec(target);
  if (!match) return { pathAndQuery: target };
  const [, authority = '', rest = ''] = match;
  return { authority, pathAndQuery: rest.startsWith('/') ? rest : `/${rest}` };
}

function hostOf(sent: string, connection: Connection): Host {
  if (connection.host.sent !== sent) connection.host = { sent, ...partsOf(sent, connection.isTls) };
  return connection.host;
}

/** The name in lower case, without trailing dot; the port that the client asked for, which may not be the listener's. */
function partsOf(host: string, isTls: boolean): Omit<Host, 'sent'> {
  const match = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._~%!$&'()*+;=-]+)(?::(\d{0,5}))?$/.exec(host);
  const name = match?.[1]?.toLowerCase();
  const port = match?.[2] || (isTls ? '443' : '80');
  return { name: name?.endsWith('.') ? name.slice(0, -1) || undefined : name, port };
}

/** `X-Real-IP` when it parses, else whom the chain of `X-Forwarded-For` names: a trusted proxy is believed, its client is not. */
function claimedAddress({ forwarded }: Fields, { address, trusts }: Connection): string {
  // Some proxies add theirs behind that of the client.
  const real = headerValues(forwarded, 'x-real-ip').at(-1)?.trim();
  if (real && isIP(real) > 0) return plainAddress(real);
  return clientIn(headerValues(forwarded, 'x-forwarded-for').join(','), trusts) ?? address;
}

const replaced = new HeaderNames(['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-port']);

function addForwarded({ headers, forwarded }: Fields, { address, isTls }: Connection, host: Host): void {
  if (forwarded.length === 0) {
    headers.push('X-Forwarded-For', address, 'X-Forwarded-Proto', isTls ? 'https' : 'http');
    headers.push('X-Forwarded-Host', host.sent, 'X-Forwarded-Port', host.port);
    return;
  }
  const given = (name: string): string | undefined => headerValue(forwarded, name);
  const chain = headerValues(forwarded, 'x-forwarded-for');
  headers.push(...withoutHeaders(forwarded, replaced));
  headers.push('X-Forwarded-For', [...chain, address].join(', '));
  headers.push('X-Forwarded-Proto', given('x-forwarded-proto') ?? (isTls ? 'https' : 'http'));
  headers.push('X-Forwarded-Host', given('x-forwarded-host') ?? host.sent);
  headers.push('X-Forwarded-Port', given('x-forwarded-port') ?? host.port);
}
