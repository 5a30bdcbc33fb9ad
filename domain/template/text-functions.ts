/** Functions on texts. Operands stand as in the family that templates know: what is worked on comes last. */
import type { Budget } from './budget.ts';
import { type FunctionTable, type TemplateFunction, taking } from './functions.ts';
import { anyText, characters, text, texts, whole } from './operands.ts';
import { goQuote } from './quote.ts';
import { byCodePoint, type Value } from './value.ts';
import { camelCase, initials, kebabCase, snakeCase, titleCase, untitle, wrapped } from './words.ts';

const change = (make: (value: string) => string): TemplateFunction =>
  taking(1, 1, ([value], { budget }) => {
    // Letters are changed one by one.
    budget.spend(Math.ceil(text(value).length / 8));
    return made(make(text(value)), budget);
  });

/** The last operand is worked on with the one before. */
const changeBy = (make: (by: string, value: string, budget: Budget) => Value): TemplateFunction =>
  taking(2, 2, ([by, value], { budget }) => make(text(by), text(value), budget));

function made(result: string, budget: Budget): string {
  budget.make(result.length);
  return result;
}

const setOf = (chars: string): ReadonlySet<string> => new Set(chars);

function trimmed(value: string, chars: string): string {
  const set = setOf(chars);
  const all = characters(value);
  let [from, to] = [0, all.length];
  while (from < to && set.has(all[from] ?? '')) from++;
  while (to > from && set.has(all[to - 1] ?? '')) to--;
  return all.slice(from, to).join('');
}

const withoutEnd = (end: string, value: string): string =>
  end !== '' && value.endsWith(end) ? value.slice(0, -end.length) : value;

const withoutStart = (start: string, value: string): string =>
  value.startsWith(start) ? value.slice(start.length) : value;

const cut = (count: number, value: string): string => {
  const all = characters(value);
  if (count < 0) return all.length + count > 0 ? all.slice(count).join('') : value;
  return all.slice(0, count).join('');
};

function substring(from: number, to: number, value: string): string {
  const all = characters(value);
  if (from < 0) return all.slice(0, Math.max(0, to)).join('');
  return all.slice(from, to < 0 || to > all.length ? all.length : to).join('');
}

const abbreviated = (width: number, value: string): string =>
  width < 4 || characters(value).length <= width ? value : `${cut(width - 3, value)}...`;

/** A long part that nearly stands everywhere is compared at each letter. */
const search = (part: string, value: string, budget: Budget): void =>
  budget.spend(Math.ceil((part.length * value.length) / 16_384));

function indented(spaces: number, value: string, budget: Budget): string {
  const lines = value.split('\n');
  const pad = Math.max(0, spaces);
  budget.make(lines.length * pad + value.length);
  return lines.map((line) => ' '.repeat(pad) + line).join('\n');
}

function replaced(from: string, to: string, value: string, budget: Budget): string {
  search(from, value, budget);
  const count = from === '' ? value.length + 1 : value.split(from).length - 1;
  budget.make(value.length + count * to.length);
  return value.replaceAll(from, () => to);
}

function splitAt(separator: string, count: number, value: string, budget: Budget): readonly string[] {
  search(separator, value, budget);
  const parts = separator === '' ? characters(value) : value.split(separator);
  if (count === 0) return [];
  if (count < 0 || parts.length <= count) return parts;
  return [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)];
}

/** Parts by their numbers: `_0`, `_1`. */
function numbered(parts: readonly string[], budget: Budget): Value {
  budget.spend(parts.length);
  return new Map(parts.map((part, index) => [`_${index}`, part]));
}

const present = (values: readonly Value[]): readonly Value[] =>
  values.filter((value) => value !== undefined && value !== null);

function joined(parts: readonly string[], separator: string, budget: Budget): string {
  const length = parts.reduce((sum, part) => sum + part.length + separator.length, 0);
  budget.make(length);
  return parts.join(separator);
}

function sorted(values: readonly string[], budget: Budget): readonly string[] {
  budget.spend(values.length);
  return values.toSorted(byCodePoint);
}

export const textFunctions: FunctionTable = {
  trim: change((value) => value.trim()),
  trimAll: changeBy((chars, value) => trimmed(value, chars)),
  trimPrefix: changeBy(withoutStart),
  trimSuffix: changeBy(withoutEnd),
  upper: change((value) => value.toUpperCase()),
  lower: change((value) => value.toLowerCase()),
  title: change(titleCase),
  untitle: change(untitle),
  nospace: change((value) => value.replace(/\s+/g, '')),
  initials: change(initials),
  snakecase: change(snakeCase),
  camelcase: change(camelCase),
  kebabcase: change(kebabCase),
  repeat: taking(2, 2, ([count, value], { budget }) => {
    const times = Math.max(0, whole(count));
    budget.make(times * text(value).length + times / 8);
    return text(value).repeat(times);
  }),
  substr: taking(3, 3, ([from, to, value]) => substring(whole(from), whole(to), text(value))),
  trunc: taking(2, 2, ([count, value]) => cut(whole(count), text(value))),
  abbrev: taking(2, 2, ([width, value]) => abbreviated(whole(width), text(value))),
  contains: changeBy((part, value, budget) => {
    search(part, value, budget);
    return value.includes(part);
  }),
  hasPrefix: changeBy((part, value) => value.startsWith(part)),
  hasSuffix: changeBy((part, value) => value.endsWith(part)),
  quote: taking(0, undefined, (values, { budget }) =>
    joined(
      present(values).map((value) => goQuote(anyText(value, budget))),
      ' ',
      budget,
    ),
  ),
  squote: taking(0, undefined, (values, { budget }) =>
    joined(
      present(values).map((value) => `'${anyText(value, budget)}'`),
      ' ',
      budget,
    ),
  ),
  cat: taking(0, undefined, (values, { budget }) =>
    joined(
      present(values).map((value) => anyText(value, budget)),
      ' ',
      budget,
    ),
  ),
  indent: taking(2, 2, ([spaces, value], { budget }) => indented(whole(spaces), text(value), budget)),
  nindent: taking(2, 2, ([spaces, value], { budget }) => `\n${indented(whole(spaces), text(value), budget)}`),
  replace: taking(3, 3, ([from, to, value], { budget }) => replaced(text(from), text(to), text(value), budget)),
  plural: taking(3, 3, ([one, many, count]) => (whole(count) === 1 ? text(one) : text(many))),
  wrap: taking(2, 2, ([width, value], { budget }) => made(wrapped(text(value), whole(width), '\n', false), budget)),
  wrapWith: taking(3, 3, ([width, separator, value], { budget }) => {
    budget.make((text(value).length / Math.max(1, whole(width)) + 1) * text(separator).length + text(value).length);
    return wrapped(text(value), whole(width), text(separator), true);
  }),
  split: taking(2, 2, ([separator, value], { budget }) =>
    numbered(splitAt(text(separator), -1, text(value), budget), budget),
  ),
  splitList: changeBy((separator, value, budget) => splitAt(separator, -1, value, budget)),
  splitn: taking(3, 3, ([separator, count, value], { budget }) =>
    numbered(splitAt(text(separator), whole(count), text(value), budget), budget),
  ),
  join: taking(2, 2, ([separator, values], { budget }) => joined(texts(values, budget), text(separator), budget)),
  sortAlpha: taking(1, 1, ([values], { budget }) => sorted(texts(values, budget), budget)),
  toString: taking(1, 1, ([value], { budget }) => anyText(value, budget)),
  toStrings: taking(1, 1, ([values], { budget }) => texts(values, budget)),
};
