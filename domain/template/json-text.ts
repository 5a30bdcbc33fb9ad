/** Values as JSON and back. */
import type { Json } from '../event.ts';
import type { Budget } from './budget.ts';
import { dateText } from './date-layout.ts';
import { TemplateFailure } from './failure.ts';
import { goJsonText } from './quote.ts';
import { fromJson, isDict, isList, JsonText, Moment, sortedKeys, type Value } from './value.ts';

/** Members in the order of their names. `indent`: two blanks a level. */
export function toJsonText(value: Value, budget: Budget, isPretty = false): string {
  const json = goJsonText(written(value, budget, isPretty ? '\n' : ''));
  budget.make(json.length);
  return json;
}

/** `newline`: what a level begins its lines with; empty on one line. */
function written(value: Value, budget: Budget, newline: string, depth = 0): string {
  if (value === undefined || value === null) return 'null';
  if (value instanceof JsonText) return value.text;
  if (value instanceof Moment) return JSON.stringify(dateText(value, '2006-01-02T15:04:05.999999999Z07:00'));
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TemplateFailure('JSON has no such number');
    return JSON.stringify(value);
  }
  if (typeof value === 'string') {
    budget.make(value.length);
    return JSON.stringify(value.toWellFormed());
  }
  if (!isList(value) && !isDict(value)) return String(value);
  budget.enter(depth);
  const inner = newline === '' ? '' : `${newline}  `;
  const part = (member: Value): string => written(member, budget, inner, depth + 1);
  const [open, close] = isList(value) ? '[]' : '{}';
  const colon = newline === '' ? ':' : ': ';
  const parts = isList(value)
    ? value.map(part)
    : sortedKeys(value).map((key) => `${JSON.stringify(key.toWellFormed())}${colon}${part(value.get(key))}`);
  const result = parts.length === 0 ? `${open}${close}` : `${open}${inner}${parts.join(`,${inner}`)}${newline}${close}`;
  budget.make(result.length);
  return result;
}

export function fromJsonText(text: string, budget: Budget): Value {
  budget.spend(Math.ceil(text.length / 16));
  let parsed: Json;
  try {
    parsed = JSON.parse(text) as Json;
  } catch {
    throw new TemplateFailure('fromJson: the text is no JSON');
  }
  return fromJson(parsed);
}
