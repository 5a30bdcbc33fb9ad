/** Rules on `info` and `server`: where an API stands, until when, and who may come from where (api-definition design 3, 4, 8). */
import type { Json } from '../../event.ts';
import { at, isOn, objectAt, textAt } from '../../json.ts';
import { expirationMs } from '../expiration.ts';
import { ipRange } from '../ip-range.ts';
import { isAscii, normalHost, normalListenPath } from '../paths.ts';
import { found, problem, type Rule } from './rule.ts';

export const checksListenPath: Rule = (extension) => {
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

export const checksDomain: Rule = (extension) => {
  const domain = objectAt(extension, 'server', 'customDomain');
  if (!domain || !isOn(domain)) return [];
  const name = textAt(domain, 'name') ?? '';
  const path = ['server', 'customDomain', 'name'];
  if (/[{}]/.test(name)) return [problem(path, 'not_offered', 'domain templates are not offered by this version')];
  return domainPattern.test(isAscii(name) ? name : normalHost(name))
    ? []
    : [problem(path, 'domain_invalid', 'must be a host name without port')];
};

/** Lists of addresses are checked also while they are off, so that switching them on cannot fail. */
export const checksIpLists: Rule = (extension) =>
  ['allow', 'block']
    .values()
    .flatMap((name) =>
      found(extension, ['server', 'ipAccessControl', name, '*']).flatMap(({ path, value }) =>
        ipRange(String(value)) ? [] : [problem(path, 'ip_range_invalid', 'must be an address or a CIDR range')],
      ),
    );

export const checksCertificateLists: Rule = (extension) =>
  found(extension, ['server', 'clientCertificates', 'allowlist', '*']).flatMap(({ path, value }) =>
    /-----BEGIN|[/\\]|\.(?:pem|crt|cer|der|p12|pfx)$/i.test(String(value))
      ? [
          problem(
            path,
            'certificate_reference',
            'must be the id of a stored certificate: import files and PEM text first',
          ),
        ]
      : [],
  );

export const checksTags: Rule = (extension) => {
  const tags = at(extension, 'server', 'gatewayTags', 'tags');
  if (!Array.isArray(tags)) return [];
  const seen = new Set<Json>();
  return tags.flatMap((tag: Json, index) => {
    if (!seen.has(tag)) {
      seen.add(tag);
      return [];
    }
    return [problem(['server', 'gatewayTags', 'tags', String(index)], 'tag_repeated', 'stands in the list already')];
  });
};

export const checksExpiration: Rule = (extension) => {
  const value = textAt(extension, 'info', 'expiration') ?? '';
  return value === '' || value === '-1' || expirationMs(value) !== undefined
    ? []
    : [problem(['info', 'expiration'], 'expiration_invalid', 'must be YYYY-MM-DD HH:MM in UTC, -1 or empty')];
};
