/** Takes the credential out of what goes to the upstream: header, query parameter and cookie of every scheme (api-definition design 9.5). */
import type { CredentialSources } from '../../domain/api/definition.ts';
import type { Step } from '../http/context.ts';
import { HeaderNames, type RawHeaders, withoutHeaders } from '../http/headers.ts';
import { withoutParameters } from '../http/query.ts';

export function stripCredentials(sources: readonly CredentialSources[]): Step {
  const named = (place: keyof CredentialSources): readonly string[] =>
    sources.flatMap(({ [place]: name }) => (name === undefined ? [] : [name]));
  const headers = new HeaderNames(named('header'));
  const [parameters, cookies] = [new Set(named('query')), new Set(named('cookie'))];
  return function stripCredentials(context) {
    context.headers = withoutHeaders(context.headers, headers);
    if (parameters.size > 0 && context.query !== '') context.query = withoutParameters(context.query, parameters);
    if (cookies.size > 0) context.headers = withoutCookies(context.headers, cookies);
    return undefined;
  };
}

/** A header without any cookie left goes. */
function withoutCookies(headers: RawHeaders, names: ReadonlySet<string>): string[] {
  const result: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const [name, value] = [headers[i] as string, headers[i + 1] as string];
    if (name.length !== 6 || name.toLowerCase() !== 'cookie') {
      result.push(name, value);
      continue;
    }
    const pairs = value.split(';');
    const kept = pairs.filter((pair) => !names.has((pair.split('=', 1)[0] ?? '').trim()));
    const text = kept.length === pairs.length ? value : kept.join(';').trim();
    if (text !== '') result.push(name, text);
  }
  return result;
}
