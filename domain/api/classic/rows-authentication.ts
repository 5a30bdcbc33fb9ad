/** Authentication in both written forms; schemes stand under the fixed names of `scheme-names.ts` (api-definition design 9, 15.1). */
import type { Json, JsonObject } from '../../event.ts';
import {
  disabledBy,
  durationOfSeconds,
  each,
  get,
  isEmpty,
  mapOfPairs,
  onlyToClassic,
  pairs,
  pairsOf,
  type Row,
  row,
  same,
  sameUnlessEmpty,
  secondsOfDuration,
  switchOf,
} from './row.ts';

const block = 'server/authentication';
const tokenScheme = `${block}/securitySchemes/authToken`;
const jwtScheme = `${block}/securitySchemes/jwtAuth`;
const basicScheme = `${block}/securitySchemes/basicAuth`;

/** A switch beside a value: the block is there when one of the two is. */
const source = (place: string, flag: string, name: string, oas: string): readonly Row[] => [
  {
    ...same(`${place}/${flag}`, `${oas}/enabled`),
    toOas: (classic) =>
      get(classic, `${place}/${flag}`) === undefined && get(classic, `${place}/${name}`) === undefined
        ? undefined
        : get(classic, `${place}/${flag}`) === true,
  },
  same(`${place}/${name}`, `${oas}/name`),
];

/** The header is the source that is on by itself. */
const headerSource = (place: string, oas: string): readonly Row[] => [
  {
    classic: `${place}/disable_header`,
    oas: `${oas}/header/enabled`,
    toOas: (classic) =>
      get(classic, `${place}/disable_header`) === undefined && get(classic, `${place}/auth_header_name`) === undefined
        ? undefined
        : get(classic, `${place}/disable_header`) !== true,
    toClassic: (extension) => {
      const enabled = get(extension, `${oas}/header/enabled`);
      return typeof enabled === 'boolean' ? !enabled : enabled;
    },
  },
  same(`${place}/auth_header_name`, `${oas}/header/name`),
];

const sources = (name: string, oas: string): readonly Row[] => [
  ...headerSource(`auth_configs/${name}`, oas),
  ...source(`auth_configs/${name}`, 'use_param', 'param_name', `${oas}/query`),
  ...source(`auth_configs/${name}`, 'use_cookie', 'cookie_name', `${oas}/cookie`),
];

const otherSwitches = [
  'use_basic_auth',
  'enable_jwt',
  'enable_signature_checking',
  'use_openid',
  'enable_coprocess_auth',
  'custom_plugin_auth_enabled',
  'use_go_plugin_auth',
  'use_oauth2',
];

/** What is neither keyless nor of another scheme asks for a token: never open for want of a switch. */
const isTokenOn = (classic: JsonObject): boolean =>
  get(classic, 'use_standard_auth') === true ||
  (get(classic, 'use_keyless') !== true && !otherSwitches.some((name) => get(classic, name) === true));

const signature = 'auth_configs/authToken/signature';
const validation = `${tokenScheme}/signatureValidation`;

const token: readonly Row[] = [
  {
    ...same('use_standard_auth', `${tokenScheme}/enabled`),
    toOas: (classic) =>
      isTokenOn(classic) ||
      [get(classic, 'use_standard_auth'), get(classic, 'auth_configs/authToken')].some((one) => one !== undefined)
        ? isTokenOn(classic)
        : undefined,
  },
  ...sources('authToken', tokenScheme),
  same('auth_configs/authToken/use_certificate', `${tokenScheme}/enableClientCertificate`),
  switchOf('auth_configs/authToken/validate_signature', `${validation}/enabled`, signature),
  same(`${signature}/algorithm`, `${validation}/algorithm`),
  same(`${signature}/header`, `${validation}/header`),
  ...source(signature, 'use_param', 'param_name', `${validation}/query`),
  same(`${signature}/secret`, `${validation}/secret`),
  same(`${signature}/allowed_clock_skew`, `${validation}/allowedClockSkew`),
  sameUnlessEmpty(`${signature}/error_code`, `${validation}/errorCode`),
  same(`${signature}/error_message`, `${validation}/errorMessage`),
];

/** A switch of a block that several members make. */
const switchAmong = (flag: string, oas: string, members: readonly string[]): Row => ({
  ...same(flag, oas),
  toOas: (classic) =>
    get(classic, flag) ?? (members.some((name) => get(classic, name) !== undefined) ? false : undefined),
});

const basic: readonly Row[] = [
  switchAmong('use_basic_auth', `${basicScheme}/enabled`, ['basic_auth', 'auth_configs/basic']),
  ...sources('basic', basicScheme),
  same('basic_auth/disable_caching', `${basicScheme}/disableCaching`),
  same('basic_auth/cache_ttl', `${basicScheme}/cacheTTL`),
  {
    ...same('basic_auth/extract_from_body', `${basicScheme}/extractCredentialsFromBody/enabled`),
    toOas: (classic) =>
      ['extract_from_body', 'body_user_regexp', 'body_password_regexp'].some(
        (name) => get(classic, `basic_auth/${name}`) !== undefined,
      )
        ? get(classic, 'basic_auth/extract_from_body') === true
        : undefined,
  },
  same('basic_auth/body_user_regexp', `${basicScheme}/extractCredentialsFromBody/userRegexp`),
  same('basic_auth/body_password_regexp', `${basicScheme}/extractCredentialsFromBody/passwordRegexp`),
];

