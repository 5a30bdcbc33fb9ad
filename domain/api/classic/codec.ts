/** The two written forms of a definition, each made from the other by the tables beside this file (api-definition design 15). */
import type { Json, JsonObject } from '../../event.ts';
import { at, isObject, objectAt, textAt, withMember, withoutMember } from '../../json.ts';
import { type ApiDocument, gatewayExtension } from '../definition.ts';
import { extendedPathsFrom } from './operations-to-classic.ts';
import { operationsFrom } from './operations-to-oas.ts';
import { withoutVersions } from './own-versions.ts';
import type { Loss, Origin } from './report.ts';
import { assigned, classicBy, get, isEmpty, type Row, split } from './row.ts';
import { authenticationRows } from './rows-authentication.ts';
import { generalRows, versioningRows } from './rows-general.ts';
import { pluginRows } from './rows-plugins.ts';
import { upstreamRows } from './rows-upstream.ts';
import { versionRows } from './rows-version.ts';
import { classicView, extensionView, schemeNames, schemesPlace } from './views.ts';

const rows: readonly Row[] = [...generalRows, ...authenticationRows, ...upstreamRows, ...pluginRows, ...versionRows];

/** A Classic definition is known by its `proxy`, and by what every OpenAPI document has and it must not have. */
export const isClassic = (document: ApiDocument): boolean =>
  isObject(document['proxy']) && document['openapi'] === undefined && document[gatewayExtension] === undefined;

/** The document as the rest of the product reads it: a Classic definition in its OpenAPI form. */
export const canonical = (document: ApiDocument): ApiDocument =>
  isClassic(document) ? toOas(document).document : document;

/** The same without operations, of which there may be many: for what is said of the API as a whole. */
export const canonicalHead = (document: ApiDocument): ApiDocument =>
  isClassic(document) ? toOas({ ...document, version_data: withoutPaths(document) }).document : document;

/** What versions say besides their paths. */
function withoutPaths(classic: JsonObject): Json {
  const data = objectAt(classic, 'version_data') ?? {};
  const versions = Object.entries(objectAt(data, 'versions') ?? {}).map(([name, version]) => [
    name,
    isObject(version) ? withoutMember(version, 'extended_paths') : version,
  ]);
  return { ...data, versions: Object.fromEntries(versions) };
}

export type AsOas = {
  readonly document: ApiDocument;
  /** What the paths came to mean; what is lost besides is found by `losses.ts`. */
  readonly losses: readonly Loss[];
  readonly origins: readonly Origin[];
};

/** Of a definition with several versions it is what they share; each of them is a definition to convert (`own-versions.ts`). */
export function toOas(classic: JsonObject): AsOas {
  const { members, placeOf } = classicView(withoutVersions(classic));
  const names = schemeNames(members);
  const origins: Origin[] = [];
  let extension: JsonObject = {};
  for (const { classic: place, oas, toOas: convert } of rows) {
    const value = convert(members);
    if (value === undefined) continue;
    extension = assigned(extension, oas, value);
    origins.push({ oas: [gatewayExtension, ...schemePath(split(oas), names)], classic: placeOf(split(place)) });
  }
  const operations = operationsOfVersion(members, placeOf);
  if (operations && Object.keys(operations.operations).length > 0) {
    extension = withMember(extension, ['middleware', 'operations'], operations.operations);
  }
  const schemes = schemesOf(extension, names);
  const document = {
    openapi: '3.0.3',
    info: { title: textAt(members, 'name') ?? '', version: '1.0.0' },
    paths: operations?.paths ?? {},
    ...schemes.members,
    [gatewayExtension]: schemes.extension,
  };
  const ofOperations = (operations?.origins ?? []).map(({ oas, classic: place }) => ({
    oas: [gatewayExtension, 'middleware', 'operations', ...oas],
    classic: place,
  }));
  return { document, losses: operations?.losses ?? [], origins: [...origins, ...ofOperations] };
}

