/** Rules on single texts wherever they stand: durations, regular expressions, references to secrets (api-definition design 0.7, 0.8). */
import type { Problem } from '../../errors.ts';
import { durationMs } from '../duration.ts';
import { oasExtensionSchema, pointerOfPlace, walkShape } from '../schema/extension.ts';
import { secretSource } from '../secret-reference.ts';
import { found, pointerTo, problem, type Rule } from './rule.ts';

/** More than an answer shows. */
const maxProblems = 100;

const maxRateMs = 366 * 86_400_000;

/** Every text that the schema calls a duration, an expression, or that may refer to a secret. */
export const checksTexts: Rule = (extension, { expressionFault }) => {
  const problems: Problem[] = [];
  walkShape(extension, oasExtensionSchema, pointerTo(), (place) => {
    const { value, schema, isOff } = place;
    if (typeof value !== 'string' || value === '') return;
    const secret = isOff ? undefined : secretFault(value);
    const fault = secret ?? formatFault(value, schema['x-svc-format'], expressionFault);
    if (fault && problems.length < maxProblems) problems.push({ pointer: pointerOfPlace(place), ...fault });
  });
  return problems;
};

type Fault = Omit<Problem, 'pointer'>;

function secretFault(text: string): Fault | undefined {
  const source = secretSource(text);
  return source === undefined
    ? undefined
    : {
        code: 'secret_source_not_offered',
        message: `refers to a secret (${source}), which this version does not resolve`,
      };
}

function formatFault(text: string, format: unknown, expressionFault: (text: string) => string | undefined) {
  if (secretSource(text) !== undefined) return undefined;
  if (format === 'duration' && durationMs(text) === undefined) {
    return { code: 'duration_invalid', message: 'must be a duration such as PT1M or 1m, without years and months' };
  }
  const fault = format === 're2' ? expressionFault(text) : undefined;
  return fault === undefined ? undefined : { code: 'pattern_invalid', message: fault };
}

const rates = [
  ['upstream', 'rateLimit'],
  ['middleware', 'operations', '*', 'rateLimit'],
];

/** The period of a limit lies between 1 ms and 366 days; it may only be empty while the limit is off. */
export const checksRates: Rule = (extension) =>
  rates.values().flatMap((pattern) =>
    found(extension, [...pattern, 'per']).flatMap(({ path, value, isOff }) => {
      if (value === '') return isOff ? [] : [problem(path, 'duration_invalid', 'is empty')];
      const ms = durationMs(String(value));
      return ms !== undefined && (ms < 1 || ms > maxRateMs)
        ? [problem(path, 'duration_invalid', 'must lie between 1 ms and 366 days')]
        : [];
    }),
  );
