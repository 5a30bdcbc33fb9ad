/** Parameters of a query by name, with the rest of it byte for byte as it came. */
import { mask } from '../../domain/secret-places.ts';

/** By the rules of the platform, which read credentials too. The sign in front keeps a question mark from being taken for the beginning of a query. */
const nameOf = (part: string): string => new URLSearchParams(`&${part}`).keys().next().value ?? '';

/** `query` with its question mark, or empty. All values go. */
export function withoutParameters(query: string, names: ReadonlySet<string>): string {
  const parts = query.slice(1).split('&');
  const kept = parts.filter((part) => !names.has(nameOf(part)));
  if (kept.length === parts.length) return query;
  return kept.length === 0 ? '' : `?${kept.join('&')}`;
}

/** A target whose parameters of these names show that they were there, and not what they were. */
export function maskedParameters(target: string, names: ReadonlySet<string>): string {
  const start = target.indexOf('?');
  if (start < 0 || names.size === 0) return target;
  const parts = target.slice(start + 1).split('&');
  const masked = parts.map((part) => (names.has(nameOf(part)) ? `${part.split('=', 1)[0]}=${mask}` : part));
  return `${target.slice(0, start)}?${masked.join('&')}`;
}