function operationsOfVersion(members: JsonObject, placeOf: (path: readonly string[]) => readonly string[]) {
  const version = objectAt(members, 'version');
  const extended = objectAt(version, 'extended_paths');
  // The view drops the switch when it is on.
  if (!extended || version?.['use_extended_paths'] !== undefined) return undefined;
  return operationsFrom(extended, placeOf(['version', 'extended_paths']));
}

const schemePath = (path: readonly string[], names: ReadonlyMap<string, string>): readonly string[] =>
  schemesPlace.every((step, index) => path[index] === step)
    ? [...schemesPlace, names.get(path[3] ?? '') ?? path[3] ?? '', ...path.slice(4)]
    : path;

/** Every scheme has its component, and those that are on are asked for together. */
function schemesOf(extension: JsonObject, names: ReadonlyMap<string, string>) {
  const schemes = objectAt(extension, ...schemesPlace);
  if (!schemes) return { extension, members: {} };
  const entries = Object.entries(schemes).map(([slot, scheme]) => [names.get(slot) ?? slot, slot, scheme] as const);
  const on = entries.filter(([, , scheme]) => at(scheme, 'enabled') === true).map(([name]) => [name, []] as const);
  const components = entries.map(([name, slot, scheme]) => [name, componentOf(slot, scheme)] as const);
  const isAsked = get(extension, 'server/authentication/enabled') === true && on.length > 0;
  return {
    extension: withMember(
      extension,
      schemesPlace,
      Object.fromEntries(entries.map(([name, , scheme]) => [name, scheme])),
    ),
    members: {
      components: { securitySchemes: Object.fromEntries(components) },
      ...(isAsked ? { security: [Object.fromEntries(on)] } : {}),
    },
  };
}

function componentOf(slot: string, scheme: Json): JsonObject {
  if (slot === 'jwtAuth') return { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' };
  if (slot === 'basicAuth') return { type: 'http', scheme: 'basic' };
  const header = textAt(scheme, 'header', 'name') || 'Authorization';
  const isHeaderOff = at(scheme, 'header', 'enabled') === false;
  const place = isHeaderOff ? ['query', 'cookie'].find((one) => at(scheme, one, 'enabled') === true) : undefined;
  return { type: 'apiKey', in: place ?? 'header', name: (place && textAt(scheme, place, 'name')) || header };
}

/** The Classic form. What it has no place for is found by `losses.ts`. */
export function toClassic(document: ApiDocument): JsonObject {
  const { members } = extensionView(document);
  const made = rows.reduce(
    (classic: JsonObject, { classic: place, toClassic: convert }) => assigned(classic, place, convert(members)),
    {},
  );
  const named = withSchemeNames(made, document);
  const extended = extendedPathsFrom(document, members);
  const { version, ...rest } = named;
  const token = at(named, 'auth_configs', 'authToken');
  return {
    ...rest,
    ...(isEmpty(token) || token === undefined ? {} : { auth: token }),
    version_data: {
      not_versioned: true,
      versions: {
        Default: {
          name: 'Default',
          ...(isObject(version) ? version : {}),
          ...(extended ? { use_extended_paths: true, extended_paths: extended } : {}),
        },
      },
    },
  };
}

/** The Classic definition with another block of versions. */
export function withVersioning(classic: JsonObject, block: JsonObject): JsonObject {
  const made = objectAt(classicBy(versioningRows, { info: { versioning: block } }) as JsonObject, 'definition');
  const kept = withoutMember(objectAt(classic, 'definition') ?? {}, 'default');
  return { ...classic, definition: { ...kept, ...made } };
}

const places = [
  ['authToken', 'authToken'],
  ['jwtAuth', 'jwt'],
  ['basicAuth', 'basic'],
] as const;

/** Said only where it is not the name that the table gives. */
function withSchemeNames(classic: JsonObject, document: ApiDocument): JsonObject {
  const { members, placeOf } = extensionView(document);
  return places.reduce((made, [slot, place]) => {
    if (get(members, `${schemesPlace.join('/')}/${slot}`) === undefined) return made;
    const name = placeOf([...schemesPlace, slot]).at(-1) ?? slot;
    return name === slot ? made : withMember(made, ['auth_configs', place, 'name'], name);
  }, classic);
}
