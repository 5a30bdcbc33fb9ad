/** The references of an OpenAPI document: where each stands and what it points at. */
import type { Json } from '../event.ts';
import { isObject, pointerStep } from '../json.ts';
import type { ApiDocument } from './definition.ts';

export type Reference = { readonly pointer: string; readonly target: string };

/** Below these `$ref` is data. */
const literal = new Set(['example', 'examples', 'default', 'enum', 'const']);

/** Their members have names of the user, so that `$ref` may be one. */
const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'mapping']);

export function* referencesOf(document: ApiDocument): Generator<Reference> {
  yield* below(document, '', false);
}

function* below(value: Json, pointer: string, isMap: boolean): Generator<Reference> {
  if (typeof value !== 'object' || value === null) return;
  const target = isObject(value) && !isMap ? value['$ref'] : undefined;
  if (typeof target === 'string') yield { pointer: `${pointer}/$ref`, target };
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== 'object' || member === null) continue;
    if (!isMap && (literal.has(name) || name.startsWith('x-'))) continue;
    yield* below(member, `${pointer}/${pointerStep(name)}`, !isMap && maps.has(name));
  }
}

/** Names that `#name` may point at. */
export function anchorsOf(value: Json): ReadonlySet<string> {
  const anchors = new Set<string>();
  const open: Json[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    for (const [name, member] of Object.entries(next)) {
      if ((name === '$anchor' || name === '$dynamicAnchor') && typeof member === 'string') anchors.add(member);
      open.push(member);
    }
  }
  return anchors;
}

/** Whether a pointer below `#` leads to something in the document. */
export function leadsSomewhere(document: Json, pointer: string): boolean {
  let found: Json | undefined = document;
  for (const step of pointer.split('/').slice(1)) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    const holder: unknown = found;
    if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, name)) return false;
    found = (holder as { readonly [name: string]: Json })[name];
  }
  return true;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A lone percent sign is one.
  }
}
