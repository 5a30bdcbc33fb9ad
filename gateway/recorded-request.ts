/** A recorded request as the chain meets requests: its head, with the headers that are known to have been in it. */
import type { CredentialSources } from '../domain/api/definition.ts';
import { normalHost } from '../domain/api/paths.ts';
import type { RecordedHead } from '../domain/recorded-heads.ts';
import type { Head } from './http/head.ts';
import { normalPath } from './http/path.ts';

/** Without headers. Undefined when the target has no normal form. */
export function headOf({ method, target, host, clientAddress, bodyBytes }: RecordedHead): Head | undefined {
  const form = originForm(target);
  const question = form.indexOf('?');
  const path = normalPath(question < 0 ? form : form.slice(0, question));
  if (path === undefined) return undefined;
  return {
    ...{ method, target, path, host, hostName: normalHost(host), clientAddress },
    query: question < 0 ? '' : form.slice(question),
    ...{ headers: [], hasUnderscore: false, contentType: '', userAgent: '' },
    // Without a body nobody has declared one.
    ...{ contentLength: bodyBytes > 0 ? bodyBytes : -1, isChunked: false },
  };
}

/** Of the absolute form, which has its host in front. */
function originForm(target: string): string {
  const rest = target.replace(/^https?:\/\/[^/?#]*/i, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}

export const withHeader = (head: Head, name: string, value: string): Head => ({
  ...head,
  headers: [...head.headers, name, value],
});

/**
 * With the id of a key where its credential stood, for a look-up that knows keys by their ids. A record shows that of a
 * query parameter, with a mask in place of its value; else it is taken to have been in the header of the scheme, or in its
 * cookie when it has no header.
 */
export function withCredential(head: Head, keyId: string, schemes: readonly CredentialSources[]): Head {
  if (keyId === '') return head;
  let known = head;
  for (const { header, query, cookie } of schemes) {
    const inQuery = query === undefined ? undefined : withParameter(known.query, query, keyId);
    if (inQuery !== undefined) known = { ...known, query: inQuery };
    else if (header !== undefined) known = hasHeader(known, header) ? known : withHeader(known, header, keyId);
    else if (cookie !== undefined) known = withHeader(known, 'Cookie', `${cookie}=${keyId}`);
  }
  return known;
}

/** Two schemes may read the same header. */
const hasHeader = ({ headers }: Head, name: string): boolean =>
  headers.some((text, index) => index % 2 === 0 && text.toLowerCase() === name.toLowerCase());

/** Undefined when the query has no such parameter, or more than one. */
function withParameter(query: string, name: string, value: string): string | undefined {
  if (query === '') return undefined;
  const parts = query.slice(1).split('&');
  const places = parts.flatMap((part, index) => (nameOf(part) === name ? [index] : []));
  const [place] = places;
  if (place === undefined || places.length > 1) return undefined;
  return `?${parts.with(place, `${parts[place]?.split('=', 1)[0]}=${value}`).join('&')}`;
}

/** By the rules of the platform. The sign in front keeps a question mark from being taken for the beginning of a query. */
const nameOf = (part: string): string => new URLSearchParams(`&${part}`).keys().next().value ?? '';
