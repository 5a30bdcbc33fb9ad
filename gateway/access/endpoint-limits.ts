/** The endpoints that a key has limits of their own for, found by method and path: templates as of operations, the best one first (api-definition design 5.2, 5.3). */

import type { RateLimit } from '../../domain/api/definition.ts';
import { re2 } from '../re2.ts';
import type { EndpointLimit, FindEndpoint } from './session.ts';

export type EndpointRow = {
  /** Path template. */
  readonly path: string;
  readonly method: string;
  readonly rate?: RateLimit;
};

type Segment = { readonly rank: number; readonly text: string; readonly matches: (segment: string) => boolean };

type Candidate = {
  readonly limit: EndpointLimit;
  readonly segments: readonly Segment[];
  /** A final `*`: what follows does not matter, and may be missing. */
  readonly hasRest: boolean;
};

export function endpointFinder(rows: readonly EndpointRow[]): FindEndpoint {
  const byMethod = Map.groupBy(rows.map(candidateOf).toSorted(better), ({ limit }) => limit.method);
  return (method, path) => {
    const candidates = byMethod.get(method);
    if (candidates === undefined) return undefined;
    const segments = segmentsOf(path);
    return candidates.find((candidate) => isMatch(candidate, segments))?.limit;
  };
}

function candidateOf({ path, method, rate }: EndpointRow): Candidate {
  const texts = segmentsOf(path);
  const hasRest = texts.at(-1) === '*';
  return {
    limit: { method: method.toUpperCase(), template: path, ...(rate ? { rate } : {}) },
    segments: (hasRest ? texts.slice(0, -1) : texts).map(segmentOf),
    hasRest,
  };
}

/** A trailing slash does not distinguish. */
const segmentsOf = (path: string): readonly string[] => {
  const inner = path.replace(/^\//, '').replace(/\/$/, '');
  return inner === '' ? [] : inner.split('/');
};

const parameter = /\{[^{}]*\}/g;

/** All characters but those of parameters are literal. */
function segmentOf(text: string): Segment {
  if (text === '*') return { rank: 3, text, matches: (segment) => segment !== '' };
  if (/^\{[^{}]*\}$/.test(text)) return { rank: 2, text, matches: (segment) => segment !== '' };
  if (!text.includes('{')) return { rank: 0, text, matches: (segment) => segment === text };
  const literals = text.split(parameter);
  const pattern = re2().compile(literals.map((literal) => re2().quote(literal)).join('(?s:.+?)'));
  return { rank: 1, text, matches: (segment) => pattern.testExact(segment) };
}

const isMatch = ({ segments, hasRest }: Candidate, path: readonly string[]): boolean =>
  (hasRest ? path.length >= segments.length : path.length === segments.length) &&
  segments.every(({ matches }, index) => matches(path[index] ?? ''));

const literalLength = (text: string): number => text.replaceAll(parameter, '').length;

/** Literal, mixed (more literal text first), parameter, `*`, rest, segment by segment; then more segments, longer, alphabetical. */
function better(one: Candidate, other: Candidate): number {
  const [a, b] = [one.segments, other.segments];
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [left, right] = [a[i] as Segment, b[i] as Segment];
    if (left.rank !== right.rank) return left.rank - right.rank;
    if (left.rank !== 1) continue;
    const difference = literalLength(right.text) - literalLength(left.text);
    if (difference !== 0) return difference;
  }
  return (
    b.length - a.length ||
    Number(one.hasRest) - Number(other.hasRest) ||
    other.limit.template.length - one.limit.template.length ||
    (one.limit.template < other.limit.template ? -1 : 1)
  );
}
