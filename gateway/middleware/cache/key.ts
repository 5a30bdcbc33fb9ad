/** The key under which an answer is kept: everything of a request that may decide what its answer is (api-definition design 6.1). */
import { hash } from 'node:crypto';
import type { CacheRules, HeaderTransform } from '../../../domain/api/definition.ts';
import { isSecretHeader } from '../../../domain/secret-places.ts';
import type { Context } from '../../http/context.ts';
import { HeaderNames, headerValue, headerValues, kind, kindOf, type RawHeaders } from '../../http/headers.ts';

/** What of the key is the same for every request of an API. */
export type KeyPlan = {
  /** Names the API, its version and its revision: a changed definition finds nothing. */
  readonly prefix: string;
  readonly isShared: boolean;
  /** Names of headers whose values keep answers apart; lower case. */
  readonly headers: readonly string[];
};

type ApiParts = {
  readonly rules: CacheRules;
  readonly transform: HeaderTransform | undefined;
  readonly prefix: readonly string[];
};

export const keyPlan = ({ rules, transform, prefix }: ApiParts): KeyPlan => ({
  prefix: lengthPrefixed(prefix),
  isShared: rules.scope === 'shared',
  headers: [...new Set([...rules.byHeaders, ...callersHeaders(transform)])].toSorted(),
});

/**
 * Headers that the gateway fills with what it knows of the caller, or with the path as the caller wrote it: they reach the
 * upstream, and so its answer.
 */
const callersHeaders = (transform: HeaderTransform | undefined): readonly string[] =>
  (transform?.add ?? []).filter(({ value }) => namesCaller(value)).map(({ name }) => name.toLowerCase());

const namesCaller = (value: string): boolean =>
  /\$svc_(?:meta\.|context\.(?:token|headers_|cookies_|request_data|path|quota_|rate_limit_))/.test(value);

/** `epoch`: of the API, so that what was asked for before a flush is not found after it. */
export function requestKey(plan: KeyPlan, context: Context, epoch: number, bodyHash: string): string {
  const { head, headers, query, upstreamHost } = context;
  const parts = [String(epoch), head.method, head.host.toLowerCase(), upstreamHost, head.path, query, bodyHash];
  if (!plan.isShared) parts.push(...callerOf(context));
  parts.push(named(headers, isForwarded));
  if (head.hasUnderscore) parts.push(named(headers, isUnderscored));
  for (const name of plan.headers) parts.push(valueSeen(context, name) ?? '-');
  return digest(plan.prefix + lengthPrefixed(parts));
}

/** Of one of several answers to a request: by the values of the headers that it depends on. */
export const variantKey = (key: string, names: readonly string[], context: Context): string =>
  digest(lengthPrefixed([key, ...names.flatMap((name) => [name, valueSent(context.headers, name) ?? '-'])]));

export const bodyDigest = (body: string | Uint8Array): string => hash('sha256', body, 'base64url');

/**
 * The session counts, never a header that names one; without a session the address. What a client shows to the upstream
 * itself stands beside it: behind one key, or one address, there may be many users.
 */
function callerOf({ access, alongside, head, headers }: Context): readonly string[] {
  const who = access ? ['key', access.keyId, ...alongside.map(({ keyId }) => keyId)] : ['address', head.clientAddress];
  return [who.join(' '), named(headers, isCredential)];
}

/** `Authorization`, `Cookie`, and what upstreams ask for in their place. */
const isCredential = (name: string): boolean => isSecretHeader(name) || /auth|session|credential/i.test(name);

/** Names and values of some headers, in their order. */
function named(headers: RawHeaders, isMeant: (name: string) => boolean): string {
  let told = '';
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (isMeant(name)) told += lengthPrefixed([name.toLowerCase(), headers[i + 1] as string]);
  }
  return told;
}

/** Anybody may write them, and some upstreams take host or scheme from them. */
const alsoForwarded = new HeaderNames([
  ...['x-host', 'x-original-host', 'x-http-host-override', 'x-scheme', 'x-url-scheme', 'front-end-https'],
]);

/** What the upstream is told of how the client came, but for who it is: links and redirects are made from it. */
const isForwarded = (name: string): boolean =>
  alsoForwarded.has(name) || (kindOf(name) === kind.forwarded && !addresses.has(name));

const addresses = new HeaderNames(['x-forwarded-for', 'x-real-ip']);

/** Many an upstream takes them for names with dashes, by which it may tell answers apart, or read another method. */
const isUnderscored = (name: string): boolean => name.includes('_');

/** As the upstream sees it, or as the client sent it where a step took it away. */
const valueSeen = ({ headers, head }: Context, name: string): string | undefined =>
  valueSent(headers, name) ?? valueSent(head.headers, name);

/** A present value never reads like an absent one. */
function valueSent(headers: RawHeaders, name: string): string | undefined {
  if (headerValue(headers, name) === undefined) return undefined;
  return `=${headerValues(headers, name).join(', ')}`;
}

function lengthPrefixed(parts: readonly string[]): string {
  let text = '';
  for (const part of parts) text += `${part.length}:${part}`;
  return text;
}

const digest = (text: string): string => hash('sha256', text, 'base64url');
