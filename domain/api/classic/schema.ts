/** JSON Schema of a Classic definition: every member of the mapping table with its type; others are remarks (api-definition design 15). */
import type { Schema } from '../../json-schema-keywords.ts';
import { anyObject, count, filledText, flag, integer, list, mapOf, object, text } from '../schema/shapes.ts';

const number: Schema = { type: 'number' };
const nullable = (schema: Schema): Schema => ({ ...schema, type: [schema['type'] as string, 'null'] });
const texts = nullable(list(text));
const textMap = nullable(mapOf(text));
const objects = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema =>
  nullable(list(object(properties, required)));
const maybe = (properties: Readonly<Record<string, Schema>>): Schema => nullable(object(properties));

const signature = maybe({
  ...{ algorithm: text, header: text, secret: text, use_param: flag, param_name: text },
  ...{ allowed_clock_skew: count, error_code: integer, error_message: text },
});

const authSource = maybe({
  ...{ name: text, auth_header_name: text, use_param: flag, param_name: text, use_cookie: flag, cookie_name: text },
  ...{ disable_header: flag, use_certificate: flag, validate_signature: flag, signature },
});

const plugin = maybe({ name: text, path: text, disabled: flag, require_session: flag, raw_body_only: flag });
const plugins: Schema = nullable(list(plugin));

const discovery = maybe({
  ...{ use_discovery_service: flag, query_endpoint: text, use_nested_query: flag, parent_data_path: text },
  ...{ data_path: text, port_data_path: text, target_path: text, use_target_list: flag, cache_disabled: flag },
  ...{ cache_timeout: count, endpoint_returns_list: flag },
});

const proxy: Schema = object(
  {
    ...{ listen_path: filledText, target_url: text, strip_listen_path: flag, disable_strip_slash: flag },
    ...{ preserve_host_header: flag, enable_load_balancing: flag, target_list: texts },
    check_host_against_uptime_tests: flag,
    service_discovery: discovery,
    transport: maybe({
      ...{ ssl_insecure_skip_verify: flag, ssl_ciphers: texts, ssl_min_version: integer, ssl_max_version: integer },
      ...{ ssl_force_common_name_check: flag, proxy_url: text, proxy_url_disabled: flag },
    }),
  },
  ['listen_path'],
);

const scopes = maybe({ scope_claim_name: text, scope_to_policy: textMap });

/** An entry of a list of paths; a bare path stands for every method. */
const path = { path: text, method: text, disabled: flag };
const paths = (properties: Readonly<Record<string, Schema>> = {}): Schema => objects({ ...path, ...properties });
const barePaths: Schema = nullable({
  ...list({
    type: ['string', 'object'],
    properties: { ...path, ignore_case: flag, method_actions: nullable(mapOf(anyObject)) },
  }),
});

const template = maybe({ template_mode: text, template_source: text, input_type: text, enable_session: flag });
const headers = paths({ add_headers: textMap, delete_headers: texts });
const matches = nullable(mapOf(object({ match_rx: text, reverse: flag })));

const extendedPaths = maybe({
  ...{ ignored: barePaths, white_list: barePaths, black_list: barePaths, cache: barePaths },
  internal: paths(),
  advance_cache_config: paths({
    ...{ cache_key_regex: text, cache_response_codes: nullable(list(integer)), timeout: count },
  }),
  ...{ transform: paths({ template_data: template }), transform_response: paths({ template_data: template }) },
  ...{ transform_headers: headers, transform_response_headers: headers },
  hard_timeouts: paths({ timeout: number }),
  circuit_breakers: paths({
    ...{ threshold_percent: number, samples: integer, return_to_service_after: integer },
    disable_half_open_state: flag,
  }),
  url_rewrites: paths({
    ...{ match_pattern: text, rewrite_to: text },
    triggers: objects({
      ...{ on: text, rewrite_to: text },
      options: maybe({
        ...{ header_matches: matches, query_val_matches: matches, path_part_matches: matches },
        ...{ session_meta_matches: matches, request_context_matches: matches },
        payload_matches: maybe({ match_rx: text, reverse: flag }),
      }),
    }),
  }),
  virtual: paths({
    ...{ response_function_name: text, function_source_type: text, function_source_uri: text },
    ...{ use_session: flag, proxy_on_error: flag },
  }),
  go_plugin: paths({ plugin_path: text, func_name: text }),
  size_limits: paths({ size_limit: count }),
  method_transforms: paths({ to_method: text }),
  rate_limit: paths({ rate: number, per: number }),
  ...{ track_endpoints: paths(), do_not_track_endpoints: paths() },
  validate_json: paths({ schema: nullable(anyObject), schema_b64: text, error_response_code: integer }),
  validate_request: paths({ error_response_code: integer }),
  mock_response: paths({ code: integer, body: text, headers: textMap, from_oas_examples: anyObject }),
});

const version = object({
  ...{ name: text, expires: text, use_extended_paths: flag, extended_paths: extendedPaths, override_target: text },
  /** Older than `extended_paths`, and not offered. */
  paths: nullable(anyObject),
  ...{ global_headers: textMap, global_headers_remove: texts, global_headers_disabled: flag },
  ...{ global_response_headers: textMap, global_response_headers_remove: texts },
  ...{ global_response_headers_disabled: flag, global_size_limit: count, global_size_limit_disabled: flag },
  ignore_endpoint_case: flag,
});

