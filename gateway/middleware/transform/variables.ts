/** Texts with `$svc_context.NAME` in them: split once when an API is compiled, filled in per request (api-definition design 12). */
import type { Context } from '../../http/context.ts';
import type { RawHeaders } from '../../http/headers.ts';
import { resetAt, type ToldLimit } from '../../http/limits.ts';

/** Fills in a text for a request. */
export type Template = (context: Context) => string;

const reference = /\$svc_(context|meta)\.([A-Za-z0-9_.-]+)/g;

/**
 * Without `isOn` (the API's `contextVariables`) every context variable is unknown, and so the empty text; the metadata of
 * a key is there all the same. A value is never searched for variables again.
 */
export function template(text: string, isOn: boolean): Template | string {
  const parts: (string | Template)[] = [];
  let end = 0;
  for (const match of text.matchAll(reference)) {
    const [whole, family, name = ''] = match;
    if (match.index > end) parts.push(text.slice(end, match.index));
    if (family === 'meta') parts.push(metadata(name));
    else if (isOn) parts.push(variable(name));
    end = match.index + whole.length;
  }
  if (end === 0) return text;
  if (end < text.length) parts.push(text.slice(end));
  return (context) => {
    let result = '';
    for (const part of parts) result += typeof part === 'string' ? part : part(context);
    return result;
  };
}

/** Names of request fields that the texts of an API need; a form body is read only for them. */
export const needsFields = (texts: readonly string[]): boolean =>
  texts.some((text) => /\$svc_context\.request_data/.test(text));

/** Of the key that let the request in. */
const metadata =
  (name: string): Template =>
  ({ access }) => {
    const value = access && Object.hasOwn(access.metadata, name) ? access.metadata[name] : undefined;
    if (value === undefined || value === null) return '';
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  };

/** The first source that knows the name counts; an unknown name is the empty text. */
function variable(name: string): Template {
  if (name === 'request_data')
    return ({ fields, head }) => new URLSearchParams(fieldsOf(fields, head.query)).toString();
  if (name.startsWith('request_data_')) {
    const field = name.slice('request_data_'.length);
    return ({ fields, head }) => firstOf(fieldsOf(fields, head.query), field);
  }
  if (name === 'headers_Host') return ({ head }) => head.host;
  if (name.startsWith('headers_')) {
    const header = underscored(name.slice('headers_'.length));
    return ({ head }) => firstHeader(head.headers, header);
  }
  if (name.startsWith('cookies_')) {
    const cookie = name.slice('cookies_'.length);
    return ({ head }) => firstCookie(head.headers, cookie);
  }
  return (Object.hasOwn(single, name) && single[name]) || nothing;
}

const single: Readonly<Record<string, Template>> = {
  path: ({ head }) => pathOf(head.target),
  path_parts: ({ head }) =>
    pathOf(head.target)
      .split('/')
      .filter((part) => part !== '')
      .join(','),
  remote_addr: ({ head }) => head.clientAddress,
  request_id: ({ requestId }) => requestId,
  token: ({ token }) => token,
  ...toldOf('rate_limit', ['key', 'endpoint']),
  ...toldOf('quota', ['quota']),
};

/** Where the key stands with one of its limits, as its client is told; empty where it has none. */
function toldOf(prefix: string, names: readonly ToldLimit['name'][]): Readonly<Record<string, Template>> {
  const told =
    (textOf: (limit: ToldLimit, arrivedMs: number) => number): Template =>
    ({ limits, arrivedMs }) => {
      const limit = limits.find(({ name }) => names.includes(name));
      return limit === undefined ? '' : String(textOf(limit, arrivedMs));
    };
  return {
    [`${prefix}_limit`]: told(({ limit }) => limit),
    [`${prefix}_remaining`]: told(({ remaining }) => remaining),
    [`${prefix}_reset`]: told(resetAt),
  };
}

const nothing: Template = () => '';

const pathOf = (target: string): string => {
  const path = target.replace(/^[a-z]+:\/\/[^/?]*/i, '');
  const question = path.indexOf('?');
  return question < 0 ? path : path.slice(0, question);
};

type Fields = readonly (readonly [string, string])[];

/** Query before form; the form is there when a step has read it. */
function fieldsOf(form: Fields, query: string): [string, string][] {
  const fields: [string, string][] = query === '' ? [] : [...new URLSearchParams(query)];
  for (const [name, value] of form) fields.push([name, value]);
  return fields;
}

const firstOf = (fields: Fields, name: string): string => fields.find(([field]) => field === name)?.[1] ?? '';

/** `X-Trace-Id` is written `X_Trace_Id` in a variable. */
const underscored = (name: string): string => name.toLowerCase().replaceAll('-', '_');

function firstHeader(headers: RawHeaders, name: string): string {
  for (let i = 0; i < headers.length; i += 2) {
    const header = headers[i] as string;
    if (header.length === name.length && underscored(header) === name) return headers[i + 1] as string;
  }
  return '';
}

function firstCookie(headers: RawHeaders, name: string): string {
  for (let i = 0; i < headers.length; i += 2) {
    if ((headers[i] as string).toLowerCase() !== 'cookie') continue;
    for (const pair of (headers[i + 1] as string).split(';')) {
      const equals = pair.indexOf('=');
      if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
    }
  }
  return '';
}
