/** Both written forms in the shape that the tables speak of: one version, schemes under fixed names, older places moved to the newer ones. */
import type { Json, JsonObject } from '../../event.ts';
import { at, isObject, objectAt, sameJson, textAt, withMember, withoutMember } from '../../json.ts';
import { gatewayExtension } from '../definition.ts';
import { withoutNulls } from './report.ts';
import { isEmpty } from './row.ts';

/** `placeOf` leads from a path of the view to the path of the document. */
export type View = { readonly members: JsonObject; readonly placeOf: (path: readonly string[]) => readonly string[] };

/** Schemes that read `auth` when they have no place of their own. */
const switchesOfPlaces: Readonly<Record<string, readonly string[]>> = {
  jwt: ['enable_jwt'],
  basic: ['use_basic_auth'],
  hmac: ['enable_signature_checking'],
  oidc: ['use_openid'],
  coprocess: ['enable_coprocess_auth', 'custom_plugin_auth_enabled', 'use_go_plugin_auth'],
};

/** The only version, or the one that serves who names none. */
function chosenVersion(classic: JsonObject): string | undefined {
  const versions = objectAt(classic, 'version_data', 'versions');
  if (!versions) return undefined;
  const wanted = textAt(classic, 'version_data', 'default_version');
  return wanted !== undefined && Object.hasOwn(versions, wanted) ? wanted : Object.keys(versions)[0];
}

export function classicView(given: JsonObject): View {
  const classic = withoutNulls(given);
  const name = chosenVersion(classic);
  const { version, others } = versionsOf(classic, name);
  const { configs, moved } = sourcesOf(classic);
  const rest = moved.has('authToken') ? withoutMember(classic, 'auth') : classic;
  const members = {
    ...withoutMember(withoutMember(rest, 'version_data'), 'auth_configs'),
    ...(configs ? { auth_configs: configs } : {}),
    ...(version ? { version } : {}),
    ...(Object.keys(others).length > 0 ? { version_data: others } : {}),
  };
  const placeOf = (path: readonly string[]): readonly string[] => {
    if (path[0] === 'version' && version) return ['version_data', 'versions', name ?? '', ...path.slice(1)];
    if (path[0] === 'auth_configs' && moved.has(path[1] ?? '')) return ['auth', ...path.slice(2)];
    return path;
  };
  return { members, placeOf };
}

/** The version that counts, and what is left of `version_data`. */
function versionsOf(classic: JsonObject, name: string | undefined) {
  const data = objectAt(classic, 'version_data') ?? {};
  const versions = objectAt(data, 'versions') ?? {};
  const chosen = name === undefined ? undefined : versions[name];
  const version = isObject(chosen) ? withSwitch(withoutMember(chosen, 'name')) : undefined;
  const left = name === undefined ? versions : withoutMember(versions, name);
  const rest = withoutMember(withoutMember(data, 'versions'), 'not_versioned');
  return {
    version,
    others: { ...rest, ...(Object.keys(left).length > 0 ? { versions: left } : {}) },
  };
}

/** Lists of paths count only where they are switched on: there the switch is dropped, so that one without them does not differ. */
function withSwitch(version: JsonObject): JsonObject {
  const isOn = version['use_extended_paths'];
  if (isOn === true) return withoutMember(version, 'use_extended_paths');
  const hasLists = version['extended_paths'] !== undefined || version['paths'] !== undefined;
  return isOn === undefined && hasLists ? { ...version, use_extended_paths: false } : version;
}

/** Names of `auth_configs` that stand in `auth` of this document. */
function sourcesOf(classic: JsonObject): {
  readonly configs: JsonObject | undefined;
  readonly moved: ReadonlySet<string>;
} {
  const auth = objectAt(classic, 'auth');
  const configs = objectAt(classic, 'auth_configs');
  if (!auth) return { configs, moved: new Set() };
  const own = (name: string) => !isEmpty(at(configs, name));
  const places = Object.entries(switchesOfPlaces).filter(
    ([name, switches]) => !own(name) && switches.some((one) => classic[one] === true),
  );
  const sources = withoutMember(
    withoutMember(withoutMember(auth, 'signature'), 'validate_signature'),
    'use_certificate',
  );
  const others = places.map(([name]) => [name, sources] as const);
  const isToken = !own('authToken');
  // The same twice is what an export writes.
  const isTwice = !isToken && sameJson(auth, at(configs, 'authToken'));
  return {
    configs: { ...configs, ...Object.fromEntries(others), ...(isToken ? { authToken: auth } : {}) },
    moved: new Set([...others.map(([name]) => name), ...(isToken || isTwice ? ['authToken'] : [])]),
  };
}

type Kind = 'authToken' | 'jwtAuth' | 'basicAuth';

