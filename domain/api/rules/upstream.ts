/** Rules on `upstream`: addresses, weights, TLS, patterns of domains, pins, credentials (api-definition design 10). */
import { nearestName, type Problem } from '../../errors.ts';
import type { JsonObject } from '../../event.ts';
import { at, isOn, objectAt, textAt } from '../../json.ts';
import { streamingExtension } from '../definition.ts';
import { secretSource } from '../secret-reference.ts';
import { found, type Path, problem, type Rule } from './rule.ts';
import { tlsCiphers } from './tls-ciphers.ts';

const schemes = ['http:', 'https:', 'ws:', 'wss:'];

export const checksUpstream: Rule = (extension, { kind, document }) => {
  const path = ['upstream', 'url'];
  const url = textAt(extension, ...path) ?? '';
  if (url === '') {
    const isOptional =
      isOn(at(extension, 'upstream', 'loadBalancing')) ||
      (kind === 'streams' && Object.keys(objectAt(document, streamingExtension, 'streams') ?? {}).length > 0);
    return kind === 'oas' && !isOptional && objectAt(extension, 'upstream')
      ? [problem(path, 'upstream_url_missing', 'is required')]
      : [];
  }
  // Not judged before it is resolved; a rule on texts speaks of it.
  if (secretSource(url) !== undefined) return [];
  const parsed = URL.parse(url);
  if (!parsed) return [problem(path, 'upstream_url_invalid', 'must be an absolute URL')];
  if (!schemes.includes(parsed.protocol)) {
    return [problem(path, 'not_offered', `scheme ${parsed.protocol.slice(0, -1)} is not offered by this version`)];
  }
  return parsed.hostname === '' ? [problem(path, 'upstream_url_invalid', 'must name a host')] : [];
};

/** Addresses beside `url`: pattern of the place, and the schemes that fit. */
const addresses: readonly (readonly [Path, readonly string[]])[] = [
  [
    ['upstream', 'loadBalancing', 'targets', '*', 'url'],
    ['http:', 'https:', 'h2c:', 'ws:', 'wss:'],
  ],
  [
    ['upstream', 'proxy', 'url'],
    ['http:', 'https:'],
  ],
  [
    ['upstream', 'serviceDiscovery', 'queryEndpoint'],
    ['http:', 'https:'],
  ],
  [
    ['upstream', 'test', 'serviceDiscovery', 'queryEndpoint'],
    ['http:', 'https:'],
  ],
  [
    ['upstream', 'uptimeTests', 'tests', '*', 'url'],
    ['http:', 'https:', 'tcp:', 'tls:'],
  ],
];

export const checksAddresses: Rule = (extension) =>
  addresses.values().flatMap(([pattern, wanted]) =>
    found(extension, pattern).flatMap(({ path, value, isOff }) => {
      if (typeof value !== 'string' || (value === '' && isOff) || secretSource(value) !== undefined) return [];
      const parsed = URL.parse(value);
      return parsed && wanted.includes(parsed.protocol) && parsed.hostname !== ''
        ? []
        : [
            problem(
              path,
              'url_invalid',
              `must be an absolute URL (${wanted.map((name) => name.slice(0, -1)).join(', ')})`,
            ),
          ];
    }),
  );

export const checksWeights: Rule = (extension) => {
  const path = ['upstream', 'loadBalancing', 'targets'];
  const targets = at(extension, ...path);
  if (!isOn(at(extension, 'upstream', 'loadBalancing'))) return [];
  if (!Array.isArray(targets) || targets.length === 0) {
    return [problem(path, 'targets_missing', 'an enabled load balancer needs at least one target')];
  }
  const text = 'all load balancing targets have weight 0, at least one target must have weight > 0';
  return targets.every((target) => at(target, 'weight') === 0) ? [problem(path, 'weights_zero', text)] : [];
};

const oldTls = ['1.0', '1.1'];

