/** Versions inside one Classic definition, each as a definition with that version alone (api-definition design 15.2). */
import type { JsonObject } from '../../event.ts';
import { at, isObject, objectAt, textAt } from '../../json.ts';
import { expirationMs } from '../expiration.ts';

/** `form`: the definition as if it had no other version. */
export type OwnVersion = { readonly name: string; readonly form: JsonObject };

const entriesOf = (classic: JsonObject): readonly (readonly [name: string, version: JsonObject])[] =>
  Object.entries(objectAt(classic, 'version_data', 'versions') ?? {}).filter((entry): entry is [string, JsonObject] =>
    isObject(entry[1]),
  );

/** Whether a request says which version it wants; without versions there is nothing to choose. */
export const hasOwnVersions = (classic: JsonObject): boolean =>
  at(classic, 'version_data', 'not_versioned') !== true && entriesOf(classic).length > 0;

const only = (classic: JsonObject, versions: JsonObject): JsonObject => ({
  ...classic,
  version_data: { not_versioned: true, versions },
});

export const ownVersions = (classic: JsonObject): readonly OwnVersion[] =>
  hasOwnVersions(classic)
    ? entriesOf(classic).map(([name, version]) => ({ name, form: only(classic, { [name]: version }) }))
    : [];

/** What versions share. */
export const withoutVersions = (classic: JsonObject): JsonObject =>
  hasOwnVersions(classic) ? only(classic, {}) : classic;

/** The version of a request that names none; empty: such a request is refused. */
export const defaultVersion = (classic: JsonObject): string => textAt(classic, 'version_data', 'default_version') ?? '';

/** The end of the API and that of its version as written; empty when there is none. */
type Ends = { readonly api: string; readonly version: string };

const endAt = (classic: JsonObject, ...path: readonly string[]): string => {
  const text = textAt(classic, ...path);
  return text === undefined || text === '-1' ? '' : text;
};

/** Of a definition in the shape of the tables, its version under `version`. */
export const endsIn = (members: JsonObject): Ends => ({
  api: endAt(members, 'expiration'),
  version: endAt(members, 'version', 'expires'),
});

/** The one that comes first is what the OpenAPI form knows; a text that is no time counts, so that it is refused. */
export function isVersionFirst({ api, version }: Ends): boolean {
  if (version === '') return false;
  const ms = expirationMs(version);
  const apiMs = expirationMs(api);
  return api === '' || ms === undefined || (apiMs !== undefined && ms < apiMs);
}
