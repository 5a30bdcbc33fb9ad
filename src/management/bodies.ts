/** Bodies of requests: accepted types, raw bytes within a limit, then JSON or a file. */
import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';
import { bodyMalformed, bodyUnreadable, nearestName } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/event.ts';
import { isObject } from '../../domain/json.ts';
import { Rejection } from './errors.ts';
import { parseJson } from './json-text.ts';

/** What a route takes; the first type is the one that a refusal names. */
export type BodyRule = { readonly types: readonly string[]; readonly maxBytes: number };

const essence = (contentType: string | undefined): string =>
  (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

/** Throws 415 with the list of what is wanted. */
export function checkContentType(method: string, headers: IncomingMessage['headers'], { types }: BodyRule): void {
  const encoding = headers['content-encoding'];
  const isPlain = encoding === undefined || encoding.toLowerCase() === 'identity';
  if (isPlain && types.includes(essence(headers['content-type']))) return;
  const accepted = { [method === 'PATCH' ? 'Accept-Patch' : 'Accept-Post']: types.join(', ') };
  const text = isPlain ? `Content-Type must be ${types.join(' or ')}` : 'Content-Encoding must be identity';
  throw new Rejection('content_type', text, { headers: accepted });
}

/** The whole body. Throws 413 with the limit in its text, or 400 when the body breaks off. */
export async function readBytes(request: IncomingMessage, { maxBytes }: BodyRule): Promise<Buffer> {
  try {
    return await getRawBody(request, { limit: maxBytes, length: request.headers['content-length'] ?? null });
  } catch (error) {
    const type = (error as { readonly type?: string }).type;
    if (type === 'entity.too.large') throw new Rejection('body_too_large', `body larger than ${maxBytes} bytes`);
    throw bodyUnreadable();
  }
}

const utf8 = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw bodyUnreadable();
  }
};

/** Throws 400 when the body is empty, not UTF-8, not JSON or no object. */
export function readJsonObject(bytes: Uint8Array): JsonObject {
  if (bytes.byteLength === 0) throw bodyUnreadable();
  const value = parseJson(utf8(bytes));
  if (!isObject(value)) throw bodyMalformed('the JSON must be an object');
  return value;
}

/** The same where a name that nobody knows must not pass: what a misspelt option was to prevent would happen. */
export function readOptions(bytes: Uint8Array, names: readonly string[]): JsonObject {
  const options = readJsonObject(bytes);
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return options;
  const nearest = nearestName(unknown, names);
  const hint = nearest === undefined ? `known are ${names.join(', ')}` : `did you mean "${nearest}"?`;
  throw bodyMalformed(`there is no member ${JSON.stringify(unknown)}, ${hint}`);
}
