/** What a definition may not say beyond its schema: values that do not fit together, and protection that this gateway cannot give. */
import type { Problem, Warning } from '../errors.ts';
import type { Json, JsonObject } from '../event.ts';
import { at, isObject, isOn, objectAt, pointerStep, textAt, texts } from '../json.ts';
import { gatewayExtension } from './definition.ts';
import { durationMs } from './duration.ts';
import { normalListenPath } from './paths.ts';
import { versioningProblems } from './versioning.ts';

type Rule = (extension: JsonObject) => readonly Problem[];

const pointerTo = (...path: readonly string[]): string => `/${[gatewayExtension, ...path].map(pointerStep).join('/')}`;

const problem = (path: readonly string[], code: string, message: string): Problem => ({
  pointer: pointerTo(...path),
  code,
  message,
});

/** Every problem of an extension whose shape is right. */
export const ruleProblems = (extension: JsonObject): readonly Problem[] => rules.flatMap((rule) => rule(extension));

/**
 * Blocks that would protect something or decide where a request goes, and that this version does not run. Enabled they
 * are refused: a gateway that ignored them would let requests pass that the definition forbids (api-definition design 0.10).
 */
const notOfferedBlocks: readonly (readonly string[])[] = [
  ['server', 'clientCertificates'],
  ['server', 'ipAccessControl'],
  ['server', 'authentication', 'hmac'],
  ['server', 'authentication', 'oidc'],
  ['server', 'authentication', 'custom'],
  ['upstream', 'certificatePinning'],
  ['upstream', 'mutualTLS'],
  ['upstream', 'serviceDiscovery'],
  ['upstream', 'loadBalancing'],
  ['upstream', 'proxy'],
  ['upstream', 'authentication'],
  ['upstream', 'uptimeTests'],
  ['middleware', 'global', 'pluginConfig', 'bundle'],
];

const pluginLists = ['prePlugins', 'postAuthenticationPlugins', 'postPlugins', 'responsePlugins'];
const pluginWrappers = ['prePlugin', 'postAuthenticationPlugin', 'postPlugin', 'responsePlugin'];

const notOffered = (path: readonly string[]): Problem =>
  problem(path, 'not_offered', 'is not offered by this version; set enabled to false or leave it out');

const refusesBlocks: Rule = (extension) =>
  notOfferedBlocks.filter((path) => isOn(at(extension, ...path))).map(notOffered);

const refusesOperationBlocks: Rule = (extension) =>
  Object.entries(objectAt(extension, 'middleware', 'operations') ?? {}).flatMap(([operation, blocks]) =>
    isObject(blocks)
      ? Object.entries(blocks)
          .filter(([, value]) => isOn(value) || (Array.isArray(value) && value.some(isOn)))
          .map(([name]) => notOffered(['middleware', 'operations', operation, name]))
      : [],
  );

const refusesPlugins: Rule = (extension) => {
  const middleware = objectAt(extension, 'middleware', 'global') ?? {};
  const listed = pluginLists.map((name) => [[name], middleware[name]] as const);
  const wrapped = pluginWrappers.map((name) => [[name, 'plugins'], at(middleware, name, 'plugins')] as const);
  return [...listed, ...wrapped].flatMap(([path, entries]) =>
    Array.isArray(entries)
      ? entries.flatMap((entry, index) =>
          isOn(entry) ? [notOffered(['middleware', 'global', ...path, String(index)])] : [],
        )
      : [],
  );
};

/** A signature that nobody checks protects nothing. */
const refusesSignatures: Rule = (extension) =>
  Object.entries(objectAt(extension, 'server', 'authentication', 'securitySchemes') ?? {}).flatMap(([name, scheme]) =>
    isOn(at(scheme, 'signatureValidation'))
      ? [notOffered(['server', 'authentication', 'securitySchemes', name, 'signatureValidation'])]
      : [],
  );

