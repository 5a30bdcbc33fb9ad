/** Rules on single texts wherever they stand: durations, regular expressions, references to secrets (api-definition design 0.7, 0.8). */
import type { Problem } from '../../errors.ts';
import { durationMs } from '../duration.ts';
import { oasExtensionSchema, walkShape } from '../schema/extension.ts';
import { found, pointerTo, problem, type Rule } from './rule.ts';

const maxRateMs = 366 * 86_400_000;

/** Every text that the schema calls a duration, an expression, or that may refer to a secret. */
export const checksTexts: Rule = (extension, { expressionFault }) => {
  const problems: Problem[] = [];
  walkShape(extension, oasExtensionSchema, pointerTo(), ({ value, schema, pointer, isOff }) => {
    if (typeof value !== 'string' || value === '') return;
    const secret = isOff ? undefined : secretFault(value);
    const fault = secret ?? formatFault(value, schema['format'], expressionFault);
    if (fault) problems.push({ pointer, ...fault });
  });
  return problems;
};

type Fault = Omit<Problem, 'pointer'>;

const isReference =
  /(?:^|[^\w+.-])(env|secrets|file|consul|vault|kv):\/\/|\$secret_(env|conf|file|vault|consul)\.|\$(kv)\{/;

function secretFault(text: string): Fault | undefined {
  const match = isReference.exec(text);
  if (!match) return undefined;
  const source = match.slice(1).find((name) => name !== undefined) ?? '';
  return {
    code: 'secret_source_not_offered',
    message: `refers to a secret (${source}), which this version does not resolve`,
  };
}

function formatFault(text: string, format: unknown, expressionFault: (text: string) => string | undefined) {
  if (format === 'svc-duration' && durationMs(text) === undefined) {
    return { code: 'duration_invalid', message: 'must be a duration such as PT1M or 1m, without years and months' };
  }
  const fault = format === 'svc-re2' ? expressionFault(text) : undefined;
  return fault === undefined ? undefined : { code: 'pattern_invalid', message: fault };
}

const rates = [
  ['upstream', 'rateLimit'],
  ['middleware', 'operations', '*', 'rateLimit'],
];

/** The period of a limit lies between 1 ms and 366 days; it may only be empty while the limit is off. */
export const checksRates: Rule = (extension) =>
  rates.flatMap((pattern) =>
    found(extension, [...pattern, 'per']).flatMap(({ path, value, isOff }) => {
      if (value === '') return isOff ? [] : [problem(path, 'duration_invalid', 'is empty')];
      const ms = durationMs(String(value));
      return ms !== undefined && (ms < 1 || ms > maxRateMs)
        ? [problem(path, 'duration_invalid', 'must lie between 1 ms and 366 days')]
        : [];
    }),
  );
