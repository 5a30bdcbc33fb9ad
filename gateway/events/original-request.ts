/** The request that an event is about, in the form that it had on the wire, with nothing in it that lets anybody in. */
import { mask } from '../../domain/secret-places.ts';
import type { Context } from '../http/context.ts';

/** Of the body; it is there only when a step has read it anyway. */
const maxBodyBytes = 16_384;

const secretHeader = /^(?:proxy-)?authorization$|cookie|api[-_]?key|token|secret/i;

/** Base64 of head and body (api-definition design 14.2). */
export function originalRequest({ incoming, route, bufferedBody }: Context): string {
  const sources = route.definition.authentication?.sources ?? [];
  const headers = new Set(sources.flatMap(({ header }) => (header === undefined ? [] : [header.toLowerCase()])));
  const parameters = new Set(sources.flatMap(({ query }) => (query === undefined ? [] : [query])));
  const { method = '', url = '', httpVersion, rawHeaders } = incoming;
  const lines = [`${method} ${withoutValues(url, parameters)} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2);
    const isSecret = secretHeader.test(name) || headers.has(name.toLowerCase());
    lines.push(`${name}: ${isSecret ? mask : value}`);
  }
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return Buffer.concat([head, bufferedBody?.subarray(0, maxBodyBytes) ?? Buffer.alloc(0)]).toString('base64');
}

/** The target with these parameters masked. */
function withoutValues(target: string, parameters: ReadonlySet<string>): string {
  const question = target.indexOf('?');
  if (question < 0 || parameters.size === 0) return target;
  const pairs = target.slice(question + 1).split('&');
  const shown = pairs.map((pair) => {
    const [name = ''] = new URLSearchParams(pair).keys();
    return parameters.has(name) ? `${pair.split('=')[0]}=${mask}` : pair;
  });
  return `${target.slice(0, question)}?${shown.join('&')}`;
}