export const checksTls: Rule = (extension) => {
  const path = ['upstream', 'tlsTransport'];
  const [low, high] = [
    textAt(extension, ...path, 'minVersion') || '1.2',
    textAt(extension, ...path, 'maxVersion') || '1.3',
  ];
  const problems =
    low > high ? [problem([...path, 'minVersion'], 'tls_versions', `${low} is above maxVersion ${high}`)] : [];
  const old = ['minVersion', 'maxVersion'].filter((name) => oldTls.includes(textAt(extension, ...path, name) ?? ''));
  return [
    ...problems,
    ...old.map((name) => problem([...path, name], 'not_offered', 'TLS 1.0 and 1.1 are not offered by this version')),
    ...found(extension, [...path, 'ciphers', '*']).flatMap(({ path: place, value }) => {
      const name = String(value);
      if (tlsCiphers.some((known) => known.includes(name))) return [];
      const nearest = nearestName(name, tlsCiphers.flat());
      return [
        problem(place, 'tls_cipher_unknown', `no cipher of TLS 1.2${nearest ? `, did you mean "${nearest}"?` : ''}`),
      ];
    }),
  ];
};

/** Labels of letters, digits, `-`, `*`, and a port (api-definition design 10.2). */
const isDomainPattern = (text: string): boolean => {
  const [, host = '', port] = /^([^:]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const isPort = port === undefined || (Number(port) >= 1 && Number(port) <= 65_535);
  return isPort && host.length <= 253 && host.split('.').every((label) => /^[A-Za-z0-9*-]{1,63}$/.test(label));
};

const domains = [
  ['upstream', 'mutualTLS', 'domainToCertificateMapping', '*', 'domain'],
  ['upstream', 'certificatePinning', 'domainToPublicKeysMapping', '*', 'domain'],
];

export const checksDomainPatterns: Rule = (extension) =>
  domains
    .values()
    .flatMap((pattern) =>
      found(extension, pattern).flatMap(({ path, value }) =>
        isDomainPattern(String(value))
          ? []
          : [
              problem(
                path,
                'domain_pattern_invalid',
                'must be labels of letters, digits, "-" and "*", with a port at most',
              ),
            ],
      ),
    );

const isPin = (text: string): boolean =>
  /^[0-9a-f]{64}$/i.test(text) ||
  /^[A-Za-z0-9+/]{43}=$/.test(text) ||
  // The id of a certificate: organisation, then the fingerprint.
  /^[A-Za-z0-9_-]{1,64}[0-9a-f]{64}$/.test(text);

export const checksPins: Rule = (extension) =>
  found(extension, ['upstream', 'certificatePinning', 'domainToPublicKeysMapping', '*', 'publicKeys', '*']).flatMap(
    ({ path, value }) =>
      isPin(String(value))
        ? []
        : [problem(path, 'pin_invalid', 'must be the id of a stored certificate, or a SHA-256 in hex or base64')],
  );

const modes = ['basicAuth', 'oauth'] as const;

export const checksUpstreamCredentials: Rule = (extension) => {
  const path = ['upstream', 'authentication'];
  const block = objectAt(extension, ...path);
  if (!block || !isOn(block)) return [];
  const problems: Problem[] = [];
  if (modes.every((mode) => isOn(block[mode]))) {
    problems.push(problem(path, 'upstream_auth_conflict', 'multiple upstream authentication modes not allowed'));
  }
  return [...problems, ...oauthProblems(block, path), ...signingProblems(block, path)];
};

function oauthProblems(block: JsonObject, path: Path): readonly Problem[] {
  const oauth = objectAt(block, 'oauth');
  if (!oauth || !isOn(oauth)) return [];
  const types = oauth['allowedAuthorizeTypes'];
  const place = [...path, 'oauth', 'allowedAuthorizeTypes'];
  const [type] = Array.isArray(types) ? types : [];
  if (!Array.isArray(types) || types.length !== 1 || typeof type !== 'string') {
    return [problem(place, 'upstream_oauth_types', 'must name exactly one of clientCredentials, password')];
  }
  const url = [...path, 'oauth', type, 'tokenUrl'];
  return URL.parse(textAt(oauth, type, 'tokenUrl') ?? '')
    ? []
    : [problem(url, 'url_invalid', 'must be an absolute URL')];
}

function signingProblems(block: JsonObject, path: Path): readonly Problem[] {
  const signing = objectAt(block, 'requestSigning');
  if (!signing || !isOn(signing)) return [];
  const keys = ['secret', 'certificateId'].filter((name) => Boolean(textAt(signing, name)));
  return keys.length === 1
    ? []
    : [problem([...path, 'requestSigning'], 'upstream_signing_key', 'needs exactly one of secret, certificateId')];
}
