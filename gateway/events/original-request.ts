/** The request that an event is about, in the form that it had on the wire, with nothing in it that lets anybody in. */
import { withoutKeys } from '../../domain/key-text.ts';
import type { Context } from '../http/context.ts';
import { shownHeaders, shownTarget } from '../http/credentials.ts';

/** Of the body; it is there only when a step has read it anyway. */
const maxBodyBytes = 16_384;

/** Base64 of head and body (api-definition design 14.2). */
export function originalRequest({ incoming, route, bufferedBody }: Context): string {
  const { authentication } = route.definition;
  const { method = '', url = '', httpVersion, rawHeaders } = incoming;
  const start = `${method} ${shownTarget(url, authentication)} HTTP/${httpVersion}`;
  const lines = [start, ...shownHeaders(rawHeaders, authentication)];
  // Byte for byte, whatever the body is. What a cut leaves of a key at the end is too little to get in with.
  const body = bufferedBody?.subarray(0, maxBodyBytes).toString('latin1') ?? '';
  return Buffer.from(withoutKeys(`${lines.join('\r\n')}\r\n\r\n${body}`), 'latin1').toString('base64');
}
