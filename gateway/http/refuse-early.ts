/** Answers to requests that never get an API: no route, no snapshot, a head that cannot be read, bytes that are no HTTP. */
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { drain } from './body.ts';
import { type RefusalCode, refusal } from './errors.ts';
import { STATUS_CODES } from './node-http.ts';

export type EarlyRefusal = {
  readonly code: RefusalCode;
  readonly contentType: string;
  readonly revision: string;
  /** The framing is in doubt: nothing more is read from the connection. */
  readonly isFatal: boolean;
};

export function refuseEarly(response: ServerResponse, { code, contentType, revision, isFatal }: EarlyRefusal): void {
  const answer = refusal({ code }, { revision, contentType });
  if (isFatal) response.shouldKeepAlive = false;
  else if (!response.req.complete) drain(response.req);
  response.writeHead(answer.status, [...answer.headers]);
  response.end(answer.body);
}

/** What the parser found, as a status: its codes begin with `HPE_`. */
export function parserStatus(code: string | undefined): number {
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413;
  return 400;
}

/** For a connection without a request to answer: head and body by hand, then the end. */
export function refuseRaw(socket: Duplex, status: number, code: string, revision: string): void {
  const text = STATUS_CODES[status] ?? 'Bad Request';
  const number = /^\d+$/.test(revision) ? revision : '0';
  const body = `{"error": "${text}", "code": "${code}", "revision": ${number}}`;
  socket.end(
    `HTTP/1.1 ${status} ${text}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
}
