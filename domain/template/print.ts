/** Values as text, as Go prints them: what an action writes, and `print` and `println`. */
import type { Budget } from './budget.ts';
import { dateText } from './date-layout.ts';
import { floatText } from './number-text.ts';
import { isDict, isList, JsonText, Moment, sortedKeys, type Value } from './value.ts';

/** As an action prints it. */
export const actionText = (value: Value, budget: Budget): string =>
  value === undefined || value === null ? '<no value>' : valueText(value, budget);

/** `%v`. */
export function valueText(value: Value, budget: Budget, depth = 0): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '<nil>';
  if (typeof value === 'number') return floatText(value);
  if (value instanceof JsonText) return value.text;
  if (value instanceof Moment) return dateText(value, '2006-01-02 15:04:05.999999999 -0700 MST');
  if (!isList(value) && !isDict(value)) return String(value);
  budget.enter(depth);
  const part = (inner: Value): string => {
    const text = valueText(inner, budget, depth + 1);
    budget.make(text.length);
    return text;
  };
  if (isList(value)) return `[${value.map(part).join(' ')}]`;
  return `map[${sortedKeys(value)
    .map((key) => `${key}:${part(value.get(key))}`)
    .join(' ')}]`;
}

/** `fmt.Sprint`: a blank between two operands of which neither is text. */
export function sprint(values: readonly Value[], budget: Budget): string {
  let result = '';
  for (const [index, value] of values.entries()) {
    if (index > 0 && !isText(value) && !isText(values[index - 1])) result += ' ';
    const text = valueText(value, budget);
    budget.make(text.length);
    result += text;
  }
  return result;
}

export const sprintln = (values: readonly Value[], budget: Budget): string =>
  `${values.map((value) => valueText(value, budget)).join(' ')}\n`;

const isText = (value: Value): boolean => typeof value === 'string' || value instanceof JsonText;

/** What `html`, `js` and `urlquery` see of their operands. */
export function operandsText(values: readonly Value[], budget: Budget): string {
  const [only] = values;
  if (values.length === 1 && typeof only === 'string') return only;
  return sprint(
    values.map((value) => (value === undefined || value === null ? '<no value>' : value)),
    budget,
  );
}
