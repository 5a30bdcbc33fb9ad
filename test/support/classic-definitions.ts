/** Classic definitions for tests: one that can be served, parts laid over it, and the words of the tables of rows. */
import type { Json, JsonObject } from '../../domain/event.ts';
import { isObject } from '../../domain/json.ts';

export type ClassicRow = { readonly name: string; readonly classic: JsonObject; readonly oas: JsonObject };

export const server = (members: JsonObject): JsonObject => ({ server: members });
export const global = (members: JsonObject): JsonObject => ({ middleware: { global: members } });
export const upstream = (members: JsonObject): JsonObject => ({ upstream: members });
export const authentication = (members: JsonObject): JsonObject => server({ authentication: members });
export const scheme = (name: string, members: JsonObject): JsonObject =>
  authentication({ securitySchemes: { [name]: members } });
export const row = (name: string, classic: JsonObject, oas: JsonObject): ClassicRow => ({ name, classic, oas });

export const version = (members: JsonObject): JsonObject => ({
  version_data: { not_versioned: true, versions: { Default: { name: 'Default', ...members } } },
});

/** Objects are laid over each other; anything else is replaced. */
export function laidOver(below: JsonObject, above: JsonObject): JsonObject {
  const members = Object.entries(above).map(([name, value]): readonly [string, Json] => {
    const other = below[name];
    return [name, isObject(other) && isObject(value) ? laidOver(other, value) : value];
  });
  return { ...below, ...Object.fromEntries(members) };
}

/** A definition that can be stored and served. */
export const classicDefinition = (id: string, target: string, members: JsonObject = {}): JsonObject =>
  laidOver(
    {
      ...{ name: id, api_id: id, use_keyless: true },
      version_data: { not_versioned: true, versions: { Default: { name: 'Default' } } },
      proxy: { listen_path: `/${id}/`, target_url: target, strip_listen_path: true },
    },
    members,
  );

/** With versions inside, named by the header `x-v`. */
export const classicInVersions = (
  id: string,
  target: string,
  versions: JsonObject,
  members: JsonObject = {},
): JsonObject => ({
  ...laidOver(classicDefinition(id, target, { definition: { location: 'header', key: 'x-v' } }), members),
  version_data: { not_versioned: false, versions, ...(members['version_data'] as JsonObject | undefined) },
});

/** With entries of path lists in its only version. */
export const withPaths = (lists: JsonObject): JsonObject =>
  version({ use_extended_paths: true, extended_paths: lists });
