/** An entry of `allowed_urls` as a test of method and path: RE2, anchored at both ends, `{name}` for a segment, a final `/*` for the rest (api-definition design 9.6). */
import { re2 } from '../re2.ts';
import type { PathGrant } from './session.ts';

type Matches = (path: string) => boolean;

/** Without methods all of them. What is no expression grants nothing. */
export function pathGrant(url: string, methods: readonly string[]): PathGrant {
  const allowed = methods.length === 0 ? undefined : new Set(methods.map((method) => method.toUpperCase()));
  // Compiled at the first request that asks: a key may name hundreds of addresses, and use one of them.
  let matches: Matches | undefined;
  return (method, path) => {
    if (allowed && !allowed.has(method)) return false;
    matches ??= matcherOf(url);
    return matches(path);
  };
}

/** Whether the address can be told without an expression of the user. */
export const isPlainAddress = (url: string): boolean => isPlain(partsOf(url).front);

/** The expression of an address, for whoever has to say what is wrong with it. */
export const expressionOf = (url: string): string => {
  const { front, hasRest } = partsOf(url);
  return `(?:${withSegments(front)})${hasRest ? '(?:/(?s:.*))?' : ''}`;
};

function matcherOf(url: string): Matches {
  const { front, hasRest } = partsOf(url);
  if (isPlain(front)) {
    const pattern = new RegExp(`^${withSegments(front)}${hasRest ? '(?:/[^]*)?' : ''}$`);
    return (path) => pattern.test(path);
  }
  try {
    const pattern = re2().compile(expressionOf(url));
    return (path) => pattern.testExact(path);
  } catch {
    return () => false;
  }
}

const partsOf = (url: string): { readonly front: string; readonly hasRest: boolean } => {
  const hasRest = url.endsWith('/*');
  return { front: hasRest ? url.slice(0, -2) : url, hasRest };
};

/** Letters that mean themselves, and whole segments: the expression of the platform judges these in linear time too, and sooner. */
const isPlain = (text: string): boolean => /^(?:\/(?:[\w~%@:!,;=&'-]*|\{[A-Za-z_][\w-]*\}))*$/.test(text);

const withSegments = (text: string): string => text.replaceAll(/\{[A-Za-z_][\w-]*\}/g, '[^/]+');
