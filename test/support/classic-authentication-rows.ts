/** Rows about authentication: what is said in the Classic form, and what it is in the other. */
import { authentication, type ClassicRow, row, scheme, server } from './classic-definitions.ts';

export const authenticationRows: readonly ClassicRow[] = [
  row('keyless', { use_keyless: true }, authentication({ enabled: false })),
  row(
    'token',
    {
      use_standard_auth: true,
      auth_configs: {
        authToken: {
          ...{ auth_header_name: 'X-Key', disable_header: false, use_param: true, param_name: 'key' },
          ...{ use_cookie: true, cookie_name: 'k', use_certificate: true, validate_signature: true },
          signature: {
            ...{ algorithm: 'MasherySHA256', header: 'X-S', secret: 'clear', use_param: true, param_name: 's' },
            ...{ allowed_clock_skew: 2, error_code: 401, error_message: 'no' },
          },
        },
      },
    },
    scheme('authToken', {
      ...{ enabled: true, header: { enabled: true, name: 'X-Key' }, query: { enabled: true, name: 'key' } },
      ...{ cookie: { enabled: true, name: 'k' }, enableClientCertificate: true },
      signatureValidation: {
        ...{ enabled: true, algorithm: 'MasherySHA256', header: 'X-S', secret: 'clear' },
        ...{ query: { enabled: true, name: 's' }, allowedClockSkew: 2, errorCode: 401, errorMessage: 'no' },
      },
    }),
  ),
  row(
    'basic',
    {
      use_basic_auth: true,
      auth_configs: { basic: { auth_header_name: 'Authorization' } },
      basic_auth: {
        ...{ disable_caching: true, cache_ttl: 5, extract_from_body: true, body_user_regexp: 'u(.*)' },
        body_password_regexp: 'p(.*)',
      },
    },
    scheme('basicAuth', {
      ...{ enabled: true, header: { enabled: true, name: 'Authorization' }, disableCaching: true, cacheTTL: 5 },
      extractCredentialsFromBody: { enabled: true, userRegexp: 'u(.*)', passwordRegexp: 'p(.*)' },
    }),
  ),
  row(
    'jwt',
    {
      ...{ enable_jwt: true, jwt_signing_method: 'rsa', jwt_source: 'https://idp.example/jwks', jwt_skip_kid: true },
      auth_configs: { jwt: { auth_header_name: 'X-Jwt' } },
      ...{ jwt_identity_base_field: 'sub', jwt_policy_field_name: 'pol', jwt_client_base_field: 'azp' },
      ...{ jwt_jwks_uris: [{ url: 'https://idp.example/2', cache_timeout: 9 }], jwt_default_policies: ['p1'] },
      ...{ jwt_scope_claim_name: 'scope', jwt_scope_to_policy_mapping: { read: 'p1' } },
      scopes: { jwt: { scope_claim_name: 'scope', scope_to_policy: { read: 'p1' } } },
      ...{ jwt_issued_at_validation_skew: 1, jwt_not_before_validation_skew: 2, jwt_expires_at_validation_skew: 3 },
    },
    scheme('jwtAuth', {
      ...{ enabled: true, header: { enabled: true, name: 'X-Jwt' }, signingMethod: 'rsa', skipKid: true },
      ...{ source: 'https://idp.example/jwks', identityBaseField: 'sub', policyFieldName: 'pol' },
      ...{ clientBaseField: 'azp', jwksURIs: [{ url: 'https://idp.example/2', cacheTimeout: 9 }] },
      ...{ defaultPolicies: ['p1'], issuedAtValidationSkew: 1, notBeforeValidationSkew: 2, expiresAtValidationSkew: 3 },
      scopes: { claimName: 'scope', scopeToPolicyMapping: [{ scope: 'read', policyId: 'p1' }] },
    }),
  ),
  row(
    'hmac',
    {
      ...{ enable_signature_checking: true, hmac_allowed_algorithms: ['hmac-sha256'], hmac_allowed_clock_skew: 500 },
      auth_configs: { hmac: { auth_header_name: 'X-Sig' } },
    },
    authentication({
      hmac: {
        ...{ enabled: true, allowedAlgorithms: ['hmac-sha256'], allowedClockSkew: 500 },
        AuthSources: { header: { enabled: true, name: 'X-Sig' } },
      },
    }),
  ),
  row(
    'openid',
    {
      use_openid: true,
      openid_options: {
        providers: [{ issuer: 'https://idp.example', client_ids: { Y2xpZW50: 'p1' } }],
        segregate_by_client: true,
      },
      scopes: { oidc: { scope_claim_name: 'scp', scope_to_policy: { a: 'p2' } } },
      auth_configs: { oidc: { auth_header_name: 'X-Id' } },
    },
    authentication({
      oidc: {
        ...{ enabled: true, segregateByClientId: true, AuthSources: { header: { enabled: true, name: 'X-Id' } } },
        providers: [{ issuer: 'https://idp.example', clientToPolicyMapping: [{ clientId: 'client', policyId: 'p1' }] }],
        scopes: { claimName: 'scp', scopeToPolicyMapping: [{ scope: 'a', policyId: 'p2' }] },
      },
    }),
  ),
  row(
    'plugin',
    {
      ...{ custom_plugin_auth_enabled: true, enable_coprocess_auth: true },
      auth_configs: { coprocess: { auth_header_name: 'X-P' } },
      custom_middleware: {
        auth_check: { name: 'Check', path: 'a.py', raw_body_only: true, require_session: false, disabled: false },
        id_extractor: {
          ...{ disabled: false, extract_from: 'header', extract_with: 'regex' },
          extractor_config: {
            ...{ header_name: 'X-P', param_name: 'p', regex_expression: '.*', regex_match_index: 1 },
            xpath_expression: '//id',
          },
        },
      },
    },
    authentication({
      custom: {
        ...{ enabled: true, AuthSources: { header: { enabled: true, name: 'X-P' } } },
        config: {
          ...{ enabled: true, functionName: 'Check', path: 'a.py', rawBodyOnly: true, requireSession: false },
          idExtractor: {
            ...{ enabled: true, source: 'header', with: 'regex' },
            config: { headerName: 'X-P', formParamName: 'p', regexp: '.*', regexpMatchIndex: 1, xPathExp: '//id' },
          },
        },
      },
    }),
  ),
  row(
    'client certificates',
    { use_mutual_tls_auth: true, client_certificates: ['c1'] },
    server({ clientCertificates: { enabled: true, allowlist: ['c1'] } }),
  ),
  row(
    'whose session',
    {
      ...{ base_identity_provided_by: 'auth_token', strip_auth_data: true, session_lifetime: 3600 },
      session_lifetime_respects_key_expiration: true,
    },
    authentication({
      ...{ baseIdentityProvider: 'auth_token', stripAuthorizationData: true },
      customKeyLifetime: { enabled: true, value: '1h', respectValidity: true },
    }),
  ),
];
