/** Functions with regular expressions (RE2 syntax, linear time). */
import type { Budget } from './budget.ts';
import { TemplateFailure } from './failure.ts';
import { type FunctionTable, type Run, type TextExpression, type TextMatch, taking } from './functions.ts';
import { text, whole } from './operands.ts';
import type { Value } from './value.ts';

function expressionOf(pattern: Value, { port, expressions, budget }: Run): TextExpression {
  const source = text(pattern);
  const known = expressions.get(source);
  if (known) return known;
  budget.spend(10 + source.length);
  const compiled = port.expression(source);
  if (typeof compiled === 'string') throw new TemplateFailure(`a regular expression ${compiled}`);
  expressions.set(source, compiled);
  return compiled;
}

function matchesOf(pattern: Value, value: Value, limit: number, run: Run): readonly TextMatch[] {
  const expression = expressionOf(pattern, run);
  const { budget } = run;
  // All states of an expression may be alive at each letter, and each match may have looked at all that follows it.
  budget.spend(Math.ceil(text(value).length * Math.max(1 / 16, expression.size / 64)));
  if (limit === 0) return [];
  return expression.matches(text(value), limit, (groups) => {
    budget.spend(groups);
    budget.look();
  });
}

function replacedBy(
  [pattern, value]: readonly Value[],
  run: Run,
  replacementOf: (expression: TextExpression) => (found: TextMatch) => string,
): string {
  const from = text(value);
  let [result, last] = ['', 0];
  const replacement = replacementOf(expressionOf(pattern, run));
  for (const found of matchesOf(pattern, value, -1, run)) {
    const by = replacement(found);
    run.budget.make(by.length + found.start - last);
    result += from.slice(last, found.start) + by;
    last = found.end;
  }
  return result + from.slice(last);
}

/** Text, or the number of a group; one that is not there is empty. */
type Part = string | number;

/** `$1`, `${1}`, `$name`, `${name}` and `$$`: read once for all matches. */
function partsOf(template: string, expression: TextExpression, budget: Budget): readonly Part[] {
  const parts: Part[] = [];
  let last = 0;
  for (const found of template.matchAll(/\$(?:\$|\{(\w+)\}|(\w+))/g)) {
    budget.spend();
    const [whole, braced, plain] = found;
    const name = braced ?? plain ?? '';
    const number = /^\d+$/.test(name) ? Number(name) : expression.group(name);
    parts.push(template.slice(last, found.index), whole === '$$' ? '$' : (number ?? ''));
    last = found.index + whole.length;
  }
  return [...parts, template.slice(last)].filter((part) => part !== '');
}

function expanded(parts: readonly Part[], { groups }: TextMatch, budget: Budget): string {
  budget.spend(parts.length);
  let result = '';
  for (const part of parts) {
    const one = typeof part === 'string' ? part : (groups[part] ?? '');
    budget.make(one.length);
    result += one;
  }
  return result;
}

function splitBy(values: readonly Value[], run: Run): readonly string[] {
  const [pattern, value, count] = values;
  const from = text(value);
  const limit = whole(count);
  if (limit === 0) return [];
  const parts: string[] = [];
  let last = 0;
  for (const { start, end } of matchesOf(pattern, value, -1, run)) {
    if (limit > 0 && parts.length === limit - 1) break;
    // Nothing at the very beginning, or the end, cuts nothing off.
    if (end === 0 || (start === end && start === from.length)) continue;
    parts.push(from.slice(last, start));
    last = end;
  }
  return [...parts, from.slice(last)];
}

export const expressionFunctions: FunctionTable = {
  regexMatch: taking(2, 2, ([pattern, value], run) => matchesOf(pattern, value, 1, run).length > 0),
  regexFind: taking(2, 2, ([pattern, value], run) => matchesOf(pattern, value, 1, run)[0]?.groups[0] ?? ''),
  regexFindAll: taking(3, 3, ([pattern, value, count], run) =>
    matchesOf(pattern, value, whole(count), run).map(({ groups }) => groups[0] ?? ''),
  ),
  regexReplaceAll: taking(3, 3, (values, run) => {
    const template = text(values[2]);
    return replacedBy(values, run, (expression) => {
      const parts = partsOf(template, expression, run.budget);
      return (found) => expanded(parts, found, run.budget);
    });
  }),
  regexReplaceAllLiteral: taking(3, 3, (values, run) => {
    const literal = text(values[2]);
    return replacedBy(values, run, () => () => literal);
  }),
  regexSplit: taking(3, 3, splitBy),
};
