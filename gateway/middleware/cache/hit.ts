/** Gives a kept answer again: with its age, or as 304 to who has it already (api-definition design 6.1). */
import type { Context } from '../../http/context.ts';
import type { Answer } from '../../http/errors.ts';
import { HeaderNames, headerValue, headerValues, withoutHeaders } from '../../http/headers.ts';
import type { KeptAnswer } from '../../ports.ts';

/** They say something of the body, which a 304 does not have. */
const ofBody = new HeaderNames(['content-length', 'content-type', 'content-encoding', 'content-language']);

export function answerFrom({ status, headers, body, bornMs }: KeptAnswer, context: Context, nowMs: number): Answer {
  const age = String(Math.max(0, Math.floor((nowMs - bornMs) / 1_000)));
  const own = ['Age', age, 'x-svc-cached-response', '1'];
  const { method } = context.head;
  if (status === 200 && (method === 'GET' || method === 'HEAD') && isKnown(headers, context.head.headers)) {
    return { status: 304, headers: [...withoutHeaders(headers, ofBody), ...own], body: '' };
  }
  const length = method === 'HEAD' || status === 204 ? [] : ['Content-Length', String(body.byteLength)];
  return { status, headers: [...headers, ...length, ...own], body };
}

/** A tag is asked for first; only without one the time counts (RFC 9110 13.2.2). */
function isKnown(kept: readonly string[], asked: readonly string[]): boolean {
  const tags = headerValues(asked, 'if-none-match').join(',');
  if (tags !== '') {
    if (tags.trim() === '*') return true;
    const tag = headerValue(kept, 'etag');
    const given: readonly string[] = tags.match(/"[^"]*"/g) ?? [];
    return tag !== undefined && given.includes(tag.trim().replace(/^W\//, ''));
  }
  const since = Date.parse(headerValue(asked, 'if-modified-since') ?? '');
  return since >= Date.parse(headerValue(kept, 'last-modified') ?? '');
}
