/** Makes the page of the codes that a definition is refused or remarked upon with. */

/** Code → what is wrong, and what to do. `definition-codes.test.ts` holds it against the sources. */
export const definitionCodes: Readonly<Record<string, string>> = {
  auth_absent:
    'Remark: there is no `server.authentication`, so nobody is asked for a key. `enabled: false` says the same without a remark.',
  auth_algorithm_unknown: 'An algorithm of `hmac` that no version knows.',
  auth_alternative_left_out: 'Remark: an alternative is empty, or names a scheme that is not enabled.',
  auth_alternatives: 'No alternative of `compliant` names enabled schemes only.',
  auth_method_missing: '`source` or `jwksURIs` without `signingMethod`.',
  auth_plugin_missing: 'Custom authentication is on, and its plugin absent, unnamed or disabled.',
  auth_provider_missing: 'Several schemes have to pass and `baseIdentityProvider` names none of them.',
  auth_provider_unknown: 'There is no such provider.',
  auth_secret_empty: 'A signature is to be checked with an empty secret.',
  auth_source_missing: 'Every source of an enabled scheme is off.',
  auth_sources_conflict: '`AuthSources` and the sources directly in the scheme differ.',
  block_is_exact: 'Remark: a block covers its template alone, not what lies below it.',
  certificate_reference: 'A file or PEM text where the id of a stored certificate belongs: import it first.',
  cors_any_with_credentials: 'Credentials for any origin.',
  cors_origin_invalid: 'More than one `*` in an origin.',
  domain_invalid: 'No host name, or one with a port.',
  domain_pattern_invalid: 'No pattern of domains: labels of letters, digits, `-`, `*`, and a port at most.',
  duration_invalid:
    'No duration: ISO 8601 (`PT1M`) or short (`1m`), no years and months, within the bounds of the field.',
  expiration_invalid: 'Not `YYYY-MM-DD HH:MM`, `-1` or empty.',
  handler_incomplete: 'An event handler lacks what its type needs.',
  handler_type_unknown: 'A type of handler that there is not, or not in a streams API.',
  header_not_allowed: 'A header that belongs to the connection.',
  header_value_invalid: 'Control characters in the value of a header.',
  ip_range_invalid: 'Neither an address nor a CIDR range.',
  listen_path_invalid: 'White space, `?`, `#`, `%` or control characters in a listen path.',
  listen_path_reserved: '`/hello` is taken by the health answer.',
  literal_path: 'Remark: a path that looks like a regular expression is literal text.',
  no_effect: 'Remark: stored, and nothing in this version reads it.',
  not_offered: 'A block that this version does not run is on: set `enabled` to false or leave it out.',
  operation_id_repeated: 'Two operations of one id.',
  operation_security_unread: 'Remark: an empty `security` of an operation opens nothing.',
  pattern_invalid: 'No RE2 expression; the construct that is not allowed is named.',
  pin_invalid: 'Neither the id of a certificate nor a SHA-256 in hex or base64.',
  plugin_bundle_path: 'An enabled bundle without a path, or with one that is not relative to the base address.',
  plugin_code_inline: 'A source in the definition: sources are files or bundles.',
  plugin_driver_entry: 'A driver in an entry; there is one per API, in `pluginConfig.driver`.',
  plugin_driver_missing: 'A plugin is on and nothing says in which language.',
  plugin_driver_mixed: 'Plugins of several languages in one API.',
  plugin_driver_unknown: 'None of `goplugin`, `otto`, `grpc`, `python`, `lua`.',
  plugin_failure_open: 'Authentication that lets everybody in when it fails.',
  plugin_hook_unsupported: 'JavaScript outside of Pre and Post; of an entry that is off a remark.',
  plugin_lists_conflict: 'A list and its wrapper are both there and differ.',
  plugin_session_unused: 'Remark: `requireSession` before authentication is done.',
  reference_external: 'A `$ref` to another document, which is not fetched.',
  rewrite_incomplete: 'A rewrite without pattern and triggers.',
  secret_source_not_offered: 'A reference to a secret (`env://`, `vault://`, …), which this version does not resolve.',
  tag_repeated: 'A tag stands twice.',
  targets_missing: 'An enabled load balancer without targets.',
  template_invalid: 'A body template that does not parse: line, column, and the nearest name are told.',
  template_path_invalid: 'A body template without `{{` in it, and no path of a file below `gateway.templates_path`.',
  tls_cipher_unknown: 'No cipher of TLS 1.2 in the IANA or OpenSSL spelling.',
  tls_versions: '`minVersion` above `maxVersion`.',
  transform_incomplete: 'A body transform without `body` and `path`.',
  trigger_never_fires: 'Remark: nothing makes this trigger fire.',
  trigger_unknown: 'There is no such trigger.',
  upstream_auth_conflict: 'Two ways to sign on at the upstream.',
  upstream_oauth_types: 'Not exactly one of `clientCredentials`, `password`.',
  upstream_signing_key: 'Not exactly one of `secret`, `certificateId`.',
  upstream_url_invalid: 'No absolute URL, or without a host.',
  upstream_url_missing: 'An OAS API without address of its upstream.',
  url_invalid: 'No absolute URL of a scheme that fits here.',
  weights_zero: 'All targets have weight 0.',
};

export function definitionCodesPage(): string {
  const rows = Object.entries(definitionCodes).map(([code, text]) => `| \`${code}\` | ${text} |`);
  return `<!-- Made by \`node docs/generate.ts\` from docs/definition-codes.ts: change it there. -->

# Codes of definitions

What \`errors[].code\` and warnings say of a definition beyond its shape. Codes never change. Where the shape is wrong the code is the keyword of the schema that does not hold (\`type\`, \`required\`, \`enum\`, \`minimum\`, …), and \`unknown_key\` for a key that nobody knows. Codes of versions: [versions](versions.md).

| code | meaning |
|---|---|
${rows.join('\n')}
`;
}
