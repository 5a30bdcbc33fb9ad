/** Authentication in a document: what the query setting switches on, and what a gateway has to ask for (api-definition design 9). */
import { definitionInvalid, type Problem, type Warning } from '../errors.ts';
import type { Json, JsonObject } from '../event.ts';
import { at, isObject, isOn, objectAt, pointerStep, textAt } from '../json.ts';
import {
  type ApiDefinition,
  type ApiDocument,
  type CredentialSources,
  type GrantedAs,
  gatewayExtension,
} from './definition.ts';

type Kind = 'token' | 'jwt' | 'basic';

/** The scheme kind that a component declares; undefined for kinds that no version offers. */
export function kindOf(component: Json | undefined): Kind | undefined {
  const type = textAt(component, 'type');
  if (type === 'apiKey') return 'token';
  if (type !== 'http') return undefined;
  const scheme = textAt(component, 'scheme')?.toLowerCase();
  if (scheme === 'basic') return 'basic';
  const format = textAt(component, 'bearerFormat')?.toLowerCase();
  return scheme === 'bearer' && (format === undefined || format === 'jwt') ? 'jwt' : undefined;
}

export const providerOf: Readonly<Record<Kind, string>> = {
  token: 'auth_token',
  jwt: 'jwt_claim',
  basic: 'basic_auth_user',
};
const providerOrder: readonly Kind[] = ['token', 'jwt', 'basic'];

/** Names of the schemes in the root `security`, one list per alternative. */
const requirements = (document: ApiDocument): readonly (readonly string[])[] => {
  const security = document['security'];
  return Array.isArray(security) ? security.map((entry) => (isObject(entry) ? Object.keys(entry) : [])) : [];
};

const refuse = (pointer: string, code: string, message: string) => definitionInvalid([{ pointer, code, message }]);

/** `authentication=true` and `=false` of import and PATCH, applied to the block (management design 4.2). */
export function withAuthentication(
  document: ApiDocument,
  stored: JsonObject | undefined,
  enabled: boolean,
): { readonly block: JsonObject; readonly warnings: readonly Warning[] } {
  const block = stored ?? {};
  const schemes = objectAt(block, 'securitySchemes') ?? {};
  if (!enabled) {
    const named = new Set(requirements(document).flat());
    const off = Object.entries(schemes).map(([name, scheme]) => [
      name,
      named.has(name) && isObject(scheme) ? { ...scheme, enabled: false } : scheme,
    ]);
    const offSchemes = off.length > 0 ? { securitySchemes: Object.fromEntries(off) } : {};
    return { block: { ...block, enabled: false, ...offSchemes }, warnings: [] };
  }
  const { kinds, warnings } = supportedSchemes(document);
  const on = [...kinds].map(([name, kind]) => [name, schemeOn(objectAt(schemes, name), kind)] as const);
  const provider = providerOrder.find((kind) => [...kinds.values()].includes(kind));
  return {
    block: {
      ...block,
      enabled: true,
      securitySchemes: { ...schemes, ...Object.fromEntries(on) },
      ...(kinds.size > 1 && provider ? { baseIdentityProvider: providerOf[provider] } : {}),
    },
    warnings,
  };
}

function schemeOn(scheme: JsonObject | undefined, kind: Kind): JsonObject {
  const hasSource = ['header', 'query', 'cookie', 'AuthSources'].some((name) => at(scheme, name) !== undefined);
  const source = kind === 'token' || hasSource ? {} : { header: { enabled: true, name: 'Authorization' } };
  return { ...scheme, ...source, enabled: true };
}

/**
 * The kinds of all schemes that the root `security` names. One that is not offered is skipped with a warning, unless
 * skipping would weaken a requirement that it shares with others, or nothing is left.
 */
function supportedSchemes(document: ApiDocument): {
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly warnings: readonly Warning[];
} {
  const alternatives = requirements(document).filter((names) => names.length > 0);
  if (alternatives.length === 0) {
    throw refuse('/security', 'security_empty', 'empty; authentication needs at least one scheme');
  }
  const kinds = new Map<string, Kind>();
  const warnings: Warning[] = [];
  for (const names of alternatives) {
    const found = names.map((name) => [name, kindOf(componentOf(document, name))] as const);
    const skipped = found.filter(([, kind]) => kind === undefined).map(([name]) => name);
    if (skipped.length > 0 && skipped.length < names.length) throw notOffered(skipped);
    for (const [name, kind] of found) if (kind) kinds.set(name, kind);
    for (const name of skipped) {
      warnings.push({
        pointer: `/components/securitySchemes/${pointerStep(name)}`,
        code: 'auth_scheme_not_offered',
        text: `scheme "${name}" is of a kind that is not offered; it is left out`,
      });
    }
  }
  if (kinds.size === 0) throw notOffered(alternatives.flat());
  return { kinds, warnings };
}

