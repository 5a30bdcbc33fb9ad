/** Plain JSON as values: equality, reading by pointer, and copies with one member changed. */
import type { Json, JsonObject } from './event.ts';

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Equality of meaning: the order of members does not count, the order of elements does. */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((element, index) => sameJson(element, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
  );
}

/** The value at a path of member names; undefined when a step leads nowhere. */
export function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let current: Json | undefined = value;
  for (const name of path) current = isObject(current) ? current[name] : undefined;
  return current;
}

export const objectAt = (value: Json | undefined, ...path: readonly string[]): JsonObject | undefined => {
  const found = at(value, ...path);
  return isObject(found) ? found : undefined;
};

export const textAt = (value: Json | undefined, ...path: readonly string[]): string | undefined => {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : undefined;
};

export const isOn = (block: Json | undefined): boolean => at(block, 'enabled') === true;

/** A copy in which the member at the path has the value; objects on the way are made when they are missing. */
export function withMember(value: JsonObject, path: readonly string[], member: Json): JsonObject {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const inner = rest.length === 0 ? member : withMember(objectAt(value, name) ?? {}, rest, member);
  return { ...value, [name]: inner };
}

/** A copy without one member. */
export function withoutMember(value: JsonObject, name: string): JsonObject {
  const { [name]: _, ...rest } = value;
  return rest;
}

/** RFC 6901: a member name as one step of a pointer. */
export const pointerStep = (name: string): string =>
  name.includes('~') || name.includes('/') ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name;

/** The elements of a list of texts; anything else is left out. */
export const texts = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((element): element is string => typeof element === 'string') : [];
