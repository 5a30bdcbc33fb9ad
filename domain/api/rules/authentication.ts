/** Rules on `server.authentication`: schemes, sources, and what must be said when several have to pass (api-definition design 9). */
import { nearestName, type Problem, type Warning } from '../../errors.ts';
import type { Json, JsonObject } from '../../event.ts';
import { at, isObject, isOn, objectAt, pointerStep, sameJson, textAt, texts } from '../../json.ts';
import { declaredPlace, kindOf, providerOf, sourcePlaces } from '../authentication.ts';
import { operationsOf } from '../operations.ts';
import { membersOfOtherSchemes } from '../schema/authentication.ts';
import { isSet, type Path, pointerTo, problem, type Rule, warning } from './rule.ts';

const block: Path = ['server', 'authentication'];

const providers = [
  ...['auth_token', 'hmac_key', 'basic_auth_user', 'jwt_claim', 'oidc_user', 'oauth_key', 'custom_auth'],
] as const;

/** Schemes that OpenAPI does not declare, and the provider that each of them is. */
const undeclared: Readonly<Record<string, string>> = { hmac: 'hmac_key', oidc: 'oidc_user', custom: 'custom_auth' };

type Scheme = { readonly path: Path; readonly name: string; readonly scheme: JsonObject };

function enabledSchemes(extension: JsonObject): readonly Scheme[] {
  const declared = Object.entries(objectAt(extension, ...block, 'securitySchemes') ?? {});
  const own = Object.keys(undeclared).map((name) => [name, at(extension, ...block, name)] as const);
  return [
    ...declared.map(([name, scheme]) => ({ path: [...block, 'securitySchemes', name], name, scheme })),
    ...own.map(([name, scheme]) => ({ path: [...block, name], name, scheme })),
  ].flatMap(({ scheme, ...rest }) => (isOn(scheme) && isObject(scheme) ? [{ ...rest, scheme }] : []));
}

export const checksAuthentication: Rule = (extension, { document }) => {
  if (!isOn(at(extension, ...block))) return [];
  const schemes = enabledSchemes(extension);
  return [
    ...providerProblems(extension, schemes, document),
    ...schemes.flatMap((scheme) => sourceProblems(scheme, document)),
    ...schemes.flatMap(schemeProblems),
    ...multiProblems(extension, schemes, document),
  ];
};

function providerProblems(extension: JsonObject, schemes: readonly Scheme[], document: JsonObject): readonly Problem[] {
  const path = [...block, 'baseIdentityProvider'];
  const provider = textAt(extension, ...path) ?? '';
  if (provider !== '' && !(providers as readonly string[]).includes(provider)) {
    const nearest = nearestName(provider, providers);
    const hint = nearest ? `did you mean "${nearest}"?` : `known are ${providers.join(', ')}`;
    return [problem(path, 'auth_provider_unknown', `there is no provider "${provider}"; ${hint}`)];
  }
  if (schemes.length < 2 || textAt(extension, ...block, 'securityProcessingMode') === 'compliant') return [];
  if (provider === '') {
    return [
      problem(path, 'auth_provider_missing', 'is required when several schemes are enabled: whose session counts'),
    ];
  }
  return schemes.some((scheme) => providerOfScheme(scheme, document) === provider)
    ? []
    : [problem(path, 'auth_provider_missing', `"${provider}" is the provider of none of the schemes that are enabled`)];
}

const providerOfScheme = ({ name, path }: Scheme, document: JsonObject): string | undefined => {
  if (path.length === 3) return undeclared[name];
  const kind = kindOf(at(document, 'components', 'securitySchemes', name));
  return kind && providerOf[kind];
};

const isCompliant = (extension: JsonObject): boolean =>
  isOn(at(extension, ...block)) && textAt(extension, ...block, 'securityProcessingMode') === 'compliant';

/** Names of schemes, one list per alternative: the document's, then the extension's (api-definition design 9.4). */
function alternativesOf(
  extension: JsonObject,
  document: JsonObject,
): readonly (readonly [string, readonly string[]])[] {
  const [own, further] = [document['security'], at(extension, ...block, 'security')];
  return [
    ...(Array.isArray(own) ? own : []).map(
      (one: Json, index) => [`/security/${index}`, isObject(one) ? Object.keys(one) : []] as const,
    ),
    ...(Array.isArray(further) ? further : []).map(
      (one: Json, index) => [pointerTo(...block, 'security', String(index)), texts(one)] as const,
    ),
  ];
}

function multiProblems(extension: JsonObject, schemes: readonly Scheme[], document: JsonObject): readonly Problem[] {
  if (!isCompliant(extension)) return [];
  const enabled = new Set(schemes.map(({ name }) => name));
  const isLeft = ([, names]: readonly [string, readonly string[]]) =>
    names.length > 0 && names.every((name) => enabled.has(name));
  if (alternativesOf(extension, document).some(isLeft)) return [];
  const text = 'invalid multi-auth configuration: no alternative names enabled schemes only';
  return [problem([...block, 'securityProcessingMode'], 'auth_alternatives', text)];
}

