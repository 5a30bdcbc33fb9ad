/** Refuses a request whose body is longer than the API allows, before anything reads it; one without length is cut (api-definition design 7.10). */
import type { Step } from '../http/context.ts';

/** Methods whose body has no meaning here; the limit is not for them. */
const exempt: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE']);

export const requestSize = (maxBytes: number): Step =>
  function requestSize(context) {
    const { method, contentLength } = context.head;
    if (exempt.has(method)) return undefined;
    if (contentLength > maxBytes) return context.refuse('body_too_large');
    context.maxBodyBytes = maxBytes;
    return undefined;
  };