const notOffered = (names: readonly string[]) =>
  refuse('/security', 'auth_scheme_not_offered', `schemes of a kind that is not offered: ${names.join(', ')}`);

function componentOf(document: ApiDocument, name: string): JsonObject {
  const components = objectAt(document, 'components', 'securitySchemes');
  if (!components) {
    throw refuse('/components', 'auth_no_components', 'No components or security schemes present in OAS');
  }
  const component = components[name];
  if (!isObject(component)) throw definitionInvalid([missingComponent(name)]);
  return component;
}

const noComponents: Omit<Problem, 'pointer'> = {
  code: 'auth_no_components',
  message: 'No components or security schemes present in OAS',
};

const missingComponent = (name: string): Problem => ({
  pointer: '/components/securitySchemes',
  code: 'auth_missing_component',
  message: `Missing required Security Scheme '${name}' in Components.SecuritySchemes`,
});

export type AuthenticationRead = {
  readonly authentication?: NonNullable<ApiDefinition['authentication']>;
  readonly problems: readonly Problem[];
};

/**
 * What a gateway asks for. Absent = keyless, which only `enabled: false` or a missing block says; what is switched on is
 * never open for want of a scheme.
 */
export function readAuthentication(document: ApiDocument): AuthenticationRead {
  const block = objectAt(document, gatewayExtension, 'server', 'authentication');
  if (!isOn(block)) return { problems: [] };
  const problems: Problem[] = [];
  const sources: CredentialSources[] = [];
  const declared = objectAt(document, 'components', 'securitySchemes');
  const components = declared ?? {};
  for (const [name, scheme] of Object.entries(objectAt(block, 'securitySchemes') ?? {})) {
    if (!isOn(scheme)) continue;
    const component = components[name];
    const pointer = `/${gatewayExtension}/server/authentication/securitySchemes/${pointerStep(name)}`;
    if (!isObject(component)) problems.push({ ...(declared ? missingComponent(name) : noComponents), pointer });
    else if (kindOf(component) !== 'token' || objectAt(scheme, 'signatureValidation')?.['enabled'] === true) {
      problems.push({
        pointer,
        code: 'not_offered',
        message: 'only token (apiKey) schemes are offered by this version',
      });
    } else sources.push(sourcesOf(component, scheme as JsonObject));
  }
  const grantedAs = readGrantedAs(block);
  return {
    problems,
    authentication: {
      sources: sources.length > 0 ? sources : [{ header: 'Authorization' }],
      strip: at(block, 'stripAuthorizationData') === true,
      ...(grantedAs ? { grantedAs } : {}),
    },
  };
}

/** As which version of which API keys reach it, beside its own id. Classic definitions have no word for it. */
export const grantedAsOf = (document: ApiDocument): GrantedAs | undefined =>
  readGrantedAs(at(document, gatewayExtension, 'server', 'authentication'));

function readGrantedAs(block: Json | undefined): GrantedAs | undefined {
  const [apiId, version] = [textAt(block, 'grantedAs', 'id'), textAt(block, 'grantedAs', 'version')];
  return apiId === undefined || version === undefined ? undefined : { apiId, version };
}

export const sourcePlaces = ['header', 'query', 'cookie'] as const;

/** A token scheme reads where its component says, unless the scheme switches that place off (api-definition design 9.1). */
export function declaredPlace(component: Json | undefined, sources: Json | undefined): string | undefined {
  const place = textAt(component, 'in') ?? 'header';
  return at(sources, place, 'enabled') === false ? undefined : place;
}

/** Sources of the scheme, nested or directly in it; the component's `in` and `name` come first (design 9.1, 9.2). */
function sourcesOf(component: JsonObject, scheme: JsonObject): CredentialSources {
  const block = objectAt(scheme, 'AuthSources') ?? scheme;
  const place = declaredPlace(component, block);
  const ownName = textAt(component, 'name') ?? 'Authorization';
  const nameOf = (one: string): string | undefined =>
    textAt(block, one, 'name') || (one === place ? ownName : undefined);
  const headerName = nameOf('header') ?? 'Authorization';
  const given = sourcePlaces.flatMap((one) => (isOn(block[one]) ? [[one, nameOf(one) ?? headerName] as const] : []));
  return { ...(place === undefined ? {} : { [place]: ownName }), ...Object.fromEntries(given) };
}
