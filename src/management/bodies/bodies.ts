/** Bodies of requests: accepted types, raw bytes within a limit, then JSON or a file. */
import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';
import { withOwnNames } from '../../../domain/api/compat-names.ts';
import { bodyMalformed, bodyUnreadable, nearestName } from '../../../domain/errors.ts';
import type { Json, JsonObject } from '../../../domain/event.ts';
import { isObject, pointerStep } from '../../../domain/json.ts';
import { Rejection } from '../errors.ts';
import { parseJson } from './json-text.ts';
import { readFilePart } from './multipart-body.ts';
import { parseYaml } from './yaml-body.ts';

/** What a route takes; the first type is the one that a refusal names. */
export type BodyRule = { readonly types: readonly string[]; readonly maxBytes: number };

/** The media type alone, without parameters. */
const essence = (contentType: string | undefined): string =>
  (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

/** Throws 415 with the list of what is wanted. */
export function checkContentType(method: string, headers: IncomingMessage['headers'], { types }: BodyRule): void {
  const encoding = headers['content-encoding'];
  const isPlain = encoding === undefined || encoding.toLowerCase() === 'identity';
  if (isPlain && types.includes(essence(headers['content-type']))) return;
  const accepted = { [method === 'PATCH' ? 'Accept-Patch' : 'Accept-Post']: types.join(', ') };
  const text = isPlain ? `Content-Type must be ${types[0]}` : 'Content-Encoding must be identity';
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

/** Any JSON. Throws 400 when the body is empty, not UTF-8 or not JSON. */
export function readJson(bytes: Uint8Array): Json {
  if (bytes.byteLength === 0) throw bodyUnreadable();
  return parseJson(utf8(bytes));
}

/** The same when it must be an object. */
export function readJsonObject(bytes: Uint8Array): JsonObject {
  const value = readJson(bytes);
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
  throw bodyMalformed(`there is no member ${JSON.stringify(unknown)}, ${hint}`, `/${pointerStep(unknown)}`);
}

export const multipartType = 'multipart/form-data';

/** What a route takes that takes JSON. */
export const structuredTypes = ['application/json', 'application/yaml', 'application/x-yaml', 'text/yaml'] as const;

/** A route that takes JSON takes the same written as YAML. */
export const acceptedTypes = ({ types }: BodyRule): readonly string[] =>
  types.includes('application/json') ? [...new Set([...types, ...structuredTypes])] : types;

/** The body as its route reads it: YAML becomes the JSON that it means where the route itself names no YAML. */
export function bodyFor(bytes: Uint8Array, contentType: string | undefined, { types }: BodyRule): Uint8Array {
  const type = essence(contentType);
  if (types.includes(type) || !isYaml(type)) return bytes;
  return Buffer.from(JSON.stringify(readYamlObject(bytes)));
}

/** The parts of a request that say what its body is. */
export type Sent = {
  readonly body: Uint8Array;
  readonly header: (name: string) => string | undefined;
  /** Another word for `svc` in definitions that come in. */
  readonly compatPrefix?: string | undefined;
};

const isYaml = (type: string): boolean => /[/+](?:x-)?yaml$/.test(type);
const isJson = (type: string): boolean => /[/+]json$/.test(type);

/** The object that a body of JSON or YAML is. Throws 400 when it is empty, not UTF-8, broken or no object. */
export const readObject = ({ body, header }: Sent): JsonObject =>
  documentIn(body, isYaml(essence(header('content-type')))).document;

export type SentDocument = { readonly document: JsonObject; readonly format: 'json' | 'yaml' };

const documentIn = (bytes: Uint8Array, isInYaml: boolean): SentDocument =>
  isInYaml ? { document: readYamlObject(bytes), format: 'yaml' } : { document: readJsonObject(bytes), format: 'json' };

function readYamlObject(bytes: Uint8Array): JsonObject {
  if (bytes.byteLength === 0) throw bodyUnreadable();
  const value = parseYaml(utf8(bytes));
  if (!isObject(value)) throw bodyMalformed('the YAML must be an object');
  return value;
}

/** A definition: the same, or the part `file` of a multipart body, which its type or else its name says to be YAML. */
export async function readDocument(sent: Sent): Promise<SentDocument> {
  const { document, format } = await writtenDocument(sent);
  return { document: sent.compatPrefix === undefined ? document : withOwnNames(document, sent.compatPrefix), format };
}

async function writtenDocument(sent: Sent): Promise<SentDocument> {
  const contentType = sent.header('content-type');
  if (essence(contentType) !== multipartType) return documentIn(sent.body, isYaml(essence(contentType)));
  const { field, fileName, type, bytes } = await readFilePart(sent.body, contentType ?? '');
  if (field !== 'file') throw bodyMalformed('the file of the multipart body must be the part "file"');
  return documentIn(bytes, isYaml(essence(type)) || (!isJson(essence(type)) && /\.ya?ml$/i.test(fileName)));
}
