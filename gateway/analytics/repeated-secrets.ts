/** What a request had to hide, and what its API adds to it, wherever it stands once more: upstreams repeat what they were sent, in bodies and headers. */
import type { ApiDefinition } from '../../domain/api/definition.ts';
import { userInfoOf } from '../../domain/secret-destinations.ts';
import { parameterAt, secretParameters } from '../../domain/secret-parameters.ts';
import { mask } from '../../domain/secret-places.ts';
import { isHiddenHeader } from '../http/credentials.ts';
import { HeaderNames, type RawHeaders } from '../http/headers.ts';
import { percentDecoded } from '../http/percent.ts';

type Seen = {
  readonly target: string;
  readonly headers: RawHeaders;
  /** The credential that let the request in; '' when there was none. */
  readonly credential: string;
  /** Hidden headers that the API has added for its upstream. */
  readonly added: readonly string[];
};

/** What an API sends to its upstream by itself. `texts`: in all their forms; `headers`: those whose values are hidden. */
export type OwnSecrets = { readonly texts: readonly string[]; readonly headers: HeaderNames };

export type OfApi = Partial<Pick<ApiDefinition, 'upstream' | 'requestHeaders'>> & {
  readonly authentication?: ApiDefinition['authentication'];
};

type Hiding = {
  readonly own: OwnSecrets;
  readonly authentication: ApiDefinition['authentication'];
  readonly hidden: HeaderNames;
};

/** Shorter words cannot be told from the words around them. */
const shortestCredential = 8;
const shortestValue = 12;
/** Of what a client sends in one request. */
const mostSecrets = 32;

/** Those of the address of the upstream, and the headers that the definition adds. */
export function ownSecrets({ upstream, requestHeaders, authentication }: OfApi, hidden: HeaderNames): OwnSecrets {
  const url = upstream?.url ?? '';
  const [name = '', ...password] = percentDecoded(userInfoOf(url) ?? '').split(':');
  const basic = Buffer.from(`${name}:${password.join(':')}`).toString('base64');
  const parameters = secretParameters(url).map((step) => parameterAt(url, step));
  const texts = [basic, password.join(':') || name, ...parameters.flatMap((one) => [one, percentDecoded(one)])];
  const names = (requestHeaders?.add ?? []).map(({ name }) => name);
  return {
    texts: [...new Set(texts.flatMap(longForms))],
    headers: new HeaderNames(names.filter((name) => isHiddenHeader(name, authentication, hidden))),
  };
}

/** The longest first, so that none leaves a part of another one. */
export function secretsOf(
  { target, headers, credential, added }: Seen,
  { authentication, hidden, own }: Hiding,
): readonly string[] {
  // First of all, so that no client crowds them out.
  const found = new Set([credential, ...added.flatMap((value) => [value, lastWord(value)])].flatMap(longForms));
  const most = found.size + mostSecrets;
  const add = (value: string): void => {
    if (value.length < shortestValue || found.size >= most) return;
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
    else add(lastWord(value));
  }
  return [...found, ...own.texts].toSorted((a, b) => b.length - a.length);
}

const parametersOf = (target: string): URLSearchParams => {
  const start = target.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : target.slice(start + 1));
};

/** A credential behind its scheme. */
const lastWord = (value: string): string => value.slice(value.lastIndexOf(' ') + 1);

const longForms = (value: string): readonly string[] => (value.length >= shortestCredential ? formsOf(value) : []);

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
