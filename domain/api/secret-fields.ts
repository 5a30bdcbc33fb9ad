/** Which members of a definition hold secrets (api-definition design 0.9), in each of its written forms. */

import type { JsonObject } from '../event.ts';
import { at } from '../json.ts';
import { type FindSecrets, findBelow, findFields, isSecretHeader, type SecretField } from '../secret-places.ts';
import { gatewayExtension, streamingExtension } from './definition.ts';

const split = (path: string): readonly string[] => path.split('/');

const texts = (...paths: readonly string[]): readonly SecretField[] =>
  paths.map((path) => ({ path: split(path), kind: 'text' }));

const addresses = (...paths: readonly string[]): readonly SecretField[] =>
  paths.map((path) => ({ path: split(path), kind: 'user-info' }));

/** Secrets that are sent to these addresses. */
const sent = (to: readonly string[], ...paths: readonly string[]): readonly SecretField[] =>
  texts(...paths).map((field) => ({ ...field, sentTo: to.map(split) }));

/** The key of a JWT scheme is a secret when it signs and verifies alike; otherwise it is public. */
const isShared = (member: string) => (holder: JsonObject) => /^hmac/i.test(String(holder[member] ?? ''));

/** A secret as a whole, or else perhaps the address of public keys. */
const keySource = (path: readonly string[], method: string): readonly SecretField[] => [
  { path, kind: 'text', isSecret: isShared(method) },
  { path, kind: 'user-info', isSecret: (holder) => !isShared(method)(holder) },
];

/** Whatever carries a request to the upstream, or says where that is. */
const upstreamAddresses = [
  'upstream/url',
  'upstream/loadBalancing/targets/*/url',
  'upstream/proxy/url',
  'upstream/serviceDiscovery/queryEndpoint',
];

const inExtension: readonly SecretField[] = [
  ...texts('server/authentication/securitySchemes/*/signatureValidation/secret'),
  ...sent(['server/eventHandlers/*/url'], 'server/eventHandlers/*/headers/*', 'server/eventHandlers/*/secret'),
  ...sent(
    upstreamAddresses,
    'upstream/authentication/basicAuth/password',
    'upstream/authentication/requestSigning/secret',
  ),
  ...sent(
    ['upstream/authentication/oauth/clientCredentials/tokenUrl'],
    'upstream/authentication/oauth/clientCredentials/clientSecret',
  ),
  ...sent(
    ['upstream/authentication/oauth/password/tokenUrl'],
    'upstream/authentication/oauth/password/clientSecret',
    'upstream/authentication/oauth/password/password',
  ),
  ...sent(['upstream/uptimeTests/tests/*/url'], 'upstream/uptimeTests/tests/*/headers/*'),
  ...addresses(
    'middleware/operations/*/urlRewrite/rewriteTo',
    'middleware/operations/*/urlRewrite/triggers/*/rewriteTo',
    'server/authentication/securitySchemes/*/jwksURIs/*/url',
    'server/eventHandlers/*/url',
    'upstream/authentication/oauth/clientCredentials/tokenUrl',
    'upstream/authentication/oauth/password/tokenUrl',
    'upstream/loadBalancing/targets/*/url',
    'upstream/proxy/url',
    'upstream/serviceDiscovery/queryEndpoint',
    'upstream/test/serviceDiscovery/queryEndpoint',
    'upstream/uptimeTests/tests/*/url',
    'upstream/url',
  ),
  ...keySource(split('server/authentication/securitySchemes/*/source'), 'signingMethod'),
];

const classicAddresses = [
  'proxy/target_url',
  'proxy/target_list/*',
  'proxy/transport/proxy_url',
  'proxy/service_discovery/query_endpoint',
  'version_data/versions/*/override_target',
];

const classicHook = 'event_handlers/events/*/*/handler_meta';

const inClassic: readonly SecretField[] = [
  ...texts('auth/signature/secret', 'auth_configs/*/signature/secret'),
  ...sent([`${classicHook}/target_path`], `${classicHook}/header_map/*`, `${classicHook}/secret`),
  ...sent(classicAddresses, 'request_signing/secret', 'upstream_auth/basic_auth/password'),
  ...sent(['upstream_auth/oauth/client_credentials/token_url'], 'upstream_auth/oauth/client_credentials/client_secret'),
  ...sent(
    ['upstream_auth/oauth/password_authentication/token_url'],
    'upstream_auth/oauth/password_authentication/client_secret',
    'upstream_auth/oauth/password_authentication/password',
  ),
  ...sent(['uptime_tests/check_list/*/url'], 'uptime_tests/check_list/*/headers/*'),
  ...addresses(
    'event_handlers/events/*/*/handler_meta/target_path',
    'jwt_jwks_uris/*/url',
    'proxy/service_discovery/query_endpoint',
    'proxy/target_list/*',
    'proxy/target_url',
    'proxy/transport/proxy_url',
    'upstream_auth/oauth/client_credentials/token_url',
    'upstream_auth/oauth/password_authentication/token_url',
    'uptime_tests/check_list/*/url',
    'version_data/versions/*/extended_paths/url_rewrites/*/rewrite_to',
    'version_data/versions/*/extended_paths/url_rewrites/*/triggers/*/rewrite_to',
    'version_data/versions/*/override_target',
  ),
  ...keySource(['jwt_source'], 'jwt_signing_method'),
];

/** Headers are a map of texts, or a list of pairs whose name is no secret. */
const withPairs = (fields: readonly SecretField[]): readonly SecretField[] =>
  fields.flatMap((field) =>
    field.path.at(-2) === 'headers'
      ? [
          { ...field, isOnlyText: true as const },
          { ...field, path: [...field.path, 'value'] },
        ]
      : [field],
  );

const inTables = findFields([
  ...withPairs(inExtension).map((field) => ({
    ...field,
    path: [gatewayExtension, ...field.path],
    sentTo: (field.sentTo ?? []).map((path) => [gatewayExtension, ...path]),
  })),
  ...withPairs(inClassic),
  ...addresses('servers/*/url'),
]);

/** Components of streams have too many members for a table; these names mean the same in each. */
const secretName =
  /^(?:password|passphrase|secret|token|\w+_(?:secret|password)|(?:access|bearer|auth|refresh)_token|api_key|private_key|user_jwt|user_nkey_seed)$/;

function inStream(path: readonly string[]) {
  const name = path.at(-1) ?? '';
  const holder = path.at(-2) ?? '';
  const isSecret =
    holder === 'headers'
      ? isSecretHeader(name)
      : secretName.test(name) || (name === 'key' && path.at(-3) === 'client_certs');
  return isSecret ? 'text' : 'user-info';
}

export const findApiSecrets: FindSecrets = (document) => [
  ...inTables(document),
  ...findBelow(document, streamingExtension, inStream),
];

/** What a gateway does not run, and handlers of events: without their secrets they tell nobody, and the API runs. */
const notRun: readonly (readonly string[])[] = [
  ['servers'],
  [streamingExtension],
  ['event_handlers'],
  [gatewayExtension, 'server', 'eventHandlers'],
];

/** Whether a gateway needs the secret to run the API: what is switched off, or not run at all, does without. */
export function isNeeded(document: JsonObject, path: readonly string[]): boolean {
  if (notRun.some((start) => start.every((step, index) => path[index] === step))) return false;
  return !path.some((_, end) => at(document, ...path.slice(0, end), 'enabled') === false);
}