/** Scopes have a newer place and, for JWT, an older one: the newer counts, both are written. */
const scopes = (newer: string, older: { readonly claim: string; readonly map: string } | undefined, oas: string) => {
  const claim = `${newer}/scope_claim_name`;
  const map = `${newer}/scope_to_policy`;
  const claimRow = same(claim, `${oas}/claimName`);
  const mapRow = pairs(map, `${oas}/scopeToPolicyMapping`, 'scope', 'policyId');
  if (!older) return [claimRow, mapRow];
  const list = `${oas}/scopeToPolicyMapping`;
  return [
    { ...claimRow, toOas: (classic: JsonObject) => claimRow.toOas(classic) ?? get(classic, older.claim) },
    {
      ...mapRow,
      toOas: (classic: JsonObject) => {
        const old = get(classic, older.map);
        return mapRow.toOas(classic) ?? (old === undefined ? undefined : pairsOf(old, 'scope', 'policyId'));
      },
    },
    onlyToClassic(older.claim, `${oas}/claimName`, (extension) => get(extension, `${oas}/claimName`)),
    onlyToClassic(older.map, list, (extension) => {
      const found = get(extension, list);
      return found === undefined ? undefined : mapOfPairs(found, 'scope', 'policyId');
    }),
  ];
};

const jwtMembers: readonly (readonly [string, string])[] = [
  ['jwt_signing_method', 'signingMethod'],
  ['jwt_source', 'source'],
  ['jwt_skip_kid', 'skipKid'],
  ['jwt_identity_base_field', 'identityBaseField'],
  ['jwt_policy_field_name', 'policyFieldName'],
  ['jwt_client_base_field', 'clientBaseField'],
  ['jwt_default_policies', 'defaultPolicies'],
  ['jwt_issued_at_validation_skew', 'issuedAtValidationSkew'],
  ['jwt_not_before_validation_skew', 'notBeforeValidationSkew'],
  ['jwt_expires_at_validation_skew', 'expiresAtValidationSkew'],
];

const jwtPlaces = [
  'jwt_jwks_uris',
  'jwt_scope_claim_name',
  'jwt_scope_to_policy_mapping',
  'scopes/jwt',
  'auth_configs/jwt',
];

const jwt: readonly Row[] = [
  switchAmong('enable_jwt', `${jwtScheme}/enabled`, [...jwtMembers.map(([name]) => name), ...jwtPlaces]),
  ...sources('jwt', jwtScheme),
  ...jwtMembers.map(([classic, oas]) => same(classic, `${jwtScheme}/${oas}`)),
  each('jwt_jwks_uris', `${jwtScheme}/jwksURIs`, [same('url', 'url'), same('cache_timeout', 'cacheTimeout')]),
  ...scopes('scopes/jwt', { claim: 'jwt_scope_claim_name', map: 'jwt_scope_to_policy_mapping' }, `${jwtScheme}/scopes`),
];

const hmac: readonly Row[] = [
  switchAmong('enable_signature_checking', `${block}/hmac/enabled`, [
    'hmac_allowed_algorithms',
    'hmac_allowed_clock_skew',
    'auth_configs/hmac',
  ]),
  ...sources('hmac', `${block}/hmac/AuthSources`),
  same('hmac_allowed_algorithms', `${block}/hmac/allowedAlgorithms`),
  row(
    'hmac_allowed_clock_skew',
    `${block}/hmac/allowedClockSkew`,
    // Below zero there stands for no window, which is zero here.
    (value) => (typeof value === 'number' ? Math.max(0, value) : value),
    (value) => value,
  ),
];

const encoded = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** Text that is not what the other form writes stays as it is. */
function decoded(text: string): string {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return text;
  }
}

const renamed = (list: Json | undefined, name: (text: string) => string): Json | undefined =>
  Array.isArray(list)
    ? list.map((pair: Json) => {
        const clientId = get(pair, 'clientId');
        return typeof clientId === 'string' ? { ...(pair as JsonObject), clientId: name(clientId) } : pair;
      })
    : list;

const clients = pairs('client_ids', 'clientToPolicyMapping', 'clientId', 'policyId');

const provider: readonly Row[] = [
  same('issuer', 'issuer'),
  {
    ...clients,
    toOas: (classic) => renamed(clients.toOas(classic), decoded),
    toClassic: (made) => {
      const list = renamed(get(made, 'clientToPolicyMapping'), encoded);
      return list === undefined ? undefined : clients.toClassic({ clientToPolicyMapping: list });
    },
  },
];