function kindOf(component: Json | undefined): Kind | undefined {
  const type = textAt(component, 'type');
  if (type === 'apiKey') return 'authToken';
  const scheme = textAt(component, 'scheme')?.toLowerCase();
  if (type !== 'http') return undefined;
  return scheme === 'basic' ? 'basicAuth' : scheme === 'bearer' ? 'jwtAuth' : undefined;
}

export const schemesPlace = ['server', 'authentication', 'securitySchemes'] as const;

/** The extension: wrapper objects of plugins become lists, sources stand where the table has them. */
export function extensionView(document: JsonObject): View {
  const extension = withoutNulls(objectAt(document, gatewayExtension) ?? {});
  const schemes = objectAt(extension, ...schemesPlace) ?? {};
  const names = slotsOf(document, schemes);
  const slotted = Object.fromEntries(
    Object.entries(schemes).map(([name, scheme]) => {
      const slot = names.get(name);
      return [
        slot ?? name,
        slot ? withSources(scheme, slot, at(document, 'components', 'securitySchemes', name)) : scheme,
      ];
    }),
  );
  const auth = Object.keys(schemes).length === 0 ? extension : withMember(extension, schemesPlace, slotted);
  const back = new Map([...names].map(([name, slot]) => [slot, name]));
  const placeOf = (path: readonly string[]): readonly string[] => {
    const isScheme = schemesPlace.every((step, index) => path[index] === step) && path.length > schemesPlace.length;
    const named = isScheme
      ? [...schemesPlace, back.get((path[3] ?? '') as Kind) ?? path[3] ?? '', ...path.slice(4)]
      : path;
    return [gatewayExtension, ...named];
  };
  return { members: withLists(withNested(withNested(withNested(auth, 'custom'), 'hmac'), 'oidc')), placeOf };
}

/** The first scheme of a kind has the place of that kind; there is one. */
function slotsOf(document: JsonObject, schemes: JsonObject): ReadonlyMap<string, Kind> {
  const slots = new Map<string, Kind>();
  const taken = new Set<Kind>();
  for (const name of Object.keys(schemes)) {
    const kind = kindOf(at(document, 'components', 'securitySchemes', name));
    if (!kind || taken.has(kind)) continue;
    taken.add(kind);
    slots.set(name, kind);
  }
  return slots;
}

const sourceNames = ['header', 'query', 'cookie'];

/** A token scheme without sources of its own has the one that its component declares. */
function withSources(scheme: Json, slot: Kind, component: Json | undefined): Json {
  if (!isObject(scheme)) return scheme;
  const nested = objectAt(scheme, 'AuthSources');
  const flat = nested ? { ...withoutMember(scheme, 'AuthSources'), ...nested } : scheme;
  const hasOwn = sourceNames.some((name) => flat[name] !== undefined);
  if (hasOwn || slot !== 'authToken') return flat;
  const place = textAt(component, 'in') ?? 'header';
  const header = place === 'header' ? {} : { header: { enabled: false } };
  return { ...flat, ...header, [place]: { enabled: true, name: textAt(component, 'name') ?? 'Authorization' } };
}

function withNested(extension: JsonObject, name: string): JsonObject {
  const block = objectAt(extension, 'server', 'authentication', name);
  const direct = Object.entries(block ?? {}).filter(([member]) => sourceNames.includes(member));
  if (!block || direct.length === 0) return extension;
  const rest = Object.fromEntries(Object.entries(block).filter(([member]) => !sourceNames.includes(member)));
  const nested = { ...Object.fromEntries(direct), ...objectAt(block, 'AuthSources') };
  return withMember(extension, ['server', 'authentication', name], { ...rest, AuthSources: nested });
}

const wrappers = [
  ['prePlugin', 'prePlugins'],
  ['postAuthenticationPlugin', 'postAuthenticationPlugins'],
  ['postPlugin', 'postPlugins'],
  ['responsePlugin', 'responsePlugins'],
] as const;

/** A list that is there wins over its wrapper. */
function withLists(extension: JsonObject): JsonObject {
  const global = objectAt(extension, 'middleware', 'global');
  if (!global) return extension;
  return wrappers.reduce((made, [wrapper, list]) => {
    const plugins = at(global, wrapper, 'plugins');
    const current = objectAt(made, 'middleware', 'global') ?? {};
    if (plugins === undefined) return made;
    const rest = withoutMember(current, wrapper);
    return withMember(made, ['middleware', 'global'], { ...rest, [list]: current[list] ?? plugins });
  }, extension);
}

/** Names of the schemes of a Classic definition, which its sources may say. */
export const schemeNames = (classic: JsonObject): ReadonlyMap<string, string> =>
  new Map(
    [
      ['authToken', 'authToken'],
      ['jwt', 'jwtAuth'],
      ['basic', 'basicAuth'],
    ].map(([place = '', slot = '']) => [slot, textAt(classic, 'auth_configs', place, 'name') || slot]),
  );
