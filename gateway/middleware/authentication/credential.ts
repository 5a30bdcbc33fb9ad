/** Finds the credential of a request in the places that a scheme names (api-definition design 9.2). */
import type { CredentialSources } from '../../../domain/api/definition.ts';
import type { Context } from '../../http/context.ts';
import { headerValues } from '../../http/headers.ts';
import { percentDecoded } from '../../http/percent.ts';

/** Longer ones are treated as unknown without being looked at. */
const maxCredentialBytes = 16_384;

export type Found = { readonly credential?: string; readonly isDuplicate: boolean };

/** Header, then query, then cookie; a later one that is present overrides an earlier. */
export function findCredential({ header, query, cookie }: CredentialSources, { head }: Context): Found {
  let credential: string | undefined;
  for (const values of [
    header === undefined ? none : headerValues(head.headers, header.toLowerCase()),
    query === undefined || head.query === '' ? none : new URLSearchParams(head.query).getAll(query),
    cookie === undefined ? none : headerValues(head.headers, 'cookie').flatMap((line) => cookiesNamed(line, cookie)),
  ]) {
    if (values.length > 1) return { isDuplicate: true };
    credential = textOf(values[0]) ?? credential;
  }
  if (credential === undefined) return { isDuplicate: false };
  return { credential: credential.slice(0, maxCredentialBytes + 1), isDuplicate: false };
}

const none: readonly string[] = [];

/** Undefined when nothing is left of it. */
const textOf = (value: string | undefined): string | undefined => value?.replace(/^Bearer /i, '').trim() || undefined;

export const isTooLong = (credential: string): boolean => credential.length > maxCredentialBytes;

const cookiesNamed = (line: string, name: string): readonly string[] =>
  line.split(';').flatMap((pair) => {
    const equals = pair.indexOf('=');
    return equals > 0 && pair.slice(0, equals).trim() === name ? [percentDecoded(pair.slice(equals + 1).trim())] : [];
  });