const authentication = {
  ...{ use_keyless: flag, use_standard_auth: flag, use_basic_auth: flag, enable_jwt: flag, use_openid: flag },
  ...{ enable_signature_checking: flag, enable_coprocess_auth: flag, custom_plugin_auth_enabled: flag },
  ...{ use_go_plugin_auth: flag, use_mutual_tls_auth: flag, use_oauth2: flag, strip_auth_data: flag },
  auth: authSource,
  auth_configs: nullable(mapOf(authSource)),
  base_identity_provided_by: text,
  ...{ session_lifetime: number, session_lifetime_disabled: flag, session_lifetime_respects_key_expiration: flag },
  basic_auth: maybe({
    ...{ disable_caching: flag, cache_ttl: count, extract_from_body: flag },
    ...{ body_user_regexp: text, body_password_regexp: text },
  }),
  ...{ jwt_signing_method: text, jwt_source: text, jwt_skip_kid: flag, jwt_identity_base_field: text },
  jwt_jwks_uris: objects({ url: text, cache_timeout: count }),
  ...{ jwt_policy_field_name: text, jwt_client_base_field: text, jwt_default_policies: texts },
  ...{ jwt_scope_claim_name: text, jwt_scope_to_policy_mapping: textMap },
  scopes: maybe({ jwt: scopes, oidc: scopes }),
  ...{ jwt_issued_at_validation_skew: count, jwt_not_before_validation_skew: count },
  jwt_expires_at_validation_skew: count,
  ...{ hmac_allowed_algorithms: texts, hmac_allowed_clock_skew: number },
  openid_options: maybe({
    providers: objects({ issuer: text, client_ids: textMap }),
    segregate_by_client: flag,
  }),
  client_certificates: texts,
};

const middleware = {
  cache_options: maybe({
    ...{ enable_cache: flag, cache_timeout: count, cache_all_safe_requests: flag },
    ...{ cache_response_codes: nullable(list(integer)), cache_by_headers: texts },
    ...{ enable_upstream_cache_control: flag, cache_control_ttl_header: text },
  }),
  CORS: maybe({
    ...{ enable: flag, allowed_origins: texts, allowed_methods: texts, allowed_headers: texts, exposed_headers: texts },
    ...{ allow_credentials: flag, max_age: integer, options_passthrough: flag, debug: flag },
  }),
  custom_middleware: maybe({
    ...{ driver: text, pre: plugins, post: plugins, post_key_auth: plugins, response: plugins, auth_check: plugin },
    id_extractor: maybe({
      ...{ disabled: flag, extract_from: text, extract_with: text },
      extractor_config: maybe({
        ...{ header_name: text, param_name: text, regex_expression: text, regex_match_index: count },
        xpath_expression: text,
      }),
    }),
  }),
  ...{ custom_middleware_bundle: text, custom_middleware_bundle_disabled: flag },
  ...{ config_data: nullable(anyObject), config_data_disabled: flag },
  analytics_plugin: maybe({ enable: flag, func_name: text, plugin_path: text, on_error: text }),
  analytics_plugins: objects({ enable: flag, func_name: text, plugin_path: text, on_error: text }),
  event_handlers: maybe({ events: nullable(mapOf(objects({ handler_name: text, handler_meta: anyObject }))) }),
  response_processors: objects({ name: text, options: nullable(anyObject) }),
  ...{ error_overrides: nullable(mapOf(list(anyObject))), error_overrides_disabled: flag },
};

const upstream = {
  ...{ upstream_certificates: textMap, upstream_certificates_disabled: flag },
  ...{ pinned_public_keys: textMap, certificate_pinning_disabled: flag },
  uptime_tests: maybe({
    disabled: flag,
    check_list: objects({
      ...{ url: text, method: text, headers: textMap, body: text, enable_proxy_protocol: flag },
      timeout: { type: ['number', 'string'] },
      commands: objects({ name: text, message: text }),
    }),
    config: maybe({ expire_utime_after: number, recheck_wait: number, service_discovery: discovery }),
  }),
  upstream_auth: maybe({ enabled: flag, basic_auth: nullable(anyObject), oauth: nullable(anyObject) }),
  request_signing: maybe({
    ...{ is_enabled: flag, signature_header: text, algorithm: text, key_id: text, header_list: texts },
    ...{ secret: text, certificate_id: text },
  }),
};

/** Known, and of no use here: in the report and not among unknown names. */
const others = {
  ...{ graphql: nullable(anyObject), enable_batch_request_support: flag, external_oauth: nullable(anyObject) },
  ...{ oauth_meta: nullable(anyObject), enable_proxy_protocol: flag, notifications: nullable(anyObject) },
};

export const classicSchema: Schema = {
  $id: 'urn:svc:classic',
  ...object(
    {
      ...{ id: text, api_id: text, org_id: text, name: filledText, active: flag, internal: flag, slug: text },
      expiration: text,
      definition: maybe({
        ...{ enabled: flag, name: text, default: text, location: text, key: text, strip_path: flag },
        ...{ strip_versioning_data: flag, url_versioning_pattern: text, fallback_to_default: flag, versions: textMap },
      }),
      version_data: maybe({ not_versioned: flag, default_version: text, versions: nullable(mapOf(version)) }),
      proxy,
      ...{ domain: text, domain_disabled: flag, certificates: texts, tags: texts, tags_disabled: flag },
      ...{ listen_port: count, protocol: text },
      ...authentication,
      ...middleware,
      ...upstream,
      global_rate_limit: maybe({ rate: number, per: number, disabled: flag }),
      ...{ disable_rate_limit: flag, disable_quota: flag, dont_set_quota_on_create: flag, enable_context_vars: flag },
      ...{ do_not_track: flag, tag_headers: texts, expire_analytics_after: integer },
      ...{ enable_detailed_recording: flag, detailed_tracing: flag },
      ...{ enable_ip_whitelisting: flag, allowed_ips: texts, enable_ip_blacklisting: flag, blacklisted_ips: texts },
      ip_access_control_disabled: flag,
      ...others,
    },
    ['name', 'proxy'],
  ),
};
