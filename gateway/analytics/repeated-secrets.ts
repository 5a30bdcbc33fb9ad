/** What a request had to hide, wherever it stands once more: upstreams repeat what they were sent, in bodies and headers. */
import type { ApiDefinition } from '../../domain/api/definition.ts';
import { mask } from '../../domain/secret-places.ts';
import { isHiddenHeader } from '../http/credentials.ts';
import type { HeaderNames, RawHeaders } from '../http/headers.ts';

type Seen = {
  readonly target: string;
  readonly headers: RawHeaders;
  /** The credential that let the request in; '' when there was none. */
  readonly credential: string;
};

type Hiding = { readonly authentication: ApiDefinition['authentication']; readonly hidden: HeaderNames };

/** Shorter words cannot be told from the words around them. */
const shortestCredential = 8;
const shortestValue = 12;
/** Of one request. */
const mostSecrets = 32;

/** The longest first, so that none leaves a part of another one. */
export function secretsOf(
  { target, headers, credential }: Seen,
  { authentication, hidden }: Hiding,
): readonly string[] {
  const found = new Set<string>(credential.length >= shortestCredential ? formsOf(credential) : []);
  const add = (value: string): void => {
    if (value.length < shortestValue || found.size >= mostSecrets) return;
    for (const form of formsOf(value)) found.add(form);
  };
  for (const { query } of authentication?.sources ?? []) {
    if (query !== undefined) for (const value of parametersOf(target).getAll(query)) add(value);
  }
  for (let i = 0; i < headers.length; i += 2) {
    const [name = '', value = ''] = [headers[i], headers[i + 1]];
    if (!isHiddenHeader(name, authentication, hidden)) continue;
    // The whole, a credential behind its scheme, and the values of cookies.
    add(value);
    if (/cookie$/i.test(name)) for (const pair of value.split(';')) add(pair.slice(pair.indexOf('=') + 1).trim());
    else add(value.slice(value.lastIndexOf(' ') + 1));
  }
  return [...found].toSorted((a, b) => b.length - a.length);
}

const parametersOf = (target: string): URLSearchParams => {
  const start = target.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : target.slice(start + 1));
};

/** As it stands where a letter is a byte, where it is a text, in an address, and in JSON. */
const formsOf = (value: string): readonly string[] => [
  value,
  Buffer.from(value).toString('latin1'),
  encodeURIComponent(value.toWellFormed()),
  JSON.stringify(value).slice(1, -1),
];

export const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((shown, secret) => shown.replaceAll(secret, mask), text);

/** Without what a cut has left of a secret at the end. */
export function withoutBeginnings(text: string, secrets: readonly string[]): string {
  for (const secret of secrets) {
    for (let length = secret.length - 1; length >= shortestCredential; length--) {
      if (text.endsWith(secret.slice(0, length))) return `${text.slice(0, -length)}${mask}`;
    }
  }
  return text;
}
