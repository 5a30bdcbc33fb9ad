/** The request that an event is about, in the form that it had on the wire, with nothing in it that lets anybody in. */
import { withoutKeys } from '../../domain/key-text.ts';
import { isSecretHeader, mask } from '../../domain/secret-places.ts';
import type { Context } from '../http/context.ts';
import { isCredentialHeader, shownTarget } from '../http/credentials.ts';

/** Of the body; it is there only when a step has read it anyway. */
const maxBodyBytes = 16_384;

/** Base64 of head and body (api-definition design 14.2). */
export function originalRequest({ incoming, route, bufferedBody }: Context): string {
  const { authentication } = route.definition;
  const { method = '', url = '', httpVersion, rawHeaders } = incoming;
  const lines = [`${method} ${shownTarget(url, authentication)} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2);
    const isSecret = isSecretHeader(name) || isCredentialHeader(name.toLowerCase(), authentication);
    lines.push(`${name}: ${isSecret ? mask : value}`);
  }
  // Byte for byte, whatever the body is. What a cut leaves of a key at the end is too little to get in with.
  const body = bufferedBody?.subarray(0, maxBodyBytes).toString('latin1') ?? '';
  return Buffer.from(withoutKeys(`${lines.join('\r\n')}\r\n\r\n${body}`), 'latin1').toString('base64');
}
