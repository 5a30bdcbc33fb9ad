/** Operands of functions as what they have to be, and as what they can be taken for. */
import type { Budget } from './budget.ts';
import { TemplateFailure } from './failure.ts';
import { valueText } from './print.ts';
import { type Dict, integer, isDict, isList, typeOf, type Value } from './value.ts';

const wrong = (value: Value, expected: string): TemplateFailure =>
  value === undefined || value === null
    ? new TemplateFailure(`invalid value; expected ${expected}`)
    : new TemplateFailure(`wrong type for value; expected ${expected}; got ${typeOf(value)}`);

export function text(value: Value): string {
  if (typeof value !== 'string') throw wrong(value, 'string');
  return value;
}

const maxCharacters = 1_000_000;

/** One by one: many take much more memory than their text. */
export function characters(value: string): readonly string[] {
  if (value.length > maxCharacters) throw new TemplateFailure(`a text of more than ${maxCharacters} characters`);
  return [...value];
}

export function whole(value: Value): number {
  if (typeof value === 'bigint') return Number(value);
  // Numbers of JSON are floats: those without a fraction pass.
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw wrong(value, 'int');
}

export function list(value: Value): readonly Value[] {
  if (!isList(value)) throw wrong(value, 'list');
  return value;
}

export function dict(value: Value): Dict {
  if (!isDict(value)) throw wrong(value, 'map');
  return value;
}

/** A text as it is, lists and maps as Go prints them. */
export const anyText = (value: Value, budget: Budget): string => {
  const result = valueText(value, budget);
  if (typeof value !== 'string') budget.make(result.length);
  return result;
};

/** Elements that are there, each as text. */
export const texts = (value: Value, budget: Budget): readonly string[] =>
  isList(value)
    ? value.filter((element) => element !== undefined && element !== null).map((element) => anyText(element, budget))
    : value === undefined || value === null
      ? []
      : [anyText(value, budget)];

/** What is no number counts as 0. */
export function toInteger(value: Value): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'number') return Number.isFinite(value) ? integer(Math.trunc(value)) : 0n;
  if (typeof value !== 'string') return 0n;
  const plain = value.trim();
  if (/^[+-]?\d{1,19}$/.test(plain)) return integer(BigInt(plain));
  return /^[+-]?\d{1,19}\.\d{1,40}$/.test(plain) ? integer(Math.trunc(Number(plain))) : 0n;
}

export function toFloat(value: Value): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value !== 'string' || value.trim() === '') return 0;
  const parsed = Number(value);
  return Number.isNaN(parsed) ? 0 : parsed;
}
