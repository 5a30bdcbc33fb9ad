/** JSON patch (RFC 6902) on a copy of a document: everything or nothing, and never more than a bounded amount of work. */
import { bodyMalformed, patchTestFailed, type Refusal } from './errors.ts';
import type { Json, JsonObject } from './event.ts';
import { isObject, sameJson } from './json.ts';

const maxOperations = 10_000;

/** Characters that `copy` and `move` may bring into the document, all together. */
const maxCopied = 4 * 1024 * 1024;
/** What a value counts beside its characters: an empty list is one of two, and as much work as any other. */
const perValue = 32;

/** Names that would reach into the objects themselves. */
const forbiddenNames = new Set(['__proto__', 'constructor', 'prototype']);

type Mutable = Json[] | { [name: string]: Json };

type Operation = {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: Json;
  /** Where it stands in the patch. */
  readonly place: string;
};

/** Throws `patch_test_failed` when a test fails, `body_malformed` when the patch does not read or a pointer leads nowhere. */
export function jsonPatch(document: JsonObject, patch: Json): Json {
  let result: Json = structuredClone(document) as Json;
  let copied = 0;
  for (const operation of readOperations(patch)) {
    const { op, path, from, place } = operation;
    let value = operation.value;
    if (op === 'copy' || op === 'move') {
      value = valueAt(result, from ?? '', `${place}/from`);
      copied += lengthOf(value);
      if (copied > maxCopied) throw refused(place, `copies more than ${maxCopied} characters`);
      value = structuredClone(value) as Json;
    }
    if (op === 'test') {
      if (!sameJson(valueAt(result, path, `${place}/path`), value)) throw patchTestFailed(path);
      continue;
    }
    if (op === 'move' && path.startsWith(`${from}/`)) throw refused(place, 'moves a value into itself');
    if (op === 'move') result = removed(result, from ?? '', `${place}/from`);
    if (op === 'remove') result = removed(result, path, `${place}/path`);
    else if (op === 'replace') result = replaced(result, path, value as Json, `${place}/path`);
    else result = added(result, path, value as Json, `${place}/path`);
  }
  return result;
}

const refused = (place: string, reason: string): Refusal => bodyMalformed(`${place}: ${reason}`);

const kinds = ['add', 'remove', 'replace', 'move', 'copy', 'test'];

function readOperations(patch: Json): readonly Operation[] {
  if (!Array.isArray(patch)) throw bodyMalformed('a JSON patch must be a list of operations');
  if (patch.length > maxOperations) throw bodyMalformed(`a JSON patch has at most ${maxOperations} operations`);
  return patch.map((entry: Json, index) => {
    const place = `/${index}`;
    if (!isObject(entry)) throw refused(place, 'must be an object');
    const { op, path, from, value } = entry;
    if (typeof op !== 'string' || !kinds.includes(op))
      throw refused(`${place}/op`, `must be one of ${kinds.join(', ')}`);
    if (typeof path !== 'string') throw refused(`${place}/path`, 'must be a JSON pointer');
    const needsFrom = op === 'move' || op === 'copy';
    if (needsFrom && typeof from !== 'string') throw refused(`${place}/from`, 'must be a JSON pointer');
    const needsValue = op === 'add' || op === 'replace' || op === 'test';
    if (needsValue && value === undefined) throw refused(`${place}/value`, 'is required');
    return {
      ...{ op, path, place },
      ...(needsFrom ? { from: from as string } : {}),
      ...(needsValue ? { value: structuredClone(value) as Json } : {}),
    };
  });
}

function stepsOf(pointer: string, place: string): readonly string[] {
  if (pointer === '') return [];
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) throw refused(place, 'is no JSON pointer');
  const steps = pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const forbidden = steps.find((step) => forbiddenNames.has(step));
  if (forbidden !== undefined) throw refused(place, `the name "${forbidden}" is not allowed`);
  return steps;
}

const nowhere = (pointer: string, place: string): Refusal => refused(place, `"${pointer}" leads nowhere`);

function memberOf(holder: Json, step: string): Json | undefined {
  if (Array.isArray(holder))
    return /^(?:0|[1-9]\d{0,9})$/.test(step) ? (holder as readonly Json[])[Number(step)] : undefined;
  return isObject(holder) && Object.hasOwn(holder, step) ? holder[step] : undefined;
}

function valueAt(root: Json, pointer: string, place: string): Json {
  let current: Json | undefined = root;
  for (const step of stepsOf(pointer, place)) {
    current = current === undefined ? undefined : memberOf(current, step);
  }
  if (current === undefined) throw nowhere(pointer, place);
  return current;
}

/** The object or list that the last step is about; the copy is ours to change. */
function holderOf(root: Json, pointer: string, place: string): { readonly holder: Mutable; readonly last: string } {
  const steps = stepsOf(pointer, place);
  const parent = pointer.slice(0, pointer.lastIndexOf('/'));
  const holder = valueAt(root, parent, place);
  if (typeof holder !== 'object' || holder === null) throw nowhere(pointer, place);
  return { holder: holder as Mutable, last: steps.at(-1) ?? '' };
}

function added(root: Json, pointer: string, value: Json, place: string): Json {
  if (pointer === '') return value;
  const { holder, last } = holderOf(root, pointer, place);
  if (!Array.isArray(holder)) {
    holder[last] = value;
    return root;
  }
  const index = last === '-' ? holder.length : /^(?:0|[1-9]\d{0,9})$/.test(last) ? Number(last) : Number.NaN;
  if (!(index <= holder.length)) throw nowhere(pointer, place);
  holder.splice(index, 0, value);
  return root;
}

function removed(root: Json, pointer: string, place: string): Json {
  if (pointer === '') throw refused(place, 'removes the whole document');
  const { holder, last } = holderOf(root, pointer, place);
  if (memberOf(holder, last) === undefined) throw nowhere(pointer, place);
  if (Array.isArray(holder)) holder.splice(Number(last), 1);
  else delete holder[last];
  return root;
}

function replaced(root: Json, pointer: string, value: Json, place: string): Json {
  if (pointer === '') return value;
  const { holder, last } = holderOf(root, pointer, place);
  if (memberOf(holder, last) === undefined) throw nowhere(pointer, place);
  if (Array.isArray(holder)) holder[Number(last)] = value;
  else holder[last] = value;
  return root;
}

function lengthOf(root: Json): number {
  const open: Json[] = [root];
  let length = 0;
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    length += perValue + (typeof value === 'string' ? value.length : 0);
    if (length > maxCopied) return length;
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      length += name.length;
      open.push(member);
    }
  }
  return length;
}
