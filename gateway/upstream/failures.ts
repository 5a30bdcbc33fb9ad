/** Names what went wrong on the way to an upstream: the code that the client gets, flag and details for the record (conventions 4). */
import { BodyStalled, BodyTooLarge } from '../http/body.ts';
import type { Failure } from '../http/errors.ts';

export function failureOf(error: Error): Failure {
  if (error instanceof BodyTooLarge) return { code: 'body_too_large' };
  if (error instanceof BodyStalled) return { code: 'client_gone', details: 'client_stalled' };
  const code = codeOf(error);
  const known = failures[code];
  if (known) return known;
  if (code.startsWith('HPE_') || code.startsWith('UND_ERR')) return protocol('upstream_protocol_error');
  if (/CERT|TLS|SSL|SELF_SIGNED|ISSUER/.test(code)) return tls(code);
  return { code: 'upstream_reset', flag: 'UPE', details: code.toLowerCase() || 'unknown' };
}

/** Whether the connection ended before the upstream can have answered: an idle one that it had closed already. */
export const isStaleConnection = (error: Error): boolean =>
  ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(error)) && !/bad (?:response|upgrade)/.test(error.message);

const codeOf = (error: Error): string => {
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string') return code;
  // Several addresses were tried: the first reason speaks for all.
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  return first ? codeOf(first) : '';
};

const protocol = (details: string): Failure => ({ code: 'upstream_protocol', flag: 'UPE', details });

const failures: Readonly<Record<string, Failure>> = {
  ECONNREFUSED: { code: 'upstream_refused', flag: 'UCF', details: 'connection_refused' },
  EHOSTUNREACH: { code: 'upstream_refused', flag: 'NRH', details: 'no_route_to_host' },
  ENETUNREACH: { code: 'upstream_refused', flag: 'NRH', details: 'no_route_to_host' },
  EADDRNOTAVAIL: { code: 'upstream_refused', flag: 'NRH', details: 'address_not_available' },
  ECONNRESET: { code: 'upstream_reset', flag: 'URR', details: 'connection_reset' },
  ECONNABORTED: { code: 'upstream_reset', flag: 'CAB', details: 'connection_aborted' },
  EPIPE: { code: 'upstream_reset', flag: 'EPI', details: 'broken_pipe' },
  UND_ERR_SOCKET: { code: 'upstream_reset', flag: 'URR', details: 'connection_closed' },
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: protocol('response_length_mismatch'),
  UND_ERR_HEADERS_OVERFLOW: protocol('response_head_too_large'),
  ENOTFOUND: { code: 'upstream_dns', flag: 'DNS', details: 'name_not_resolved' },
  EAI_AGAIN: { code: 'upstream_dns', flag: 'DNS', details: 'name_not_resolved' },
  ETIMEDOUT: { code: 'upstream_timeout', flag: 'UCT', details: 'connect_timeout' },
  UND_ERR_CONNECT_TIMEOUT: { code: 'upstream_timeout', flag: 'UCT', details: 'connect_timeout' },
  UND_ERR_HEADERS_TIMEOUT: { code: 'upstream_timeout', flag: 'URT', details: 'response_timeout' },
  UND_ERR_BODY_TIMEOUT: { code: 'upstream_timeout', flag: 'URT', details: 'response_body_timeout' },
};

const tlsFlags: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'TLE',
  CERT_NOT_YET_VALID: 'TLI',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLM',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'TLN',
  SELF_SIGNED_CERT_IN_CHAIN: 'TLN',
  UNABLE_TO_GET_ISSUER_CERT: 'TLC',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'TLC',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'TLC',
};

const tls = (code: string): Failure => ({
  code: 'upstream_tls',
  flag: tlsFlags[code] ?? 'TLH',
  details: code.toLowerCase(),
});
