/** What the bodies of requests about tokens say, once they are judged: names that exist, times in one form, durations in ms. */

import { durationMs } from '../../../domain/api/duration.ts';
import { nearestName, type Problem } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/event.ts';
import { pointerStep } from '../../../domain/json.ts';
import type { TokenTerms } from '../../../domain/token.ts';
import { readJsonObject } from '../bodies/bodies.ts';
import { lateSchema } from '../bodies/late-schema.ts';
import { Rejection } from '../errors.ts';
import { readTime } from '../past/time-travel.ts';
import type { Roles } from '../roles.ts';
import { tokenSchemas } from '../schemas/token.ts';
import { scopeNames } from '../scopes.ts';

export type TokenBodies = {
  /** An end that is left out is no later than `longest` (null: no bound). */
  readonly request: (body: Uint8Array, now: Date, longest: string | null) => TokenTerms;
  /** What is left out stays. */
  readonly update: (body: Uint8Array, now: Date) => TokenChange;
  /** How long the text before is taken, in ms; 0: no longer. */
  readonly rotation: (body: Uint8Array) => number;
};

const defaultLifeMs = 90 * 24 * 3_600_000;
const maxOverlapMs = 7 * 24 * 3_600_000;

/** `apis`: null for every one, which only a token has that is not narrowed. */
export type TokenChange = Partial<Omit<TokenTerms, 'apis'>> & { readonly apis?: TokenTerms['apis'] | null };

export function createTokenBodies(roles: Roles): TokenBodies {
  const judged = (name: keyof typeof tokenSchemas & string) => {
    const validate = lateSchema<TokenChange & { readonly overlap?: string }>(tokenSchemas[name] as JsonObject);
    return (body: Uint8Array) => {
      const value: unknown = readJsonObject(body);
      if (validate(value)) return value;
      const problems = validate.errors.map(({ instancePath, keyword, message = '', params }) => {
        const key = String(params['additionalProperty'] ?? params['missingProperty'] ?? '');
        return problem(`${instancePath}${key === '' ? '' : `/${pointerStep(key)}`}`, keyword, message);
      });
      throw refused(problems);
    };
  };
  const [request, update, rotation] = [judged('TokenRequest'), judged('TokenUpdate'), judged('TokenRotation')];
  const checked = (given: TokenChange, now: Date): TokenChange => {
    const { scopes = [], roles: named = [], expiresAt } = given;
    const problems = [
      ...unknownNames('scopes', scopes, scopeNames),
      ...unknownNames('roles', named, Object.keys(roles)),
      ...(typeof expiresAt === 'string' ? timeProblems(expiresAt, now) : []),
    ];
    if (problems.length > 0) throw refused(problems);
    return typeof expiresAt === 'string' ? { ...given, expiresAt: iso(readTime(expiresAt) ?? 0) } : given;
  };
  return {
    request: (body, now, longest) => {
      const { name = '', scopes = [], roles: named = [], apis, node, expiresAt } = checked(request(body), now);
      const usual = now.getTime() + defaultLifeMs;
      const bound = longest === null ? usual : Math.min(usual, Date.parse(longest));
      const end = expiresAt === undefined ? iso(bound) : expiresAt;
      const narrowed = { ...(apis ? { apis } : {}), ...(node === undefined ? {} : { node }) };
      return { name, scopes, roles: named, ...narrowed, expiresAt: end };
    },
    update: (body, now) => checked(update(body), now),
    rotation: (body) => {
      const { overlap } = rotation(body);
      const ms = overlap === undefined ? 0 : durationMs(overlap);
      if (ms !== undefined && ms <= maxOverlapMs) return Math.round(ms);
      throw refused([problem('/overlap', 'duration', 'must be a duration of at most 168h, like 1h or PT1H')]);
    },
  };
}

const iso = (time: number): string => new Date(time).toISOString();

function unknownNames(member: string, given: readonly string[], known: readonly string[]): readonly Problem[] {
  return given.flatMap((name, index) => {
    if (known.includes(name)) return [];
    const nearest = nearestName(name, known);
    const hint = nearest ? `did you mean "${nearest}"?` : `there are ${known.join(', ')}`;
    return [problem(`/${member}/${index}`, 'unknown_name', `"${name}" is unknown, ${hint}`)];
  });
}

function timeProblems(text: string, now: Date): readonly Problem[] {
  const time = readTime(text);
  if (time === undefined) return [problem('/expiresAt', 'time', 'must be a time (RFC 3339) or null')];
  return time > now.getTime() ? [] : [problem('/expiresAt', 'time', 'lies in the past')];
}

const problem = (pointer: string, code: string, message: string): Problem => ({ pointer, code, message });

const refused = (problems: readonly Problem[]): Rejection =>
  new Rejection(
    'body_malformed',
    `request malformed: ${problems.map(({ pointer, message }) => `${pointer} ${message}`.trim()).join('; ')}`,
    { problems },
  );