function alternativeWarnings(extension: JsonObject, document: JsonObject): readonly Warning[] {
  if (!isCompliant(extension)) return [];
  const enabled = new Set(enabledSchemes(extension).map(({ name }) => name));
  return alternativesOf(extension, document).flatMap(([pointer, names]) => {
    const missing = names.filter((name) => !enabled.has(name));
    if (names.length > 0 && missing.length === 0) return [];
    const text =
      names.length === 0
        ? 'an empty requirement is left out; ignoreAuthentication opens an operation'
        : `is left out: not enabled: ${missing.join(', ')}`;
    return [{ pointer, code: 'auth_alternative_left_out', text }];
  });
}

/** An empty `security` of an operation reads as if it were open. */
const openedWarnings = (extension: JsonObject, document: JsonObject): readonly Warning[] =>
  isOn(at(extension, ...block))
    ? operationsOf(document).flatMap(({ path, method, operation }) => {
        const { security } = operation;
        if (!Array.isArray(security) || security.length > 0) return [];
        const pointer = `/paths/${pointerStep(path)}/${method}/security`;
        return [{ pointer, code: 'operation_security_unread', text: 'opens nothing; ignoreAuthentication does' }];
      })
    : [];

/** What a reader takes for a check of the token is none. */
const memberWarnings = (extension: JsonObject, document: JsonObject): readonly Warning[] =>
  isOn(at(extension, ...block))
    ? enabledSchemes(extension).flatMap((one) =>
        kindOf(componentOf(one, document)) === 'token'
          ? membersOfOtherSchemes
              .filter((name) => isSet(one.scheme[name] ?? null))
              .map((name) => warning([...one.path, name], 'no_effect', 'is no member of a token scheme (apiKey)'))
          : [],
      )
    : [];

/** Every enabled scheme has to pass, which lets nobody in whom the other mode would keep out. */
export const authenticationWarnings = (extension: JsonObject, document: JsonObject): readonly Warning[] => [
  ...(at(extension, ...block) === undefined
    ? [warning(block, 'auth_absent', 'is not there: the API asks nobody for a key, as with enabled: false')]
    : []),
  ...(isCompliant(extension)
    ? [warning([...block, 'securityProcessingMode'], 'no_effect', 'every enabled scheme has to pass in this version')]
    : []),
  ...memberWarnings(extension, document),
  ...alternativeWarnings(extension, document),
  ...openedWarnings(extension, document),
];

const componentOf = ({ name, path }: Scheme, document: JsonObject): Json | undefined =>
  path.length === 3 ? undefined : at(document, 'components', 'securitySchemes', name);

/** The direct form and the nested one may both be there when they say the same; one source of those given is on, or the one that a component declares. */
function sourceProblems(one: Scheme, document: JsonObject): readonly Problem[] {
  const { path, name, scheme } = one;
  const nested = objectAt(scheme, 'AuthSources');
  const direct = Object.fromEntries(sourcePlaces.flatMap((place) => pairOf(scheme, place)));
  const isDirect = Object.keys(direct).length > 0;
  if (nested && isDirect && !sameJson(nested, direct)) {
    const text = `differs from the sources that stand directly in "${name}"`;
    return [problem([...path, 'AuthSources'], 'auth_sources_conflict', text)];
  }
  const given = nested ?? direct;
  const some = sourcePlaces.filter((place) => given[place] !== undefined);
  if (some.length === 0 || some.some((place) => isOn(given[place]))) return [];
  const component = componentOf(one, document);
  if (kindOf(component) === 'token' && declaredPlace(component, given) !== undefined) return [];
  return [
    problem([...path, ...(nested ? ['AuthSources'] : [])], 'auth_source_missing', `"${name}" has no source that is on`),
  ];
}

const pairOf = (scheme: JsonObject, place: string): readonly (readonly [string, Json])[] => {
  const value = scheme[place];
  return value === undefined ? [] : [[place, value]];
};

const hmacAlgorithms = ['hmac-sha1', 'hmac-sha256', 'hmac-sha384', 'hmac-sha512', 'rsa-sha256'];

function schemeProblems({ path, name, scheme }: Scheme): readonly Problem[] {
  const problems: Problem[] = [];
  const hasKeys =
    Boolean(textAt(scheme, 'source')) || (Array.isArray(scheme['jwksURIs']) && scheme['jwksURIs'].length > 0);
  if (hasKeys && !textAt(scheme, 'signingMethod')) {
    problems.push(problem([...path, 'signingMethod'], 'auth_method_missing', 'is required beside source and jwksURIs'));
  }
  if (isOn(scheme['signatureValidation']) && textAt(scheme, 'signatureValidation', 'secret') === '') {
    problems.push(
      problem([...path, 'signatureValidation', 'secret'], 'auth_secret_empty', 'an empty secret signs nothing'),
    );
  }
  if (name === 'hmac' && Array.isArray(scheme['allowedAlgorithms'])) {
    problems.push(
      ...scheme['allowedAlgorithms'].flatMap((algorithm: Json, index) =>
        hmacAlgorithms.includes(String(algorithm))
          ? []
          : [
              problem(
                ...([[...path, 'allowedAlgorithms', String(index)], 'auth_algorithm_unknown'] as const),
                `must be one of ${hmacAlgorithms.join(', ')}`,
              ),
            ],
      ),
    );
  }
  return problems;
}
