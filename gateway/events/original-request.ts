/** The request that an event is about, in the form that it had on the wire, with nothing in it that lets anybody in. */
import { mask } from '../../domain/secret-places.ts';
import type { Context } from '../http/context.ts';
import { withoutKeys } from '../http/issued-keys.ts';
import { maskedParameters } from '../http/query.ts';

/** Of the body; it is there only when a step has read it anyway. */
const maxBodyBytes = 16_384;

const secretHeader = /^(?:proxy-)?authorization$|cookie|api[-_]?key|token|secret/i;

/** Base64 of head and body (api-definition design 14.2). */
export function originalRequest({ incoming, route, bufferedBody }: Context): string {
  const sources = route.definition.authentication?.sources ?? [];
  const headers = new Set(sources.flatMap(({ header }) => (header === undefined ? [] : [header.toLowerCase()])));
  const parameters = new Set(sources.flatMap(({ query }) => (query === undefined ? [] : [query])));
  const { method = '', url = '', httpVersion, rawHeaders } = incoming;
  const lines = [`${method} ${maskedParameters(url, parameters)} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2);
    const isSecret = secretHeader.test(name) || headers.has(name.toLowerCase());
    lines.push(`${name}: ${isSecret ? mask : value}`);
  }
  const body = bufferedBody?.toString('latin1', 0, maxBodyBytes) ?? '';
  return Buffer.from(withoutKeys(`${lines.join('\r\n')}\r\n\r\n${body}`), 'latin1').toString('base64');
}
