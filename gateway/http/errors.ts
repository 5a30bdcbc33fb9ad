/** Every answer that the data plane makes itself: status, text, code and flag, and the body that carries them (api-definition design 2). */

/** Flag: three letters, known to users of the family (conventions 4). Details go to record and log only. */
type Row = { readonly status: number; readonly text: string; readonly flag: string; readonly part: string };

const row = (status: number, text: string, flag: string, part: string): Row => ({ status, text, flag, part });

const unavailable = 'Service temporarily unavailable.';
const notProxied = 'There was a problem proxying the request';

export const refusals = {
  no_route: row(404, 'Not Found', 'NRT', 'router'),
  no_snapshot: row(503, unavailable, 'ANL', 'router'),
  api_not_loaded: row(503, 'API is not available', 'ANL', 'router'),
  version_missing: row(403, 'Version information not found', 'NRT', 'version'),
  version_unknown: row(404, 'This API version does not seem to exist', 'NRT', 'version'),
  version_expired: row(
    403,
    'Api Version has expired, please check documentation or contact administrator',
    'NRT',
    'expiry',
  ),
  bad_path: row(400, 'Bad Request', 'MTH', 'listener'),
  bad_host: row(400, 'Bad Request', 'MTH', 'listener'),
  bad_framing: row(400, 'Bad Request', 'MTH', 'listener'),
  bad_upgrade: row(400, 'Bad Request', 'MTH', 'listener'),
  url_too_long: row(414, 'URI Too Long', 'MTH', 'listener'),
  method_invalid: row(405, 'Method not allowed', 'MTH', 'listener'),
  expectation_failed: row(417, 'Expectation Failed', 'IHD', 'listener'),
  internal_error: row(500, 'Internal Server Error', 'INT', 'chain'),
  api_expired: row(403, 'API has expired, please check documentation or contact administrator', 'NRT', 'expiry'),
  ip_forbidden: row(403, 'access from this IP has been disallowed', 'AKI', 'ip-access'),
  body_too_large: row(400, 'Request is too large', 'BTL', 'request-size'),
  auth_missing: row(401, 'Authorization field missing', 'AMF', 'authentication'),
  auth_unknown: row(403, 'Access to this API has been disallowed', 'AKI', 'authentication'),
  auth_no_right: row(403, 'Access to this API has been disallowed', 'AKI', 'access-rights'),
  auth_duplicate: row(400, 'Authorization field malformed', 'IHD', 'authentication'),
  key_expired: row(401, 'Key has expired, please renew', 'TKE', 'key-expiry'),
  key_inactive: row(403, 'Key is inactive, please renew', 'AKI', 'key-expiry'),
  path_not_granted: row(403, 'Access to this resource has been disallowed', 'AKI', 'granular-access'),
  org_disabled: row(
    403,
    'this organisation access has been disabled, please contact your API administrator',
    'AKI',
    'organisation',
  ),
  org_rate: row(
    403,
    'This organisation rate limit has been exceeded, please contact your API administrator',
    'RLT',
    'organisation',
  ),
  org_quota: row(
    403,
    'This organisation quota has been exceeded, please contact your API administrator',
    'QEX',
    'organisation',
  ),
  rate_key: row(429, 'Rate Limit Exceeded', 'RLT', 'key-rate-limit'),
  quota_key: row(403, 'Quota exceeded', 'QEX', 'key-quota'),
  rate_api: row(429, 'API Rate Limit Exceeded', 'RLT', 'rate-limit'),
  upstream_timeout: row(504, 'Upstream service reached hard timeout.', 'URT', 'upstream'),
  upstream_dns: row(502, 'Upstream host lookup failed', 'DNS', 'upstream'),
  upstream_refused: row(502, notProxied, 'UCF', 'upstream'),
  upstream_reset: row(502, notProxied, 'URR', 'upstream'),
  upstream_tls: row(502, notProxied, 'TLH', 'upstream'),
  upstream_protocol: row(502, notProxied, 'UPE', 'upstream'),
  client_gone: row(499, 'Client closed request', 'CDC', 'client'),
} as const satisfies Readonly<Record<string, Row>>;

export type RefusalCode = keyof typeof refusals;

/** Why the gateway answered itself; `flag` and `details` when they say more than the row of the code does. */
export type Failure = { readonly code: RefusalCode; readonly flag?: string; readonly details?: string };

/** A complete answer of the gateway's own, or one that was kept. `headers` is a raw list: name, value, name, value. */
export type Answer = {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string | Uint8Array;
  readonly failure?: Failure;
};

/** The answer for a code; JSON unless the request's content type is XML. Every 503 and 429 says when to come back. */
export function refusal(
  failure: Failure,
  request: { readonly revision: string; readonly contentType: string },
  extraHeaders: readonly string[] = [],
): Answer {
  const { status, text } = refusals[failure.code];
  const isXml = speaksXml(request.contentType);
  const body = isXml
    ? `<error code="${failure.code}" revision="${request.revision}">${escapeXml(text)}</error>`
    : `{"error": ${JSON.stringify(text)}, "code": "${failure.code}", "revision": ${jsonRevision(request.revision)}}`;
  const headers = [
    ...['Content-Type', isXml ? 'application/xml' : 'application/json'],
    ...['Content-Length', String(Buffer.byteLength(body))],
    ...extraHeaders,
    ...(status === 503 && !extraHeaders.includes('Retry-After') ? ['Retry-After', '1'] : []),
  ];
  return { status, headers, body, failure };
}

const speaksXml = (contentType: string): boolean =>
  contentType !== '' && /^(?:application\/xml|text\/xml|[^;\s]+\+xml)\s*(?:;|$)/i.test(contentType);

/** Positions that are numbers are numbers in JSON, whatever their size. */
const jsonRevision = (revision: string): string => (/^\d+$/.test(revision) ? revision : JSON.stringify(revision));

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll("'", '&apos;');
