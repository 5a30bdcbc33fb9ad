/** What people are shown of a request: a mask where its API looks for credentials, and in the place of every key. */
import type { ApiDefinition } from '../../domain/api/definition.ts';
import { withoutKeys } from '../../domain/key-text.ts';
import { isSecretHeader, mask } from '../../domain/secret-places.ts';
import type { HeaderNames, RawHeaders } from './headers.ts';
import { maskedParameters } from './query.ts';

type Authentication = ApiDefinition['authentication'];

/** The target of a request, as the client sent it. */
export function shownTarget(target: string, authentication: Authentication): string {
  const names = authentication?.sources.flatMap(({ query }) => (query === undefined ? [] : [query])) ?? [];
  return withoutKeys(names.length === 0 ? target : maskedParameters(target, new Set(names)));
}

/** Whether the API reads a credential from the header; `name` in small letters. */
export const isCredentialHeader = (name: string, authentication: Authentication): boolean =>
  authentication?.sources.some(({ header, cookie }) => {
    const isHeader = header?.toLowerCase() === name;
    return isHeader || (cookie !== undefined && name === 'cookie');
  }) === true;

/** Its name says that a secret is in it, the API reads a credential from it, or it is named. */
export const isHiddenHeader = (name: string, authentication: Authentication, named?: HeaderNames): boolean =>
  isSecretHeader(name) || isCredentialHeader(name.toLowerCase(), authentication) || named?.has(name) === true;

/** Headers, a line each: a mask for those that are hidden, and for parameters of the API in addresses that a header tells. */
export function shownHeaders(headers: RawHeaders, authentication: Authentication, named?: HeaderNames): string[] {
  const lines: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const [name = '', value = ''] = [headers[i], headers[i + 1]];
    lines.push(`${name}: ${isHiddenHeader(name, authentication, named) ? mask : shownTarget(value, authentication)}`);
  }
  return lines;
}
