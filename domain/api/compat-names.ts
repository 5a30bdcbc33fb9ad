/** Names of another prefix in what comes in (`compat_prefix`): read as ours, so that what is stored has one form (api-definition design 1.12). */
import type { Json, JsonObject } from '../event.ts';
import { isObject } from '../json.ts';
import { gatewayExtension, streamingExtension } from './definition.ts';

type Words = { readonly ours: string; readonly theirs: string };

const ours = 'svc';

const extensions = [gatewayExtension, streamingExtension];

/** `x-svc-api-gateway` as the other prefix has it. */
const theirName = (name: string, prefix: string): string => name.replace(`x-${ours}-`, `x-${prefix}-`);

/** A definition, or a merge patch of one. What has a name of ours as well keeps ours. */
export function withOwnNames(document: JsonObject, prefix: string): JsonObject {
  const words = { ours, theirs: prefix };
  const isOpenApi =
    'openapi' in document || 'paths' in document || extensions.some((name) => holds(document, name, prefix));
  // A Classic definition is ours from its root on; of an OpenAPI document the extensions are, and the rest is its author's.
  if (!isOpenApi) return withOwnTexts(document, words) as JsonObject;
  const renamed: Record<string, Json> = {};
  for (const [name, value] of Object.entries(document)) {
    const own = extensions.find((extension) => name === extension || name === theirName(extension, prefix));
    if (own === undefined) renamed[name] = value;
    else if (name === own || !(own in document)) renamed[own] = withOwnTexts(value, words);
  }
  return renamed;
}

const holds = (document: JsonObject, name: string, prefix: string): boolean =>
  name in document || theirName(name, prefix) in document;

/** The operations of a JSON patch of a definition. What is no list of objects is refused by those who apply it. */
export function withOwnPointers(patch: Json, prefix: string): Json {
  if (!Array.isArray(patch)) return patch;
  return patch.map((operation: Json): Json => {
    if (!isObject(operation)) return operation;
    const { path, from, value } = operation;
    return {
      ...operation,
      ...(typeof path === 'string' ? { path: ownPointer(path, prefix) } : {}),
      ...(typeof from === 'string' ? { from: ownPointer(from, prefix) } : {}),
      ...(value !== undefined && typeof path === 'string' ? { value: ownValue(path, value, prefix) } : {}),
    };
  });
}

const stepsOf = (pointer: string): readonly [string, string] => {
  const end = pointer.indexOf('/', 1);
  return end < 0 ? [pointer.slice(1), ''] : [pointer.slice(1, end), pointer.slice(end)];
};

function ownPointer(pointer: string, prefix: string): string {
  const [first, rest] = stepsOf(pointer);
  const own = extensions.find((name) => first === theirName(name, prefix));
  return own === undefined ? pointer : `/${own}${rest}`;
}

function ownValue(path: string, value: Json, prefix: string): Json {
  if (path === '') return isObject(value) ? withOwnNames(value, prefix) : value;
  const [first] = stepsOf(ownPointer(path, prefix));
  return extensions.includes(first) ? withOwnTexts(value, { ours, theirs: prefix }) : value;
}

/** Variables (`$acme_context.x`, `_acme_context.x`, `$acme_meta.x`) and addresses (`acme://x`) inside texts. */
function withOwnTexts(value: Json, words: Words): Json {
  if (typeof value === 'string') return ownText(value, words);
  if (Array.isArray(value)) return value.map((element: Json) => withOwnTexts(element, words));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withOwnTexts(member, words)]));
}

function ownText(text: string, { ours: own, theirs }: Words): string {
  if (!text.includes(theirs)) return text;
  const renamed = text.replaceAll(new RegExp(`([$_])${theirs}_(context|meta)\\b`, 'g'), `$1${own}_$2`);
  return renamed.startsWith(`${theirs}://`) ? `${own}${renamed.slice(theirs.length)}` : renamed;
}
