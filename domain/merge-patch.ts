/** JSON merge patch (RFC 7396): objects are merged, `null` removes, everything else replaces. */
import type { Json, JsonObject } from './event.ts';
import { isObject } from './json.ts';

export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, mergePatch(members.get(name), value));
  }
  return Object.fromEntries(members) as JsonObject;
}