const oidc: readonly Row[] = [
  switchAmong('use_openid', `${block}/oidc/enabled`, ['openid_options', 'scopes/oidc', 'auth_configs/oidc']),
  ...sources('oidc', `${block}/oidc/AuthSources`),
  each('openid_options/providers', `${block}/oidc/providers`, provider),
  same('openid_options/segregate_by_client', `${block}/oidc/segregateByClientId`),
  ...scopes('scopes/oidc', undefined, `${block}/oidc/scopes`),
];

const customSwitches = ['custom_plugin_auth_enabled', 'enable_coprocess_auth', 'use_go_plugin_auth'];
const driverOf = (extension: JsonObject): Json | undefined => get(extension, 'middleware/global/pluginConfig/driver');

const config = `${block}/custom/config`;
const authCheck = 'custom_middleware/auth_check';
const extractor = 'custom_middleware/id_extractor';
const extractorMembers: readonly (readonly [string, string])[] = [
  ['header_name', 'headerName'],
  ['param_name', 'formParamName'],
  ['regex_expression', 'regexp'],
  ['regex_match_index', 'regexpMatchIndex'],
  ['xpath_expression', 'xPathExp'],
];

const custom: readonly Row[] = [
  {
    classic: 'custom_plugin_auth_enabled',
    oas: `${block}/custom/enabled`,
    toOas: (classic) =>
      [...customSwitches, authCheck, extractor, 'auth_configs/coprocess'].some(
        (name) => get(classic, name) !== undefined,
      )
        ? customSwitches.some((name) => get(classic, name) === true)
        : undefined,
    toClassic: (extension) => get(extension, `${block}/custom/enabled`),
  },
  onlyToClassic('use_go_plugin_auth', `${block}/custom/enabled`, (extension) =>
    driverOf(extension) === 'goplugin' ? get(extension, `${block}/custom/enabled`) : undefined,
  ),
  onlyToClassic('enable_coprocess_auth', `${block}/custom/enabled`, (extension) =>
    ['goplugin', 'otto'].includes(String(driverOf(extension))) ? undefined : get(extension, `${block}/custom/enabled`),
  ),
  ...sources('coprocess', `${block}/custom/AuthSources`),
  disabledBy(`${authCheck}/disabled`, `${config}/enabled`, {
    classic: [`${authCheck}/name`],
    oas: [`${config}/functionName`],
  }),
  same(`${authCheck}/name`, `${config}/functionName`),
  same(`${authCheck}/path`, `${config}/path`),
  same(`${authCheck}/raw_body_only`, `${config}/rawBodyOnly`),
  same(`${authCheck}/require_session`, `${config}/requireSession`),
  disabledBy(`${extractor}/disabled`, `${config}/idExtractor/enabled`, {
    classic: [`${extractor}/extract_from`, `${extractor}/extract_with`],
    oas: [`${config}/idExtractor/source`, `${config}/idExtractor/with`],
  }),
  same(`${extractor}/extract_from`, `${config}/idExtractor/source`),
  same(`${extractor}/extract_with`, `${config}/idExtractor/with`),
  ...extractorMembers.map(([classic, oas]) =>
    same(`${extractor}/extractor_config/${classic}`, `${config}/idExtractor/config/${oas}`),
  ),
];

const lifetime = `${block}/customKeyLifetime`;

const sessions: readonly Row[] = [
  {
    classic: 'session_lifetime_disabled',
    oas: `${lifetime}/enabled`,
    toOas: (classic) =>
      ['session_lifetime_disabled', 'session_lifetime', 'session_lifetime_respects_key_expiration'].some(
        (name) => get(classic, name) !== undefined,
      )
        ? get(classic, 'session_lifetime_disabled') !== true && !isEmpty(get(classic, 'session_lifetime'))
        : undefined,
    toClassic: (extension) => {
      const enabled = get(extension, `${lifetime}/enabled`);
      return typeof enabled === 'boolean' ? !enabled && !isEmpty(get(extension, `${lifetime}/value`)) : enabled;
    },
  },
  row('session_lifetime', `${lifetime}/value`, durationOfSeconds, secondsOfDuration),
  same('session_lifetime_respects_key_expiration', `${lifetime}/respectValidity`),
];

export const authenticationRows: readonly Row[] = [
  {
    classic: 'use_keyless',
    oas: `${block}/enabled`,
    toOas: (classic) => get(classic, 'use_keyless') !== true,
    toClassic: (extension) => get(extension, `${block}/enabled`) !== true,
  },
  same('base_identity_provided_by', `${block}/baseIdentityProvider`),
  same('strip_auth_data', `${block}/stripAuthorizationData`),
  ...token,
  ...basic,
  ...jwt,
  ...hmac,
  ...oidc,
  ...custom,
  ...sessions,
  switchAmong('use_mutual_tls_auth', 'server/clientCertificates/enabled', ['client_certificates']),
  same('client_certificates', 'server/clientCertificates/allowlist'),
];