const checksListenPath: Rule = (extension) => {
  const value = textAt(extension, 'server', 'listenPath', 'value') ?? '';
  const path = ['server', 'listenPath', 'value'];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
  if (/[\s?#\u0000-\u001f\u007f]/.test(value)) {
    return [problem(path, 'listen_path_invalid', 'must not hold white space, "?", "#" or control characters')];
  }
  if (/[{}]/.test(value)) {
    return [problem(path, 'not_offered', 'templates in listen paths are not offered by this version')];
  }
  if (/%/.test(value)) return [problem(path, 'listen_path_invalid', 'must not be percent-encoded')];
  return normalListenPath(value) === '/hello'
    ? [problem(path, 'listen_path_reserved', '/hello is taken by the health answer')]
    : [];
};

const domainPattern = /^(?=.{1,253}\.?$)(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*\.?$/i;

const checksDomain: Rule = (extension) => {
  const domain = objectAt(extension, 'server', 'customDomain');
  if (!domain || !isOn(domain)) return [];
  const name = textAt(domain, 'name') ?? '';
  const path = ['server', 'customDomain', 'name'];
  if (/[{}]/.test(name)) return [problem(path, 'not_offered', 'domain templates are not offered by this version')];
  return domainPattern.test(name) ? [] : [problem(path, 'domain_invalid', 'must be a host name without port')];
};

const checksUpstream: Rule = (extension) => {
  const url = textAt(extension, 'upstream', 'url');
  if (url === undefined || url === '') return [];
  const path = ['upstream', 'url'];
  const parsed = URL.parse(url);
  if (!parsed) return [problem(path, 'upstream_url_invalid', 'must be an absolute URL')];
  if (!['http:', 'https:', 'ws:', 'wss:'].includes(parsed.protocol)) {
    return [problem(path, 'not_offered', `scheme ${parsed.protocol.slice(0, -1)} is not offered by this version`)];
  }
  return parsed.hostname === '' ? [problem(path, 'upstream_url_invalid', 'must name a host')] : [];
};

const checksDurations: Rule = (extension) =>
  [
    ['upstream', 'rateLimit', 'per'],
    ['upstream', 'enforceTimeout', 'duration'],
  ].flatMap((path) => {
    const value = textAt(extension, ...path);
    if (value === undefined) return [];
    const isRate = path.includes('rateLimit');
    if (value === '') {
      return isRate && isOn(objectAt(extension, 'upstream', 'rateLimit'))
        ? [problem(path, 'duration_invalid', 'is empty')]
        : [];
    }
    const ms = durationMs(value);
    if (ms === undefined) {
      return [problem(path, 'duration_invalid', 'must be a duration such as PT1M or 1m, without years and months')];
    }
    return isRate && (ms < 1 || ms > 366 * 86_400_000)
      ? [problem(path, 'duration_invalid', 'must lie between 1 ms and 366 days')]
      : [];
  });

const checksCors: Rule = (extension) => {
  const cors = objectAt(extension, 'middleware', 'global', 'cors');
  if (!cors || !isOn(cors)) return [];
  const origins = texts(cors['allowedOrigins']);
  const path = ['middleware', 'global', 'cors'];
  const anyOrigin = origins.length === 0 || origins.includes('*');
  return [
    ...(anyOrigin && cors['allowCredentials'] === true
      ? [problem([...path, 'allowCredentials'], 'cors_any_with_credentials', 'needs a list of origins without "*"')]
      : []),
    ...origins.flatMap((origin, index) =>
      origin.split('*').length > 2
        ? [problem([...path, 'allowedOrigins', String(index)], 'cors_origin_invalid', 'may hold one "*" at most')]
        : [],
    ),
  ];
};

const framingHeaders =
  /^(content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|proxy-connection)$/i;

const checksHeaders: Rule = (extension) =>
  ['transformRequestHeaders', 'transformResponseHeaders'].flatMap((name) => {
    const path = ['middleware', 'global', name, 'add'];
    const added = at(extension, ...path);
    if (!Array.isArray(added)) return [];
    return added.flatMap((pair: Json, index) => {
      const header = textAt(pair, 'name') ?? '';
      const value = textAt(pair, 'value') ?? '';
      const place = [...path, String(index)];
      if (framingHeaders.test(header)) {
        return [problem([...place, 'name'], 'header_not_allowed', `${header} belongs to the connection`)];
      }
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
      if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value)) {
        return [problem([...place, 'value'], 'header_value_invalid', 'must not hold control characters')];
      }
      return value.includes('$secret_') || /(env|secrets|file):\/\//.test(value)
        ? [problem([...place, 'value'], 'secret_source_not_offered', 'references to secrets are not offered')]
        : [];
    });
  });

const checksExpiration: Rule = (extension) => {
  const value = textAt(extension, 'info', 'expiration') ?? '';
  return value === '' || value === '-1' || expirationMs(value) !== undefined
    ? []
    : [problem(['info', 'expiration'], 'expiration_invalid', 'must be YYYY-MM-DD HH:MM in UTC, -1 or empty')];
};

const rules: readonly Rule[] = [
  refusesBlocks,
  refusesOperationBlocks,
  refusesPlugins,
  refusesSignatures,
  checksListenPath,
  checksDomain,
  checksUpstream,
  checksDurations,
  checksCors,
  checksHeaders,
  checksExpiration,
  versioningProblems,
];

/** `YYYY-MM-DD HH:MM` in UTC as ms; undefined when it does not parse. */
export function expirationMs(value: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}$/.test(value)) return undefined;
  const ms = Date.parse(`${value.replace(' ', 'T')}:00Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Blocks that protect nothing and are not run yet: stored, with a remark. */
const withoutEffect: readonly (readonly string[])[] = [
  ['middleware', 'global', 'cache'],
  ['middleware', 'global', 'ignoreCase'],
  ['server', 'detailedActivityLogs'],
  ['server', 'detailedTracing'],
];

export const effectWarnings = (extension: JsonObject): readonly Warning[] => [
  ...withoutEffect.filter((path) => isOn(at(extension, ...path))).map((path) => noEffect(path)),
  ...(Array.isArray(at(extension, 'server', 'eventHandlers'))
    ? (at(extension, 'server', 'eventHandlers') as readonly Json[]).flatMap((handler, index) =>
        isOn(handler) ? [noEffect(['server', 'eventHandlers', String(index)])] : [],
      )
    : []),
  ...(texts(at(extension, 'server', 'customDomain', 'certificates')).length > 0
    ? [noEffect(['server', 'customDomain', 'certificates'])]
    : []),
];

const noEffect = (path: readonly string[]): Warning => ({
  pointer: pointerTo(...path),
  code: 'no_effect',
  text: 'is stored and has no effect in this version',
});
